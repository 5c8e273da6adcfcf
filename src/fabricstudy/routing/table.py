"""Table: the next hop of each router for each node, from a file.

Where several rows of cables lead to the next router, packets split in proportion to the cables; an InfiniBand port
selects the cables of its link class. Parallel cables of a class are one link, so imbalance among them is not modelled.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from fabricstudy.core.arrays import Ints
from fabricstudy.core.input_files import FromFile, InputFileError
from fabricstudy.machine.base import Topology
from fabricstudy.machine.graph import Machine, NamedMachine

from .base import NextHops, ObliviousMemorylessRoutes, Routes, Routing, cached_routes, sum_by_index
from .forwarding import ForwardingEntry, read_forwarding

NO_ROUTE = -1
PAIRS_AT_ONCE = 1 << 20


class TableRoutes(ObliviousMemorylessRoutes):
    """Routes by a table; every router with nodes reaches every node.

    Raises InputFileError if the table does not fit the machine, or has loops or dead ends.
    """

    by_destination_node = True

    def __init__(self, machine: Machine, entries: list[ForwardingEntry]) -> None:
        super().__init__(machine)
        names = _Names(machine)
        self._goal = machine.node_router.astype(np.int64)
        # A way is one link, or several to the same router; the table has the numbers of ways.
        self._ways: list[Ints] = []
        self._table = np.full((machine.routers, machine.nodes), NO_ROUTE, dtype=np.int32)
        self._fill(entries, names)
        self._count = count = np.array([len(way) for way in self._ways], dtype=np.int64)
        self._first = np.cumsum(count) - count
        self._link = np.concatenate([*self._ways, np.empty(0, dtype=np.int64)])
        cables = machine.cable_count[self._link // 2].astype(np.float64)
        self._share = cables / np.repeat(
            sum_by_index(np.repeat(np.arange(len(count)), count), cables, len(count)), count
        )
        self.single_path = bool(np.all(self._share == 1))
        self._next = np.array([machine.link_head[way[0]] for way in self._ways], dtype=np.int64)
        self._check(names)

    def next_hops(self, at: Ints, goal: Ints) -> NextHops:
        """Return the hops of the table, none at the router of the destination node."""
        packet = np.flatnonzero(at != self._goal[goal])
        way = self._table[at[packet], goal[packet]]
        count = self._count[way]
        packet = np.repeat(packet, count)
        index = np.arange(len(packet)) - np.repeat(np.cumsum(count) - count - self._first[way], count)
        return NextHops(packet, self._link[index], self._share[index])

    def _fill(self, entries: list[ForwardingEntry], names: _Names) -> None:
        number_of_way: dict[tuple[int, ...], int] = {}
        line_of: dict[tuple[int, str], str] = {}
        for entry in entries:
            if entry.port is not None:
                names.check_ports(entry.where)
            router = names.router(entry.router, entry.where)
            nodes = names.destination(entry)
            if len(nodes) == 0 or router == self._goal[nodes[0]]:
                continue
            if (router, entry.destination) in line_of:
                problem = f"duplicate next hop, first on {line_of[router, entry.destination]}"
                raise InputFileError(problem, "remove one", entry.where, entry.destination)
            line_of[router, entry.destination] = entry.where
            way = names.way(router, entry)
            number = number_of_way.setdefault(way, len(self._ways))
            if number == len(self._ways):
                self._ways.append(np.array(way, dtype=np.int64))
            self._table[router, nodes] = number

    def _check(self, names: _Names) -> None:
        """Follow packets from all routers with nodes to all nodes."""
        sources = np.flatnonzero(self.machine.nodes_of_router)
        nodes_at_once = max(1, PAIRS_AT_ONCE // len(sources))
        for start in range(0, self.machine.nodes, nodes_at_once):
            goals = np.arange(start, min(start + nodes_at_once, self.machine.nodes))
            source, goal = np.repeat(sources, len(goals)), np.tile(goals, len(sources))
            at = source
            for _ in range(self.machine.routers):
                moving = np.flatnonzero(at != self._goal[goal])
                source, goal, at = source[moving], goal[moving], at[moving]
                way = self._table[at, goal]
                if np.any(way == NO_ROUTE):
                    raise _dead_end(names, *(int(end[np.argmax(way == NO_ROUTE)]) for end in (source, at, goal)))
                at = self._next[way]
                if not len(at):
                    break
            else:
                raise self._loop(names, int(source[0]), int(goal[0]))

    def _loop(self, names: _Names, source: int, goal: int) -> InputFileError:
        path = [source]
        while path[-1] not in path[:-1]:
            path.append(int(self._next[self._table[path[-1], goal]]))
        node, loop = names.of_node[goal], ", ".join(names.of_router[router] for router in path[path.index(path[-1]) :])
        problem = f"packets from {names.of_router[source]} to {node} enter a routing loop: {loop}"
        return InputFileError(problem, "fix the table", "", node)


def _dead_end(names: _Names, source: int, at: int, goal: int) -> InputFileError:
    here, node = names.of_router[at], names.of_node[goal]
    if source == at:
        problem = f"packets from {here} cannot reach {node}: there is no next hop"
    else:
        problem = f"packets from {names.of_router[source]} to {node} end at {here}: there is no next hop"
    return InputFileError(problem, f"add the next hop of {here} for {node}", "", node)


class _Names:
    """Names of routers, nodes and ports of a machine: those of its file, or numbers."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        if isinstance(machine, NamedMachine):
            self.of_router, self.of_node = machine.router_names, machine.node_names
            self._routers, self._nodes, self._ports = machine.router_of, machine.node_of, machine.link_of_port
        else:
            self.of_router, self.of_node = (tuple(map(str, range(n))) for n in (machine.routers, machine.nodes))
            self._routers, self._nodes = ({name: int(name) for name in of} for of in (self.of_router, self.of_node))
            self._ports = {}
        self._links: dict[tuple[int, int], list[int]] = {}
        ends = zip(machine.link_tail.tolist(), machine.link_head.tolist(), strict=True)
        for link, (tail, head) in enumerate(ends):
            self._links.setdefault((tail, head), []).append(link)

    def router(self, name: str, where: str) -> int:
        if name not in self._routers:
            raise InputFileError("the machine has no such router", _REMEDY, where, name)
        return self._routers[name]

    def destination(self, entry: ForwardingEntry) -> Ints:
        """Return the nodes of an entry's destination; none if the machine does not have it and need not."""
        if entry.to_router:
            return np.flatnonzero(self._machine.node_router == self.router(entry.destination, entry.where))
        if entry.destination in self._nodes:
            return np.array([self._nodes[entry.destination]])
        if entry.known:
            raise InputFileError("the machine has no such node", _REMEDY, entry.where, entry.destination)
        return np.empty(0, dtype=np.int64)

    def way(self, router: int, entry: ForwardingEntry) -> tuple[int, ...]:
        if entry.next_router is not None:
            links = self._links.get((router, self.router(entry.next_router, entry.where)))
            if links is None:
                problem = f"no cable from {self.of_router[router]} to this router"
                raise InputFileError(problem, "use a neighbour", entry.where, entry.next_router)
            return tuple(links)
        port = f"{router}:{entry.port}"
        if port not in self._ports:
            problem = f"port {entry.port} of {self.of_router[router]} leads to no router"
            raise InputFileError(problem, "use tables and fabric of the same time", entry.where, entry.port)
        return (self._ports[port],)

    def check_ports(self, where: str) -> None:
        if not self._ports:
            remedy = "use a machine from the output of ibnetdiscover, or a CSV table"
            raise InputFileError("the machine's ports have no numbers", remedy, where)


_REMEDY = "use a name of the machine's file, or for other machines a number from 0"


class Table(FromFile, Routing, kind="table"):
    """The next hop of each router for each node, from a file.

    A `.csv` has the header router,destination,next, where a destination is a node, or router,destination_router,next,
    where it is a router and means all its nodes; names are those of the machine's file, or numbers. A `.lft`, `.lfts`,
    `.fts` or `.txt` is the output of ibroute or dump_lfts.sh, for a machine from the output of ibnetdiscover. Tables
    with loops, dead ends or missing pairs are refused. Of the simulators, packet, CAMINOS and flow have such routes;
    bounds and loads are available with any engine. The point includes the digest of the file.
    """

    READER = staticmethod(read_forwarding)

    def check_machine(self, machine: Topology) -> None:
        _checked(self, machine)

    def routes(self, machine: Machine) -> Routes:
        try:
            return TableRoutes(machine, self.content())
        except InputFileError as mistake:
            raise mistake.at_file_key(self.file, "invalid-data-file") from None


@lru_cache(maxsize=64)
def _checked(routing: Table, machine: Topology) -> None:
    cached_routes(machine.build(), routing)
