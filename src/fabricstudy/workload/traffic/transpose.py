"""Transpose traffic."""

from math import isqrt

import numpy as np

from fabricstudy.core.model import ConfigError
from fabricstudy.machine.base import Topology
from fabricstudy.machine.graph import Machine

from .base import Destinations, Traffic, one_each


class Transpose(Traffic, kind="transpose"):
    """Node r s + c of s^2 nodes sends to node c s + r, as a matrix is transposed; those of the diagonal are idle."""

    def check_machine(self, machine: Topology) -> None:
        if isqrt(machine.nodes) ** 2 != machine.nodes:
            problem = f"transpose needs a square number of nodes, and the machine has {machine.nodes}"
            raise ConfigError(problem, "use another machine or traffic", ("kind",), self.kind, "does-not-fit")

    def destinations(self, machine: Machine, rng: np.random.Generator) -> Destinations:
        side = isqrt(machine.nodes)
        return one_each(np.arange(machine.nodes).reshape(side, side).T.reshape(-1))
