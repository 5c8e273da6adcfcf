"""The hot loops of the mappings, compiled by numba on first use and cached next to this file, and their inputs.

All loops change `core` (core of each task) and `task` (task of each core) in place, by swaps alone, so both stay
permutations. Sums of bytes times hops are of whole numbers below 2**53, so no rounding accumulates.
"""

import heapq
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from fabricstudy.core.arrays import Floats, Int16s, Int32s, Ints
from fabricstudy.machine.dimension import Dimension
from fabricstudy.machine.distances import adjacency, hop_distances
from fabricstudy.machine.graph import LinkClass, Machine
from fabricstudy.routing.grid import dimension_order_steps, link_tables

from ..messages import WorkloadError
from .tasks import Slots, TaskGraph


class SlotTopology(NamedTuple):
    """The routers of the cores, and their surroundings.

    `coordinates`, `table`, `table_first` and `length` are those of `fabricstudy.machine.distances.HopDistances`.
    `router` [cores] is the router of each core, and `core_coordinates` that router's coordinates. The cores of router r
    begin at ``cores_first[r]`` in `cores`, routers joined to it at ``joined_first[r]`` in `joined`, and itself and the
    nearest others with cores at ``near_first[r]`` in `near`.
    """

    coordinates: Int32s
    core_coordinates: Int32s
    table: Int16s
    table_first: Ints
    length: Ints
    router: Ints
    cores_first: Ints
    cores: Ints
    joined_first: Ints
    joined: Ints
    near_first: Ints
    near: Ints


class MappingState(NamedTuple):
    """Traffic and machine, and the current mapping."""

    graph: TaskGraph
    topology: SlotTopology
    core: Ints
    task: Ints


@njit(cache=True)
def hops(topology: SlotTopology, a: int, b: int) -> int:
    """Return the hops between two routers."""
    total = 0
    for k in range(len(topology.length)):
        row = topology.table_first[k] + np.int64(topology.coordinates[a, k]) * topology.length[k]
        total += topology.table[row + topology.coordinates[b, k]]
    return total


@njit(cache=True)
def nearest_routers_with_slots(joined_first: Ints, joined: Ints, cores_first: Ints) -> tuple[Ints, Ints]:
    """Return the start of each router's row, and the rows: a router with cores, then the nearest others with cores."""
    routers = len(joined_first) - 1
    first = np.zeros(routers + 1, np.int64)
    nearest: list[Any] = [0 for _ in range(0)]
    seen = np.full(routers, -1, np.int64)
    queue = np.empty(routers, np.int64)
    for router in range(routers):
        if cores_first[router + 1] > cores_first[router]:
            nearest.append(router)
            seen[router] = router
            queue[0] = router
            begin, end = 0, 1
            while begin < end and len(nearest) == first[router] + 1:
                level = queue[begin:end]
                begin = end
                for reached in level:
                    for neighbour in joined[joined_first[reached] : joined_first[reached + 1]]:
                        if seen[neighbour] != router:
                            seen[neighbour] = router
                            queue[end] = neighbour
                            end += 1
                            if cores_first[neighbour + 1] > cores_first[neighbour]:
                                nearest.append(neighbour)
        first[router + 1] = len(nearest)
    return first, np.array(nearest)


@njit(cache=True)
def mapping_hop_bytes(graph: TaskGraph, topology: SlotTopology, core: Ints) -> float:
    """Return the bytes times hops of all edges, each once."""
    total, router = 0.0, topology.router
    for task in range(len(core)):
        for i in range(graph.first[task], graph.first[task + 1]):
            partner = graph.partner[i]
            if partner > task:
                total += graph.size_bytes[i] * hops(topology, router[core[task]], router[core[partner]])
    return total


