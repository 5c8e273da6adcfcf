"""Uniform traffic."""

import numpy as np

from fabricstudy.machine.graph import Machine

from .base import Destinations, Traffic, ranges


class Uniform(Traffic, kind="uniform"):
    """Each message goes to a node drawn uniformly from the others."""

    def destinations(self, machine: Machine, rng: np.random.Generator) -> Destinations:
        return ranges(np.zeros(machine.nodes, dtype=np.int64), np.full(machine.nodes, machine.nodes - 1))
