"""Hot-spot traffic."""

import numpy as np
from pydantic import Field

from fabricstudy.core.model import ConfigError, Number, Whole
from fabricstudy.machine.base import Topology
from fabricstudy.machine.graph import Machine

from .base import Destinations, Traffic, in_node_order


class HotSpot(Traffic, kind="hot-spot"):
    """A share of all messages goes to a few nodes, the rest is uniform.

    The link of a hot node carries a load of 1 / (N share) at most, to first order (Pfister and Norton: Hot spot
    contention and combining in multistage interconnection networks, IEEE Trans. Computers 34(10), 1985).
    """

    share: Number = Field(gt=0, le=1, description="share of the messages that go to the hot nodes, such as 0.05")
    nodes: tuple[Whole, ...] = Field((0,), min_length=1, max_length=1000, description="the hot nodes")

    def check_machine(self, machine: Topology) -> None:
        for number, node in enumerate(self.nodes):
            if not 0 <= node < machine.nodes or node in self.nodes[:number]:
                problem = "no such node, or one that is listed twice"
                remedy = f"use distinct nodes from 0 to {machine.nodes - 1}"
                raise ConfigError(problem, remedy, ("nodes", str(number)), node, "out-of-range")

    def destinations(self, machine: Machine, rng: np.random.Generator) -> Destinations:
        node, hot = np.arange(machine.nodes), np.array(self.nodes)
        sender, goal = np.repeat(node, len(hot)), np.tile(hot, len(node))
        apart = sender != goal
        sender, goal = sender[apart], goal[apart]
        share = self.share / np.bincount(sender, minlength=len(node))[sender]
        rest = np.full(len(node), 1.0) - np.bincount(sender, weights=share, minlength=len(node))
        rows = (sender, share, goal, goal), (node, rest, np.zeros_like(node), np.full_like(node, len(node) - 1))
        node, share, first, last = (np.concatenate(column) for column in zip(*rows, strict=True))
        some = share > 0
        return in_node_order(node[some], share[some], first[some], last[some])