@njit(cache=True)
def move_cost(state: MappingState, task: int, to: int, left_out: int) -> float:
    """Return the change of bytes times hops if `task` moves to the router `to`, without its edge to `left_out`."""
    graph, topology, core, _ = state
    here = topology.router[core[task]]
    total = 0.0
    for k in range(len(topology.length)):
        if topology.coordinates[here, k] == topology.coordinates[to, k]:
            continue
        before = topology.table_first[k] + np.int64(topology.coordinates[here, k]) * topology.length[k]
        after = topology.table_first[k] + np.int64(topology.coordinates[to, k]) * topology.length[k]
        for i in range(graph.first[task], graph.first[task + 1]):
            partner = graph.partner[i]
            if partner != left_out:
                there = topology.core_coordinates[core[partner], k]
                total += graph.size_bytes[i] * (topology.table[after + there] - topology.table[before + there])
    return total


@njit(cache=True)
def swap_cost(state: MappingState, task_a: int, task_b: int) -> float:
    """Return the change of bytes times hops if two tasks swap cores."""
    router = state.topology.router
    here, there = router[state.core[task_a]], router[state.core[task_b]]
    if here == there:
        return 0.0
    return move_cost(state, task_a, there, task_b) + move_cost(state, task_b, here, task_a)


@njit(cache=True)
def swap(state: MappingState, task_a: int, task_b: int) -> None:
    core, task = state.core, state.task
    core[task_a], core[task_b] = core[task_b], core[task_a]
    task[core[task_a]], task[core[task_b]] = task_a, task_b


@njit(cache=True)
def exchange_near(state: MappingState, order: Ints) -> None:
    """Swap tasks with those on and next to their partners' routers, the best first, until no such swap gains."""
    graph, topology, core, task = state
    tasks = len(core)
    queue = order.copy()
    waits = np.ones(tasks, np.bool_)
    begin, count = 0, tasks
    tried = np.full(len(topology.cores_first), -1, np.int64)
    turn = 0
    while count > 0:
        task_a = queue[begin]
        begin = (begin + 1) % tasks
        count -= 1
        waits[task_a] = False
        turn += 1
        best, best_task = 0.0, -1
        tried[topology.router[core[task_a]]] = turn
        for i in range(graph.first[task_a], graph.first[task_a + 1]):
            centre = topology.router[core[graph.partner[i]]]
            for router in topology.near[topology.near_first[centre] : topology.near_first[centre + 1]]:
                if tried[router] == turn:
                    continue
                tried[router] = turn
                gain = move_cost(state, task_a, router, -1)
                for k in range(topology.cores_first[router], topology.cores_first[router + 1]):
                    task_b = task[topology.cores[k]]
                    change = gain + move_cost(state, task_b, topology.router[core[task_a]], -1)
                    # The edge between the two keeps its length, but was counted as if each moved alone.
                    change += 2.0 * hops(topology, topology.router[core[task_a]], router) * edge(graph, task_a, task_b)
                    if change < best:
                        best, best_task = change, task_b
        if best_task >= 0:
            swap(state, task_a, best_task)
            for moved in (task_a, best_task):
                for i in range(graph.first[moved] - 1, graph.first[moved + 1]):
                    task_b = moved if i < graph.first[moved] else graph.partner[i]
                    if not waits[task_b]:
                        waits[task_b] = True
                        queue[(begin + count) % tasks] = task_b
                        count += 1


@njit(cache=True)
def edge(graph: TaskGraph, task_a: int, task_b: int) -> float:
    """Return the bytes between two tasks; partners are in ascending order."""
    begin, end = graph.first[task_a], graph.first[task_a + 1]
    index = begin + np.searchsorted(graph.partner[begin:end], task_b)
    return float(graph.size_bytes[index]) if index < end and graph.partner[index] == task_b else 0.0


@njit(cache=True)
def exchange_all(state: MappingState, order: Ints) -> None:
    """Swap any two tasks until no swap gains: each task in turn with its best partner (Bokhari)."""
    gained = True
    while gained:
        gained = False
        for task_a in order:
            best, best_task = 0.0, -1
            for task_b in range(len(order)):
                if task_b != task_a:
                    change = swap_cost(state, task_a, task_b)
                    if change < best:
                        best, best_task = change, task_b
            if best_task >= 0:
                swap(state, task_a, best_task)
                gained = True


