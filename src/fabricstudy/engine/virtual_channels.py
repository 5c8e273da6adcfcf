"""Virtual channels of the bundled programs: classes against deadlock, and the number of channels.

Packets cannot wait in a circle if the dependencies of channels have none (Dally and Seitz: IEEE Trans. Computers
C-36(5), 1987, doi:10.1109/TC.1987.1676939). `ChannelScheme` says how each routing avoids them. Several channels of a
class let packets pass others that wait.
"""

from functools import lru_cache
from math import ceil

from fabricstudy.machine.distances import longest_route
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.base import ChannelScheme, Routing
from fabricstudy.routing.listed import HopList
from fabricstudy.routing.ugal import Ugal

from .contract import Unsupported
from .listed_routes import deadlock_free, listed
from .point import Point

DEFAULT_CHANNELS = 8
"""Least number of channels where the study sets none."""


def channel_scheme(routing: Routing, machine: Machine) -> ChannelScheme:
    """Return how packets use virtual channels."""
    routes = listed(routing, machine)
    if routes is None:
        return routing.channel_scheme(machine)
    if not isinstance(routes, HopList) or routes.channel is None:
        return "hops"
    return "one" if routes.hop_classes == 1 else "listed"


def channel_classes(routing: Routing, machine: Machine) -> int:
    """Return the number of classes of channels that deadlock freedom needs."""
    match channel_scheme(routing, machine):
        case "one":
            return 1
        case "dateline" | "escape":
            return 2
    return classes_of_hops(routing, machine)


def classes_of_hops(routing: Routing, machine: Machine) -> int:
    """Return the number of classes where hop k uses class k, or each hop the class of its list."""
    routes = listed(routing, machine)
    if routes is not None:
        return max(1, routes.hop_classes)
    # Under progressive UGAL a packet may make a local hop before its detour begins.
    first = int(isinstance(routing, Ugal) and routing.progressive and machine.group is not None)
    return max(1, _longest_route(machine) * (1 if routing.minimal else 2) + first)


def virtual_channels(point: Point, machine: Machine) -> int:
    """Return the number of channels of a port: that of the study, or a default.

    The default is one a class where an input has virtual output queues, and the least multiple of the classes from 8 on
    where each channel is a queue with a buffer of its own.

    Raises `Unsupported` if packets may wait in a circle.
    """
    check_listed_channels(point.routing, machine)
    classes, stated = channel_classes(point.routing, machine), point.network.virtual_channels
    check_stated_channels(point, classes)
    if stated is not None:
        return int(stated)
    return classes if point.network.buffer_per == "port" else classes * ceil(DEFAULT_CHANNELS / classes)


def check_listed_channels(routing: Routing, machine: Machine) -> None:
    """Raise `Unsupported` if the channels that an extension's routes state allow deadlock."""
    routes = listed(routing, machine)
    if isinstance(routes, HopList) and routes.channel is not None and not deadlock_free(machine, routing):
        raise Unsupported(
            f"packets may wait in a circle on the virtual channels that {routing.kind} routing states; leave the "
            "channel of its next hops out, so that hop k uses channel k"
        )


def check_stated_channels(point: Point, least: int) -> None:
    """Raise `Unsupported` if the study has fewer channels than deadlock freedom needs."""
    stated = point.network.virtual_channels
    if stated is not None and stated < least:
        raise Unsupported(
            f"network.virtual_channels is {stated}, and {point.routing.kind} routing on this machine needs {least} "
            f"against deadlock; choose at least {least}, or leave it out"
        )


_longest_route = lru_cache(maxsize=64)(longest_route)
