"""Bit-reverse traffic."""

import numpy as np

from fabricstudy.machine.base import Topology
from fabricstudy.machine.graph import Machine

from .base import Destinations, Traffic, check_power_of_two, one_each


class BitReverse(Traffic, kind="bit-reverse"):
    """Each of 2^n nodes sends to the node whose number has its bits in reverse order; palindromes are idle."""

    def check_machine(self, machine: Topology) -> None:
        check_power_of_two(self.kind, machine.nodes)

    def destinations(self, machine: Machine, rng: np.random.Generator) -> Destinations:
        bits = machine.nodes.bit_length() - 1
        node = np.arange(machine.nodes)
        return one_each(sum(((node >> bit & 1) << (bits - 1 - bit) for bit in range(bits)), start=0 * node))
