"""Pairs of ranks as far apart as the machine allows."""

import numpy as np

from fabricstudy.core.arrays import Int32s, Integers, Ints
from fabricstudy.machine.graph import Machine
from fabricstudy.workload.messages import WorkloadError
from fabricstudy.workload.pattern.base import JobPlacement, MessagePattern, Sends, one_phase


class FurthestPairing(MessagePattern, kind="furthest-pairing"):
    """Each rank exchanges with one partner on a node as far away as possible; on rings of even length, half-way."""

    follows_placement = True

    def traffic_messages(self, ranks: int) -> float:
        return float(ranks) * self.iterations

    def sends_at(self, site: JobPlacement) -> Sends:
        """Send once between the ranks of paired nodes, in rank order; the pairs depend on the set of nodes alone."""
        nodes = np.unique(site.node_of_rank)
        if len(nodes) % 2:
            raise WorkloadError(f"furthest-pairing needs an even number of nodes, but the job has {len(nodes)}")
        partner = antipodes(site.machine, nodes)
        if partner is None:
            partner = furthest_pairs(site.machine.node_router[nodes], site.distances)
        # Row i: the ranks on node i, ascending.
        ranks = np.argsort(site.node_of_rank, kind="stable").astype(np.int32).reshape(len(nodes), -1)
        return one_phase(ranks.reshape(-1), ranks[partner].reshape(-1), self.iterations)


def antipodes(machine: Machine, nodes: Integers) -> Ints | None:
    """Pair each node with the one half-way round every ring of a torus.

    Returns
    -------
    int64 array [nodes] or None
        Index of the partner of each of `nodes`, which ascend; None unless the machine is a torus of even lengths of
        which `nodes` contains opposite routers with equally many nodes each. No other pairing is as far there (Oltchik
        and Schwartz).
    """
    lines = machine.dimensions
    if not lines or any(not line.wrap or line.length % 2 for line in lines):
        return None
    assert machine.coordinates is not None
    lengths = np.array([line.length for line in lines])
    strides = np.cumprod(np.concatenate([[1], lengths[:-1]]))
    opposite = (machine.coordinates + lengths // 2) % lengths @ strides
    router = machine.node_router[nodes]
    used = np.bincount(router, minlength=machine.routers)
    if not np.array_equal(used, used[opposite]):
        return None
    first = np.searchsorted(router, np.arange(machine.routers))
    partner: Ints = first[opposite[router]] + np.arange(len(nodes)) - first[router]
    return partner


def furthest_pairs(router: Int32s, distance: Integers) -> Ints:
    """Return the index of each node's partner, int64 [nodes], such that partners are far apart.

    Greedy: each node in turn is paired with the furthest free node; of several, the first that is at least half of the
    nodes later, cyclically. Then two pairs swap partners as long as the total distance grows. The number of nodes, on
    `router` (int32 [nodes]), is even; `distance` are the hops between routers.

    Examples
    --------
    >>> ring = np.array([[0, 1, 2, 1], [1, 0, 1, 2], [2, 1, 0, 1], [1, 2, 1, 0]])
    >>> furthest_pairs(np.arange(4, dtype=np.int32), ring).tolist()
    [2, 3, 0, 1]
    """
    nodes = len(router)
    free = np.arange(nodes)
    first, second = np.empty(nodes // 2, dtype=np.int64), np.empty(nodes // 2, dtype=np.int64)
    for pair in range(nodes // 2):
        node, free = free[0], free[1:]
        hops = distance[router[node]][router[free]]
        furthest = np.flatnonzero(hops == hops.max())
        chosen = furthest[np.searchsorted(free[furthest], node + nodes // 2) % len(furthest)]
        first[pair], second[pair] = node, free[chosen]
        free = np.delete(free, chosen)
    _swap_partners(router, distance, first, second)
    partner = np.empty(nodes, dtype=np.int64)
    partner[first], partner[second] = second, first
    return partner


def _swap_partners(router: Int32s, distance: Integers, first: Ints, second: Ints) -> None:
    """Swap partners of two pairs, in place, until no swap adds to the total distance."""
    used = np.unique(router)
    reach = np.zeros(len(distance), dtype=np.int64)
    reach[used] = distance[np.ix_(used, used)].max(axis=1)
    swapped = True
    while swapped:
        hops = distance[router[first], router[second]]
        # A swap that gains involves at least one pair that is closer than its routers allow.
        short = np.flatnonzero(hops < np.maximum(reach[router[first]], reach[router[second]]))
        swaps = [_best_swap(router, distance, first, second, int(pair)) for pair in short]
        swapped = any(swaps)


def _best_swap(router: Int32s, distance: Integers, first: Ints, second: Ints, pair: int) -> bool:
    """Swap partners of `pair` with the pair that adds most to the total distance; return whether one does."""
    left, right = router[first], router[second]
    from_left, from_right = distance[left[pair]].astype(np.int64), distance[right[pair]].astype(np.int64)
    apart = distance[left, right].astype(np.int64)
    alike, crossed = from_left[left] + from_right[right], from_left[right] + from_right[left]
    gain = np.maximum(alike, crossed) - apart - apart[pair]
    best = int(np.argmax(gain))
    if gain[best] <= 0:
        return False
    swap_in = first if alike[best] >= crossed[best] else second
    second[pair], swap_in[best] = swap_in[best], second[pair]
    return True
