"""Tornado traffic."""

import numpy as np
from pydantic import Field

from fabricstudy.core.model import ConfigError, Whole
from fabricstudy.machine.base import Topology
from fabricstudy.machine.graph import Machine

from ..messages import WorkloadError
from ..shapes import index_within
from .base import Destinations, Traffic, one_each


class Tornado(Traffic, kind="tornado"):
    """Each node sends ceil(k / 2) - 1 steps up each dimension of length k, almost half-way round a ring.

    Dimension order on rings of k then carries a load of 1 / (ceil(k / 2) - 1) at most, in one direction only (Dally and
    Towles: Principles and Practices of Interconnection Networks, 2004, section 3.2).
    """

    needs = "dimensions"
    dimensions: Whole | None = Field(None, ge=1, description="number of dimensions, the first ones; default: all")

    def check_machine(self, machine: Topology) -> None:
        grid = getattr(machine, "grid", ())
        if self.dimensions is not None and self.dimensions > len(grid):
            problem = f"the machine has {len(grid)} dimensions"
            raise ConfigError(problem, "use at most these", ("dimensions",), self.dimensions, "does-not-fit")
        if all(dimension.length < 3 for dimension in grid[: self.dimensions]):
            problem = "no dimension is longer than 2, so that each node would send to itself"
            raise ConfigError(problem, "use a larger grid", ("kind",), self.kind, "does-not-fit")

    def destinations(self, machine: Machine, rng: np.random.Generator) -> Destinations:
        assert machine.coordinates is not None
        goal, stride = np.zeros(machine.routers, dtype=np.int64), 1
        for number, dimension in enumerate(machine.dimensions):
            moves = self.dimensions is None or number < self.dimensions
            step = -(-dimension.length // 2) - 1 if moves else 0
            goal += stride * ((machine.coordinates[:, number] + step) % dimension.length)
            stride *= dimension.length
        return one_each(to_routers(machine, goal))


def to_routers(machine: Machine, goal: np.ndarray) -> np.ndarray:
    """Return the destination of each node, for the destination of each router; nodes keep their position on a router.

    Raises WorkloadError if a router has fewer nodes than one that sends to it.
    """
    order = np.argsort(machine.node_router, kind="stable")
    first = np.searchsorted(machine.node_router[order], np.arange(machine.routers))
    position = index_within(machine.node_router)
    if np.any(position >= machine.nodes_of_router[goal[machine.node_router]]):
        raise WorkloadError("the routers of the grid have different numbers of nodes")
    destination: np.ndarray = order[first[goal[machine.node_router]] + position]
    return destination
