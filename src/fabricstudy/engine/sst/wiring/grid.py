"""Torus, mesh and HyperX, natively: dimension order, and what else HyperX has.

Merlin's torus and mesh have two ports a dimension, up then down, and then those of the nodes; HyperX has one for each
other coordinate of a dimension. Their routers are numbered as ours, with the first dimension fastest.
"""

import numpy as np
import numpy.typing as npt

from fabricstudy.machine.base import Topology
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.adaptive import Adaptive
from fabricstudy.routing.base import Routing
from fabricstudy.routing.dimension_order import DimensionOrder
from fabricstudy.routing.valiant import Valiant

from .base import Ints, Wiring, cable_ends, nodes_on_each_router

HYPERX_ALGORITHMS: dict[type[Routing], str] = {DimensionOrder: "DOR", Valiant: "valiant", Adaptive: "MIN-A"}
"""Merlin's names of our routings."""


def is_torus(machine: Machine) -> bool:
    """Return whether Merlin's torus is this machine: a ring along each dimension, one cable where others have two."""
    return (
        bool(machine.dimensions)
        and all(dimension.wrap and dimension.gap is None for dimension in machine.dimensions)
        and bool(np.all(machine.cable_count == 1))
    )


def is_mesh(machine: Machine) -> bool:
    """Return whether Merlin's mesh is this machine: a line along each dimension."""
    return bool(machine.dimensions) and not any(
        dimension.wrap or dimension.gap is not None for dimension in machine.dimensions
    )


def is_hyperx(machine: Machine) -> bool:
    """Return whether Merlin's HyperX is this machine: all routers along a line are joined."""
    return bool(machine.dimensions) and all(dimension.gap == 1 for dimension in machine.dimensions)


def breaks_ties_alike(routing: Routing, machine: Machine) -> bool:
    """Return whether half-way round a ring the study wants what Merlin's torus does: always up."""
    ties = any(dimension.length % 2 == 0 and dimension.length > 2 for dimension in machine.dimensions)
    return isinstance(routing, DimensionOrder) and (not ties or routing.tie == "positive")


def wire_torus(config: Topology, routing: Routing, machine: Machine) -> Wiring:
    """Wire a torus."""
    return _wire_rings_or_lines("merlin.torus", machine, virtual_networks=1)


def wire_mesh(config: Topology, routing: Routing, machine: Machine) -> Wiring:
    """Wire a mesh; its element changes to a channel that only a second virtual network provides."""
    return _wire_rings_or_lines("merlin.mesh", machine, virtual_networks=2)


def _wire_rings_or_lines(component: str, machine: Machine, virtual_networks: int) -> Wiring:
    nodes = nodes_on_each_router(machine)
    along, low, high = _along(machine)
    length = np.array([dimension.length for dimension in machine.dimensions])[along]
    wraps = (high - low == length - 1) & (length > 2) & np.array([d.wrap for d in machine.dimensions])[along]
    # In a ring of two routers both go up, and meet each other's port.
    pair = np.array([dimension.wrap and dimension.length == 2 for dimension in machine.dimensions])[along]
    up, down = 2 * along, 2 * along + 1
    first = 2 * len(machine.dimensions)
    return Wiring(
        component=component,
        parameters=_shape(machine, nodes),
        ports=np.full(machine.routers, first + nodes),
        cable_ports=np.stack([np.where(wraps, down, up), np.where(wraps | pair, up, down)], axis=1),
        host_ports=first + np.arange(machine.nodes) % nodes,
        virtual_networks=virtual_networks,
    )


def wire_hyperx(config: Topology, routing: Routing, machine: Machine) -> Wiring:
    """Wire a HyperX."""
    nodes = nodes_on_each_router(machine)
    along, low, high = _along(machine)
    others = np.array([dimension.length - 1 for dimension in machine.dimensions])
    start = (np.cumsum(others) - others)[along]
    first = int(others.sum())
    return Wiring(
        component="merlin.hyperx",
        parameters=_shape(machine, nodes) | {"algorithm": HYPERX_ALGORITHMS[type(routing)]},
        ports=np.full(machine.routers, first + nodes),
        cable_ports=np.stack([start + high - 1, start + low], axis=1),
        host_ports=first + np.arange(machine.nodes) % nodes,
    )


def _shape(machine: Machine, nodes: int) -> dict[str, str | int]:
    lengths = [str(dimension.length) for dimension in machine.dimensions]
    return {"shape": "x".join(lengths), "width": "x".join("1" for _ in lengths), "local_ports": nodes}


def _along(machine: Machine) -> tuple[Ints, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Dimension of each cable, and the coordinates of its tail and head there; the tail's is the lower one."""
    assert machine.coordinates is not None
    tail, head = cable_ends(machine)
    along = machine.cable_class.astype(np.int64)
    cable = np.arange(len(tail))
    coordinates = machine.coordinates.astype(np.int64)
    return along, coordinates[tail][cable, along], coordinates[head][cable, along]
