"""Permutation traffic."""

import numpy as np

from fabricstudy.core.model import ConfigError
from fabricstudy.machine.base import Topology
from fabricstudy.machine.graph import Machine

from .base import Destinations, Traffic, one_each


class PermutationTraffic(Traffic, kind="permutation"):
    """Each node sends to one other, by a permutation without fixed points drawn with the seed of the point."""

    def check_machine(self, machine: Topology) -> None:
        if machine.nodes < 2:
            raise ConfigError("the machine has one node", "use a larger one", ("kind",), self.kind, "does-not-fit")

    def destinations(self, machine: Machine, rng: np.random.Generator) -> Destinations:
        while True:  # a share of 1/e of all permutations has no fixed point
            destination = rng.permutation(machine.nodes)
            if not np.any(destination == np.arange(machine.nodes)):
                return one_each(destination)
