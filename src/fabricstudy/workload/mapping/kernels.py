"""The hot loops of the mappings, compiled by numba on first use and kept beside this file.

Each core of the job is a *seat*, and each seat has one task. All loops change `seat` (seat of each task) and `task`
(task of each seat) in place, by swaps alone, so both stay permutations. Sums of bytes times hops are of whole numbers
below 2**53, so no rounding accumulates.
"""

import heapq
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class GraphArrays(NamedTuple):
    """`TaskGraph` as plain arrays."""

    first: Ints
    partner: Ints
    size: Floats
    sent: Floats


class SlotTopology(NamedTuple):
    """What the seats stand on.

    `place`, `table`, `table_first` and `length` are those of `fabricstudy.machine.hops.HopDistances`.
    `router` [seats] is the router of each seat, and `seat_place` that router's place. The seats of router r begin at
    ``seats_first[r]`` in `seats`, routers joined to it at ``joined_first[r]`` in `joined`, and the nearest other
    ones with seats at ``near_first[r]`` in `near`.
    """

    place: npt.NDArray[np.int32]
    seat_place: npt.NDArray[np.int32]
    table: npt.NDArray[np.int16]
    table_first: Ints
    length: Ints
    router: Ints
    seats_first: Ints
    seats: Ints
    joined_first: Ints
    joined: Ints
    near_first: Ints
    near: Ints


@njit(cache=True)
def hops(ground: SlotTopology, one: int, other: int) -> int:
    """Hops between two routers."""
    total = 0
    for k in range(len(ground.length)):
        at = ground.table_first[k] + np.int64(ground.place[one, k]) * ground.length[k] + ground.place[other, k]
        total += ground.table[at]
    return total


@njit(cache=True)
def nearest_routers_with_slots(joined_first: Ints, joined: Ints, seats_first: Ints) -> tuple[Ints, Ints]:
    """Return for each router with seats the others that have some, of those the nearest: where they begin, and they."""
    routers = len(joined_first) - 1
    first = np.zeros(routers + 1, np.int64)
    found = np.empty(max(1, len(joined)), np.int64)
    count = 0
    seen = np.full(routers, -1, np.int64)
    queue = np.empty(routers, np.int64)
    for router in range(routers):
        start = count
        if seats_first[router + 1] > seats_first[router]:
            seen[router] = router
            queue[0] = router
            begin, end = 0, 1
            while begin < end and count == start:
                level_end = end
                while begin < level_end:
                    at = queue[begin]
                    begin += 1
                    for i in range(joined_first[at], joined_first[at + 1]):
                        other = joined[i]
                        if seen[other] != router:
                            seen[other] = router
                            queue[end] = other
                            end += 1
                            if seats_first[other + 1] > seats_first[other]:
                                if count == len(found):
                                    grown = np.empty(2 * len(found), np.int64)
                                    grown[:count] = found
                                    found = grown
                                found[count] = other
                                count += 1
        first[router + 1] = count
    return first, found[:count].copy()


@njit(cache=True)
def mapping_hop_bytes(graph: GraphArrays, ground: SlotTopology, seat: Ints) -> float:
    """Bytes times hops of all edges, each once."""
    total = 0.0
    for task in range(len(seat)):
        for i in range(graph.first[task], graph.first[task + 1]):
            other = graph.partner[i]
            if other > task:
                total += graph.size[i] * hops(ground, ground.router[seat[task]], ground.router[seat[other]])
    return total


@njit(cache=True)
def move_cost(graph: GraphArrays, ground: SlotTopology, seat: Ints, task: int, to: int, left_out: int) -> float:
    """What it adds to bytes times hops if `task` moves to the router `to`; its edge to `left_out` does not count."""
    here = ground.router[seat[task]]
    total = 0.0
    for k in range(len(ground.length)):
        if ground.place[here, k] == ground.place[to, k]:
            continue
        before = ground.table_first[k] + np.int64(ground.place[here, k]) * ground.length[k]
        after = ground.table_first[k] + np.int64(ground.place[to, k]) * ground.length[k]
        for i in range(graph.first[task], graph.first[task + 1]):
            other = graph.partner[i]
            if other != left_out:
                there = ground.seat_place[seat[other], k]
                total += graph.size[i] * (ground.table[after + there] - ground.table[before + there])
    return total


