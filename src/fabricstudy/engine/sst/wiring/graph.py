"""Any other machine, by Merlin's anytopo: the source of a packet draws one of the given routes by their weights.

Hop k of a packet uses virtual channel k, which avoids deadlock. The element needs a node on each router, and has one
bandwidth for all links.
"""

from collections import defaultdict
from typing import Any

import numpy as np

from fabricstudy.core.arrays import Ints, number_within
from fabricstudy.core.kinds import kind_of
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.base import MemorylessRoutes, Routing
from fabricstudy.routing.base import cached_routes as routes_of
from fabricstudy.routing.dimension_order import DimensionOrder
from fabricstudy.routing.listed import PathList
from fabricstudy.routing.minimal import Minimal
from fabricstudy.routing.ugal import Ugal
from fabricstudy.routing.valiant import Valiant

from ...detours import check_via
from ...failures import Unsupported
from ...listed_routes import listed_routes
from .base import Wiring, cable_ends

COMPONENT = "merlin.anytopo"

MAX_ROUTE_HOPS = 3_000_000
"""Hops of all routes together; each is some bytes of text, which SST reads once per node."""

AT_SOURCE: tuple[type[Routing], ...] = (Minimal, DimensionOrder, Valiant, Ugal)

SstRouteTable = dict[int, dict[int, list[tuple[float, tuple[int, ...]]]]]
"""Weight and hops of the routes, by source and destination router."""


def wire(routing: Routing, machine: Machine) -> Wiring:
    """Wire any machine with nodes on all routers."""
    if type(routing) in AT_SOURCE:
        check_via(routing, "router", f"on {machine.kind} machines in SST")
    if np.any(machine.nodes_of_router == 0):
        raise Unsupported(
            f"SST's element for any graph needs nodes on each router, and some of this {machine.kind}'s have none"
        )
    minimal = stepwise_table(machine, Minimal())
    ugal = isinstance(routing, Ugal)
    table = minimal if ugal else _route_table(routing, machine, minimal)
    longest = max(len(hops) for by_goal in table.values() for routes in by_goal.values() for _, hops in routes)
    ports = _Ports(machine)
    return Wiring(
        component=COMPONENT,
        parameters={
            "num_routers": machine.routers,
            "source_routing_algo": "UGAL" if ugal else "weighted",
            # One more than the hops of the longest route or, under UGAL, detour; the element does not check it.
            "vcs_per_vn": 1 + longest * (2 if ugal else 1),
        },
        of_router={router: ports.parameters(router, written(minimal, router)) for router in range(machine.routers)},
        ports=ports.cables + machine.nodes_of_router,
        cable_ports=ports.of_cable,
        host_ports=ports.of_node,
        routes=tuple(written(table, router) for router in range(machine.routers)),
    )


def _route_table(routing: Routing, machine: Machine, minimal: SstRouteTable) -> SstRouteTable:
    """Return the routes of a routing whose packets take one of them from their source on."""
    if type(routing) in AT_SOURCE:
        return valiant_table(minimal, machine) if isinstance(routing, Valiant) else stepwise_table(machine, routing)
    routes = routes_of(machine, routing)
    listed = listed_routes(routing, machine)
    if isinstance(listed, PathList):
        return _path_table(listed, machine)
    if not routes.oblivious or routes.by_destination_node:
        where = "decides at each hop" if not routes.oblivious else "depends on the destination node"
        raise Unsupported(
            f"for {machine.kind} machines SST uses source routing, and {routing.kind} routing {where}; use "
            f"{', '.join(map(kind_of, AT_SOURCE))}, or paths"
        )
    return stepwise_table(machine, routing)


def _path_table(paths: PathList, machine: Machine) -> SstRouteTable:
    _check(len(paths.router), machine)
    table: SstRouteTable = defaultdict(lambda: defaultdict(list))
    routers = np.split(paths.router, np.cumsum(paths.hops)[:-1])
    for source, goal, share, path in zip(
        paths.source.tolist(), paths.goal.tolist(), paths.share.tolist(), routers, strict=True
    ):
        table[source][goal].append((share, tuple(path.tolist())))
    return table


