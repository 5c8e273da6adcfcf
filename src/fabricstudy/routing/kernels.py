"""Inner loops, compiled by numba on first use and cached.

Links are those of `fabricstudy.machine.distances.Adjacency`: the links of router r are `first[r]` .. `first[r + 1] - 1`
of `link` (number of the directed link), `head`, `kind` (class) and `cables` (parallel ones). Every link has a reverse
of the same class, so a search from a destination finds the paths to it.
"""

import heapq

import numpy as np
from numba import njit

from fabricstudy.core.arrays import Bools, Floats, Int32s, Ints
from fabricstudy.machine.distances import Adjacency


@njit(cache=True)
def dijkstra(destination: int, links: Adjacency, weight: Ints, distance: Ints, order: Ints, queue: Ints) -> int:
    """Fill `distance` and `order` (routers by distance) by Dijkstra from `destination`; return the number reached.

    Weights depend on the class alone, so one FIFO queue per class replaces the heap. `queue` is scratch of shape
    [classes, links + 1].
    """
    first, head, kind = links.first, links.head, links.kind
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
def scratch(links: Adjacency, weight: Ints) -> tuple[Ints, Ints, Ints]:
    """Allocate `distance`, `order` and `queue` of `dijkstra`."""
    routers = len(links.first) - 1
    queue = np.empty((len(weight), len(links.link) + 1), np.int64)
    return np.empty(routers, np.int64), np.empty(routers, np.int64), queue


@njit(cache=True)
def push_flow(
    goal: int, flow: Floats, links: Adjacency, weight: Ints, distance: Ints, order: Ints, queue: Ints, load: Floats
) -> bool:
    """Add the loads of bytes `flow` [routers] on minimal paths to one router; return False if one has no path.

    Bytes split in proportion to `cables`; `flow` is overwritten. See `dijkstra` for the other arguments.
    """
    first, link, head, kind, cables = links.first, links.link, links.head, links.kind, links.cables
    reached = dijkstra(goal, links, weight, distance, order, queue)
    for router in range(len(flow)):
        if flow[router] != 0.0 and distance[router] < 0:
            return False
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
    return True


@njit(cache=True)
def minimal_loads(links: Adjacency, weight: Ints, start: Ints, source: Ints, size_bytes: Floats, load: Floats) -> bool:
    """Add the bytes of messages on minimal paths to those on each directed link; return False if one has no path.

    Bytes split hop by hop in proportion to `cables`. Destination d has the messages ``start[d] : start[d + 1]``.
    """
    routers = len(links.first) - 1
    distance, order, queue = scratch(links, weight)
    flow = np.zeros(routers)
    for destination in range(routers):
        if start[destination] == start[destination + 1]:
            continue
        flow[:] = 0.0
        for i in range(start[destination], start[destination + 1]):
            flow[source[i]] += size_bytes[i]
        if not push_flow(destination, flow, links, weight, distance, order, queue, load):
            return False
    return True