@njit(cache=True)
def swap_cost(graph: GraphArrays, ground: SlotTopology, seat: Ints, one: int, other: int) -> float:
    """What it adds to bytes times hops if two tasks change seats."""
    here, there = ground.router[seat[one]], ground.router[seat[other]]
    if here == there:
        return 0.0
    return move_cost(graph, ground, seat, one, there, other) + move_cost(graph, ground, seat, other, here, one)


@njit(cache=True)
def swap(seat: Ints, task: Ints, one: int, other: int) -> None:
    """Let two tasks change seats."""
    seat[one], seat[other] = seat[other], seat[one]
    task[seat[one]], task[seat[other]] = one, other


@njit(cache=True)
def exchange_near(graph: GraphArrays, ground: SlotTopology, seat: Ints, task: Ints, order: Ints) -> None:
    """Swap tasks with those on and next to their partners' routers, the best first, until no such swap gains."""
    tasks = len(seat)
    queue = order.copy()
    waits = np.ones(tasks, np.bool_)
    begin, count = 0, tasks
    tried = np.full(len(ground.seats_first), -1, np.int64)
    turn = 0
    while count > 0:
        one = queue[begin]
        begin = (begin + 1) % tasks
        count -= 1
        waits[one] = False
        turn += 1
        best, found = 0.0, -1
        tried[ground.router[seat[one]]] = turn
        for i in range(graph.first[one], graph.first[one + 1]):
            centre = ground.router[seat[graph.partner[i]]]
            for j in range(ground.near_first[centre] - 1, ground.near_first[centre + 1]):
                router = centre if j < ground.near_first[centre] else ground.near[j]
                if tried[router] == turn:
                    continue
                tried[router] = turn
                gain = move_cost(graph, ground, seat, one, router, -1)
                for k in range(ground.seats_first[router], ground.seats_first[router + 1]):
                    other = task[ground.seats[k]]
                    change = gain + move_cost(graph, ground, seat, other, ground.router[seat[one]], -1)
                    # The edge between the two keeps its length, and was counted as if each moved alone.
                    change += 2.0 * hops(ground, ground.router[seat[one]], router) * edge(graph, one, other)
                    if change < best:
                        best, found = change, other
        if found >= 0:
            swap(seat, task, one, found)
            for moved in (one, found):
                for i in range(graph.first[moved] - 1, graph.first[moved + 1]):
                    other = moved if i < graph.first[moved] else graph.partner[i]
                    if not waits[other]:
                        waits[other] = True
                        queue[(begin + count) % tasks] = other
                        count += 1


@njit(cache=True)
def edge(graph: GraphArrays, one: int, other: int) -> float:
    """Bytes between two tasks; partners stand in ascending order."""
    low, high = graph.first[one], graph.first[one + 1]
    while low < high:
        middle = (low + high) // 2
        if graph.partner[middle] < other:
            low = middle + 1
        else:
            high = middle
    if low < graph.first[one + 1] and graph.partner[low] == other:
        return float(graph.size[low])
    return 0.0


@njit(cache=True)
def exchange_all(graph: GraphArrays, ground: SlotTopology, seat: Ints, task: Ints, order: Ints) -> None:
    """Swap any two tasks as long as that gains: each task in turn with its best partner (Bokhari)."""
    gained = True
    while gained:
        gained = False
        for one in order:
            best, found = 0.0, -1
            for other in range(len(seat)):
                if other != one:
                    change = swap_cost(graph, ground, seat, one, other)
                    if change < best:
                        best, found = change, other
            if found >= 0:
                swap(seat, task, one, found)
                gained = True


@njit(cache=True)
def draw_swap(graph: GraphArrays, ground: SlotTopology, seat: Ints, task: Ints, near_share: float) -> tuple[int, int]:
    """Draw a task, and one on or next to the router of a partner of it, or any."""
    one = np.random.randint(len(seat))
    degree = graph.first[one + 1] - graph.first[one]
    if degree == 0 or np.random.random() >= near_share:
        return one, np.random.randint(len(seat))
    router = ground.router[seat[graph.partner[graph.first[one] + np.random.randint(degree)]]]
    around = ground.near_first[router + 1] - ground.near_first[router]
    pick = np.random.randint(around + 1)
    if pick > 0:
        router = ground.near[ground.near_first[router] + pick - 1]
    places = ground.seats_first[router + 1] - ground.seats_first[router]
    return one, task[ground.seats[ground.seats_first[router] + np.random.randint(places)]]


