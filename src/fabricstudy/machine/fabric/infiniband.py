"""What all listings of an InfiniBand fabric share: link speeds, names of switches, and hosts of adapters.

A switch has the name in its description, such as ``leaf-1`` for ``MF0;leaf-1:MSB7700/U1``, if no other switch has the
same. The description of an adapter is that of its host, alone or with the name of the device: ``node018``,
``node018 HCA-1``, ``gpu3 mlx5_2``, ``vm1 mlx5_bond_0``. Those that firmware sets name no host.

A link's class is its width and speed, such as ``4xEDR``; its bandwidth is the data rate: lanes times 2, 4, 8
(SDR, DDR, QDR: 2.5, 5, 10 Gb/s in 8b/10b), 10 (FDR10), 13.64 (FDR), 25 (EDR: all in 64b/66b), 50, 100 and 200 Gb/s
(HDR, NDR, XDR). The study must set the bandwidth of any other speed.

References
----------
InfiniBand Trade Association: InfiniBand Architecture Specification, volume 2, release 1.4, 2020; roadmap, 2024.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fabricstudy.core.input_files import InputFileError, position_text
from fabricstudy.core.log import warn_once
from fabricstudy.core.model import ConfigError
from fabricstudy.core.quantities import BANDWIDTHS

from .base import LinkAttributes, Port

_GIGABITS = {
    "SDR": 2.0, "DDR": 4.0, "QDR": 8.0, "FDR10": 10.0, "FDR": 14.0625 * 64 / 66,
    "EDR": 25.0, "HDR": 50.0, "NDR": 100.0, "XDR": 200.0,
}  # fmt: skip
LANE_BPS = {name: gigabits * 1e9 / 8 for name, gigabits in _GIGABITS.items()}
"""Data rate of a lane in one direction, bytes/s."""

_HOST = re.compile(r"(?!MT\d+\b)([\w.-]+)(?: +(HCA-\d+|(?=\S*\d)[A-Za-z]\w*))?")
_FIRMWARE = re.compile(r"Mellanox|Technologies|ConnectX|Connect-IB|InfiniHost|BlueField|Voltaire|Topspin|QLogic", re.I)
_MANAGED_SWITCH = re.compile(r"^MF0;([^:]+):[^/]*(.*)$")
"""Description of a managed switch: name, type, and a board of the switch, of which the first is /U1."""


class End(NamedTuple):
    """A port: its device by GUID, or by LID, a number, and its number."""

    device: Any
    port: int


class Line(NamedTuple):
    """A port as listed: its line, its peer with its description and LID, and the width and speed of the link."""

    number: int
    peer: End
    description: str
    width: str
    speed: str
    lid: str | None = None
    peer_guid: str | None = None

    @property
    def where(self) -> str:
        return position_text(self.number)

    @property
    def link(self) -> LinkAttributes:
        """Class and bandwidth of the link."""
        return link_of(self.width, self.speed, self.where)

    def check_opposite(self, end: End, lines: Mapping[End, "Line"], must_be_listed: bool, remedy: str) -> None:
        """Raise InputFileError unless the line of the peer agrees with this one, which is that of `end`."""
        opposite = lines.get(self.peer)
        if opposite is None and must_be_listed:
            problem = f"port {self.peer.port} of its peer, {self.description}, is not listed"
            raise InputFileError(problem, remedy, self.where, self.peer.device)
        if opposite is not None and opposite.peer != end:
            problem = f"port {self.peer.port} of its peer leads elsewhere on line {opposite.number}"
            raise InputFileError(problem, remedy, self.where, end.port)
        if opposite is not None and (opposite.width, opposite.speed) != (self.width, self.speed):
            problem = f"width or speed differ from those of the other end, line {opposite.number}"
            raise InputFileError(problem, remedy, self.where, self.width + self.speed)


def link_of(width: str, speed: str, where: str) -> LinkAttributes:
    """Return the link class of a width and a speed, both empty if the line has none.

    Examples
    --------
    >>> link_of("4x", "EDR", "line 1").bandwidth_Bps, link_of("4x", "???", "line 1")
    (12500000000.0, LinkAttributes(name='4x???', bandwidth_Bps=None, latency_ns=None))
    """
    if not speed:
        return LinkAttributes("link", None, None)
    name = width + speed
    lane_Bps = LANE_BPS.get(speed)
    if lane_Bps is None or not width[:-1].isdigit():
        return LinkAttributes(name, None, None)
    try:
        BANDWIDTHS.check(float(width[:-1]) * lane_Bps)
    except ConfigError as error:
        raise InputFileError(f"a bandwidth {error.problem}", error.remedy, where, name) from None
    return LinkAttributes(name, int(width[:-1]) * lane_Bps, None)


def switch_names(descriptions: Mapping[str, str]) -> dict[str, str]:
    """Return the name of each switch: that in its description if it is unique, else its unique id."""
    names = {
        switch: _MANAGED_SWITCH.sub(r"\1\2", text).removesuffix("/U1") or switch
        for switch, text in descriptions.items()
    }
    count = Counter([*names.values(), *names])
    return {switch: name if count[name] == 1 else switch for switch, name in names.items()}


def host_and_device(description: str) -> tuple[str, str]:
    """Return the host of an adapter and the adapter's name in it; empty texts if the description names no host.

    Examples
    --------
    >>> host_and_device("gpu3 mlx5_bond_0"), host_and_device("blade1"), host_and_device("MT4129 ConnectX7")
    (('gpu3', 'mlx5_bond_0'), ('blade1', ''), ('', ''))
    """
    found = None if _FIRMWARE.search(description) else _HOST.fullmatch(description.strip())
    return (found[1], found[2] or "") if found else ("", "")


def warn_of_unnamed_hosts(ports: Sequence[Port]) -> None:
    """Warn of adapters whose descriptions name no host: each is a host of its own."""
    unnamed = [port.host for port in ports if port.host == port.adapter]
    if unnamed:
        warn_once(
            f"warning: {len(unnamed)} of {len(ports)} ports of adapters name no host in the description of the "
            f"adapter; each adapter is a host of its own, such as {unnamed[0]}"
        )
