"""Routes as lists, in which engines take any routing that they do not implement: next hops, or paths with weights."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from itertools import islice
from operator import index
from typing import Any, NamedTuple

import numpy as np

from fabricstudy.core.arrays import Floats, Ints, number_within

from .base import Flows, MemorylessRoutes, RouteError, Routes, sum_by_index

MAX_PATH_HOPS = 3_000_000
"""Limit of the hops of all paths together; SST reads them as text, once per node."""
MAX_HOP_STATES = 1 << 24
"""Limit of pairs of router and goal."""


class HopList(NamedTuple):
    """Next hops of packets at routers for goals, from all routers with nodes; int64 [hops] each, sorted.

    `share` is 0 where a packet takes any of its hops: under adaptive routing, and where packets split in proportion to
    the cables. `channel` is None where hop k uses channel k.
    """

    router: Ints
    goal: Ints
    link: Ints
    share: Floats
    channel: Ints | None
    longest_route: int
    """Most hops of a packet."""

    @property
    def hop_classes(self) -> int:
        """Number of classes of virtual channels."""
        return self.longest_route if self.channel is None else 1 + int(self.channel.max(initial=0))


@lru_cache(maxsize=4)
def hop_list(routes: MemorylessRoutes) -> HopList:
    """Return the next hops of memoryless routes; raises RouteError for loops, dead ends and wrong sums of shares."""
    machine = routes.machine
    routers, head = machine.routers, machine.link_head.astype(np.int64)
    goals = np.arange(machine.nodes) if routes.by_destination_node else np.flatnonzero(machine.nodes_of_router)
    if len(goals) * routers > MAX_HOP_STATES:
        raise RouteError(f"more than {MAX_HOP_STATES:,} pairs of router and destination")
    states = [goal * routers + np.flatnonzero(machine.nodes_of_router) for goal in goals]
    state = np.concatenate([*states, np.empty(0, dtype=np.int64)])
    known, longest = np.empty(0, dtype=np.int64), 0
    while len((hops := routes.checked_hops(state % routers, state // routers)).link):
        routes.check_steps(longest, state % routers, state // routers)
        known, longest = np.union1d(known, state[hops.packet]), longest + 1
        state = np.unique(state[hops.packet] // routers * routers + head[hops.link])
    router, goal = known % routers, known // routers
    hops = routes.checked_hops(router, goal)
    order = np.lexsort((hops.link, head[hops.link], hops.packet))
    packet, link = hops.packet[order], hops.link[order]
    share = hops.share[order] if routes.oblivious else np.zeros(len(order))
    cables = machine.cable_count[link // 2].astype(np.float64)
    even = cables / sum_by_index(packet, cables, len(known))[packet]
    uneven = sum_by_index(packet, (np.abs(share - even) > 1e-9).astype(np.float64), len(known)) > 0
    channel = None if hops.channel is None else hops.channel[order].astype(np.int64)
    return HopList(router[packet], goal[packet], link, np.where(uneven[packet], share, 0.0), channel, longest)


class PathList(NamedTuple):
    """Paths between all routers with nodes, sorted by source and goal; arrays [paths]."""

    source: Ints
    goal: Ints
    share: Floats
    """Shares of the packets between two routers; they sum to 1."""
    hops: Ints
    router: Ints
    """Routers after the source, path after path; int64 [hops of all paths]."""

    @property
    def longest_route(self) -> int:
        """Most hops of a packet."""
        return int(self.hops.max(initial=0))

    @property
    def hop_classes(self) -> int:
        """Number of classes of virtual channels: hop k uses channel k."""
        return self.longest_route


class PathRoutes(Routes, ABC):
    """Routes by paths between routers, of which each packet draws one at its source."""

    oblivious = True

    @abstractmethod
    def paths(self, source: int, goal: int) -> Iterable[tuple[float, Sequence[int]]]:
        """Return the paths between two routers: the weight of each, and its routers after `source`, up to `goal`."""

    @cached_property
    def all_paths(self) -> PathList:
        """All paths. Raises RouteError for paths that the machine does not have."""
        ends = np.flatnonzero(self.machine.nodes_of_router).tolist()
        pairs = [(source, goal) for source in ends for goal in ends if source != goal]
        found: list[tuple[int, int, float, int]] = []
        routers: list[int] = []
        for source, goal in pairs:
            paths = self._paths(source, goal)
            total = sum(weight for weight, _ in paths)
            if not (0 < total < np.inf) or min(weight for weight, _ in paths) < 0:
                raise RouteError(f"the paths from router {source} to {goal} have no weights above 0")
            for weight, path in paths:
                if path[-1:] != [goal] or goal in path[:-1]:
                    raise RouteError(f"the path {[source, *path]} does not end where it first meets router {goal}")
                found.append((source, goal, weight / total, len(path)))
                routers += path
            if len(routers) > MAX_PATH_HOPS:
                raise RouteError(f"the paths have more than {MAX_PATH_HOPS:,} hops together")
        columns = np.array(found, dtype=np.float64).reshape(-1, 4).T
        source, goal, hops = (column.astype(np.int64) for column in columns[[0, 1, 3]])
        return PathList(source, goal, columns[2], hops, np.array(routers, dtype=np.int64))

    def _paths(self, source: int, goal: int) -> list[tuple[float, list[int]]]:
        """Return the paths between two routers. Raises RouteError if they are not weights with routers."""
        found: object = self.paths(source, goal)
        first: list[Any] = list(islice(found, MAX_PATH_HOPS)) if isinstance(found, Iterable) else [found]
        try:
            paths = [(float(weight), list(map(index, islice(path, MAX_PATH_HOPS)))) for weight, path in first]
        except (TypeError, ValueError, OverflowError):
            problem = f"the paths from router {source} to {goal} are not pairs of a weight and a list of routers"
            raise RouteError(problem) from None
        if any(not 0 <= router < self.machine.routers for _, path in paths for router in path):
            raise RouteError(f"a path from router {source} to {goal} leads to a router that the machine does not have")
        return paths

    def loads(self, flows: Flows) -> Floats:
        size_bytes = np.zeros((self.machine.routers, self.machine.routers))
        size_bytes[flows.source, flows.goal] = flows.size_bytes
        paths, (hop, link, share) = self.all_paths, self.links_of_hops
        of_path = np.repeat(paths.share * size_bytes[paths.source, paths.goal], paths.hops)
        return sum_by_index(link, of_path[hop] * share, self.machine.links)

    @cached_property
    def links_of_hops(self) -> tuple[Ints, Ints, Floats]:
        """Hop, link and share of the hop's packets, arrays [links of all hops]; packets split by cables."""
        paths, machine = self.all_paths, self.machine
        key = machine.link_tail.astype(np.int64) * machine.routers + machine.link_head
        order = np.argsort(key, kind="stable")
        first = np.cumsum(paths.hops) - paths.hops
        tail = np.roll(paths.router, 1)
        tail[first] = paths.source
        wanted = tail * machine.routers + paths.router
        begin, end = (np.searchsorted(key[order], wanted, side) for side in ("left", "right"))
        missing = np.flatnonzero(begin == end)
        if len(missing):
            raise RouteError(
                f"a path leads from router {tail[missing[0]]} to {paths.router[missing[0]]}, without a cable"
            )
        hop = np.repeat(np.arange(len(wanted)), end - begin)
        link = order[begin[hop] + number_within(hop)]
        cables = machine.cable_count[link // 2].astype(np.float64)
        return hop, link, cables / sum_by_index(hop, cables, len(wanted))[hop]
