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
from .infiniband import host_and_device, link_of, switch_names, warn_of_unnamed_hosts

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


class _End(NamedTuple):
    """A port: its device by LID, unique within a subnet, and its number."""

    lid: int
    port: int


class _Link(NamedTuple):
    number: int
    peer: _End
    width: str
    speed: str
    peer_description: str


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
        self._links: dict[_End, _Link] = {}

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
        end = _End(int(found["lid"]), int(found["port"]))
        if end in self._links:
            raise InputFileError("duplicate port", "use a single listing", where, found["port"])
        guid = found["guid"] or (block["guid"] if block else None) or f"lid {end.lid}"
        self._adapter = self._adapter or guid if block else guid
        text = (found["description"] or (block["description"] if block else "")).strip()
        self._devices.setdefault(end.lid, _Device(block["kind"] if block else "", guid, text, self._adapter))
        to = _End(int(peer["lid"]), int(peer["port"]))
        self._links[end] = _Link(number, to, link["width"].lower(), _speed(link), peer["description"].strip())

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
        for end, link in self._links.items():
            where = position_text(link.number)
            if end.lid not in switches or link.peer.lid == end.lid or "Aggregation Node" in link.peer_description:
                continue
            attributes = link_of(link.width, link.speed, where)
            if has_adapters and link.peer.lid not in self._devices:
                raise InputFileError("the peer is not listed", _USE, where, link.peer_description)
            opposite = self._links.get(link.peer)
            if opposite and (opposite.width, opposite.speed) != (link.width, link.speed):
                problem = f"width or speed differ from those of the other end, line {opposite.number}"
                raise InputFileError(problem, _USE, where, link.width + link.speed)
            if link.peer.lid not in switches:
                ports.append(self._port(end, link, names[end.lid]))
                continue
            if opposite is None or opposite.peer != end:
                raise InputFileError("the peer does not list this cable", _USE, where, link.peer.port)
            if end < link.peer:
                pair = names[end.lid], names[link.peer.lid]
                cables.append(Cable(*pair, attributes, 1, where, (end.port, link.peer.port)))
        warn_of_unnamed_hosts(ports)
        aliases = {f"lid {lid}": name for lid, name in names.items()} | named
        return Fabric(dict.fromkeys(names.values()), cables, ports, aliases)

    def _port(self, end: _End, link: _Link, switch: str) -> Port:
        where = position_text(link.number)
        host, device = host_and_device(link.peer_description)
        device_at = self._devices.get(link.peer.lid)
        adapter = device_at.adapter if device_at else f"lid {link.peer.lid}"
        return Port(
            host or adapter, f"{adapter} port {link.peer.port}", switch, link_of(link.width, link.speed, where), where,
            (f"lid {link.peer.lid}",), end.port, device, adapter,
        )  # fmt: skip


def _speed(link: re.Match[str]) -> str:
    """Return the name of a rate, which some versions round."""
    if link["fdr10"]:
        return "FDR10"
    rate = float(link["rate"])
    known = (name for name, gigabits in _RATES_GBPS.items() if abs(rate / gigabits - 1) < 1e-3)
    return next(known, f"{link['rate']}Gbps")
