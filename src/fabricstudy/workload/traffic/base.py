"""The base class of traffics, and their destinations."""

from typing import ClassVar, NamedTuple

import numpy as np

from fabricstudy.core.arrays import Floats, Ints
from fabricstudy.core.kinds import Kind
from fabricstudy.core.model import ConfigError
from fabricstudy.machine.base import Topology
from fabricstudy.machine.graph import Machine


class Destinations(NamedTuple):
    """Destinations of offered messages, sorted by node: of its load, a node sends a share to a range of nodes.

    A message goes to a node drawn uniformly from `first` to `last`, the sender left out. The shares of a node sum to at
    most 1. int64 [rows] each, shares float64 [rows].
    """

    node: Ints
    share: Floats
    first: Ints
    last: Ints

    @property
    def is_single(self) -> bool:
        """Return whether each node has one destination at most."""
        return bool(np.all(self.first == self.last)) and len(np.unique(self.node)) == len(self.node)


def one_each(destination: Ints) -> Destinations:
    """Return the destinations of a permutation; a node that is mapped to itself sends nothing.

    Examples
    --------
    >>> one_each(np.array([1, 0, 2])).node.tolist()
    [0, 1]
    """
    node = np.flatnonzero(destination != np.arange(len(destination)))
    return Destinations(node, np.ones(len(node)), destination[node], destination[node])


def ranges(first: Ints, last: Ints) -> Destinations:
    """Return one range for each node; ranges of only the sender are left out."""
    node = np.flatnonzero((first != last) | (first != np.arange(len(first))))
    return Destinations(node, np.ones(len(node)), first[node], last[node])


def in_node_order(node: Ints, share: Floats, first: Ints, last: Ints) -> Destinations:
    """Return destinations from rows in any order, of which those of a node keep theirs."""
    order = np.argsort(node, kind="stable")
    return Destinations(node[order], share[order], first[order], last[order])


class Traffic(Kind, family="traffic"):
    """The destinations of offered traffic."""

    needs: ClassVar[str | None] = None
    """The trait that a machine must have."""

    def check_on(self, machine: Topology) -> None:
        """Refuse machines without the trait, or without this traffic. Raises ConfigError with the path below it."""
        if self.needs is not None and self.needs not in machine.traits:
            problem = f"this traffic needs {self.needs}, and a machine of kind {machine.kind} has none"
            raise ConfigError(problem, "use another traffic, such as uniform", ("kind",), self.kind, "unsupported")
        self.check_machine(machine)

    def check_machine(self, machine: Topology) -> None:
        """Refuse machines without this traffic. Raises ConfigError with the path below the traffic."""

    def destinations(self, machine: Machine, rng: np.random.Generator) -> Destinations:
        """Return the destinations of each node."""
        raise NotImplementedError