@njit(cache=True)
def draw_swap(state: MappingState, near_share: float) -> tuple[int, int]:
    """Draw a task, and another on or next to the router of one of its partners, or any."""
    graph, topology, core, task = state
    task_a = np.random.randint(len(core))
    degree = graph.first[task_a + 1] - graph.first[task_a]
    if degree == 0 or np.random.random() >= near_share:
        return task_a, np.random.randint(len(core))
    router = topology.router[core[graph.partner[graph.first[task_a] + np.random.randint(degree)]]]
    around = topology.near_first[router + 1] - topology.near_first[router]
    router = topology.near[topology.near_first[router] + np.random.randint(around)]
    slots = topology.cores_first[router + 1] - topology.cores_first[router]
    return task_a, task[topology.cores[topology.cores_first[router] + np.random.randint(slots)]]


@njit(cache=True)
def near_changes(state: MappingState, draws: int, seed: int) -> Floats:
    """Return the changes of bytes times hops by random swaps with ranks on or next to a partner's router."""
    np.random.seed(seed)
    change = np.zeros(draws)
    for i in range(draws):
        task_a, task_b = draw_swap(state, 1.0)
        if task_a != task_b:
            change[i] = swap_cost(state, task_a, task_b)
    return change


@njit(cache=True)
def save_if_better(cost: float, best: float, core: Ints, best_core: Ints) -> float:
    """Copy the cores to `best_core` if they improve on the best so far; return the lowest cost."""
    if cost < best:
        best_core[:] = core
    return min(cost, best)


@njit(cache=True)
def restore(best_core: Ints, state: MappingState) -> None:
    state.core[:] = best_core
    for index in range(len(best_core)):
        state.task[best_core[index]] = index


@njit(cache=True)
def anneal(state: MappingState, moves: int, hot: float, cold: float, seed: int) -> None:
    """Swap at falling temperature; the result is the best state seen at the end of any len(core) moves."""
    np.random.seed(seed)
    core = state.core
    cost = mapping_hop_bytes(state.graph, state.topology, core)
    best, best_core = cost, core.copy()
    cooling = (cold / hot) ** (len(core) / moves) if hot > 0 else 1.0
    temperature = hot
    for move in range(moves):
        task_a, task_b = draw_swap(state, 0.7)
        if task_a != task_b:
            change = swap_cost(state, task_a, task_b)
            if change <= 0.0 or (temperature > 0.0 and np.random.random() < np.exp(-change / temperature)):
                swap(state, task_a, task_b)
                cost += change
        if (move + 1) % len(core) == 0 or move + 1 == moves:
            temperature *= cooling
            best = save_if_better(cost, best, core, best_core)
    restore(best_core, state)


@njit(cache=True)
def lookahead_cost(graph: TaskGraph, topology: SlotTopology, core: Ints, free: Ints, task: int, centre: int) -> float:
    """Return a lower bound of the bytes times hops added by unplaced partners of `task` next to `centre`.

    Only partners with other placed partners count.
    """
    total = 0.0
    for i in range(graph.first[task], graph.first[task + 1]):
        later = graph.partner[i]
        if core[later] >= 0:
            continue
        least = np.inf
        for router in topology.near[topology.near_first[centre] : topology.near_first[centre + 1]]:
            if free[router] <= (router == centre):
                continue
            cost = graph.size_bytes[i] * hops(topology, centre, router)
            for k in range(graph.first[later], graph.first[later + 1]):
                if core[graph.partner[k]] >= 0:
                    cost += graph.size_bytes[k] * hops(topology, router, topology.router[core[graph.partner[k]]])
                    if cost >= least:
                        break
            least = min(least, cost)
        if least < np.inf:
            total += least
        else:
            total += 4 * graph.size_bytes[i]
    return total


