"""Whether packets can wait for each other in a circle.

A packet that holds a virtual channel of one link and waits for one of the next makes the second a dependency of the
first. If the graph of all such dependencies has no cycle, no deadlock is possible (Dally, Seitz: Deadlock-free
message routing in multiprocessor interconnection networks, IEEE Trans. Computers C-36(5), 1987,
doi:10.1109/TC.1987.1676939). Routings without channels of their own take channel k for hop k, with as many as the
longest route has hops: a dependency then always leads to the next channel, and no cycle can close (Günther: IEEE Trans.
Communications 29(4), 1981).
"""

import numpy as np
import numpy.typing as npt

from fabricstudy.machine.graph import Machine
from fabricstudy.routing.base import MemorylessRoutes, Routing, cached_routes

Ints = npt.NDArray[np.int64]


def channel_dependencies(machine: Machine, routing: Routing, *, one_channel: bool = False) -> Ints:
    """Return the dependencies between channels, with packets from every router that has nodes to every other.

    Parameters
    ----------
    machine : Machine
        Of some hundred routers at most: work and memory grow with links times destinations.
    routing : Routing
        One whose next hop depends only on where a packet is and on its goal: not Valiant or UGAL.
    one_channel : bool
        What would be if each link had one channel instead of those that the routing uses.

    Returns
    -------
    int64 array [dependencies, 4]
        Link and channel held, link and channel waited for; each row once.

    Raises
    ------
    ValueError
        If the machine lacks what the routing needs, or the routing remembers more than its goal.
    """
    way = cached_routes(machine, routing)
    if not isinstance(way, MemorylessRoutes):
        raise ValueError(f"the next hop of {routing.kind} routing depends on more than the destination")
    edge_router = np.flatnonzero(machine.nodes_of_router)
    goals = machine.nodes if way.by_destination_node else machine.routers
    goal = np.arange(goals) if way.by_destination_node else edge_router
    at, goal = np.repeat(edge_router, len(goal)), np.tile(goal, len(edge_router))
    # Packets stand for all with the same goal that hold the same channel; those of step 0 hold none.
    held, known, pairs = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), [np.empty((2, 0), dtype=np.int64)]
    channels, step = machine.routers, 0  # no route has as many hops as there are routers
    while len(at):
        hops = way.next_hops(at, goal)
        channel = 0 if one_channel else step if hops.channel is None else hops.channel
        wanted = hops.link * channels + channel
        if step:
            pairs.append(np.unique(np.stack([held[hops.packet], wanted]), axis=1))
        state = np.setdiff1d(wanted * goals + goal[hops.packet], known)
        known = np.union1d(known, state)
        held, goal = state // goals, state % goals
        at = machine.link_head[held // channels].astype(np.int64)
        step += 1
    first, second = np.unique(np.concatenate(pairs, axis=1), axis=1)
    return np.stack([first // channels, first % channels, second // channels, second % channels], axis=1)


def is_deadlock_free(machine: Machine, routing: Routing, *, one_channel: bool = False) -> bool:
    """Whether the dependencies between channels have no cycle; see `channel_dependencies`.

    Valiant and UGAL take channel k for hop k, so they are, and for one channel nothing is said of them.

    Raises ValueError as `channel_dependencies`.
    """
    if not one_channel and not isinstance(cached_routes(machine, routing), MemorylessRoutes):
        return True
    dependencies = channel_dependencies(machine, routing, one_channel=one_channel)
    if not len(dependencies):
        return True
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    channels = int(dependencies[:, [1, 3]].max()) + 1
    vertices = machine.links * channels
    pair = dependencies[:, 0] * channels + dependencies[:, 1], dependencies[:, 2] * channels + dependencies[:, 3]
    graph = coo_array((np.ones(len(dependencies)), pair), shape=(vertices, vertices))
    # A dependency never leads back to its own channel, so only a component of several is a cycle.
    components: int = connected_components(graph, connection="strong")[0]
    return components == vertices
