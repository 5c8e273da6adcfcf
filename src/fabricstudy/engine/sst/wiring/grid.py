"""Native torus, mesh and HyperX.

Merlin's torus and mesh have two ports per dimension, up then down, and then those of the nodes; HyperX has one for each
other coordinate of a dimension. Routers have the numbers of the machine, with the first dimension fastest.
"""

import numpy as np

from fabricstudy.core.arrays import Ints
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.adaptive import Adaptive
from fabricstudy.routing.base import Routing
from fabricstudy.routing.dimension_order import DimensionOrder
from fabricstudy.routing.valiant import Valiant

from .base import Wiring, cable_ends, nodes_on_each_router

HYPERX_ALGORITHMS: dict[type[Routing], str] = {DimensionOrder: "DOR", Valiant: "valiant", Adaptive: "MIN-A"}
"""Merlin's names of routings."""


def is_torus(machine: Machine) -> bool:
    """Return whether the machine is a torus of Merlin: a ring in each dimension, without parallel cables."""
    return (
        bool(machine.dimensions)
        and all(dimension.wrap and dimension.gap is None for dimension in machine.dimensions)
        and bool(np.all(machine.cable_count == 1))
    )


def is_mesh(machine: Machine) -> bool:
    """Return whether the machine is a mesh of Merlin: a line in each dimension."""
    return bool(machine.dimensions) and not any(
        dimension.wrap or dimension.gap is not None for dimension in machine.dimensions
    )


def is_hyperx(machine: Machine) -> bool:
    """Return whether the machine is a HyperX of Merlin: all routers along a line are connected."""
    return bool(machine.dimensions) and all(dimension.gap == 1 for dimension in machine.dimensions)


def breaks_ties_alike(routing: Routing, machine: Machine) -> bool:
    """Return whether the routing breaks ties half-way round a ring as Merlin's torus does: always up."""
    ties = any(dimension.length % 2 == 0 and dimension.length > 2 for dimension in machine.dimensions)
    return isinstance(routing, DimensionOrder) and (not ties or routing.tie == "positive")


def wire_rings_or_lines(component: str, machine: Machine) -> Wiring:
    """Wire a torus or a mesh."""
    nodes = nodes_on_each_router(machine)
    along, low, high = _along(machine)
    length, ring = np.array([(dimension.length, dimension.wrap) for dimension in machine.dimensions])[along].T
    wraps = (high - low == length - 1) & (length > 2) & (ring == 1)
    # In a ring of two routers both ends of a cable are ports up.
    pair = (length == 2) & (ring == 1)
    up, down = 2 * along, 2 * along + 1
    first = 2 * len(machine.dimensions)
    return Wiring(
        component=component,
        parameters=_shape(machine, nodes),
        ports=np.full(machine.routers, first + nodes),
        cable_ports=np.stack([np.where(wraps, down, up), np.where(wraps | pair, up, down)], axis=1),
        host_ports=first + np.arange(machine.nodes) % nodes,
        # Merlin's mesh uses a channel of a second virtual network.
        virtual_networks=2 if component == "merlin.mesh" else 1,
    )


def wire_hyperx(routing: Routing, machine: Machine) -> Wiring:
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


def _along(machine: Machine) -> tuple[Ints, Ints, Ints]:
    """Return the dimension of each cable, and the coordinates of its tail (the lower one) and head there."""
    assert machine.coordinates is not None
    tail, head = cable_ends(machine)
    along = machine.cable_class.astype(np.int64)
    cable = np.arange(len(tail))
    coordinates = machine.coordinates.astype(np.int64)
    return along, coordinates[tail][cable, along], coordinates[head][cable, along]
