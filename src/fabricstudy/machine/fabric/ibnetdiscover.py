"""What ``ibnetdiscover`` prints of an InfiniBand fabric (infiniband-diags, manual page ibnetdiscover(8)).

A switch is a router, named by its GUID as in ``S-0008f10500200134``. Each port of an HCA that leads to a switch is a
port of the host that its description begins with (``node018 HCA-1``, ``gpu3 mlx5_2``), or of the HCA itself if it is
described otherwise. Left out are routers between subnets, the aggregation nodes within switches, which run no ranks,
and cables from a switch to itself.

A link's class is its width and speed, such as ``4xEDR``; its bandwidth is the data rate: lanes times 2, 4, 8
(SDR, DDR, QDR: 2.5, 5, 10 Gb/s in 8b/10b), 10 (FDR10), 13.64 (FDR), 25 (EDR: all in 64b/66b), 50, 100 and 200 Gb/s
(HDR, NDR, XDR). Of a speed that stands not here, the study has to say it.

References
----------
InfiniBand Trade Association: InfiniBand Architecture Specification, volume 2, release 1.4, 2020; roadmap, 2024.
"""

import re
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
    r'"(?P<peer>[^"]+)"\[(?P<peer_port>\d{1,9})\](?:\[ext \d+\])?(?:\((?P<peer_guid>[^)]*)\))?\s*(?:#\s*(?P<says>.*))?$'
)
_PORT_LINE = re.compile(r"\[\d+\]")
_SPEED = re.compile(r"\b(\d+)x([A-Z]+\d*)\s*$")
_HOST = re.compile(r"(\S+)\s+(?:HCA-\d+|[a-z][a-z0-9]*_?\d+)$")
_SWITCH, _HCA = "S", "H"


class _End(NamedTuple):
    """One end of a link."""

    device: str
    port: int

    @property
    def kind(self) -> str:
        return self.device.split("-")[0]


class _Line(NamedTuple):
    """A port, as the line of its device or of the device opposite lists it."""

    number: int
    peer: _End
    guid: str | None
    peer_guid: str | None
    says: str


def guid_of(text: str) -> str:
    """Write a GUID as one without leading zeros.

    Examples
    --------
    >>> guid_of("0x0002c9030007eca7") == guid_of("2c9030007eca7")
    True
    """
    return text.lower().removeprefix("0x").lstrip("0") or "0"


def read(data: bytes) -> Fabric:
    """Read what was printed; raises InputFileError, with the line."""
    dump = _Dump()
    for number, line in numbered_lines(data):
        if _PORT_LINE.match(line):
            dump.add_port(number, line)
        elif line.startswith(("Switch\t", "Switch ", "Ca\t", "Ca ", "Rt\t", "Rt ")):
            dump.add_device(number, line)
    return dump.fabric()