@njit(cache=True)
def grow(
    graph: TaskGraph, topology: SlotTopology, task_first: int, router_first: int, task_tie: Floats, router_tie: Floats
) -> Ints:
    """Place the tasks one by one, the most connected to placed ones first, where they add least; return the cores.

    Routers are searched breadth-first from those of all placed partners, up to the second distance with free cores.
    Of equally connected tasks the one whose last partner was placed first comes first; of equally good routers the one
    with the least `lookahead_cost`, then with the lower tie. So a stencil grows in its own shape.
    """
    tasks, routers = len(graph.first) - 1, len(topology.cores_first) - 1
    core = np.full(tasks, -1, np.int64)
    free = topology.cores_first[1:] - topology.cores_first[:-1]
    bound = np.zeros(tasks)
    heap = [(0.0, task_tie[task_first] - 2.0, task_first)]
    for current in range(tasks):
        if current != task_first:
            heapq.heappush(heap, (0.0, task_tie[current], current))
    seen = np.full(routers, -1, np.int64)
    queue = np.empty(routers, np.int64)
    equal = np.empty(64, np.int64)
    last = router_first
    for turn in range(tasks):
        while True:
            weight, _, current = heapq.heappop(heap)
            if core[current] < 0 and -weight == bound[current]:
                break
        begin, end = 0, 0
        for partner in graph.partner[graph.first[current] : graph.first[current + 1]]:
            if core[partner] >= 0 and seen[topology.router[core[partner]]] != turn:
                seen[topology.router[core[partner]]] = turn
                queue[end] = topology.router[core[partner]]
                end += 1
        if end == 0:
            seen[last] = turn
            queue[0] = last
            end = 1
        levels, count, best = 0, 0, np.inf
        while begin < end and levels < 2:
            level_end, with_room = end, False
            while begin < level_end:
                router = queue[begin]
                begin += 1
                for neighbour in topology.joined[topology.joined_first[router] : topology.joined_first[router + 1]]:
                    if seen[neighbour] != turn:
                        seen[neighbour] = turn
                        queue[end] = neighbour
                        end += 1
                if free[router] == 0:
                    continue
                with_room = True
                cost = 0.0
                for i in range(graph.first[current], graph.first[current + 1]):
                    partner = graph.partner[i]
                    if core[partner] >= 0:
                        cost += graph.size_bytes[i] * hops(topology, router, topology.router[core[partner]])
                        if cost > best:
                            break
                if cost > best:
                    continue
                if cost < best:
                    best, count = cost, 0
                if count < len(equal):
                    equal[count] = router
                    count += 1
            levels += with_room
        best_router = equal[0]
        if count > 1:
            least, tie = np.inf, 0.0
            for router in equal[:count]:
                later = lookahead_cost(graph, topology, core, free, current, router)
                if later < least or (later == least and router_tie[router] < tie):
                    best_router, least, tie = router, later, router_tie[router]
        free[best_router] -= 1
        core[current] = topology.cores[topology.cores_first[best_router] + free[best_router]]
        last = best_router
        for i in range(graph.first[current], graph.first[current + 1]):
            partner = graph.partner[i]
            if core[partner] < 0:
                bound[partner] += graph.size_bytes[i]
                heapq.heappush(heap, (-bound[partner], turn + task_tie[partner], partner))
    return core


class RouteTable(NamedTuple):
    """Dimension-order routes as tables over two coordinates of a dimension, with the offsets of `SlotTopology`.

    `to` [2, entries] is the next coordinate on each of at most two routes, -1 where there is none; `share` [2, entries]
    its share of the traffic; ``link[link_first[k] + router * length[k] + coordinate]`` is the link to another
    coordinate along dimension k; `head` [links] its end, and `scale` [links] the factor of its bytes in the objective.
    """

    to: Ints
    share: Floats
    link_first: Ints
    link: Int32s
    head: Int32s
    scale: Floats


class SwapLoads(NamedTuple):
    """Bytes on each link, and the turn of its last change; the links that a swap changed, and their bytes before it."""

    load: Floats
    changed: Ints
    before: Floats
    turn: Ints