@njit(cache=True)
def near_changes(graph: GraphArrays, ground: SlotTopology, seat: Ints, task: Ints, draws: int, seed: int) -> Floats:
    """Return what each of some drawn swaps with ranks on or next to a partner's router adds to bytes times hops."""
    np.random.seed(seed)
    change = np.zeros(draws)
    for i in range(draws):
        one, other = draw_swap(graph, ground, seat, task, 1.0)
        if one != other:
            change[i] = swap_cost(graph, ground, seat, one, other)
    return change


@njit(cache=True)
def save_if_better(cost: float, best: float, seat: Ints, best_seat: Ints) -> float:
    """Keep the seats in `best_seat` if they cost less than the best so far; give the least cost."""
    if cost < best:
        best_seat[:] = seat
    return min(cost, best)


@njit(cache=True)
def restore(best_seat: Ints, seat: Ints, task: Ints) -> None:
    """Go back to the best seats."""
    seat[:] = best_seat
    for one in range(len(seat)):
        task[seat[one]] = one


@njit(cache=True)
def anneal(
    graph: GraphArrays, ground: SlotTopology, seat: Ints, task: Ints, moves: int, hot: float, cold: float, seed: int
) -> None:
    """Swap at falling temperature; the best state that was seen at the end of any len(seat) moves is left."""
    np.random.seed(seed)
    cost = mapping_hop_bytes(graph, ground, seat)
    best, best_seat = cost, seat.copy()
    cooling = (cold / hot) ** (len(seat) / moves) if hot > 0 else 1.0
    temperature = hot
    for move in range(moves):
        one, other = draw_swap(graph, ground, seat, task, 0.7)
        if one != other:
            change = swap_cost(graph, ground, seat, one, other)
            if change <= 0.0 or (temperature > 0.0 and np.random.random() < np.exp(-change / temperature)):
                swap(seat, task, one, other)
                cost += change
        if (move + 1) % len(seat) == 0 or move + 1 == moves:
            temperature *= cooling
            best = save_if_better(cost, best, seat, best_seat)
    restore(best_seat, seat, task)


@njit(cache=True)
def lookahead_cost(graph: GraphArrays, ground: SlotTopology, seat: Ints, free: Ints, one: int, at: int) -> float:
    """Bytes times hops that partners of `one` still to be placed would add at best next to the router `at`.

    Only those count that have other placed partners.
    """
    total = 0.0
    for i in range(graph.first[one], graph.first[one + 1]):
        later = graph.partner[i]
        if seat[later] >= 0:
            continue
        least = np.inf
        for j in range(ground.near_first[at] - 1, ground.near_first[at + 1]):
            router = at if j < ground.near_first[at] else ground.near[j]
            if free[router] <= (router == at):
                continue
            cost = graph.size[i] * hops(ground, at, router)
            for k in range(graph.first[later], graph.first[later + 1]):
                if seat[graph.partner[k]] >= 0:
                    cost += graph.size[k] * hops(ground, router, ground.router[seat[graph.partner[k]]])
                    if cost >= least:
                        break
            least = min(least, cost)
        if least < np.inf:
            total += least
        else:
            total += 4 * graph.size[i]
    return total


