"""Fat tree: leaves, aggregation and core routers of one radix.

With radix k, h = k/2 and P pods, router `pod * h + i` is leaf i of a pod, `P h + pod * h + j` its aggregation router
j, and the core routers follow: with c parallel cables, h/c of them join the aggregation routers number j of all
pods. Nodes stand in the order of the leaves, h on each.

Between leaves of a pod there are 2 hops, of different pods 4. The tree has full bisection: 1/2 of the nodes'
bandwidth where all cables have the same (Leiserson 1985); with P = k pods it is the folded Clos network of
Al-Fares et al., k^3/4 nodes on 5 k^2/4 routers.

References
----------
Leiserson: Fat-trees: universal networks for hardware-efficient supercomputing. IEEE Trans. Computers C-34, 1985.
Al-Fares, Loukissas, Vahdat: A scalable, commodity data center network architecture. SIGCOMM 2008.
"""

from __future__ import annotations

import numpy as np

from ..study.machines import FatTreeConfig
from .graph import LinkClass, Machine

POD, CORE = 0, 1


def build(config: FatTreeConfig) -> Machine:
    """Build a fat tree.

    Parameters
    ----------
    config : FatTreeConfig
        Radix, pods, bandwidth and latency per class.

    Returns
    -------
    Machine
        Classes "pod" and "core", pod rows first. `level` is 0 for leaves, 1 for aggregation, 2 for core routers;
        `group` is the pod, and one more than the last pod for core routers.

    Examples
    --------
    >>> machine = build(FatTreeConfig.model_validate({"radix": 4, "bandwidth": "1 GB/s"}))
    >>> machine.routers, machine.nodes, machine.cables, machine.radix
    (20, 16, 32, 4)
    """
    half, pods = config.half, config.pod_count
    cores_each = half // config.core_cables
    pod, lower, upper = np.indices((pods, half, half)).reshape(3, -1)
    leaves = aggregations = pods * half
    leaf, aggregation = pod * half + lower, leaves + pod * half + upper
    core_pod, below, core = np.indices((pods, half, cores_each)).reshape(3, -1)
    rows = [len(leaf), len(core)]
    members = [leaves, aggregations, config.core_routers]
    bandwidth, latency = config.bandwidth, config.latency
    return Machine(
        kind="fat-tree",
        node_router=np.repeat(np.arange(leaves, dtype=np.int32), half),
        cable_tail=np.concatenate([leaf, leaves + core_pod * half + below]).astype(np.int32),
        cable_head=np.concatenate([aggregation, leaves + aggregations + below * cores_each + core]).astype(np.int32),
        cable_class=np.repeat(np.array([POD, CORE], dtype=np.int32), rows),
        cable_count=np.repeat(np.array([1, config.core_cables], dtype=np.int32), rows),
        classes=(
            LinkClass("pod", bandwidth.pod_Bps, latency.pod_ns),
            LinkClass("core", bandwidth.core_Bps, latency.core_ns),
        ),
        host=LinkClass("host", bandwidth.host_Bps, latency.host_ns),
        routers=config.routers,
        cores_per_node=config.cores_per_node,
        group=np.repeat(np.append(np.tile(np.arange(pods), 2), pods), [half] * 2 * pods + [config.core_routers]).astype(
            np.int32
        ),
        level=np.repeat(np.arange(3, dtype=np.int32), members),
    )
