"""Complement traffic."""

import numpy as np

from fabricstudy.machine.graph import Machine

from .base import Destinations, Traffic, one_each


class Complement(Traffic, kind="complement"):
    """Node i of N sends to node N - 1 - i: the complement of all bits, or of all coordinates of a grid."""

    def destinations(self, machine: Machine, rng: np.random.Generator) -> Destinations:
        return one_each(np.arange(machine.nodes)[::-1])
