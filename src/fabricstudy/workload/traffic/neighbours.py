"""Traffic between nodes of adjacent routers."""

import numpy as np

from fabricstudy.machine.graph import Machine

from ..messages import WorkloadError
from .base import Destinations, Traffic


class Neighbours(Traffic, kind="neighbours"):
    """Each message goes to a random node of a random router among those joined by a cable to the sender's router."""

    def destinations(self, machine: Machine, rng: np.random.Generator) -> Destinations:
        pairs = np.unique(np.stack([machine.link_tail, machine.link_head], axis=1), axis=0)
        pairs = pairs[np.all(machine.nodes_of_router[pairs] > 0, axis=1)].astype(np.int64)
        if not len(pairs):
            raise WorkloadError("no two routers with nodes are joined by a cable, so that no node has a neighbour")
        adjacent = np.bincount(pairs[:, 0], minlength=machine.routers)
        order = np.argsort(machine.node_router, kind="stable")
        nodes_of = np.split(order, np.cumsum(machine.nodes_of_router)[:-1])
        rows = [
            (sender, 1.0 / (adjacent[router] * len(nodes_of[peer])), goal)
            for router, peer in pairs
            for sender in nodes_of[router]
            for goal in nodes_of[peer]
        ]
        node, share, goal = (np.array(column) for column in zip(*sorted(rows), strict=True))
        return Destinations(node, share, goal, goal)
