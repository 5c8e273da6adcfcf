"""The hot loops, compiled by numba on first use and kept beside this file.

Links are given per leaving router, as `fabricstudy.machine.distances.Adjacency`: those of router r stand at positions
`first[r]` .. `first[r + 1] - 1` of `link` (number of the directed link), `head`, `kind` (class) and `cables`
(parallel ones). Every link has a reverse of the same class, so walking links out of a destination walks paths into
it.
"""

from __future__ import annotations

import heapq

import numpy as np
import numpy.typing as npt
from numba import njit

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@njit(cache=True)
def settle(
    destination: int, first: Ints, head: Ints, kind: Ints, weight: Ints, distance: Ints, order: Ints, queue: Ints
) -> int:
    """Dijkstra from `destination`: fill `distance`; fill `order` with the routers, near ones first; count them.

    Weights depend on the class alone, so one first-in-first-out queue a class replaces the heap: entries enter each
    queue in the order of their distance. `queue` is scratch of shape [classes, links + 1].
    """
    kinds = len(weight)
    begin = np.zeros(kinds, np.int64)
    end = np.zeros(kinds, np.int64)
    distance[:] = -1
    order[0] = destination
    distance[destination] = 0
    settled = np.zeros(len(distance), np.bool_)
    settled[destination] = True
    settled_count = 1
    router = destination
    while True:
        for i in range(first[router], first[router + 1]):
            there = distance[router] + weight[kind[i]]
            if distance[head[i]] < 0 or there < distance[head[i]]:
                distance[head[i]] = there
                queue[kind[i], end[kind[i]]] = head[i]
                end[kind[i]] += 1
        router = -1
        for k in range(kinds):
            while begin[k] < end[k] and settled[queue[k, begin[k]]]:
                begin[k] += 1
            if begin[k] < end[k]:
                candidate = queue[k, begin[k]]
                if router < 0 or distance[candidate] < distance[router]:
                    router = candidate
        if router < 0:
            return settled_count
        settled[router] = True
        order[settled_count] = router
        settled_count += 1


@njit(cache=True)
def group_by_destination(
    source: Ints, destination: Ints, size_bytes: Floats, routers: int
) -> tuple[Ints, Ints, Floats]:
    """Sort messages by destination: start of each destination's messages [routers + 1], their source and bytes."""
    start = np.zeros(routers + 1, np.int64)
    for router in destination:
        start[router + 1] += 1
    start = np.cumsum(start)
    place = start[:-1].copy()
    sorted_source = np.empty(len(source), np.int64)
    sorted_bytes = np.empty(len(source), np.float64)
    for i in range(len(source)):
        at = place[destination[i]]
        place[destination[i]] += 1
        sorted_source[at] = source[i]
        sorted_bytes[at] = size_bytes[i]
    return start, sorted_source, sorted_bytes


@njit(cache=True)
def minimal_loads(
    first: Ints,
    link: Ints,
    head: Ints,
    kind: Ints,
    cables: Floats,
    weight: Ints,
    start: Ints,
    source: Ints,
    size_bytes: Floats,
) -> Floats:
    """Bytes on each directed link when messages take minimal paths, split hop by hop in proportion to `cables`.

    The messages stand as `group_by_destination` gives them. One NaN if some message has no path.
    """
    routers = len(first) - 1
    load = np.zeros(len(link))
    distance = np.empty(routers, np.int64)
    order = np.empty(routers, np.int64)
    queue = np.empty((len(weight), len(link) + 1), np.int64)
    flow = np.zeros(routers)
    for destination in range(routers):
        if start[destination] == start[destination + 1]:
            continue
        reached = settle(destination, first, head, kind, weight, distance, order, queue)
        flow[:] = 0.0
        for i in range(start[destination], start[destination + 1]):
            if distance[source[i]] < 0:
                return np.full(1, np.nan)
            flow[source[i]] += size_bytes[i]
        for at in range(reached - 1, 0, -1):
            router = order[at]
            if flow[router] == 0.0:
                continue
            ways = 0.0
            for i in range(first[router], first[router + 1]):
                if distance[head[i]] + weight[kind[i]] == distance[router]:
                    ways += cables[i]
            for i in range(first[router], first[router + 1]):
                if distance[head[i]] + weight[kind[i]] == distance[router]:
                    part = flow[router] * (cables[i] / ways)
                    load[link[i]] += part
                    flow[head[i]] += part
    return load


