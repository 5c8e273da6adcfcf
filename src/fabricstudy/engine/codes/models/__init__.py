"""The topologies that CODES has, each one module: `network(point, machine) -> Network`, or `Unsupported`."""

from __future__ import annotations

from collections.abc import Callable

from fabricstudy.machine.graph import Machine

from ...contract import Unsupported
from ...point import Point
from ..models import dragonfly, express_mesh, fat_tree, slim_fly, torus
from ..network import Network

# One line a topology of ours.
MODELS: dict[str, Callable[[Point, Machine], Network]] = {
    "dragonfly": dragonfly.network,
    "torus": torus.network,
    "bluegene-q": torus.network,
    "bluegene-p": torus.network,
    "mesh": express_mesh.network,
    "hypercube": express_mesh.network,
    "hyperx": express_mesh.network,
    "express-mesh": express_mesh.network,
    "fat-tree": fat_tree.network,
    "slim-fly": slim_fly.network,
}


def network_of(point: Point, machine: Machine) -> Network:
    """Translate the machine and routing of a point.

    Raises
    ------
    Unsupported
        If CODES has no model of it, or the model lacks something.
    """
    model = MODELS.get(point.machine.kind)
    if model is None:
        raise Unsupported(f"CODES has no model of the topology {point.machine.kind}; take another engine")
    return model(point, machine)
