"""Shift traffic."""

import numpy as np
from pydantic import Field

from fabricstudy.core.model import ConfigError, Whole
from fabricstudy.machine.base import Topology
from fabricstudy.machine.graph import Machine

from .base import Destinations, Traffic, one_each


class Shift(Traffic, kind="shift"):
    """Node i sends to node i + `nodes`, modulo the nodes of the machine."""

    nodes: Whole = Field(1, ge=1, description="difference of the node numbers")

    def check_machine(self, machine: Topology) -> None:
        if self.nodes % machine.nodes == 0:
            problem = f"on {machine.nodes} nodes each node would send to itself"
            raise ConfigError(problem, "use another shift", ("nodes",), self.nodes, "does-not-fit")

    def destinations(self, machine: Machine, rng: np.random.Generator) -> Destinations:
        return one_each((np.arange(machine.nodes) + self.nodes) % machine.nodes)
