"""Output of ``ibnetdiscover`` for an InfiniBand fabric (infiniband-diags, manual page ibnetdiscover(8)).

A switch is a router, named by its description, such as ``leaf-1`` for ``MF0;leaf-1:MSB7700/U1``, if no other switch
has the same, else by its GUID as in ``S-0008f10500200134``; both find it. Each HCA port that leads to a switch is a
port of the host at the beginning of the HCA's description (``node018 HCA-1``, ``gpu3 mlx5_2``), else of the HCA itself.
Routers between subnets, aggregation nodes within switches, and cables from a switch to itself are ignored.

A link's class is its width and speed, such as ``4xEDR``; its bandwidth is the data rate: lanes times 2, 4, 8
(SDR, DDR, QDR: 2.5, 5, 10 Gb/s in 8b/10b), 10 (FDR10), 13.64 (FDR), 25 (EDR: all in 64b/66b), 50, 100 and 200 Gb/s
(HDR, NDR, XDR). The study must set the bandwidth of any other speed.

References
----------
InfiniBand Trade Association: InfiniBand Architecture Specification, volume 2, release 1.4, 2020; roadmap, 2024.
"""

import re
from collections import Counter
from typing import NamedTuple

from fabricstudy.core.input_files import InputFileError, numbered_lines, position_text
from fabricstudy.core.model import ConfigError
from fabricstudy.core.quantities import BANDWIDTHS

from .base import Cable, Fabric, LinkAttributes, Port

_GIGABITS = {
    "SDR": 2.0, "DDR": 4.0, "QDR": 8.0, "FDR10": 10.0, "FDR": 14.0625 * 64 / 66,
    "EDR": 25.0, "HDR": 50.0, "NDR": 100.0, "XDR": 200.0,
}  # fmt: skip
LANE_BPS = {name: gigabits * 1e9 / 8 for name, gigabits in _GIGABITS.items()}
"""Data rate of a lane in one direction, bytes/s."""

_BLOCK = re.compile(r'(Switch|Ca|Rt)\s+\d+\s+"([^"]+)"\s*(?:#\s*"(.*)"(?:.*?\blid (\d+))?)?')
_PORT = re.compile(
    r"\[(?P<port>\d{1,9})\](?:\[ext \d+\])?(?:\((?P<guid>[^)]*)\))?\s+"
    r'"(?P<peer>[^"]+)"\[(?P<peer_port>\d{1,9})\](?:\[ext \d+\])?(?:\((?P<peer_guid>[^)]*)\))?\s*(?:#\s*(?P<note>.*))?$'
)
_PORT_LINE = re.compile(r"\[\d+\]")
_SPEED = re.compile(r"\b(\d+)x([A-Z]+\d*)\s*$")
_HOST = re.compile(r"(\S+)\s+(?:HCA-\d+|[a-z][a-z0-9]*_?\d+)$")
_MANAGED_SWITCH = re.compile(r"^MF0;([^:]+):[^/]*(.*)$")
"""Description of a managed switch: name, type, and a board of the switch, of which the first is /U1."""
_IBDM_PORT = re.compile(r"\s*\S+\s+-(?:\d+x)?-?(?:[\d.]+G)?-?>\s+\S+\s+\S+\s+\S+")
"""A cable in a topology file of ibdm (ibutils, manual page ibdm-topo-file(1)): ``P1 -4x-5G-> TYPE NAME PORT``."""
_SWITCH, _HCA = "S", "H"
_COMPLETE = "use the complete output of ibnetdiscover"


class _End(NamedTuple):
    device: str
    port: int

    @property
    def kind(self) -> str:
        return self.device.split("-")[0]


class _Line(NamedTuple):
    """A port and its peer, as listed."""

    number: int
    peer: _End
    guid: str | None
    peer_guid: str | None
    note: str


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
        if _PORT_LINE.match(line):
            dump.add_port(number, line)
        elif line.startswith(("Switch\t", "Switch ", "Ca\t", "Ca ", "Rt\t", "Rt ")):
            dump.add_device(number, line)
        elif _IBDM_PORT.match(line):
            problem = "a topology file of ibdm (ibutils), which does not tell what its types of systems are"
            raise InputFileError(problem, "use the output of ibnetdiscover", position_text(number), line.strip())
    return dump.fabric()


