"""Any other machine, through Merlin's anytopo: the routes are ours, and the source of a packet draws one by its weight.

Hop k of a packet takes virtual channel k, so no cycle of waiting packets can close. The element needs a node on each
router, and has one bandwidth for all links.
"""

from collections import defaultdict
from typing import Any

import numpy as np

from fabricstudy.core.kinds import kind_of
from fabricstudy.machine.base import Topology
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.base import MemorylessRoutes, Routing
from fabricstudy.routing.base import cached_routes as routes_of
from fabricstudy.routing.dimension_order import DimensionOrder
from fabricstudy.routing.minimal import Minimal
from fabricstudy.routing.ugal import Ugal
from fabricstudy.routing.valiant import Valiant

from ...contract import Unsupported
from ...detours import check_via
from .base import Ints, Wiring, cable_ends, place_on_router

MAX_ROUTE_HOPS = 3_000_000
"""Hops of all routes together; each is some bytes of text, which SST reads once a node."""

AT_SOURCE: tuple[type[Routing], ...] = (Minimal, DimensionOrder, Valiant, Ugal)

Table = dict[int, dict[int, list[tuple[float, tuple[int, ...]]]]]
"""Weight and hops of the routes, by source and destination router."""


def wire(config: Topology, routing: Routing, machine: Machine) -> Wiring:
    """Wire any machine with nodes on all routers."""
    if type(routing) not in AT_SOURCE:
        raise Unsupported(
            f"for {machine.kind} machines SST needs routes that are chosen at the source, and {routing.kind} "
            f"chooses on the way; use {', '.join(map(kind_of, AT_SOURCE))}"
        )
    check_via(routing, "router", f"on {machine.kind} machines in SST")
    if np.any(machine.nodes_of_router == 0):
        raise Unsupported(
            f"SST's element for any graph needs nodes on each router, and some of this {machine.kind}'s have none"
        )
    bandwidths = {link.bandwidth_Bps for link in machine.classes}
    if len(bandwidths) > 1:
        raise Unsupported(
            f"SST has one bandwidth for all links of {machine.kind} machines, not "
            + ", ".join(f"{link.name} {link.bandwidth_Bps / 1e9:g} GB/s" for link in machine.classes)
        )
    minimal = stepwise_table(machine, Minimal())
    table, ugal = minimal, isinstance(routing, Ugal)
    if isinstance(routing, DimensionOrder):
        table = stepwise_table(machine, routing)
    elif isinstance(routing, Valiant):
        table = valiant_table(minimal, machine)
    longest = max(len(hops) for of in table.values() for ways in of.values() for _, hops in ways)
    ports = _Ports(machine)
    return Wiring(
        component="merlin.anytopo",
        parameters={
            "num_routers": machine.routers,
            "source_routing_algo": "UGAL" if ugal else "weighted",
            # One more than hops, for UGAL than those of its detours; the element does not check it.
            "vcs_per_vn": 1 + longest * (2 if ugal else 1),
        },
        of_router={router: ports.parameters(router, written(minimal, router)) for router in range(machine.routers)},
        ports=ports.cables + machine.nodes_of_router,
        cable_ports=ports.of_cable,
        host_ports=ports.of_node,
        routes=tuple(written(table, router) for router in range(machine.routers)),
    )


class _Ports:
    """Ports as anytopo has them: the cables of a router in their order, then its nodes."""

    def __init__(self, machine: Machine) -> None:
        tail, head = cable_ends(machine)
        ends = np.stack([tail, head], axis=1).reshape(-1)
        self.cables: Ints = np.bincount(ends, minlength=machine.routers)
        order = np.argsort(ends, kind="stable")
        first = np.cumsum(self.cables) - self.cables
        port = np.empty(len(ends), dtype=np.int64)
        port[order] = np.arange(len(ends)) - first[ends[order]]
        self.of_cable: Ints = port.reshape(-1, 2)
        self.of_node: Ints = self.cables[machine.node_router] + place_on_router(machine)
        self._to: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
        for a, b, (at_a, at_b) in zip(tail.tolist(), head.tolist(), self.of_cable.tolist(), strict=True):
            self._to[a][b].append(at_a)
            self._to[b][a].append(at_b)
        self._nodes: dict[int, dict[int, int]] = defaultdict(dict)
        for node, (router, at) in enumerate(zip(machine.node_router.tolist(), self.of_node.tolist(), strict=True)):
            self._nodes[router][node] = at

    def parameters(self, router: int, minimal: str) -> dict[str, Any]:
        """What the element of one router is told."""
        nodes = self._nodes[router]
        joined = (",".join(map(str, (other, *at))) for other, at in self._to[router].items())
        return {
            "num_R2N_ports": len(nodes),
            "num_R2R_ports": int(self.cables[router]),
            "connectivity": ";".join(joined),
            "simple_routing_entry_string": minimal,
            "endpoint_to_port_map": _map(nodes),
            "port_to_endpoint_map": _map({at: node for node, at in nodes.items()}),
        }


