"""Virtual channels of the bundled programs: classes against deadlock, and the number of channels.

Deadlock is impossible if the channel dependency graph has no cycle (Dally and Seitz: IEEE Trans. Computers
C-36(5), 1987, doi:10.1109/TC.1987.1676939). `ChannelScheme` says how each routing avoids them. Several channels of a
class let packets pass others that wait.
"""

from functools import lru_cache
from math import ceil

from fabricstudy.machine.distances import longest_route
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.adaptive import Adaptive
from fabricstudy.routing.base import ChannelScheme, MemorylessRoutes, NonMinimalRouting, Routing, cached_routes
from fabricstudy.routing.dimension_order import DimensionOrder
from fabricstudy.routing.global_hops import AdaptiveByGlobalHops, MinimalByGlobalHops, detour_classes
from fabricstudy.routing.listed import HopList
from fabricstudy.routing.minimal import Minimal
from fabricstudy.routing.ugal import Ugal
from fabricstudy.routing.valiant import Valiant
from fabricstudy.structure.deadlock import detours_are_deadlock_free

from .failures import Unsupported
from .listed_routes import deadlock_free, listed
from .point import Point
from .settings import StudyScheme

DEFAULT_CHANNELS = 8
"""Least number of channels if each channel has its own buffer and the study sets none."""

MAX_PROVEN_ROUTERS = 600
"""Largest machine, in routers, for which an error message names schemes that need fewer channels."""


def channel_scheme(routing: Routing, machine: Machine, stated: StudyScheme | None = None) -> ChannelScheme:
    """Return how packets use virtual channels: by the scheme that a study states, or as the routing does."""
    if stated is not None and (stated != "global-hops" or _with_detours(routing)):
        return stated
    routes = listed(routing, machine)
    if routes is None:
        return routing.channel_scheme(machine)
    if not isinstance(routes, HopList) or routes.channel is None:
        return "hops"
    return "one" if routes.hop_classes == 1 else "listed"


def channel_classes(routing: Routing, machine: Machine, stated: StudyScheme | None = None) -> int:
    """Return the number of classes of channels that deadlock freedom needs."""
    match channel_scheme(routing, machine, stated):
        case "one":
            return 1
        case "dateline" | "escape":
            return 2
        case "global-hops":
            detours = _with_detours(routing)
            assert detours is not None
            return detour_classes(detours)
    return classes_of_hops(routing, machine)


def with_scheme(point: Point, machine: Machine) -> Point:
    """Return the point with a routing that has the channels of its scheme; raise `Unsupported` if there are none."""
    routing, stated = point.routing, point.network.channel_scheme
    refusal = None if stated is None else _REFUSALS[stated](routing, machine)
    if refusal:
        raise Unsupported(
            f"network.channel_scheme is {stated}, and with {routing.kind} routing on this machine {refusal}; choose "
            "another scheme, or leave it out"
        )
    if stated == "global-hops" and type(point.routing) in _BY_GLOBAL_HOPS:
        point = point.model_copy(update={"routing": _BY_GLOBAL_HOPS[type(routing)]()})
    return point


def _with_detours(routing: Routing) -> NonMinimalRouting | None:
    """Return a routing whose classes by global hops the program knows; one derived from it is another."""
    return routing if isinstance(routing, Valiant | Ugal) and type(routing) in (Valiant, Ugal) else None


def _refuse_hops(routing: Routing, machine: Machine) -> str | None:
    if isinstance(routing, DimensionOrder):
        return "channels follow from the dimension, not from the hop"
    routes = listed(routing, machine)
    return "the routes state the channels" if isinstance(routes, HopList) and routes.channel is not None else None


def _refuse_global_hops(routing: Routing, machine: Machine) -> str | None:
    detours = _with_detours(routing)
    if machine.group is None or not (detours or (type(routing) in _BY_GLOBAL_HOPS and not machine.dimensions)):
        return "there is no last group: minimal, adaptive, valiant and ugal routing on machines with groups have one"
    if detours:
        return None if _detours_free(machine, detours) else CYCLE
    return None if deadlock_free(machine, _BY_GLOBAL_HOPS[type(routing)]()) else CYCLE