class _Dump:
    """The device blocks of a dump."""

    def __init__(self) -> None:
        self._device: str | None = None
        self._descriptions: dict[str, str] = {}
        self._switches: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._lines: dict[_End, _Line] = {}

    def add_device(self, number: int, line: str) -> None:
        """Begin a block."""
        match = _BLOCK.match(line)
        if match is None:
            raise InputFileError('not a device such as Switch 36 "S-..."', _COMPLETE, position_text(number), line)
        kind, self._device, description, lid = match.groups()
        self._descriptions[self._device] = description or ""
        if kind == "Switch":
            if self._device in self._switches:
                raise InputFileError("duplicate switch", "use a single dump", position_text(number), self._device)
            self._switches[self._device] = lid or ""

    def add_port(self, number: int, line: str) -> None:
        """Add a line of a block."""
        match = _PORT.match(line)
        if match is None:
            problem = 'not a port such as [1] "S-..."[2] # "name" lid 3 4xEDR'
            raise InputFileError(problem, _COMPLETE, position_text(number), line)
        if self._device is None:
            raise InputFileError("a port before the first device", _COMPLETE, position_text(number), line)
        end = _End(self._device, int(match["port"]))
        if end in self._lines:
            raise InputFileError("duplicate port", "use a single dump", position_text(number), end.port)
        peer = _End(match["peer"], int(match["peer_port"]))
        self._lines[end] = _Line(number, peer, match["guid"], match["peer_guid"], match["note"] or "")

    def fabric(self) -> Fabric:
        """Return the fabric."""
        if not self._switches:
            raise InputFileError("no switch", 'use the output of ibnetdiscover, with lines as Switch 36 "S-..."')
        self._names = _names({switch: self._descriptions[switch] for switch in self._switches})
        cables, ports = [], []
        for end, line in self._lines.items():
            self._check_opposite(end, line)
            if end.kind != _SWITCH or line.peer.device == end.device:
                continue
            if line.peer.kind == _SWITCH:
                if end < line.peer:  # each end has a line
                    where, numbers = position_text(line.number), (end.port, line.peer.port)
                    names = self._names[end.device], self._names[line.peer.device]
                    cables.append(Cable(*names, _link(line), 1, where, numbers))
            elif line.peer.kind == _HCA and "Aggregation Node" not in line.note:
                ports.append(self._port(end, line))
        aliases = {f"guid {guid_of(switch.removeprefix('S-'))}": name for switch, name in self._names.items()}
        aliases |= {f"lid {lid}": self._names[switch] for switch, lid in self._switches.items() if lid}
        return Fabric(dict.fromkeys(self._names.values()), cables, ports, aliases | self._names)

    def _check_opposite(self, end: _End, line: _Line) -> None:
        opposite, where = self._lines.get(line.peer), position_text(line.number)
        if opposite is not None and opposite.peer != end:
            problem = f"port {line.peer.port} of {line.peer.device} leads elsewhere on line {opposite.number}"
            raise InputFileError(problem, "use a dump of a fabric that does not change", where, end.port)
        if opposite is not None and _speed(opposite) != _speed(line):
            problem = f"width or speed differ from those of the other end, line {opposite.number}"
            raise InputFileError(problem, "use a complete dump", where, _speed(line))
        if opposite is None and line.peer.kind == _SWITCH:
            problem = f"port {line.peer.port} of the switch {line.peer.device} is not listed"
            raise InputFileError(problem, "use a complete dump", where, line.peer.device)

    def _port(self, end: _End, line: _Line) -> Port:
        quoted = re.search(r'"(.*)"', line.note)
        host_name = _HOST.match(self._descriptions.get(line.peer.device) or (quoted[1] if quoted else ""))
        host = host_name[1] if host_name else line.peer.device
        guid = guid_of(line.peer_guid or line.peer.device.removeprefix("H-"))
        lid = re.search(r"\blid (\d+)", line.note)
        aliases = (f"guid {guid}", *([f"lid {lid[1]}"] if lid else []))
        name = f"{line.peer.device} port {line.peer.port}"
        return Port(host, name, self._names[end.device], _link(line), position_text(line.number), aliases, end.port)


def _names(descriptions: dict[str, str]) -> dict[str, str]:
    """Return the name of each switch: that in its description if it is unique, else its device."""
    names = {
        switch: _MANAGED_SWITCH.sub(r"\1\2", text).removesuffix("/U1") or switch
        for switch, text in descriptions.items()
    }
    count = Counter([*names.values(), *names])
    return {switch: name if count[name] == 1 else switch for switch, name in names.items()}


def _speed(line: _Line) -> str:
    match = _SPEED.search(line.note)
    return match[0].strip() if match else ""


def _link(line: _Line) -> LinkAttributes:
    """Return the link class of the width and speed at the end of a line."""
    match = _SPEED.search(line.note)
    if match is None:
        return LinkAttributes("link", None, None)
    lane_Bps = LANE_BPS.get(match[2])
    if lane_Bps is None:
        return LinkAttributes(match[0].strip(), None, None)
    try:
        BANDWIDTHS.check(float(match[1]) * lane_Bps)
    except ConfigError as error:
        where = position_text(line.number)
        raise InputFileError(f"a bandwidth {error.problem}", error.remedy, where, match[0].strip()) from None
    return LinkAttributes(match[0].strip(), int(match[1]) * lane_Bps, None)
