"""Classes of virtual channels: no cycle of waiting packets, by networkx on the dependencies of all paths."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from fabricstudy.core.arrays import Ints
from fabricstudy.engine.engine import Engine
from fabricstudy.engine.failures import Unsupported
from fabricstudy.engine.packet.adapter import Packet
from fabricstudy.engine.point import Point
from fabricstudy.engine.registry import engine_named
from fabricstudy.engine.settings import StudyScheme
from fabricstudy.engine.virtual_channels import (
    CYCLE,
    channel_classes,
    channel_scheme,
    most_hops,
    virtual_channels,
    with_scheme,
)
from fabricstudy.machine.base import Topology
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.base import MemorylessRoutes, NextHops, Routing, cached_routes
from fabricstudy.routing.dimension_order import DimensionOrder
from fabricstudy.routing.minimal import Minimal, MinimalRoutes
from fabricstudy.study.file import validate_study
from fabricstudy.study.plan import plan

from ...machines import point_on

MACHINES: dict[str, dict[str, Any]] = {
    "dragonfly": {"kind": "dragonfly", "groups": 4, "routers_per_group": 3, "nodes_per_router": 1},
    "Dragonfly+": {"kind": "megafly", "groups": 3, "leaves_per_group": 2, "spines_per_group": 2, "nodes_per_leaf": 1},
    "fat tree": {"kind": "fat-tree", "radix": 4},
    "XGFT": {"kind": "xgft", "down": [3, 2, 2], "up": [2, 2]},
    "torus": {"kind": "torus", "shape": [4, 3]},
    "mesh": {"kind": "mesh", "shape": [3, 3, 2]},
    "express mesh": {"kind": "express-mesh", "shape": [5, 4], "gap": 2},
    "HyperX": {"kind": "hyperx", "shape": [3, 4]},
    "Slim Fly": {"kind": "slim-fly", "q": 3, "nodes_per_router": 1},
    "PolarFly": {"kind": "polarfly", "q": 2, "nodes_per_router": 1},
    "Jellyfish": {"kind": "jellyfish", "routers": 10, "degree": 3, "nodes_per_router": 1},
}
ROUTINGS = ("minimal", "dimension-order", "d-mod-k", "adaptive", "valiant", "ugal")

Channel = tuple[int, int]
"""A link and a class of channels."""


def point_of(name: str, routing: str, **more: Any) -> Point:
    return point_on(MACHINES[name] | {"bandwidth": "1 GB/s"}, routing, **({"engine": "packet"} | more))


def fits(machine: Machine, routing: str) -> bool:
    needs = {"dimension-order": bool(machine.dimensions), "d-mod-k": machine.level is not None}
    return needs.get(routing, True)


CASES = [
    (name, routing)
    for name in MACHINES
    for machine in [point_of(name, "minimal").machine.build()]
    for routing in ROUTINGS
    if fits(machine, routing)
]


class Hops:
    """Next hops of memoryless routes, as lists of link and listed channel."""

    def __init__(self, machine: Machine, routing: Routing) -> None:
        routes = cached_routes(machine, routing)
        assert isinstance(routes, MemorylessRoutes)
        self.machine, self.routes = machine, routes
        self.found: dict[int, dict[int, list[Channel]]] = {}

    def of(self, at: int, goal: int) -> list[Channel]:
        """Return the links that a packet may take, with their channels by the routes, 0 if these state none."""
        if goal not in self.found:
            # D-mod-k has no next hop of routers above no leaf and of no path.
            routers = np.arange(self.machine.routers)
            if self.routes.by_destination_node:
                routers = np.flatnonzero(np.isin(routers, list(self._visited(goal))))
            hops = self.routes.next_hops(routers, np.full(len(routers), goal))
            self.found[goal] = self._lists(routers, hops)
        return self.found[goal].get(at, [])

    def longest(self, at: int, goal: int) -> int:
        """Return the most hops of a packet to its goal."""
        heads = {int(self.machine.link_head[link]) for link, _ in self.of(at, goal)}
        return 1 + max(self.longest(head, goal) for head in heads) if heads else 0

    def _visited(self, goal: int) -> set[int]:
        seen, new = set(), set(np.flatnonzero(self.machine.nodes_of_router).tolist())
        while new:
            seen |= new
            at = np.array(sorted(new))
            new = set(self.machine.link_head[self.routes.next_hops(at, np.full(len(at), goal)).link].tolist()) - seen
        return seen

    @staticmethod
    def _lists(routers: Any, hops: NextHops) -> dict[int, list[Channel]]:
        lists: dict[int, list[Channel]] = defaultdict(list)
        channels = np.zeros_like(hops.link) if hops.channel is None else hops.channel
        for packet, link, channel in zip(hops.packet.tolist(), hops.link.tolist(), channels.tolist(), strict=True):
            lists[int(routers[packet])].append((link, channel))
        return lists


def dependencies(machine: Machine, routing: Routing, scheme: str, classes: int = 1) -> nx.DiGraph:
    """Return the channels that packets hold and request, of all pairs of routers with nodes; loops are cycles, too."""
    graph: nx.DiGraph = nx.DiGraph()
    by_node = routing.kind == "d-mod-k"
    ends = np.flatnonzero(machine.nodes_of_router).tolist()
    goals = range(machine.nodes) if by_node else ends
    detours = not routing.minimal
    paths = Hops(machine, Minimal() if detours else routing)
    group = machine.group
    # A packet's router, goal, middle (None on its last leg), source while it may begin a detour, hops and held channel.
    states: list[tuple[Any, ...]] = [
        (source, goal, None, source, 0, None)
        for goal in goals
        for source in ends
        if source != (machine.node_router[goal] if by_node else goal)
    ]
    seen = set(states)

    def visit(state: tuple[Any, ...]) -> None:
        if state not in seen:
            seen.add(state)
            states.append(state)

    while states:
        at, goal, middle, source, count, held = states.pop()
        if at == goal and not by_node:
            continue
        if detours and source is not None:
            # At its source, or at any router of its first group if it was minimal so far and its detour fits (UGAL).
            for new in ends:
                if count == 0 or count + paths.longest(at, new) + paths.longest(new, goal) <= classes:
                    visit((at, goal, new if new not in (at, goal) else None, None, count, held))
            if routing.kind == "valiant":
                continue
        if middle == at:
            visit((at, goal, None, None, count, held))
            continue
        for link, listed in paths.of(at, goal if middle is None else middle):
            # A class of each hop, one of all, or that of the routes.
            channel = (link, {"hops": count, "one": 0}.get(scheme, listed))
            graph.add_node(channel)
            if held is not None:
                graph.add_edge(held, channel)
            head = int(machine.link_head[link])
            waits = source is not None and group is not None and group[head] == group[source]
            visit((head, goal, middle, source if waits else None, count + 1 if scheme == "hops" else 0, channel))
    return graph


class ByGroups(Minimal):
    """Minimal routing whose channel is 1 in the group of the goal, written for the test."""

    def routes(self, machine: Machine) -> MinimalRoutes:
        class ByGroup(MinimalRoutes):
            def next_hops(self, at: Ints, goal: Ints) -> NextHops:
                hops = super().next_hops(at, goal)
                assert machine.group is not None
                last = [int(machine.group[at[i]] == machine.group[goal[i]]) for i in hops.packet.tolist()]
                return hops._replace(channel=np.array(last, dtype=np.int64))

        return ByGroup(machine)


def classes_used(channels: Iterable[Channel]) -> int:
    return 1 + max(number for _, number in channels)


@pytest.mark.parametrize(("name", "routing"), CASES)
def test_packets_cannot_wait_in_a_cycle(name: str, routing: str) -> None:
    point = point_of(name, routing)
    machine = point.machine.build()
    scheme, classes = channel_scheme(point.routing, machine), channel_classes(point.routing, machine)
    if scheme == "escape":
        graph, classes = escape_dependencies(machine), 1
    else:
        graph = dependencies(machine, point.routing, scheme, classes)
    assert len(graph) and nx.is_directed_acyclic_graph(graph)
    # Two longest paths may not follow each other: a packet that meets its goal on a detour is delivered.
    assert classes_used(graph) == classes if point.routing.minimal else classes_used(graph) <= classes
    assert virtual_channels(point, machine) % channel_classes(point.routing, machine) == 0


def escape_dependencies(machine: Machine) -> nx.DiGraph:
    """Return which channels of class 0 packets may hold and request, any candidates of class 1 between (Duato 1993)."""
    graph: nx.DiGraph = nx.DiGraph()
    escape, candidates = Hops(machine, DimensionOrder()), Hops(machine, Routing.model_validate({"kind": "adaptive"}))
    for goal in range(machine.routers):
        onward: nx.DiGraph = nx.DiGraph()
        for at in range(machine.routers):
            onward.add_edges_from((at, int(machine.link_head[link])) for link, _ in candidates.of(at, goal))
        for at in set(range(machine.routers)) - {goal}:
            # The escape is a candidate, so that all routers of its path are on some path.
            assert {link for link, _ in escape.of(at, goal)} <= {link for link, _ in candidates.of(at, goal)}
            for link, _ in escape.of(at, goal):
                head = int(machine.link_head[link])
                for later in {head} | nx.descendants(onward, head):
                    graph.add_edges_from(((link, 0), (following, 0)) for following, _ in escape.of(later, goal))
                graph.add_node((link, 0))
    return graph


def test_fewer_classes_would_allow_a_cycle() -> None:
    """The test above can fail: without the dateline, and with one class for the hops of minimal paths."""
    for name, routing in (("torus", "dimension-order"), ("dragonfly", "minimal"), ("dragonfly", "valiant")):
        point = point_of(name, routing)
        assert not nx.is_directed_acyclic_graph(dependencies(point.machine.build(), point.routing, "one"))


@pytest.mark.parametrize(
    ("name", "routing", "scheme", "classes", "channels"),
    [
        ("dragonfly", "minimal", "hops", 3, 9),
        ("dragonfly", "valiant", "hops", 6, 12),
        ("dragonfly", "ugal", "hops", 7, 14),
        ("fat tree", "minimal", "one", 1, 8),
        ("fat tree", "adaptive", "one", 1, 8),
        ("torus", "dimension-order", "dateline", 2, 8),
        ("torus", "adaptive", "hops", 3, 9),
        ("mesh", "dimension-order", "one", 1, 8),
        ("mesh", "adaptive", "escape", 2, 8),
        ("HyperX", "minimal", "hops", 2, 8),
    ],
)
def test_number_of_classes_and_of_channels(name: str, routing: str, scheme: str, classes: int, channels: int) -> None:
    """One channel a class with virtual output queues; some of each where every channel is a queue."""
    point = point_of(name, routing, network={"buffer_per": "channel"})
    machine = point.machine.build()
    found = channel_scheme(point.routing, machine), channel_classes(point.routing, machine)
    assert (*found, virtual_channels(point, machine)) == (scheme, classes, channels)
    assert virtual_channels(point_of(name, routing), machine) == classes


@pytest.mark.parametrize(("routing", "hops"), [("minimal", 3), ("adaptive", 3), ("valiant", 6), ("ugal", 7)])
def test_most_hops_count_detours(routing: str, hops: int) -> None:
    point = point_of("dragonfly", routing)
    assert most_hops(point.routing, point.machine.build()) == hops


def test_most_hops_of_a_table_are_not_its_classes(tmp_path: Path) -> None:
    rows = [f"{at},{to},{at + (1 if to > at else -1)}" for at, to in itertools.permutations(range(5), 2)]
    (tmp_path / "t.csv").write_text("\n".join(["router,destination_router,next", *rows]))
    table = Routing.model_validate({"kind": "table", "file": "t.csv"}, context={"folder": tmp_path})
    line = Topology.model_validate({"kind": "mesh", "shape": [5], "bandwidth": "1 GB/s"}).build()
    assert (channel_classes(table, line), most_hops(table, line)) == (1, 4)


def test_a_tree_with_faults_has_classes_of_hops() -> None:
    """A path may lead up again after it has led down."""
    faults = {"cables": 2, "seed": 1}
    point = point_on(MACHINES["fat tree"] | {"bandwidth": "1 GB/s", "faults": faults}, "minimal", engine="packet")
    assert channel_scheme(point.routing, point.machine.build()) == "hops"


def test_the_study_sets_the_number_of_channels_but_not_too_few() -> None:
    for stated, fits in ((2, False), (3, True), (5, True)):
        point = point_of("dragonfly", "minimal", network={"virtual_channels": stated})
        if fits:
            assert virtual_channels(point, point.machine.build()) == stated
        else:
            with pytest.raises(Unsupported, match="virtual_channels"):
                virtual_channels(point, point.machine.build())


SCHEMES: tuple[StudyScheme, ...] = ("hops", "global-hops", "dateline", "one")
RANDOM_MACHINES: list[dict[str, Any]] = [
    *MACHINES.values(),
    {"kind": "dragonfly", "groups": 5, "routers_per_group": 2, "nodes_per_router": 2},
    {"kind": "dragonfly", "groups": 3, "routers_per_group": 4, "nodes_per_router": 1, "links_per_group_pair": 2},
    MACHINES["dragonfly"] | {"faults": {"cables": 3, "seed": 2}},
    MACHINES["fat tree"] | {"faults": {"cables": 2, "seed": 1}},
    *({"kind": "jellyfish", "routers": 9, "degree": 4, "nodes_per_router": 1, "graph_seed": seed} for seed in range(3)),
    {"kind": "torus", "shape": [3]},
    {"kind": "hyperx", "shape": [4]},
]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_scheme_is_taken_where_packets_cannot_wait_in_a_cycle_and_nowhere_else(scheme: StudyScheme) -> None:
    """On all machines and routings: by networkx on the channels that the scheme gives to each hop."""
    taken = cycles = 0
    for config in RANDOM_MACHINES:
        for routing in ("minimal", "dimension-order", "d-mod-k", "adaptive"):
            point = point_on(
                config | {"bandwidth": "1 GB/s"}, routing, engine="packet", network={"channel_scheme": scheme}
            )
            machine = point.machine.build()
            if not fits(machine, routing):
                continue
            try:
                routed = with_scheme(point, machine)
            except Unsupported as refusal:
                if CYCLE in str(refusal):
                    by_hand = point.routing if scheme == "one" else ByGroups()
                    graph = dependencies(machine, by_hand, "one" if scheme == "one" else "listed")
                    assert not nx.is_directed_acyclic_graph(graph), (config, routing)
                    cycles += 1
                continue
            found = channel_scheme(routed.routing, machine, scheme)
            classes = channel_classes(routed.routing, machine, scheme)
            graph = dependencies(machine, routed.routing, found, classes)
            assert nx.is_directed_acyclic_graph(graph), (config, routing)
            assert classes_used(graph) == classes == virtual_channels(routed, machine), (config, routing)
            taken += 1
    assert taken >= {"hops": 25, "global-hops": 6, "dateline": 2, "one": 8}[scheme]
    assert cycles or scheme in ("hops", "dateline")


def test_schemes_need_the_channels_of_the_literature() -> None:
    """Kim et al. (2008): two channels for minimal routing on a dragonfly; Dally and Seitz (1987): two on a ring."""
    for name, routing, needs in (
        ("dragonfly", "minimal", {"hops": 3, "global-hops": 2}),
        ("fat tree", "minimal", {"hops": 4, "one": 1}),
        ("torus", "dimension-order", {"dateline": 2}),
        ("mesh", "dimension-order", {"one": 1}),
    ):
        for scheme, classes in needs.items():
            point = point_of(name, routing, network={"channel_scheme": scheme, "virtual_channels": classes})
            machine = point.machine.build()
            assert virtual_channels(with_scheme(point, machine), machine) == classes


def test_a_refusal_names_the_scheme_that_needs_fewer_channels() -> None:
    point = point_of("dragonfly", "minimal", network={"virtual_channels": 2})
    with pytest.raises(Unsupported, match=r"needs 3 .*'hops'.*global-hops needs 2"):
        virtual_channels(point, point.machine.build())


def test_studies_that_differ_in_routing_give_what_one_study_gives() -> None:
    """Channels and buffers of a point do not depend on the other points of its study."""
    tree = {"kind": "xgft", "down": [8, 4], "up": [4], "bandwidth": "1 GB/s"}
    study = {
        "study": "tree", "machine": tree, "routing": "minimal", "engine": "packet",
        "jobs": [{"name": "app", "share": 1, "pattern": {"kind": "all-to-all", "message": "20 kB"}}],
    }  # fmt: skip
    routings = ("minimal", "d-mod-k", "adaptive")
    axis = {"routing": {"of": "routing.kind", "values": list(routings)}}
    together = plan(validate_study(study | {"sweep": axis})).points
    machine, found = Topology.model_validate(tree).build(), set()
    for routing in routings:
        [(point_id, planned)] = plan(validate_study(study | {"routing": routing})).points.items()
        assert together[point_id].point == planned.point
        found.add((virtual_channels(planned.point, machine), Engine(Packet).stream_buffers(planned.point, machine)))
    assert len(together) == 3 and len(found) == 1


@pytest.mark.parametrize("engine", ["caminos", "flow", "sst", "codes"])
def test_other_engines_refuse_a_scheme(engine: str) -> None:
    point = point_of("dragonfly", "minimal", engine=engine, network={"channel_scheme": "global-hops"})
    assert "network.channel_scheme" in str(engine_named(engine).unsupported(point, point.machine.build()))


GROUPED: list[dict[str, Any]] = [
    {"kind": "dragonfly", "groups": 4, "routers_per_group": 3, "nodes_per_router": 1},
    {"kind": "dragonfly", "groups": 3, "routers_per_group": 2, "nodes_per_router": 1, "links_per_group_pair": 2},
    {
        "kind": "dragonfly",
        "groups": 4,
        "routers_per_group": 3,
        "nodes_per_router": 1,
        "faults": {"cables": 3, "seed": 2},
    },
    {
        "kind": "dragonfly",
        "groups": 4,
        "routers_per_group": 3,
        "nodes_per_router": 1,
        "faults": {"cables": 4, "seed": 1},
    },
    {"kind": "megafly", "groups": 3, "leaves_per_group": 2, "spines_per_group": 2, "nodes_per_leaf": 1},
]
DETOURS: list[dict[str, Any]] = [
    {"kind": kind, "via": via, **more}
    for kind, more in (("valiant", {}), ("ugal", {"progressive": False}), ("ugal", {}))
    for via in ("router", "group")
]


def dependencies_of_detours(machine: Machine, routing: dict[str, Any]) -> nx.DiGraph:
    """Return the dependencies of all paths, one by one, with a class for every part that Kim et al. distinguish."""
    assert machine.group is not None
    group, nodes = machine.group.tolist(), np.flatnonzero(machine.nodes_of_router).tolist()
    routers: nx.DiGraph = nx.DiGraph()
    for link, ends in enumerate(zip(machine.link_tail.tolist(), machine.link_head.tolist(), strict=True)):
        routers.add_edge(*ends, link=link, weight=machine.hop_weight[int(machine.link_class[link])])
    weights = dict(nx.all_pairs_dijkstra_path_length(routers))
    late = int(routing["kind"] == "ugal" and routing.get("progressive", True))
    through_router = routing["via"] == "router"
    found: nx.DiGraph = nx.DiGraph()

    def paths(tail: int, head: int) -> list[list[int]]:
        return list(nx.all_shortest_paths(routers, tail, head, "weight"))

    def detours(at: int, source: int, goal: int) -> Iterable[tuple[list[int], Any]]:
        """Yield the routers up to each place that a packet may draw."""
        for middle in nodes if through_router else sorted({group[node] for node in nodes}):
            if through_router and middle not in (source, goal, at):
                yield from ((path, middle) for path in paths(at, middle))
            elif not through_router and middle not in (group[source], group[goal], group[at]):
                inside = [router for router in routers if group[router] == middle]
                nearest = min(weights[at][router] for router in inside)
                yield from ((path, middle) for r in inside if weights[at][r] == nearest for path in paths(at, r))

    def add(parts: list[tuple[list[int], int | None, Any]], goal: int) -> None:
        """Add a path of legs: their routers, the place of a detour or None, and whether the packet has decided."""
        channels = []
        for path, place, decided in parts:
            for tail, head in itertools.pairwise(path):
                if tail == goal:
                    break
                if not decided:
                    number = 0
                elif place is None:
                    number = late + 1 + through_router + (group[tail] == group[goal])
                else:
                    number = late + (through_router and group[tail] == group[place])
                channels.append((routers[tail][head]["link"], number))
        found.add_nodes_from(channels)
        found.add_edges_from(itertools.pairwise(channels))

    for source, goal in itertools.permutations(nodes, 2):
        for path in paths(source, goal):
            stays = [n for n in range(1, len(path)) if group[path[n]] == group[source] != group[goal]] if late else []
            for decides in (0, *stays):
                before, at = path[: decides + 1], path[decides]
                add([(before, None, False), (path[decides:], None, True)], goal)
                for leg, place in detours(at, source, goal):
                    if goal in leg:
                        add([(before, None, False), (leg, place, True)], goal)
                        continue
                    for rest in paths(leg[-1], goal):
                        add([(before, None, False), (leg, place, True), (rest, None, True)], goal)
    return found


@pytest.mark.parametrize("routing", DETOURS, ids=str)
def test_detours_have_channels_by_global_hops_where_packets_cannot_wait_in_a_cycle(routing: dict[str, Any]) -> None:
    """Three for Valiant through groups (Kim et al. 2008), another one for late decisions (Jiang et al. 2009)."""
    taken = 0
    for config in GROUPED:
        network = {"channel_scheme": "global-hops"}
        point = point_on(config | {"bandwidth": "1 GB/s"}, routing, engine="packet", network=network)
        machine = point.machine.build()
        graph = dependencies_of_detours(machine, routing)
        try:
            routed = with_scheme(point, machine)
        except Unsupported as refusal:
            assert CYCLE in str(refusal) and not nx.is_directed_acyclic_graph(graph), config
            continue
        assert routed.routing == point.routing and nx.is_directed_acyclic_graph(graph), config
        classes = 3 + (routing["via"] == "router") + (routing["kind"] == "ugal" and routing.get("progressive", True))
        assert channel_classes(routed.routing, machine, "global-hops") == classes == virtual_channels(routed, machine)
        assert classes_used(graph) == classes
        taken += 1
    assert taken >= 3
