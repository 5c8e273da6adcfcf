"""The nodes that the study lists."""

from __future__ import annotations

import numpy as np

from fabricstudy.machine import Machine
from fabricstudy.study import ExplicitNodes
from fabricstudy.workload.placed import Indices, Mask, WorkloadError


def allocate(config: ExplicitNodes, machine: Machine, free: Mask, wanted: int, rng: np.random.Generator) -> Indices:
    """Take the nodes listed, in that order.

    Raises
    ------
    WorkloadError
        If the machine has no such node, or an earlier job holds it.
    """
    nodes = np.array(config.nodes, dtype=np.int64)
    if nodes.max() >= machine.nodes:
        raise WorkloadError(f"there is no node {nodes.max()}; the machine's last node is {machine.nodes - 1}")
    taken = nodes[~free[nodes]]
    if len(taken):
        raise WorkloadError(f"node {taken[0]} belongs to an earlier job; list free nodes")
    return nodes