@njit(cache=True)
def minimal_ways(links: Adjacency, weight: Ints, goals: Ints) -> tuple[Ints, Int32s, Int32s, Ints]:
    """Return all minimal paths to `goals` as in `fabricstudy.routing.base.PathGraph`.

    The result is `begin`, `link` and `to` of the states, and the state of each router for each goal, int64 [goals,
    routers], -1 where there is no path.
    """
    first, link, head, kind = links.first, links.link, links.head, links.kind
    routers = len(first) - 1
    distance, order, queue = scratch(links, weight)
    begin = np.zeros(len(goals) * routers + 1, np.int64)
    state = np.full((len(goals), routers), -1, np.int64)
    # Of the two links of a cable one leads away from the goal.
    way_link = np.empty(len(goals) * len(link) // 2, np.int32)
    way_to = np.empty(len(way_link), np.int32)
    ways = 0
    for number in range(len(goals)):
        reached = dijkstra(goals[number], links, weight, distance, order, queue)
        for at in range(routers):
            begin[number * routers + at] = ways
            if at >= reached:
                continue
            router = order[at]
            state[number, router] = number * routers + at
            for i in range(first[router], first[router + 1]):
                if distance[head[i]] + weight[kind[i]] == distance[router]:
                    way_link[ways] = link[i]
                    way_to[ways] = state[number, head[i]]
                    ways += 1
    begin[-1] = ways
    return begin, way_link[:ways], way_to[:ways], state


@njit(cache=True)
def shortest_loads(begin: Ints, link: Int32s, to: Int32s, start: Ints, size_bytes: Floats, length: Floats) -> Floats:
    """Return the bytes on each link if flows take paths of least `length` [links]; ties split equally hop by hop.

    See `fabricstudy.routing.base.PathGraph` for the other arguments.
    """
    states = len(begin) - 1
    least = np.zeros(states)
    for state in range(states):
        if begin[state] < begin[state + 1]:
            least[state] = np.inf
        for way in range(begin[state], begin[state + 1]):
            least[state] = min(least[state], length[link[way]] + least[to[way]])
    flow = np.zeros(states)
    for i in range(len(start)):
        flow[start[i]] += size_bytes[i]
    load = np.zeros(len(length))
    for state in range(states - 1, -1, -1):
        if flow[state] == 0.0:
            continue
        ties = 0
        for way in range(begin[state], begin[state + 1]):
            ties += length[link[way]] + least[to[way]] <= least[state] * (1 + 1e-12)
        for way in range(begin[state], begin[state + 1]):
            if length[link[way]] + least[to[way]] <= least[state] * (1 + 1e-12):
                load[link[way]] += flow[state] / ties
                flow[to[way]] += flow[state] / ties
    return load


@njit(cache=True)
def path_limits(
    begin: Ints, link: Int32s, to: Int32s, capacity_Bps: Floats, latency_ns: Floats
) -> tuple[Floats, Floats]:
    """Return of each state an upper bound of the bandwidth of its paths, and their least latency, float64 [states].

    The bandwidth is at most the total of the first links, each limited by what follows it, and at most that from the
    first state which all paths have in common. `fabricstudy.routing.base.PathGraph` has the other arguments.
    """
    states = len(begin) - 1
    bandwidth_Bps, least_ns = np.full(states, np.inf), np.zeros(states)
    # The first state that all paths from a state have in common, and the number of such states up to the goal.
    common, depth = np.arange(states), np.zeros(states, np.int64)
    for state in range(states):
        if begin[state] == begin[state + 1]:
            continue
        total_Bps, least_ns[state] = 0.0, np.inf
        meeting = int(to[begin[state]])
        for way in range(begin[state], begin[state + 1]):
            after = int(to[way])
            total_Bps += min(capacity_Bps[link[way]], bandwidth_Bps[after])
            least_ns[state] = min(least_ns[state], latency_ns[link[way]] + least_ns[after])
            while meeting != after:
                if depth[meeting] > depth[after]:
                    meeting = common[meeting]
                else:
                    after = common[after]
        common[state], depth[state] = meeting, depth[meeting] + 1
        bandwidth_Bps[state] = min(total_Bps, bandwidth_Bps[meeting])
    return bandwidth_Bps, least_ns


@njit(cache=True)
def early_arrivals(links: Adjacency, weight: Ints, traffic: Floats, middles: Ints) -> Floats:
    """Return the bytes [middle, destination] that meet their destination on minimal paths to each of `middles`.

    All bytes of `traffic` [source, destination] go towards every middle. The result is empty if there is no path.
    """
    first, link, head, kind, cables = links.first, links.link, links.head, links.kind, links.cables
    routers = len(first) - 1
    arrived = np.zeros((routers, routers))
    distance, order, queue = scratch(links, weight)
    probability = np.zeros(routers)
    rank = np.empty(routers, np.int64)
    sends = np.array([traffic[router].any() for router in range(routers)])
    ways_first = np.empty(routers + 1, np.int64)
    ways_head = np.empty(len(link), np.int64)
    ways_share = np.empty(len(link), np.float64)
    for middle in middles:
        reached = dijkstra(middle, links, weight, distance, order, queue)
        if reached < routers:
            return np.zeros((0, 0))
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
        met = arrived[middle]
        for source in range(routers):
            if source == middle or not sends[source]:
                continue
            # As long as there is one way, all packets take it.
            router = source
            while router != middle and ways_first[router + 1] == ways_first[router] + 1:
                router = ways_head[ways_first[router]]
                if router != middle:
                    met[router] += traffic[source, router]
            if router == middle:
                continue
            # Routers on the way, far ones first: each is complete when it is taken.
            fork = router
            ahead = [-rank[fork]]
            probability[fork] = 1.0
            while len(ahead) > 0:
                router = order[-heapq.heappop(ahead)]
                share = probability[router]
                probability[router] = 0.0
                if router == middle:
                    continue
                if router != fork:
                    met[router] += traffic[source, router] * share
                for i in range(ways_first[router], ways_first[router + 1]):
                    there = ways_head[i]
                    if probability[there] == 0.0:
                        heapq.heappush(ahead, -rank[there])
                    probability[there] += share * ways_share[i]
    return arrived


@njit(cache=True)
def detour_support(
    links: Adjacency, weight: Ints, carries: Bools, goals_of: Ints, goal: Ints, number_of: Ints, senders: Ints
) -> Bools:
    """Return the directed links that packets may use through any router with nodes; empty if not connected.

    Packets take minimal paths to that router, then to their goal, and end where they meet the goal. Router s has the
    unique goals ``goal[goals_of[s] : goals_of[s + 1]]``. Goals are numbered from 0 in `number_of` [routers], -1 for
    other routers; `senders` [numbers] counts their sources.

    A packet may use any path that does not pass its goal. The goals on all minimal paths between two routers are the
    dominators of the paths (Lengauer, Tarjan: TOPLAS 1(1), 1979).
    """
    first, link, head, kind = links.first, links.link, links.head, links.kind
    routers = len(first) - 1
    distance, order, queue = scratch(links, weight)
    used = np.zeros(len(link), np.bool_)
    # [goal, middle]: the senders whose packets all meet the goal on their way to the middle.
    spared = np.zeros((len(senders), routers), np.int32)
    asked = np.zeros(routers, np.bool_)
    leads = np.empty(routers, np.bool_)
    # Of each router as seen from a source: the last router on all paths to it, how many there are, the last goal among
    # it and these, and the number of such goals.
    above = np.empty(routers, np.int64)
    depth = np.empty(routers, np.int64)
    last_goal = np.empty(routers, np.int64)
    met = np.empty(routers, np.int64)
    for source in range(routers):
        goals = goal[goals_of[source] : goals_of[source + 1]]
        if len(goals) == 0:
            continue
        if dijkstra(source, links, weight, distance, order, queue) < routers:
            return np.zeros(0, np.bool_)
        asked[goals] = True
        leads[:] = carries
        for at in range(routers - 1, 0, -1):
            router = order[at]
            if leads[router]:
                for i in range(first[router], first[router + 1]):
                    if distance[head[i]] + weight[kind[i]] == distance[router]:
                        leads[head[i]] = True
        above[source] = source
        depth[source] = met[source] = 0
        last_goal[source] = -1
        for at in range(1, routers):
            router = order[at]
            parent = -1
            for i in range(first[router], first[router + 1]):
                before = head[i]
                if distance[before] + weight[kind[i]] != distance[router]:
                    continue
                # Links of a cable differ in their last bit.
                if leads[router] and met[before] < len(goals):
                    used[link[i] ^ 1] = True
                parent = before if parent < 0 else parent
                while parent != before:
                    if depth[parent] > depth[before]:
                        parent = above[parent]
                    else:
                        before = above[before]
            above[router] = parent
            depth[router] = depth[parent] + 1
            met[router] = met[parent]
            last_goal[router] = last_goal[parent]
            if carries[router]:
                there = last_goal[parent]
                while there >= 0:
                    spared[number_of[there], router] += 1
                    there = last_goal[above[there]]
            if asked[router]:
                met[router] += 1
                last_goal[router] = router
        asked[goals] = False
    for destination in range(routers):
        number = number_of[destination]
        if number < 0:
            continue
        dijkstra(destination, links, weight, distance, order, queue)
        for router in range(routers):
            leads[router] = carries[router] and spared[number, router] < senders[number]
        for at in range(routers - 1, 0, -1):
            router = order[at]
            if leads[router]:
                for i in range(first[router], first[router + 1]):
                    if distance[head[i]] + weight[kind[i]] == distance[router]:
                        used[link[i]] = leads[head[i]] = True
    return used
