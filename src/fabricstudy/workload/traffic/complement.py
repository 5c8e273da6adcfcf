"""Complement traffic."""

from typing import Literal

import numpy as np

from fabricstudy.core.kinds import register
from fabricstudy.machine.graph import Machine

from .base import Destinations, Traffic, one_each


@register
class Complement(Traffic):
    """Node i of N sends to node N - 1 - i: the complement of all bits, or of all coordinates of a grid."""

    kind: Literal["complement"] = "complement"

    def destinations(self, machine: Machine, rng: np.random.Generator) -> Destinations:
        return one_each(np.arange(machine.nodes)[::-1])
