"""Cuts of a machine into halves, and heuristics for the best one."""

import numpy as np

from fabricstudy.core.arrays import Bools, Floats, Ints
from fabricstudy.machine.distances import Adjacency, adjacency
from fabricstudy.machine.graph import Machine

METIS_SEEDS = 8
RANDOM_STARTS = 64
ROUTERS_FOR_RANDOM_STARTS = 500


def router_weights(machine: Machine) -> Ints:
    """Return the weight of each router, int64 [routers]: its nodes, divided by their greatest common divisor.

    Raises ValueError if fewer than two routers have nodes.
    """
    nodes = machine.nodes_of_router.astype(np.int64)
    if np.count_nonzero(nodes) < 2:
        raise ValueError("bisection needs two or more routers with nodes")
    weights: Ints = nodes // np.gcd.reduce(nodes)
    return weights


def weight_per_side(machine: Machine) -> tuple[int, int]:
    """Return the minimum and maximum weight of a half: halves differ by at most the router with most nodes.

    Raises ValueError as `router_weights`.

    Examples
    --------
    >>> from fabricstudy.machine.grids import TorusConfig
    >>> torus = TorusConfig.model_validate({"shape": [5], "nodes_per_router": 4, "bandwidth": "1 GB/s"})
    >>> weight_per_side(torus.build())
    (2, 3)
    """
    weight = router_weights(machine)
    least = -(-(int(weight.sum()) - int(weight.max())) // 2)
    return least, int(weight.sum()) - least


def cut_capacity_Bps(machine: Machine, cut_side: Bools) -> float:
    """Return the capacity of a cut, one direction of each cable, in bytes per second."""
    leaving = cut_side[machine.link_tail] & ~cut_side[machine.link_head]
    return float(machine.link_capacity_Bps[leaving].sum())


def capacity_step_Bps(machine: Machine) -> float:
    """Return the greatest common divisor of all cut capacities; 0 if bandwidths are not whole bytes/s."""
    capacity = machine.link_capacity_Bps
    whole = np.rint(capacity)
    if not np.array_equal(whole, capacity) or capacity.max(initial=0.0) > 2.0**53:
        return 0.0
    return float(np.gcd.reduce(whole.astype(np.int64), initial=0))


def best_cut(machine: Machine, quickly: bool = False) -> Bools:
    """Return the smaller half of a cut of small capacity, bool [routers]; deterministic.

    METIS and other initial cuts are refined by Kernighan-Lin passes; `quickly` uses the order of the routers and one
    METIS cut only.

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
    weight = router_weights(machine)
    least, most = weight_per_side(machine)
    if weight.max() == 1:
        most = least
    best = np.zeros(machine.routers, dtype=np.bool_)
    best_Bps = np.inf
    for start in _starts(machine, links, capacity, quickly):
        cut_side = start.copy()
        refine_cut(links.first, links.head, capacity, weight, least, most, cut_side)
        capacity_Bps = cut_capacity_Bps(machine, cut_side)
        if capacity_Bps < best_Bps:
            best, best_Bps = cut_side, capacity_Bps
    return smaller_side(weight, best)


def smaller_side(weight: Ints, cut_side: Bools) -> Bools:
    """Return the half of less weight; `cut_side` if they are equal."""
    return cut_side if 2 * weight[cut_side].sum() <= weight.sum() else ~cut_side


def _starts(machine: Machine, links: Adjacency, capacity: Floats, quickly: bool) -> list[Bools]:
    """Return initial cuts, which need not be balanced."""
    # METIS needs integer weights; the refinement uses exact capacities.
    weight = np.maximum(np.rint(1000 * capacity / capacity.max(initial=1.0)), 1).astype(np.int64)
    nodes = machine.nodes_of_router.astype(np.int64)
    order = np.arange(machine.routers)
    starts = [order < machine.routers // 2]
    for seed in range(1 if quickly else METIS_SEEDS):
        starts.append(two_parts(links.first, links.head, nodes, weight, seed).astype(np.bool_))
    if not quickly and machine.routers <= ROUTERS_FOR_RANDOM_STARTS:
        random = np.random.default_rng(0)
        starts += [random.permutation(order) < machine.routers // 2 for _ in range(RANDOM_STARTS)]
    return starts


def two_parts(
    first: Ints, head: Ints, vertex_weight: Ints, edge_weight: Ints, seed: int, share: float | None = None
) -> Ints:
    """Return the part of each vertex, 0 or 1, int64 [vertices], in a partition of a graph with a light cut by METIS.

    `first` [vertices + 1] and `head` [edges] are compressed rows that list each edge at both ends; `share` is the
    share of part 0 in the weight, met as closely as METIS can; default: about a half.
    """
    import pymetis

    exact = {} if share is None else {"ufactor": 1}
    result = pymetis.part_graph(
        2,
        pymetis.CSRAdjacency(first, head),
        vweights=vertex_weight,
        eweights=edge_weight,
        tpwgts=None if share is None else [share, 1 - share],
        recursive=True,
        options=pymetis.Options(seed=seed, **exact),
    )
    return np.asarray(result.vertex_part, dtype=np.int64)