@njit(cache=True)
def add_route_load(
    routes: RouteTable, topology: SlotTopology, source: int, goal: int, size: float, links: SwapLoads, turn: int, n: int
) -> int:
    """Add bytes to the links from one router to another; return the number of links changed in this turn so far."""
    current = source
    for k in range(len(topology.length)):
        here, there = np.int64(topology.coordinates[current, k]), np.int64(topology.coordinates[goal, k])
        if here == there:
            continue
        start, length, end = current, topology.length[k], current
        for way in range(2):
            step = routes.to[way, topology.table_first[k] + here * length + there]
            if step < 0:
                continue
            part = size * routes.share[way, topology.table_first[k] + here * length + there]
            end = start
            while True:
                link = routes.link[routes.link_first[k] + end * length + step]
                if links.turn[link] != turn:
                    links.turn[link] = turn
                    links.changed[n] = link
                    links.before[n] = links.load[link]
                    n += 1
                links.load[link] += part
                end = int(routes.head[link])
                if step == there:
                    break
                # After the first step there is a single route.
                entry = topology.table_first[k] + step * length + there
                step = max(routes.to[0, entry], routes.to[1, entry])
        current = end
    return n


@njit(cache=True)
def add_pair_load(
    state: MappingState, routes: RouteTable, task_a: int, task_b: int, sign: float, links: SwapLoads, turn: int, n: int
) -> int:
    """Add the traffic of two tasks, times `sign`; return the number of links changed in this turn so far."""
    graph, topology, core, _ = state
    for task in (task_a, task_b):
        here = topology.router[core[task]]
        for i in range(graph.first[task], graph.first[task + 1]):
            partner = graph.partner[i]
            there = topology.router[core[partner]]
            if here == there or (task == task_b and partner == task_a):
                continue
            sent, got = graph.sent_bytes[i], graph.size_bytes[i] - graph.sent_bytes[i]
            if sent > 0:
                n = add_route_load(routes, topology, here, there, sign * sent, links, turn, n)
            if got > 0:
                n = add_route_load(routes, topology, there, here, sign * got, links, turn, n)
    return n


@njit(cache=True)
def mapping_link_loads(state: MappingState, routes: RouteTable) -> SwapLoads:
    """Return the bytes on each link."""
    graph, topology, core, _ = state
    count = len(routes.head)
    links = SwapLoads(np.zeros(count), np.empty(count, np.int64), np.empty(count), np.full(count, -1, np.int64))
    for task in range(len(core)):
        for i in range(graph.first[task], graph.first[task + 1]):
            here, there = topology.router[core[task]], topology.router[core[graph.partner[i]]]
            if here != there and graph.sent_bytes[i] > 0:
                add_route_load(routes, topology, here, there, graph.sent_bytes[i], links, i, 0)
    links.turn[:] = -1
    return links


@njit(cache=True)
def anneal_link_load(state: MappingState, routes: RouteTable, moves: int, hot: float, cold: float, seed: int) -> None:
    """Anneal the sum over the links of (bytes * scale)^8; losses are accepted only at a temperature.

    The temperature falls from `hot` to `cold`, both relative to the first sum; 0 accepts gains only. The result is the
    best state seen at the end of any len(core) moves.
    """
    np.random.seed(seed)
    _, topology, core, _ = state
    links = mapping_link_loads(state, routes)
    load = links.load
    cost = float(np.sum((load * routes.scale) ** 8))
    temperature, cooling = hot * cost, (cold / hot) ** (len(core) / moves) if hot > 0 else 1.0
    best, best_core = cost, core.copy()
    for move in range(moves):
        task_a, task_b = draw_swap(state, 0.7)
        if topology.router[core[task_a]] != topology.router[core[task_b]]:
            n = add_pair_load(state, routes, task_a, task_b, -1.0, links, move, 0)
            swap(state, task_a, task_b)
            n = add_pair_load(state, routes, task_a, task_b, 1.0, links, move, n)
            change = 0.0
            for i in range(n):
                link = links.changed[i]
                scale = routes.scale[link]
                change += (load[link] * scale) ** 8 - (links.before[i] * scale) ** 8
            accepted = change < 0.0
            if temperature > 0.0 and not accepted:
                accepted = np.random.random() < np.exp(-change / temperature)
            if accepted:
                cost += change
            else:
                swap(state, task_a, task_b)
                for i in range(n):
                    load[links.changed[i]] = links.before[i]
        if (move + 1) % len(core) == 0 or move + 1 == moves:
            temperature *= cooling
            best = save_if_better(cost, best, core, best_core)
    restore(best_core, state)


