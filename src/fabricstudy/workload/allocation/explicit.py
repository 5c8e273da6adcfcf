"""The nodes that the study lists."""

from __future__ import annotations

import numpy as np

from fabricstudy.study import ExplicitNodes
from fabricstudy.workload.placed import WorkloadError

from .request import Grant, Request


def allocate(config: ExplicitNodes, request: Request) -> Grant:
    """Take the nodes listed, in that order.

    Raises
    ------
    WorkloadError
        If the machine has no such node, or an earlier job holds it.
    """
    nodes = np.array(config.nodes, dtype=np.int64)
    if nodes.max() >= request.machine.nodes:
        last = request.machine.nodes - 1
        raise WorkloadError(f"there is no node {nodes.max()}; the machine's last node is {last}")
    taken = nodes[~request.free[nodes]]
    if len(taken):
        raise WorkloadError(f"node {taken[0]} belongs to an earlier job; list free nodes")
    return Grant(nodes)