class _Ports:
    """Ports of anytopo: the cables of a router in their order, then its nodes."""

    def __init__(self, machine: Machine) -> None:
        tail, head = cable_ends(machine)
        ends = np.stack([tail, head], axis=1).reshape(-1)
        self.cables: Ints = np.bincount(ends, minlength=machine.routers)
        self.of_cable: Ints = number_within(ends).reshape(-1, 2)
        self.of_node: Ints = self.cables[machine.node_router] + number_within(machine.node_router)
        self._to: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
        for a, b, (port_a, port_b) in zip(tail.tolist(), head.tolist(), self.of_cable.tolist(), strict=True):
            self._to[a][b].append(port_a)
            self._to[b][a].append(port_b)
        self._nodes: dict[int, dict[int, int]] = defaultdict(dict)
        for node, router in enumerate(machine.node_router.tolist()):
            self._nodes[router][node] = int(self.of_node[node])

    def parameters(self, router: int, minimal: str) -> dict[str, Any]:
        """Return the parameters of the element of one router, given its minimal routes."""
        nodes = self._nodes[router]
        connections = (",".join(map(str, (neighbour, *ports))) for neighbour, ports in self._to[router].items())
        return {
            "num_R2N_ports": len(nodes),
            "num_R2R_ports": int(self.cables[router]),
            "connectivity": ";".join(connections),
            "simple_routing_entry_string": minimal,
            # SST's maps have no blank after a colon.
            "endpoint_to_port_map": str(nodes).replace(": ", ":"),
            "port_to_endpoint_map": str({port: node for node, port in nodes.items()}).replace(": ", ":"),
        }


def stepwise_table(machine: Machine, routing: Routing) -> SstRouteTable:
    """Return all routes between routers with their shares of the packets; raise `Unsupported` if they are too many."""
    # A route has at least one hop.
    _check(machine.routers * (machine.routers - 1), machine)
    steps = routes_of(machine, routing)
    assert isinstance(steps, MemorylessRoutes)
    source, goal = (end.reshape(-1) for end in np.indices((machine.routers, machine.routers)))
    apart = source != goal
    source, goal = source[apart], goal[apart]
    router, share = source, np.ones(len(source))
    path: list[tuple[int, ...]] = [()] * len(source)
    table: SstRouteTable = defaultdict(lambda: defaultdict(list))
    total = 0
    while len(router):
        hops = steps.next_hops(router, goal)
        router = machine.link_head[hops.link].astype(np.int64)
        source, goal, share = source[hops.packet], goal[hops.packet], share[hops.packet] * hops.share
        total += len(router)
        _check(total, machine)
        path = [(*path[before], head) for before, head in zip(hops.packet.tolist(), router.tolist(), strict=True)]
        arrived = router == goal
        for row in np.flatnonzero(arrived).tolist():
            table[int(source[row])][int(goal[row])].append((float(share[row]), path[row]))
        rows = np.flatnonzero(~arrived)
        router, source, goal, share = router[rows], source[rows], goal[rows], share[rows]
        path = [path[row] for row in rows.tolist()]
    return table


def valiant_table(minimal: SstRouteTable, machine: Machine) -> SstRouteTable:
    """Return routes through each router with nodes, with equal shares; raise `Unsupported` if they are too many.

    Source and destination are no detour.
    """
    middles = np.flatnonzero(machine.nodes_of_router).tolist()
    stay: list[tuple[float, tuple[int, ...]]] = [(1.0, ())]
    table: SstRouteTable = defaultdict(lambda: defaultdict(list))
    total = 0
    for source in range(machine.routers):
        for goal in range(machine.routers):
            if source == goal:
                continue
            table[source][goal] = [
                (first_share * second_share / len(middles), first + second)
                for middle in middles
                for first_share, first in (minimal[source][middle] if middle != source else stay)
                for second_share, second in (minimal[middle][goal] if middle != goal else stay)
            ]
            total += sum(len(hops) for _, hops in table[source][goal])
        _check(total, machine)
    return table


def _check(hops: int, machine: Machine) -> None:
    if hops > MAX_ROUTE_HOPS:
        rings = any(dimension.wrap for dimension in machine.dimensions)
        native = (
            "; SST has a native torus only for tie: positive and one cable between two routers (a dimension of 2 "
            "routers has two cables unless pair_cables is 1)"
        )
        raise Unsupported(
            f"the routes of this {machine.kind} have more than {MAX_ROUTE_HOPS:,} hops together, too many for SST; "
            f"use a smaller machine, or a routing with fewer routes{native if rings else ''}"
        )


def written(table: SstRouteTable, source: int) -> str:
    """Return the routes from a router in SST's format.

    Examples
    --------
    >>> written({0: {2: [(0.5, (1, 2)), (0.5, (3, 2))], 1: [(1.0, (1,))]}}, 0)
    '2:0.5,1,2;0.5,3,2|1:1,1'
    """
    return "|".join(
        f"{goal}:" + ";".join(f"{share:.6g},{','.join(map(str, hops))}" for share, hops in routes)
        for goal, routes in table[source].items()
    )
