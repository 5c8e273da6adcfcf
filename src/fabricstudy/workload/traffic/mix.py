"""A mix of traffics."""

import numpy as np
from pydantic import Field

from fabricstudy.core.model import Model, Number, at_path
from fabricstudy.machine.base import Topology
from fabricstudy.machine.graph import Machine

from .base import Destinations, Traffic, in_node_order


class MixPart(Model):
    """One traffic of a mix."""

    weight: Number = Field(gt=0, le=1e9, description="its share of the messages, relative to the other weights")
    traffic: Traffic = Field(description="destinations of these messages")


class TrafficMix(Traffic, kind="mix"):
    """Each message belongs to one of several traffics, drawn by their weights."""

    of: tuple[MixPart, ...] = Field(min_length=1, max_length=100, description="kinds of traffic, each with its weight")

    def check_machine(self, machine: Topology) -> None:
        for number, part in enumerate(self.of):
            with at_path("of", str(number), "traffic"):
                part.traffic.check_on(machine)

    def destinations(self, machine: Machine, rng: np.random.Generator) -> Destinations:
        total = sum(part.weight for part in self.of)
        parts = [(part.weight / total, part.traffic.destinations(machine, rng)) for part in self.of]
        node, share, first, last = (
            np.concatenate([getattr(rows, name) * (weight if name == "share" else 1) for weight, rows in parts])
            for name in Destinations._fields
        )
        return in_node_order(node, share, first, last)
