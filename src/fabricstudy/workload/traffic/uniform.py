"""Uniform traffic."""

from typing import Literal

import numpy as np

from fabricstudy.core.kinds import register
from fabricstudy.machine.graph import Machine

from .base import Destinations, Traffic, ranges


@register
class Uniform(Traffic):
    """Each message goes to a node drawn uniformly from the others."""

    kind: Literal["uniform"] = "uniform"

    def destinations(self, machine: Machine, rng: np.random.Generator) -> Destinations:
        return ranges(np.zeros(machine.nodes, dtype=np.int64), np.full(machine.nodes, machine.nodes - 1))
