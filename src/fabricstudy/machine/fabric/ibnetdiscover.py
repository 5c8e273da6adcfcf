"""Output of ``ibnetdiscover``, also with -f or -g (manual page ibnetdiscover(8)), and netfiles of ibsim.

Each port of an adapter that leads to a switch is a port of the host that the adapter's description names, else of the
adapter itself. Routers between subnets, aggregation nodes within switches, and cables from a switch to itself or
between adapters are left out, as a warning says. `infiniband` has names and link classes.

A netfile of ibsim has devices of any name (``Switch 8 "leaf1"``, ``Hca 2 "n1"``), and no speeds.
"""

import re
from collections import Counter

from fabricstudy.core.input_files import InputFileError, numbered_lines, position_text
from fabricstudy.core.log import warn_once

from .base import Cable, Fabric, Port
from .infiniband import End, Line, host_and_device, switch_names, warn_of_unnamed_hosts

SIGNATURE = re.compile(r'^(?:Switch|Hca|Ca)[ \t]+\d+[ \t]+"|^\[\d+\](?:\[ext \d+\])?(?:\(\w*\))?\s+"[SHR]-', re.M)

_BLOCK = re.compile(r'(Switch|Ca|Hca|Rt)\s+\d+\s+"([^"]+)"\s*(?:#\s*(?:"([^"]*)"(?:.*?\blid (\d+))?.*)?|\(scp\))?')
_PORT = re.compile(
    r"\[(?P<port>\d{1,9})\](?:\[ext \d+\])?(?:\((?P<guid>[^)]*)\))?\s*"
    r'"(?P<peer>[^"]+)"\s*(?:\[(?P<peer_port>\d{1,9})\])?(?:\[ext \d+\])?\s*(?:\((?P<peer_guid>[^)]*)\))?\s*(?P<end>.*)'
)
_END = re.compile(
    r'#\s*(?:lid \d+ lmc \d+ )?"(?P<description>[^"]*)" lid (?P<lid>\d+)'
    r"(?: (?P<width>\d+x|\?\?x?) ?(?P<speed>[A-Z][A-Z0-9]*|\?\?\?))?(?: \w+=\w+)*(?: slot \d+| \(scp\))*"
)
"""Description and lid of the peer, width and speed, then those of -f and -g."""
_SIMULATED_END = re.compile(r"(?:[a-z]+=\w+\b\s*)*(?:#.*)?")
_GUID = re.compile(r"[SHR]-[0-9a-f]{16}")
_SETTING = re.compile(
    r"(?:vendid|devid|sysimgguid|switchguids?|caguids?|hcaguids?|rtguids?|(width|speed|extspeed))\s*[=+]"
)
_OTHER = re.compile(r"#|(?:Non-)?Chassis |Hostname: |DR path |ibwarn: |src/|$")
"""Lines of -g, of messages of the program, and empty ones."""
_KINDS = {"S": "Switch", "H": "Ca", "R": "Rt"}
_COMPLETE = "use the complete output of ibnetdiscover"


def guid_of(text: str) -> str:
    """Return a GUID without prefix and leading zeros.

    Examples
    --------
    >>> guid_of("0x0002c9030007eca7") == guid_of("2c9030007eca7")
    True
    """
    return text.lower().removeprefix("0x").lstrip("0") or "0"


def read(data: bytes) -> Fabric:
    """Read a dump; raises InputFileError with the line."""
    dump = _Dump()
    for number, line in numbered_lines(data):
        text = line.rstrip()
        if text.startswith("["):
            dump.add_port(number, text)
        elif re.match(r"(?:Switch|Ca|Hca|Rt)\s", text):
            dump.add_device(number, text)
        elif setting := _SETTING.match(text):
            dump.left_out["settings of width and speed in a netfile of ibsim"] += setting[1] is not None
        elif not _OTHER.match(text):
            problem = "an unknown line (include, module and alias lines of ibsim are not supported)"
            raise InputFileError(problem, "remove it, or use one complete dump", position_text(number), line)
    return dump.fabric()