@njit(cache=True)
def early_arrivals(
    first: Ints, link: Ints, head: Ints, kind: Ints, cables: Floats, weight: Ints, traffic: Floats, middles: Ints
) -> Floats:
    """Bytes [destination, middle] that meet their destination on the minimal way to each of `middles`.

    All bytes of `traffic` [source, destination] are sent towards every middle. One NaN row if there is no path.
    """
    routers = len(first) - 1
    arrived = np.zeros((routers, routers))
    distance = np.empty(routers, np.int64)
    order = np.empty(routers, np.int64)
    queue = np.empty((len(weight), len(link) + 1), np.int64)
    probability = np.zeros(routers)
    rank = np.empty(routers, np.int64)
    sends = np.array([traffic[router].any() for router in range(routers)])
    ways_first = np.empty(routers + 1, np.int64)
    ways_head = np.empty(len(link), np.int64)
    ways_share = np.empty(len(link), np.float64)
    for middle in middles:
        reached = settle(middle, first, head, kind, weight, distance, order, queue)
        if reached < routers:
            return np.full((1, 1), np.nan)
        for at in range(reached):
            rank[order[at]] = at
        # Where packets for this middle go from each router, once for all sources.
        count = 0
        for router in range(routers):
            ways_first[router] = count
            ways = 0.0
            for i in range(first[router], first[router + 1]):
                if distance[head[i]] + weight[kind[i]] == distance[router]:
                    ways += cables[i]
                    ways_head[count] = head[i]
                    ways_share[count] = cables[i]
                    count += 1
            ways_share[ways_first[router] : count] /= ways
        ways_first[routers] = count
        for source in range(routers):
            if source == middle or not sends[source]:
                continue
            # Routers on the way, far ones first: each is complete when it is taken.
            ahead = [-rank[source]]
            probability[source] = 1.0
            while len(ahead) > 0:
                router = order[-heapq.heappop(ahead)]
                share = probability[router]
                probability[router] = 0.0
                if router == middle:
                    continue
                if router != source:
                    arrived[router, middle] += traffic[source, router] * share
                for i in range(ways_first[router], ways_first[router + 1]):
                    there = ways_head[i]
                    if probability[there] == 0.0:
                        heapq.heappush(ahead, -rank[there])
                    probability[there] += share * ways_share[i]
    return arrived


@njit(cache=True)
def last_arrival_ns(
    phase: Ints,
    source: Ints,
    destination: Ints,
    time_ns: Floats,
    ranks: int,
    computing: Ints,
    computing_rank: Ints,
    before_ns: Floats,
    beside_ns: Floats,
) -> float:
    """Time of the last arrival if each message takes `time_ns` from when its source has left its phase before.

    A rank leaves a phase when all messages that it sends or gets in it have arrived. In the phase ``computing[i]`` the
    rank ``computing_rank[i]`` posts its messages `before_ns` later, and leaves it `beside_ns` after that at the
    earliest. Messages and computations stand in the order of their phases.
    """
    free_ns = np.zeros(ranks)
    arrival_ns = np.zeros(len(phase))
    begin = 0
    row = 0
    while begin < len(phase):
        first = row
        while row < len(computing) and computing[row] == phase[begin]:
            free_ns[computing_rank[row]] += before_ns[row]
            row += 1
        end = begin
        while end < len(phase) and phase[end] == phase[begin]:
            arrival_ns[end] = free_ns[source[end]] + time_ns[end]
            end += 1
        for i in range(first, row):
            free_ns[computing_rank[i]] += beside_ns[i]
        for i in range(begin, end):
            free_ns[source[i]] = max(free_ns[source[i]], arrival_ns[i])
            free_ns[destination[i]] = max(free_ns[destination[i]], arrival_ns[i])
        begin = end
    return 0.0 if ranks == 0 else free_ns.max()