@njit(cache=True)
def grow(
    graph: GraphArrays, ground: SlotTopology, task_first: int, router_first: int, task_tie: Floats, router_tie: Floats
) -> Ints:
    """Place the task most connected to placed ones, again and again, where it adds least; give the seats.

    Routers are searched outwards from those of all partners at once: those of the first two distances with room
    count. Of equally connected tasks that comes first which met its last partner first, and of equally good routers
    that which leaves the partners to come the least to add (`lookahead_cost`); then the lower tie. So a stencil
    grows as it stood.
    """
    tasks, routers = len(graph.first) - 1, len(ground.seats_first) - 1
    seat = np.full(tasks, -1, np.int64)
    free = ground.seats_first[1:] - ground.seats_first[:-1]
    bound = np.zeros(tasks)
    heap = [(0.0, task_tie[task_first] - 2.0, task_first)]
    for one in range(tasks):
        if one != task_first:
            heapq.heappush(heap, (0.0, task_tie[one], one))
    seen = np.full(routers, -1, np.int64)
    queue = np.empty(routers, np.int64)
    equal = np.empty(64, np.int64)
    last = router_first
    for turn in range(tasks):
        while True:
            weight, _, one = heapq.heappop(heap)
            if seat[one] < 0 and -weight == bound[one]:
                break
        begin, end = 0, 0
        for i in range(graph.first[one], graph.first[one + 1]):
            other = graph.partner[i]
            if seat[other] >= 0 and seen[ground.router[seat[other]]] != turn:
                seen[ground.router[seat[other]]] = turn
                queue[end] = ground.router[seat[other]]
                end += 1
        if end == 0:
            seen[last] = turn
            queue[0] = last
            end = 1
        levels, count, best = 0, 0, np.inf
        while begin < end and levels < 2:
            level_end, with_room = end, False
            while begin < level_end:
                at = queue[begin]
                begin += 1
                for i in range(ground.joined_first[at], ground.joined_first[at + 1]):
                    if seen[ground.joined[i]] != turn:
                        seen[ground.joined[i]] = turn
                        queue[end] = ground.joined[i]
                        end += 1
                if free[at] == 0:
                    continue
                with_room = True
                cost = 0.0
                for i in range(graph.first[one], graph.first[one + 1]):
                    other = graph.partner[i]
                    if seat[other] >= 0:
                        cost += graph.size[i] * hops(ground, at, ground.router[seat[other]])
                        if cost > best:
                            break
                if cost > best:
                    continue
                if cost < best:
                    best, count = cost, 0
                if count < len(equal):
                    equal[count] = at
                    count += 1
            levels += with_room
        found = equal[0]
        if count > 1:
            least, tie = np.inf, 0.0
            for at in equal[:count]:
                later = lookahead_cost(graph, ground, seat, free, one, at)
                if later < least or (later == least and router_tie[at] < tie):
                    found, least, tie = at, later, router_tie[at]
        free[found] -= 1
        seat[one] = ground.seats[ground.seats_first[found] + free[found]]
        last = found
        for i in range(graph.first[one], graph.first[one + 1]):
            other = graph.partner[i]
            if seat[other] < 0:
                bound[other] += graph.size[i]
                heapq.heappush(heap, (-bound[other], turn + task_tie[other], other))
    return seat


class RouteTable(NamedTuple):
    """Routes of dimension order as tables over two places of a dimension, which begin as those of `SlotTopology` do.

    `to` [2, entries] is the next place of each of at most two ways, -1 where one does not lead; `share` [2, entries]
    is how much takes it; ``link[link_first[k] + router * length[k] + place]`` is the link to another place along
    dimension k; `head` [links] its end, and `scale` [links] what its bytes are multiplied with in the objective.
    """

    to: npt.NDArray[np.int64]
    share: npt.NDArray[np.float64]
    link_first: Ints
    link: npt.NDArray[np.int32]
    head: npt.NDArray[np.int32]
    scale: Floats


class TouchedLinks(NamedTuple):
    """Links that a swap touches: `link` and its load before, [links]; `turn` [links] says when it was touched last."""

    link: Ints
    before: Floats
    turn: Ints


@njit(cache=True)
def add_route_load(
    ways: RouteTable,
    ground: SlotTopology,
    source: int,
    goal: int,
    size: float,
    load: Floats,
    touched: TouchedLinks,
    turn: int,
    n: int,
) -> int:
    """Add bytes to the links from one router to another; give how many links were touched in this turn so far."""
    at = source
    for k in range(len(ground.length)):
        here, there = np.int64(ground.place[at, k]), np.int64(ground.place[goal, k])
        if here == there:
            continue
        start, length, end = at, ground.length[k], at
        for way in range(2):
            step = ways.to[way, ground.table_first[k] + here * length + there]
            if step < 0:
                continue
            part = size * ways.share[way, ground.table_first[k] + here * length + there]
            end = start
            while True:
                link = ways.link[ways.link_first[k] + end * length + step]
                if touched.turn[link] != turn:
                    touched.turn[link] = turn
                    touched.link[n] = link
                    touched.before[n] = load[link]
                    n += 1
                load[link] += part
                end = int(ways.head[link])
                if step == there:
                    break
                # Behind the first step there is one way on.
                entry = ground.table_first[k] + step * length + there
                step = max(ways.to[0, entry], ways.to[1, entry])
        at = end
    return n


