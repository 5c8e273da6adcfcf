"""Permutations: each node sends to one node."""

from math import isqrt

import numpy as np
from pydantic import Field

from fabricstudy.core.model import ConfigError, Whole
from fabricstudy.machine.base import Topology
from fabricstudy.machine.graph import Machine

from .base import Destinations, Traffic, one_each


class _OfBits(Traffic):
    def check_machine(self, machine: Topology) -> None:
        if machine.nodes & (machine.nodes - 1):
            problem = f"{self.kind} permutes the bits of node numbers, and the machine has {machine.nodes} nodes"
            remedy = "use a machine of 2^n nodes, or another traffic"
            raise ConfigError(problem, remedy, ("kind",), self.kind, "does-not-fit")


class BitReverse(_OfBits, kind="bit-reverse"):
    """Each of 2^n nodes sends to the node whose number has its bits in reverse order; palindromes are idle."""

    def destinations(self, machine: Machine, rng: np.random.Generator) -> Destinations:
        bits = machine.nodes.bit_length() - 1
        node = np.arange(machine.nodes)
        return one_each(sum(((node >> bit & 1) << (bits - 1 - bit) for bit in range(bits)), start=0 * node))


class Complement(Traffic, kind="complement"):
    """Node i of N sends to node N - 1 - i: the complement of all bits, or of all coordinates of a grid."""

    def destinations(self, machine: Machine, rng: np.random.Generator) -> Destinations:
        return one_each(np.arange(machine.nodes)[::-1])


class Shuffle(_OfBits, kind="shuffle"):
    """Each of 2^n nodes sends to the node whose number has its bits rotated by one to the left; the ends are idle."""

    def destinations(self, machine: Machine, rng: np.random.Generator) -> Destinations:
        node = np.arange(machine.nodes)
        return one_each(2 * node % machine.nodes + 2 * node // machine.nodes)


class Transpose(Traffic, kind="transpose"):
    """Node r s + c of s^2 nodes sends to node c s + r, as a matrix is transposed; those of the diagonal are idle."""

    def check_machine(self, machine: Topology) -> None:
        if isqrt(machine.nodes) ** 2 != machine.nodes:
            problem = f"transpose needs a square number of nodes, and the machine has {machine.nodes}"
            raise ConfigError(problem, "use another machine or traffic", ("kind",), self.kind, "does-not-fit")

    def destinations(self, machine: Machine, rng: np.random.Generator) -> Destinations:
        side = isqrt(machine.nodes)
        return one_each(np.arange(machine.nodes).reshape(side, side).T.reshape(-1))


class Shift(Traffic, kind="shift"):
    """Node i sends to node i + `nodes`, modulo the nodes of the machine."""

    nodes: Whole = Field(1, ge=1, description="difference of the node numbers")

    def check_machine(self, machine: Topology) -> None:
        if self.nodes % machine.nodes == 0:
            problem = f"on {machine.nodes} nodes each node would send to itself"
            raise ConfigError(problem, "use another shift", ("nodes",), self.nodes, "does-not-fit")

    def destinations(self, machine: Machine, rng: np.random.Generator) -> Destinations:
        return one_each((np.arange(machine.nodes) + self.nodes) % machine.nodes)


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
