"""Reasons why times of an engine differ from those of others; each engine's package lists its own."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from fabricstudy.routing.dimension_order import DimensionOrder
from fabricstudy.routing.ugal import Ugal

from .point import Point


@dataclass(frozen=True)
class Caveat:
    """A known reason why an engine's times differ from those of others, and the points to which it applies."""

    text: str
    applies_to: Callable[[Point], bool] = lambda point: True
    other_paths: bool = False
    """Whether packets may follow paths that the routing does not have; then lower bounds hold for any path."""


def takes_other_paths(caveats: Iterable[Caveat], point: Point) -> bool:
    """Return whether an engine with these caveats may lead packets along paths that the routing does not have."""
    return any(caveat.other_paths and caveat.applies_to(point) for caveat in caveats)


def has_jobs(point: Point) -> bool:
    """Points with jobs, instead of offered traffic."""
    return point.offered is None


def has_offered_traffic(point: Point) -> bool:
    """Points with offered traffic."""
    return point.offered is not None


def has_parallel_global_links(point: Point) -> bool:
    """Return whether the machine is a dragonfly or PERCS with several cables between two groups."""
    from fabricstudy.machine.dragonfly import DragonflyConfig  # a point of another machine needs neither
    from fabricstudy.machine.percs import PercsConfig

    machine = point.machine
    if isinstance(machine, PercsConfig):
        return machine.links_per_supernode_pair > 1
    return isinstance(machine, DragonflyConfig) and machine.links_per_group_pair > 1


def uses_ugal(point: Point) -> bool:
    """Return whether packets choose between a minimal path and a detour."""
    return isinstance(point.routing, Ugal)


def has_ring_ties(point: Point) -> bool:
    """Return whether some destinations are half-way round a ring, and both ways are used."""
    routing, machine = point.routing, point.machine
    if not isinstance(routing, DimensionOrder) or routing.tie != "split":
        return False
    from fabricstudy.machine.grid import GridConfig

    if not isinstance(machine, GridConfig):
        return False
    return any(dimension.is_closed and dimension.length % 2 == 0 for dimension in machine.grid)