class _Dump:
    """The blocks of a dump."""

    def __init__(self) -> None:
        self._device: str | None = None
        self._described: dict[str, str] = {}
        self._switches: dict[str, str] = {}
        self._lines: dict[_End, _Line] = {}

    def add_device(self, number: int, line: str) -> None:
        """Begin a block."""
        match = _BLOCK.match(line)
        if match is None:
            raise InputFileError(
                'not a device such as Switch 36 "S-..."', "give all that was printed", position_text(number), line
            )
        kind, self._device, described, lid = match.groups()
        self._described[self._device] = described or ""
        if kind == "Switch":
            if self._device in self._switches:
                raise InputFileError(
                    "the second block of this switch", "give one dump", position_text(number), self._device
                )
            self._switches[self._device] = lid or ""

    def add_port(self, number: int, line: str) -> None:
        """Note a line of a block."""
        match = _PORT.match(line)
        if match is None:
            problem = 'not a port such as [1] "S-..."[2] # "name" lid 3 4xEDR'
            raise InputFileError(problem, "give all that was printed", position_text(number), line)
        if self._device is None:
            raise InputFileError(
                "a port before the first device", "give all that was printed", position_text(number), line
            )
        end = _End(self._device, int(match["port"]))
        if end in self._lines:
            raise InputFileError("the second line of this port", "give one dump", position_text(number), end.port)
        peer = _End(match["peer"], int(match["peer_port"]))
        self._lines[end] = _Line(number, peer, match["guid"], match["peer_guid"], match["says"] or "")

    def fabric(self) -> Fabric:
        """Put the blocks together."""
        if not self._switches:
            raise InputFileError(
                "there is no switch", 'give what ibnetdiscover prints, with lines as Switch 36 "S-..."'
            )
        cables, ports = [], []
        for end, line in self._lines.items():
            self._check_opposite(end, line)
            if end.kind != _SWITCH:
                continue
            if line.peer.device == end.device:
                continue
            if line.peer.kind == _SWITCH:
                # Each end has a line; the cable is that of the lesser one.
                if end < line.peer:
                    link = _link(line)
                    cables.append(
                        Cable(
                            end.device,
                            line.peer.device,
                            link,
                            1,
                            position_text(line.number),
                            (end.port, line.peer.port),
                        )
                    )
            elif line.peer.kind == _HCA and "Aggregation Node" not in line.says:
                ports.append(self._port(end, line))
        return Fabric(dict.fromkeys(self._switches), cables, ports, self._names())

    def _check_opposite(self, end: _End, line: _Line) -> None:
        opposite = self._lines.get(line.peer)
        if opposite is not None and opposite.peer != end:
            problem = f"port {line.peer.port} of {line.peer.device} leads elsewhere by line {opposite.number}"
            raise InputFileError(
                problem, "give one dump of a fabric that did not change", position_text(line.number), end.port
            )
        if opposite is not None and _speed(opposite) != _speed(line):
            problem = f"another width or speed than at the other end, line {opposite.number}"
            raise InputFileError(problem, "give one whole dump", position_text(line.number), _speed(line))
        if opposite is None and line.peer.kind == _SWITCH:
            problem = f"port {line.peer.port} of the switch {line.peer.device} has no line of its own"
            raise InputFileError(problem, "give the whole dump", position_text(line.number), line.peer.device)

    def _port(self, end: _End, line: _Line) -> Port:
        quoted = re.search(r'"(.*)"', line.says)
        named = _HOST.match(self._described.get(line.peer.device) or (quoted[1] if quoted else ""))
        host = named[1] if named else line.peer.device
        guid = guid_of(line.peer_guid or line.peer.device.removeprefix("H-"))
        lid = re.search(r"\blid (\d+)", line.says)
        also = (f"guid {guid}", *([f"lid {lid[1]}"] if lid else []))
        name = f"{line.peer.device} port {line.peer.port}"
        return Port(host, name, end.device, _link(line), position_text(line.number), also, end.port)

    def _names(self) -> dict[str, str]:
        names = {f"guid {guid_of(name.removeprefix('S-'))}": name for name in self._switches}
        return names | {f"lid {lid}": name for name, lid in self._switches.items() if lid}


def _speed(line: _Line) -> str:
    match = _SPEED.search(line.says)
    return match[0].strip() if match else ""


def _link(line: _Line) -> LinkAttributes:
    """Read width and speed at the end of a line."""
    match = _SPEED.search(line.says)
    if match is None:
        return LinkAttributes("link", None, None)
    lane_Bps = LANE_BPS.get(match[2])
    if lane_Bps is None:
        return LinkAttributes(match[0].strip(), None, None)
    try:
        BANDWIDTHS.check(float(match[1]) * lane_Bps)
    except ConfigError as error:
        raise InputFileError(
            f"a bandwidth {error.problem}", error.remedy, position_text(line.number), match[0].strip()
        ) from None
    return LinkAttributes(match[0].strip(), int(match[1]) * lane_Bps, None)
