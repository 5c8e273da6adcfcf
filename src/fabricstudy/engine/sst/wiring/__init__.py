"""From a machine and a routing to routers, ports and cables of Merlin: natively where SST does what the study asks.

In: a `Machine` with its config, and the routing. Out: a `Wiring`. Machines and routings that SST has of its own go to
its own elements; any other goes through anytopo, with our routes. `Unsupported` says what cannot be had.
"""

from functools import lru_cache

from fabricstudy.machine.base import Topology
from fabricstudy.machine.dragonfly import DragonflyConfig
from fabricstudy.machine.fat_tree import FatTreeConfig
from fabricstudy.machine.graph import Machine
from fabricstudy.machine.grid import GridConfig
from fabricstudy.routing.base import Routing
from fabricstudy.routing.dimension_order import DimensionOrder

from ...contract import Unsupported
from ...detours import check_via, via
from ...point import Point
from ..wiring import dragonfly, fat_tree, graph, grid
from .base import Wiring, cable_ends, link_of_cable

__all__ = ["Unsupported", "Wiring", "cable_ends", "link_of_cable", "wire"]


def wire(point: Point, machine: Machine) -> Wiring:
    """Wire the machine of a point.

    Raises
    ------
    Unsupported
        If SST cannot have it.
    """
    return _wired(machine, point.machine, point.routing)


@lru_cache(maxsize=2)
def _wired(machine: Machine, config: Topology, routing: Routing) -> Wiring:
    # Merlin's own dragonfly goes through groups; other routers are reached by routes of ours.
    if _is_built_by(config, DragonflyConfig) and via(routing) != "router":
        return dragonfly.wire(config, routing, machine)
    if _is_built_by(config, FatTreeConfig):
        return _with_one_bandwidth(fat_tree.wire(config, routing, machine), machine)
    if _is_built_by(config, GridConfig):
        if isinstance(routing, DimensionOrder) and grid.is_mesh(machine):
            return _with_one_bandwidth(grid.wire_mesh(config, routing, machine), machine)
        if grid.is_torus(machine) and grid.breaks_ties_alike(routing, machine):
            return _with_one_bandwidth(grid.wire_torus(config, routing, machine), machine)
        if type(routing) in grid.HYPERX_ALGORITHMS and grid.is_hyperx(machine):
            check_via(routing, "router", "on SST's HyperX")
            return _with_one_bandwidth(grid.wire_hyperx(config, routing, machine), machine)
    return graph.wire(config, routing, machine)


def _is_built_by(config: Topology, family: type[Topology]) -> bool:
    """Return whether a machine's cables are those of `family`; a topology derived from it may have others."""
    return isinstance(config, family) and type(config).build is family.build


def _with_one_bandwidth(wiring: Wiring, machine: Machine) -> Wiring:
    """Refuse what only Merlin's dragonfly has: a bandwidth for each kind of links."""
    if len({link.bandwidth_Bps for link in machine.classes}) > 1:
        told = ", ".join(f"{link.name} {link.bandwidth_Bps / 1e9:g} GB/s" for link in machine.classes)
        raise Unsupported(f"SST has one bandwidth for all links of a {machine.kind}, not {told}")
    return wiring
