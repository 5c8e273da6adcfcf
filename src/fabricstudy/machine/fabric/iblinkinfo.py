"""Output of ``iblinkinfo`` (infiniband-diags, manual page iblinkinfo(8)), in blocks or, with -l, one line a link.

Ports that are down or lead to aggregation nodes are left out. The speed of a lane is a signalling rate: 2.5, 5.0 and
10.0 Gbps are SDR, DDR and
QDR, 10.0 Gbps (FDR10), 14.0625 FDR, 25.78125 EDR, 53.125 HDR, 106.25 NDR and 212.5 XDR. `infiniband` has names and
link classes.
"""

import re
from collections import Counter
from typing import NamedTuple

from fabricstudy.core.input_files import InputFileError, numbered_lines, position_text

from .base import Cable, Fabric, Port
from .infiniband import End, Line, host_and_device, switch_names, warn_of_unnamed_hosts

SIGNATURE = re.compile(r"\[[ \d]{0,9}\] ==\([^)\n]{0,99}(?:\(FDR10\)[^)\n]{0,50})?\)")

_RATES_GBPS = {"SDR": 2.5, "DDR": 5.0, "QDR": 10.0, "FDR": 14.0625, "EDR": 25.78125, "HDR": 53.125, "NDR": 106.25,
               "XDR": 212.5}  # fmt: skip
_BLOCK = re.compile(r"(?P<kind>Switch|CA|Router): (?:(?P<guid>0x[0-9a-f]+) )?(?P<description>.*):")
_PORT = re.compile(
    r'\s*(?:(?P<guid>0x[0-9a-f]+)\s+)?(?:"(?P<description>[^"]*)"\s+)?(?P<lid>\d{1,9})\s+'
    r"(?P<port>\d{1,9})\[[ \d]*\] ==\((?P<link>[^()]*(?:\(FDR10\)[^()]*)?)\)(?: \(HOQ[^)]*\))?==>\s*(?P<peer>.*)"
)
_LINK = re.compile(r"(?P<width>\d{1,2}X)\s+(?P<rate>\d+(?:\.\d*)?) Gbps(?P<fdr10> \(FDR10\))?\s+[^\s/]+/\s*\S+")
_PEER = re.compile(
    r'(?:(?P<guid>0x[0-9a-f]+)\s+)?(?P<lid>\d{1,9})\s+(?P<port>\d{1,9})\[[ \d]*\] "(?P<description>[^"]*)" \(.*\)'
)
_USE = "use the complete output of iblinkinfo"


def read(data: bytes) -> Fabric:
    """Read a listing; raises InputFileError with the line."""
    listing = _Listing()
    for number, line in numbered_lines(data):
        if block := _BLOCK.fullmatch(line.rstrip()):
            listing.begin(block)
        elif line.strip() and not line.startswith("#"):
            listing.add(number, line)
    return listing.fabric()


class _Device(NamedTuple):
    """A device with one LID: a switch, or a port of an adapter."""

    kind: str
    guid: str
    description: str
    adapter: str


class _Listing:
    def __init__(self) -> None:
        self._block: re.Match[str] | None = None
        self._adapter = ""
        self._devices: dict[int, _Device] = {}
        self._ports: Counter[int] = Counter()
        self._links: dict[End, Line] = {}

    def begin(self, block: re.Match[str]) -> None:
        self._block, self._adapter = block, ""

    def add(self, number: int, line: str) -> None:
        where = position_text(number)
        found, block = _PORT.fullmatch(line.rstrip()), self._block
        if found is None or (block is None and found["description"] is None):
            raise InputFileError("not a port of iblinkinfo", _USE, where, line.strip())
        link, peer = _LINK.fullmatch(found["link"].strip()), _PEER.fullmatch(found["peer"].strip())
        self._ports[int(found["lid"])] += 1
        if "Down" in found["link"]:
            return
        if link is None or peer is None:
            problem = "width, speed or peer of a port that is not down is unknown"
            raise InputFileError(problem, _USE, where, line.strip())
        end = End(int(found["lid"]), int(found["port"]))
        if end in self._links:
            raise InputFileError("duplicate port", "use a single listing", where, found["port"])
        guid = found["guid"] or (block["guid"] if block else None) or f"lid {end.device}"
        self._adapter = self._adapter or guid if block else guid
        text = (found["description"] or (block["description"] if block else "")).strip()
        self._devices.setdefault(end.device, _Device(block["kind"] if block else "", guid, text, self._adapter))
        to = End(int(peer["lid"]), int(peer["port"]))
        self._links[end] = Line(number, to, peer["description"].strip(), link["width"].lower(), _speed(link))

    def fabric(self) -> Fabric:
        """Return the fabric; with -l a device with several ports of one LID is a switch."""
        switches = {
            lid: device
            for lid, device in self._devices.items()
            if device.kind == "Switch" or (not device.kind and self._ports[lid] > 1)
        }
        if not switches:
            raise InputFileError("no switch; adapters that are joined to each other are no machine", _USE)
        named = switch_names({device.guid: device.description for device in switches.values()})
        names = {lid: named[device.guid] for lid, device in switches.items()}
        cables, ports = [], []
        has_adapters = len(switches) < len(self._devices)  # which --switches-only leaves out
        for end, line in self._links.items():
            peer = line.peer
            if end.device not in switches or peer.device == end.device or "Aggregation Node" in line.description:
                continue
            line.check_opposite(end, self._links, has_adapters or peer.device in switches, _USE)
            if peer.device not in switches:
                ports.append(self._port(end, line, names[end.device]))
            elif end < peer:
                pair = names[end.device], names[peer.device]
                cables.append(Cable(*pair, line.link, 1, line.where, (end.port, peer.port)))
        warn_of_unnamed_hosts(ports)
        aliases = {f"lid {lid}": name for lid, name in names.items()} | named
        return Fabric(dict.fromkeys(names.values()), cables, ports, aliases)

    def _port(self, end: End, line: Line, switch: str) -> Port:
        host, device = host_and_device(line.description)
        lid = f"lid {line.peer.device}"
        device_at = self._devices.get(line.peer.device)
        adapter = device_at.adapter if device_at else lid
        name = f"{adapter} port {line.peer.port}"
        return Port(host or adapter, name, switch, line.link, line.where, (lid,), end.port, device, adapter)


def _speed(link: re.Match[str]) -> str:
    """Return the name of a rate, which some versions round."""
    if link["fdr10"]:
        return "FDR10"
    rate = float(link["rate"])
    known = (name for name, gigabits in _RATES_GBPS.items() if abs(rate / gigabits - 1) < 1e-3)
    return next(known, f"{link['rate']}Gbps")