def slot_topology(slots: Slots) -> SlotTopology:
    """Return the routers of the cores, and their surroundings."""
    machine, router = slots.machine, slots.router_of_core
    links, table = adjacency(machine), hop_distances(machine)
    cores = np.argsort(router, kind="stable")
    cores_first = np.searchsorted(router[cores], np.arange(machine.routers + 1)).astype(np.int64)
    near = nearest_routers_with_slots(links.first, links.head, cores_first)
    distances = table.coordinates, table.coordinates[router], table.table, table.first, table.length
    return SlotTopology(*distances, router, cores_first, cores, links.first, links.head, *near)


def mapping_state(slots: Slots, graph: TaskGraph, core: Ints) -> MappingState:
    """Return the state of a mapping, whose loops change `core` in place."""
    return MappingState(graph, slot_topology(slots), core, np.argsort(core))


def route_table(machine: Machine, tie: str) -> RouteTable:
    """Return the dimension-order routes on a grid, with parallel cables merged into one link.

    Raises WorkloadError if the machine has no dimensions.
    """
    if machine.coordinates is None or not machine.dimensions:
        raise WorkloadError(f"link loads need a machine with dimensions, not {machine.kind}; use objective: hop-bytes")
    steps = [dimension_order_steps(dimension, tie) for dimension in machine.dimensions]
    to = [
        [ways[way % len(ways)].to.ravel() if way < len(ways) else np.full(ways[0].to.size, -1) for ways in steps]
        for way in (0, 1)
    ]
    share = [[ways[way % len(ways)].share.ravel() for ways in steps] for way in (0, 1)]
    links = link_tables(machine)
    first = np.concatenate([[0], np.cumsum([table.size for table in links])[:-1]]).astype(np.int64)
    return RouteTable(
        to=np.array([np.concatenate(way) for way in to], dtype=np.int64),
        share=np.array([np.concatenate(way) for way in share]),
        link_first=first,
        link=np.concatenate([table.ravel() for table in links]),
        head=machine.link_head,
        scale=1.0 / np.repeat(machine.cable_count, 2),
    )


@cache
def compile_kernels() -> None:
    """Run all loops once on two ranks, so that numba compiles or loads them."""
    ends, link = np.arange(2, dtype=np.int32), LinkClass("x", 1.0, 1.0)
    cable, coordinates = (ends[:1], ends[1:], ends[:1], ends[1:]), ends[:, None]
    machine = Machine(
        "line", ends, *cable, (link,), link, routers=2, coordinates=coordinates, dimensions=(Dimension(2),)
    )
    slots, graph = Slots(machine, np.arange(2, dtype=np.int32), 1), TaskGraph.of_edges(ends[:1], ends[1:], ends[1:], 2)
    state, tie = mapping_state(slots, graph, np.arange(2)), np.zeros(2)
    core = grow(state.graph, state.topology, 0, 0, tie, tie)
    mapping_hop_bytes(state.graph, state.topology, core)
    exchange_near(state, np.arange(2))
    exchange_all(state, np.arange(2))
    near_changes(state, 2, 1)
    anneal(state, 2, 1.0, 0.1, 1)
    anneal_link_load(state, route_table(machine, "split"), 2, 0.0, 0.0, 1)