def _map(pairs: dict[int, int]) -> str:
    """Write a map as SST reads it."""
    return "{" + ", ".join(f"{key}:{value}" for key, value in pairs.items()) + "}"


def stepwise_table(machine: Machine, routing: Routing) -> Table:
    """All routes between two routers, with the share of the packets that take each.

    Raises
    ------
    Unsupported
        If they are too many.
    """
    # A route has a hop at least.
    _check(machine.routers * (machine.routers - 1), machine)
    steps = routes_of(machine, routing)
    assert isinstance(steps, MemorylessRoutes)
    source, goal = (end.reshape(-1) for end in np.indices((machine.routers, machine.routers)))
    apart = source != goal
    source, goal = source[apart], goal[apart]
    at, share = source, np.ones(len(source))
    path: list[tuple[int, ...]] = [()] * len(source)
    table: Table = defaultdict(lambda: defaultdict(list))
    total = 0
    while len(at):
        hops = steps.next_hops(at, goal)
        at = machine.link_head[hops.link].astype(np.int64)
        source, goal, share = source[hops.packet], goal[hops.packet], share[hops.packet] * hops.share
        total += len(at)
        _check(total, machine)
        path = [(*path[before], router) for before, router in zip(hops.packet.tolist(), at.tolist(), strict=True)]
        there = at == goal
        for place in np.flatnonzero(there).tolist():
            table[int(source[place])][int(goal[place])].append((float(share[place]), path[place]))
        on = np.flatnonzero(~there)
        at, source, goal, share, path = at[on], source[on], goal[on], share[on], [path[place] for place in on.tolist()]
    return table


def valiant_table(minimal: Table, machine: Machine) -> Table:
    """Routes by way of each router with nodes, with equal shares; on the way to itself a router is no detour.

    Raises
    ------
    Unsupported
        If they are too many.
    """
    middles = np.flatnonzero(machine.nodes_of_router).tolist()
    stay: list[tuple[float, tuple[int, ...]]] = [(1.0, ())]
    table: Table = defaultdict(lambda: defaultdict(list))
    total = 0
    for source in range(machine.routers):
        for goal in range(machine.routers):
            if source == goal:
                continue
            ways = [
                (first * second / len(middles), there + onward)
                for middle in middles
                for first, there in (minimal[source][middle] if middle != source else stay)
                for second, onward in (minimal[middle][goal] if middle != goal else stay)
            ]
            table[source][goal] = ways
            total += sum(len(hops) for _, hops in ways)
        _check(total, machine)
    return table


def _check(hops: int, machine: Machine) -> None:
    if hops > MAX_ROUTE_HOPS:
        rings = any(dimension.wrap for dimension in machine.dimensions)
        native = (
            "; SST routes a torus by itself only with tie: positive and one cable between two routers, of which a "
            "dimension of 2 routers has two unless pair_cables is 1"
        )
        raise Unsupported(
            f"the routes of this {machine.kind} have more than {MAX_ROUTE_HOPS:,} hops together, too many for SST; "
            f"take a smaller machine, or a routing with fewer routes{native if rings else ''}"
        )


def written(table: Table, source: int) -> str:
    """Write the routes from a router as SST reads them.

    Examples
    --------
    >>> written({0: {2: [(0.5, (1, 2)), (0.5, (3, 2))], 1: [(1.0, (1,))]}}, 0)
    '2:0.5,1,2;0.5,3,2|1:1,1'
    """
    return "|".join(
        f"{goal}:" + ";".join(f"{share:.6g},{','.join(map(str, hops))}" for share, hops in ways)
        for goal, ways in table[source].items()
    )