def _refuse_dateline(routing: Routing, machine: Machine) -> str | None:
    return None if channel_scheme(routing, machine) == "dateline" else "there is no dateline"


def _refuse_one(routing: Routing, machine: Machine) -> str | None:
    if not isinstance(cached_routes(machine, routing), MemorylessRoutes):
        return "a single class is not known to be free of deadlock"
    return None if deadlock_free(machine, routing, one_channel=True) else CYCLE


CYCLE = "the channel dependency graph has a cycle"
_REFUSALS = {
    "hops": _refuse_hops, "global-hops": _refuse_global_hops, "dateline": _refuse_dateline, "one": _refuse_one,
}  # fmt: skip
_detours_free = lru_cache(maxsize=4)(detours_are_deadlock_free)
_BY_GLOBAL_HOPS: dict[type[Routing], type[Routing]] = {Minimal: MinimalByGlobalHops, Adaptive: AdaptiveByGlobalHops}


def classes_of_hops(routing: Routing, machine: Machine) -> int:
    """Return the number of classes where hop k uses class k, or each hop the class of its list."""
    routes = listed(routing, machine)
    return most_hops(routing, machine) if routes is None else max(1, routes.hop_classes)


def most_hops(routing: Routing, machine: Machine) -> int:
    """Return the most hops of a packet, at least 1."""
    routes = listed(routing, machine)
    if routes is not None:
        return max(1, routes.longest_route)
    # Under progressive UGAL a packet may make a local hop before its detour begins.
    first = int(isinstance(routing, Ugal) and routing.progressive and machine.group is not None)
    return max(1, _longest_route(machine) * (1 if routing.minimal else 2) + first)


def virtual_channels(point: Point, machine: Machine) -> int:
    """Return the number of channels of a port: that of the study, or a default.

    The default is one per class if inputs have virtual output queues, and the least multiple of the number of classes
    that is at least 8 if each channel is a queue with its own buffer.

    Raises `Unsupported` if a deadlock is possible.
    """
    check_listed_channels(point.routing, machine)
    scheme, stated = point.network.channel_scheme, point.network.virtual_channels
    classes = channel_classes(point.routing, machine, scheme)
    if stated is not None and stated < classes:
        check_stated_channels(point, classes, scheme or channel_scheme(point.routing, machine), _fewer(point, machine))
    if stated is not None:
        return int(stated)
    return classes if point.network.buffer_per == "port" else classes * ceil(DEFAULT_CHANNELS / classes)


def _fewer(point: Point, machine: Machine) -> str:
    """Return which schemes need fewer channels, as far as that is soon known."""
    if machine.routers > MAX_PROVEN_ROUTERS:
        return ""
    routing = point.routing
    least = channel_classes(routing, machine, point.network.channel_scheme)
    detours = _with_detours(routing)
    needs = {"one": 1, "global-hops": detour_classes(detours) if detours else 2}
    found = [
        f"network.channel_scheme: {scheme} needs {classes}"
        for scheme, classes in needs.items()
        if classes < least and not _REFUSALS[scheme](routing, machine)
    ]
    return f" ({', '.join(found)})" if found else ""


def check_listed_channels(routing: Routing, machine: Machine) -> None:
    """Raise `Unsupported` if the channels that an extension's routes state allow deadlock."""
    routes = listed(routing, machine)
    if isinstance(routes, HopList) and routes.channel is not None and not deadlock_free(machine, routing):
        raise Unsupported(
            f"a deadlock is possible on the virtual channels that {routing.kind} routing states; leave the "
            "channel of its next hops out, so that hop k uses channel k"
        )


def check_stated_channels(point: Point, least: int, scheme: str, fewer: str = "") -> None:
    """Raise `Unsupported` if the study has fewer channels than a scheme needs; `fewer` is what needs fewer."""
    stated = point.network.virtual_channels
    if stated is not None and stated < least:
        raise Unsupported(
            f"network.virtual_channels is {stated}, and {point.routing.kind} routing on this machine needs {least} "
            f"against deadlock by the scheme '{scheme}'{fewer}; choose at least {least}, or leave it out"
        )


_longest_route = lru_cache(maxsize=64)(longest_route)
