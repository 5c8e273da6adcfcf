"""Translation of a machine and a routing to routers, ports and cables of Merlin.

In: a `Machine` with its config, and the routing. Out: a `Wiring`. Machines and routings that SST has use its native
elements; others use anytopo, with routes computed here.
"""

from functools import lru_cache

from fabricstudy.machine.base import Topology
from fabricstudy.machine.fat_tree import FatTreeConfig
from fabricstudy.machine.graph import Machine
from fabricstudy.machine.grid import GridConfig
from fabricstudy.routing.adaptive import Adaptive
from fabricstudy.routing.base import Routing
from fabricstudy.routing.d_mod_k import DModK
from fabricstudy.routing.dimension_order import DimensionOrder
from fabricstudy.routing.table import Table

from ...detours import check_via, via
from ...failures import Unsupported
from ...point import Point
from ..wiring import graph, native
from .base import Wiring, is_built_by

BUNDLED: tuple[type[Routing], ...] = (*graph.AT_SOURCE, Adaptive, DModK, Table)
"""Routings whose messages of refusal name what Merlin has instead."""


def wire(point: Point, machine: Machine) -> Wiring:
    """Wire the machine of a point; raise `Unsupported` if SST cannot simulate it."""
    return _wired(machine, point.machine, point.routing)


@lru_cache(maxsize=2)
def _wired(machine: Machine, config: Topology, routing: Routing) -> Wiring:
    own = type(routing) not in BUNDLED
    # Detours of Merlin's dragonfly lead through groups.
    if not own and via(routing) != "router" and (groups := native.as_dragonfly(config)) is not None:
        return native.wire_dragonfly(groups, routing, machine)
    if len({link.bandwidth_Bps for link in machine.classes}) > 1:
        bandwidths = ", ".join(f"{link.name} {link.bandwidth_Bps / 1e9:g} GB/s" for link in machine.classes)
        raise Unsupported(f"SST has one bandwidth for all links of {machine.kind} machines, not {bandwidths}")
    if own:
        return graph.wire(routing, machine)
    if is_built_by(config, FatTreeConfig):
        return native.wire_fat_tree(config, routing, machine)
    if is_built_by(config, GridConfig):
        if isinstance(routing, DimensionOrder) and native.is_mesh(machine):
            return native.wire_rings_or_lines("merlin.mesh", machine)
        if native.is_torus(machine) and native.breaks_ties_alike(routing, machine):
            return native.wire_rings_or_lines("merlin.torus", machine)
        if type(routing) in native.HYPERX_ROUTINGS and native.is_hyperx(machine):
            check_via(routing, "router", "on SST's HyperX")
            return native.wire_hyperx(routing, machine)
    return graph.wire(routing, machine)
