"""What a cut of a machine into halves is, and the best one that heuristics find."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fabricstudy.machine.distances import adjacency
from fabricstudy.machine.graph import Machine

from .metis import two_parts

CutSide = npt.NDArray[np.bool_]

METIS_SEEDS = 8
RANDOM_STARTS = 64
ROUTERS_FOR_RANDOM_STARTS = 500


def edge_routers_per_side(machine: Machine) -> tuple[int, int]:
    """Routers with nodes in each half, the smaller number first.

    Raises
    ------
    ValueError
        If there are fewer than two, or if they carry different numbers of nodes, so that halves are not a
        matter of counting routers.
    """
    carried = machine.nodes_of_router[machine.nodes_of_router > 0]
    if len(carried) < 2 or np.any(carried != carried[0]):
        raise ValueError("bisection needs two or more routers with nodes, all of them with equally many")
    edge_routers = len(carried)
    return edge_routers // 2, edge_routers - edge_routers // 2


def cut_capacity_Bps(machine: Machine, cut_side: CutSide) -> float:
    """Capacity from one half to the other, one direction of each cable, in bytes per second."""
    leaving = cut_side[machine.link_tail] & ~cut_side[machine.link_head]
    return float(machine.link_capacity_Bps[leaving].sum())


def capacity_step_Bps(machine: Machine) -> float:
    """Largest capacity of which every cut is a whole multiple; 0 where bandwidths are not whole bytes/s.

    Examples
    --------
    >>> from fabricstudy.machine.dragonfly import DragonflyConfig
    >>> config = DragonflyConfig.model_validate({"groups": 9, "routers_per_group": 4, "nodes_per_router": 2,
    ...     "bandwidth": {"local": "1 GB/s", "global": "2.5 GB/s", "host": "1 GB/s"}})
    >>> capacity_step_Bps(config.build())
    500000000.0
    """
    capacity = machine.link_capacity_Bps
    whole = np.rint(capacity)
    if not np.array_equal(whole, capacity) or capacity.max(initial=0.0) > 2.0**53:
        return 0.0
    return float(np.gcd.reduce(whole.astype(np.int64), initial=0))


def best_cut(machine: Machine) -> CutSide:
    """Find a cut of small capacity: METIS and other starts, each refined by Kernighan-Lin passes.

    Returns
    -------
    bool array [routers]
        One half; it holds the smaller number of routers with nodes. The same each time.

    References
    ----------
    Karypis, Kumar: A fast and high quality multilevel scheme for partitioning irregular graphs. SISC 20(1), 1998,
    doi:10.1137/S1064827595287997.
    Kernighan, Lin: An efficient heuristic procedure for partitioning graphs. Bell System Tech. J. 49(2), 1970,
    doi:10.1002/j.1538-7305.1970.tb01770.x.
    """
    from .cut_kernels import refine_cut

    links = adjacency(machine)
    capacity = machine.link_capacity_Bps[links.link]
    edge_router = machine.nodes_of_router > 0
    smaller, _ = edge_routers_per_side(machine)
    best = np.zeros(machine.routers, dtype=np.bool_)
    best_Bps = np.inf
    for start in _starts(machine):
        cut_side = start.copy()
        refine_cut(links.first, links.head, capacity, edge_router, smaller, cut_side)
        found_Bps = cut_capacity_Bps(machine, cut_side)
        if found_Bps < best_Bps:
            best, best_Bps = cut_side, found_Bps
    return best


def _starts(machine: Machine) -> list[CutSide]:
    """First cuts; the refinement mends their balance."""
    order = np.arange(machine.routers)
    starts = [order < machine.routers // 2, *(_metis(machine, seed) for seed in range(METIS_SEEDS))]
    if machine.routers <= ROUTERS_FOR_RANDOM_STARTS:
        random = np.random.default_rng(0)
        starts += [random.permutation(order) < machine.routers // 2 for _ in range(RANDOM_STARTS)]
    return starts


def _metis(machine: Machine, seed: int) -> CutSide:
    links = adjacency(machine)
    capacity = machine.link_capacity_Bps[links.link]
    # METIS wants whole weights; rounding costs nothing, since the refinement works with the capacities.
    weight = np.maximum(np.rint(1000 * capacity / capacity.max(initial=1.0)), 1).astype(np.int64)
    nodes = machine.nodes_of_router.astype(np.int64)
    return two_parts(links.first, links.head, nodes, weight, seed).astype(np.bool_)
