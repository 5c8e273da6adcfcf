"""Shuffle traffic."""

import numpy as np

from fabricstudy.machine.base import Topology
from fabricstudy.machine.graph import Machine

from .base import Destinations, Traffic, check_power_of_two, one_each


class Shuffle(Traffic, kind="shuffle"):
    """Each of 2^n nodes sends to the node whose number has its bits rotated by one to the left; the ends are idle."""

    def check_machine(self, machine: Topology) -> None:
        check_power_of_two(self.kind, machine.nodes)

    def destinations(self, machine: Machine, rng: np.random.Generator) -> Destinations:
        node = np.arange(machine.nodes)
        return one_each(2 * node % machine.nodes + 2 * node // machine.nodes)
