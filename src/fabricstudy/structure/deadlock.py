"""Deadlock freedom by the channel dependency graph.

A packet that holds a virtual channel of one link and waits for one of the next creates a dependency. If the dependency
graph is acyclic, deadlock is impossible (Dally, Seitz: Deadlock-free message routing in multiprocessor interconnection
networks, IEEE Trans. Computers C-36(5), 1987, doi:10.1109/TC.1987.1676939). Routings without an assignment of channels
use channel k for hop k: dependencies then lead to the next channel, without cycles (Günther: IEEE Trans. Communications
29(4), 1981).
"""

import numpy as np

from fabricstudy.core.arrays import Ints
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.base import MAX_CHANNEL, MemorylessRoutes, NonMinimalRouting, Routing, cached_routes
from fabricstudy.routing.global_hops import MinimalByGlobalHops, RoutesIntoGroups
from fabricstudy.routing.ugal import Ugal


def channel_dependencies(machine: Machine, routing: Routing, *, one_channel: bool = False) -> Ints:
    """Return the channel dependencies of packets between all routers with nodes, int64 [dependencies, 4].

    Columns are link and channel held, link and channel requested; rows are unique. Work and memory are proportional to
    links times destinations. `one_channel` assumes a single channel per link.

    Raises ValueError if the machine does not fit the routing, or the routing is not memoryless (Valiant, UGAL).
    """
    routes = cached_routes(machine, routing)
    if not isinstance(routes, MemorylessRoutes):
        raise ValueError(f"the next hop of {routing.kind} routing depends on more than the destination")
    edge_router = np.flatnonzero(machine.nodes_of_router)
    goals = machine.nodes if routes.by_destination_node else machine.routers
    goal = np.arange(goals) if routes.by_destination_node else edge_router
    return _dependencies(routes, edge_router, goal, goals, one_channel)


def _dependencies(routes: MemorylessRoutes, start: Ints, goal: Ints, goals: int, one_channel: bool = False) -> Ints:
    """Return the channel dependencies of packets from all of `start` to all of `goal`, which are below `goals`."""
    machine = routes.machine
    at, goal = np.repeat(start, len(goal)), np.tile(goal, len(start))
    # A packet represents all that have the same goal and hold the same channel; packets of step 0 hold none.
    occupied = known = np.empty(0, dtype=np.int64)
    pairs = [np.empty((2, 0), dtype=np.int64)]
    # No route has as many hops as there are routers.
    channels, step = max(machine.routers, MAX_CHANNEL + 1), 0
    while len(at):
        hops = routes.checked_hops(at, goal)
        if len(hops.link):
            routes.check_steps(step, at, goal)
        channel = 0 if one_channel else step if hops.channel is None else hops.channel
        requested = hops.link * channels + channel
        if step:
            pairs.append(np.unique(np.stack([occupied[hops.packet], requested]), axis=1))
        state = np.setdiff1d(requested * goals + goal[hops.packet], known)
        known = np.union1d(known, state)
        occupied, goal = state // goals, state % goals
        at = machine.link_head[occupied // channels].astype(np.int64)
        step += 1
    first, second = np.unique(np.concatenate(pairs, axis=1), axis=1)
    return np.stack([first // channels, first % channels, second // channels, second % channels], axis=1)


def is_deadlock_free(machine: Machine, routing: Routing, *, one_channel: bool = False) -> bool:
    """Return True if the channel dependencies are acyclic; raises ValueError as `channel_dependencies`.

    Valiant and UGAL are deadlock-free, since they use channel k for hop k; they are refused for one channel.
    """
    if not one_channel and not isinstance(cached_routes(machine, routing), MemorylessRoutes):
        return True
    return _is_acyclic(machine, channel_dependencies(machine, routing, one_channel=one_channel))


def detours_are_deadlock_free(machine: Machine, routing: NonMinimalRouting) -> bool:
    """Return True if the dependencies of Valiant or UGAL, with channels by global hops, are acyclic.

    Channels never decrease along a path, so that its parts up to the intermediate router or group and behind it can be
    considered one by one. Parts begin at routers with nodes; a part behind a group, and one of a packet that decided on
    its way, also begin where a cable comes from another group. Raises ValueError if there are no groups.
    """
    if machine.group is None:
        raise ValueError("the machine has no groups")
    has_nodes = machine.nodes_of_router > 0
    crosses = machine.group[machine.link_tail] != machine.group[machine.link_head]
    has_nodes_or_crosses = has_nodes.copy()
    has_nodes_or_crosses[machine.link_tail[crosses]] = True
    edge, all_starts = np.flatnonzero(has_nodes), np.flatnonzero(has_nodes_or_crosses)
    first = all_starts if isinstance(routing, Ugal) and routing.progressive else edge
    minimal, routers = MinimalByGlobalHops().routes(machine), machine.routers
    assert isinstance(minimal, MemorylessRoutes)
    if routing.via == "router":
        return _is_acyclic(machine, _dependencies(minimal, first, edge, routers))
    groups = routers + np.unique(machine.group[edge]).astype(np.int64)
    into_groups = _dependencies(RoutesIntoGroups(machine), first, groups, int(groups.max()) + 1)
    return _is_acyclic(machine, into_groups) and _is_acyclic(machine, _dependencies(minimal, all_starts, edge, routers))


def _is_acyclic(machine: Machine, dependencies: Ints) -> bool:
    if not len(dependencies):
        return True
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    channels = int(dependencies[:, [1, 3]].max()) + 1
    vertices = machine.links * channels
    pair = dependencies[:, 0] * channels + dependencies[:, 1], dependencies[:, 2] * channels + dependencies[:, 3]
    graph = coo_array((np.ones(len(dependencies)), pair), shape=(vertices, vertices))
    # There are no self-loops, so any cycle is a component of several channels.
    components: int = connected_components(graph, connection="strong")[0]
    return components == vertices