@njit(cache=True)
def add_pair_load(
    graph: GraphArrays,
    ground: SlotTopology,
    ways: RouteTable,
    seat: Ints,
    one: int,
    other: int,
    sign: float,
    load: Floats,
    touched: TouchedLinks,
    turn: int,
    n: int,
) -> int:
    """Add what two tasks send and get, times `sign`; give how many links were touched in this turn so far."""
    for task in (one, other):
        here = ground.router[seat[task]]
        for i in range(graph.first[task], graph.first[task + 1]):
            partner = graph.partner[i]
            there = ground.router[seat[partner]]
            if here == there or (task == other and partner == one):
                continue
            sent, got = graph.sent[i], graph.size[i] - graph.sent[i]
            if sent > 0:
                n = add_route_load(ways, ground, here, there, sign * sent, load, touched, turn, n)
            if got > 0:
                n = add_route_load(ways, ground, there, here, sign * got, load, touched, turn, n)
    return n


@njit(cache=True)
def mapping_link_loads(graph: GraphArrays, ground: SlotTopology, ways: RouteTable, seat: Ints) -> Floats:
    """Bytes on each link."""
    links = len(ways.head)
    load = np.zeros(links)
    touched = TouchedLinks(np.empty(links, np.int64), np.empty(links), np.full(links, -1, np.int64))
    for task in range(len(seat)):
        for i in range(graph.first[task], graph.first[task + 1]):
            here, there = ground.router[seat[task]], ground.router[seat[graph.partner[i]]]
            if here != there and graph.sent[i] > 0:
                add_route_load(ways, ground, here, there, graph.sent[i], load, touched, i, 0)
    return load


@njit(cache=True)
def eighth_power(number: float) -> float:
    """Three squares, where ** would call a library for each link that a swap touches."""
    square = number * number
    fourth = square * square
    return fourth * fourth


@njit(cache=True)
def anneal_link_load(
    graph: GraphArrays,
    ground: SlotTopology,
    ways: RouteTable,
    seat: Ints,
    task: Ints,
    moves: int,
    hot: float,
    cold: float,
    seed: int,
) -> None:
    """Try swaps that are judged by the sum over the links of (bytes * scale)^8; losses pass at a temperature alone.

    The temperature falls from `hot` to `cold`, both as shares of the first sum; 0 takes gains only. The best state
    that was seen at the end of any len(seat) moves is left.
    """
    np.random.seed(seed)
    load = mapping_link_loads(graph, ground, ways, seat)
    links = len(load)
    touched = TouchedLinks(np.empty(links, np.int64), np.empty(links), np.full(links, -1, np.int64))
    cost = float(np.sum((load * ways.scale) ** 8))
    temperature, cooling = hot * cost, (cold / hot) ** (len(seat) / moves) if hot > 0 else 1.0
    best, best_seat = cost, seat.copy()
    for move in range(moves):
        one, other = draw_swap(graph, ground, seat, task, 0.7)
        if ground.router[seat[one]] != ground.router[seat[other]]:
            n = add_pair_load(graph, ground, ways, seat, one, other, -1.0, load, touched, move, 0)
            swap(seat, task, one, other)
            n = add_pair_load(graph, ground, ways, seat, one, other, 1.0, load, touched, move, n)
            change = 0.0
            for i in range(n):
                link = touched.link[i]
                change += eighth_power(load[link] * ways.scale[link]) - eighth_power(
                    touched.before[i] * ways.scale[link]
                )
            taken = change < 0.0
            if temperature > 0.0 and not taken:
                taken = np.random.random() < np.exp(-change / temperature)
            if taken:
                cost += change
            else:
                swap(seat, task, one, other)
                for i in range(n):
                    load[touched.link[i]] = touched.before[i]
        if (move + 1) % len(seat) == 0 or move + 1 == moves:
            temperature *= cooling
            best = save_if_better(cost, best, seat, best_seat)
    restore(best_seat, seat, task)