class _Dump:
    """The device blocks of a dump."""

    def __init__(self) -> None:
        self._device: str | None = None
        self._kinds: dict[str, str] = {}
        self._descriptions: dict[str, str] = {}
        self._switches: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._lines: dict[End, Line] = {}
        self.left_out: Counter[str] = Counter()

    def add_device(self, number: int, line: str) -> None:
        """Begin a block."""
        match = _BLOCK.fullmatch(line)
        if match is None:
            raise InputFileError('not a device such as Switch 36 "S-..."', _COMPLETE, position_text(number), line)
        kind, self._device, description, lid = match.groups()
        if self._device in self._kinds:
            raise InputFileError("duplicate device", "use a single dump", position_text(number), self._device)
        self._kinds[self._device] = "Ca" if kind == "Hca" else kind
        self._descriptions[self._device] = description or ""
        if kind == "Switch":
            self._switches[self._device] = lid or ""

    def add_port(self, number: int, line: str) -> None:
        """Add a line of a block."""
        match = _PORT.fullmatch(line)
        if match is None:
            problem = 'not a port such as [1] "S-..."[2] # "name" lid 3 4xEDR'
            raise InputFileError(problem, _COMPLETE, position_text(number), line)
        if self._device is None:
            raise InputFileError("a port before the first device", _COMPLETE, position_text(number), line)
        end = End(self._device, int(match["port"]))
        if end in self._lines:
            raise InputFileError("duplicate port", "use a single dump", position_text(number), end.port)
        note = _END.fullmatch(match["end"])
        if note is None and _GUID.fullmatch(match["peer"]) is None and _SIMULATED_END.fullmatch(match["end"]):
            self.left_out["options of ports in a netfile of ibsim"] += "=" in match["end"].partition("#")[0]
        elif note is None and match["end"]:
            problem = 'the line does not end like # "name" lid 3 4xEDR: its speed is unknown'
            raise InputFileError(problem, _COMPLETE, position_text(number), match["end"])
        found = note.groupdict(default="") if note else dict.fromkeys(_END.groupindex, "")
        peer = End(match["peer"], int(match["peer_port"] or 1))
        self._lines[end] = Line(number, peer, peer_guid=match["peer_guid"], **found)

    def fabric(self) -> Fabric:
        """Return the fabric."""
        if not self._switches:
            problem = "no switch; adapters that are joined to each other are no machine"
            raise InputFileError(problem, 'use the output of ibnetdiscover, with lines as Switch 36 "S-..."')
        self._names = switch_names({switch: self._descriptions[switch] for switch in self._switches})
        cables, ports = [], []
        for end, line in self._lines.items():
            kind, peer_kind = self._kinds[end.device], self._kind(line)
            line.check_opposite(end, self._lines, peer_kind == "Switch", _COMPLETE)
            if kind == "Switch" == peer_kind and line.peer.device != end.device:
                if end < line.peer:  # each end has a line
                    names = self._names[end.device], self._names[line.peer.device]
                    cables.append(Cable(*names, line.link, 1, line.where, (end.port, line.peer.port)))
            elif kind == "Switch" and peer_kind == "Ca" and "Aggregation Node" not in line.description:
                ports.append(self._port(end, line))
            else:
                self._leave_out(end, line, kind, peer_kind)
        if left_out := ", ".join(f"{count} {words}" for words, count in self.left_out.items() if count):
            warn_once(f"warning: not part of the machine: {left_out}")
        warn_of_unnamed_hosts(ports)
        aliases = {f"guid {guid_of(switch.removeprefix('S-'))}": name for switch, name in self._names.items()}
        aliases |= {f"lid {lid}": self._names[switch] for switch, lid in self._switches.items() if lid}
        return Fabric(dict.fromkeys(self._names.values()), cables, ports, aliases | self._names)

    def _kind(self, line: Line) -> str:
        kind = self._kinds.get(line.peer.device) or _KINDS.get(line.peer.device.partition("-")[0])
        if kind is None:
            raise InputFileError("a device that is not listed", _COMPLETE, line.where, line.peer.device)
        return kind

    def _leave_out(self, end: End, line: Line, kind: str, peer_kind: str) -> None:
        if kind == peer_kind == "Ca":
            self.left_out["ports of adapters joined without a switch"] += 1
        elif kind == peer_kind and end < line.peer:
            self.left_out["cables from a switch to itself"] += 1
        elif kind == "Switch" and peer_kind != kind:
            self.left_out["ports to aggregation nodes" if peer_kind == "Ca" else "ports to routers of subnets"] += 1

    def _port(self, end: End, line: Line) -> Port:
        adapter = line.peer.device
        host, device = host_and_device(self._descriptions.get(adapter) or line.description)
        guid = guid_of(line.peer_guid or adapter.removeprefix("H-"))
        aliases = (f"guid {guid}", *([f"lid {line.lid}"] if line.lid else []))
        return Port(
            host or adapter, f"{adapter} port {line.peer.port}", self._names[end.device],
            line.link, line.where, aliases, end.port, device,
            adapter if _GUID.fullmatch(adapter) else "",  # a name in a netfile of ibsim
        )  # fmt: skip
