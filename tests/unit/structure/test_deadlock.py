"""Dependencies between channels: cycles where theory says so, and as single packets make them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest

from fabricstudy.machine.graph import Machine
from fabricstudy.routing.adaptive import Adaptive
from fabricstudy.routing.base import MemorylessRoutes, Routing, cached_routes
from fabricstudy.routing.d_mod_k import DModK
from fabricstudy.routing.dimension_order import DimensionOrder
from fabricstudy.routing.minimal import Minimal
from fabricstudy.routing.ugal import Ugal
from fabricstudy.routing.valiant import Valiant
from fabricstudy.structure.deadlock import channel_dependencies, is_deadlock_free

MACHINES: dict[str, dict[str, Any]] = {
    "ring": {"kind": "torus", "shape": [5]},
    "ring of 3": {"kind": "torus", "shape": [3]},
    "even ring": {"kind": "torus", "shape": [4]},
    "torus": {"kind": "torus", "shape": [4, 3, 2]},
    "part torus": {"kind": "torus", "shape": [3, 4], "wrap": [False, True]},
    "mesh": {"kind": "mesh", "shape": [4, 3, 2]},
    "hypercube": {"kind": "hypercube", "dimensions": 4},
    "hyperx": {"kind": "hyperx", "shape": [4, 3]},
    "express mesh": {"kind": "express-mesh", "shape": [6, 5], "gap": 2},
    "fat tree": {"kind": "fat-tree", "radix": 4},
    "half fat tree": {"kind": "fat-tree", "radix": 4, "pods": 2, "core_cables": 2},
    "slim fly": {"kind": "slim-fly", "q": 5, "nodes_per_router": 1},
    "dragonfly": {"kind": "dragonfly", "groups": 5, "routers_per_group": 3, "nodes_per_router": 1},
    "aries": {"kind": "aries", "groups": 3, "chassis_per_group": 2, "blades_per_chassis": 4},
    "percs": {"kind": "percs", "supernodes": 4, "drawers_per_supernode": 2, "hubs_per_drawer": 2},
}
GRIDS = [name for name, fields in MACHINES.items() if "shape" in fields or "dimensions" in fields]
TREES = ["fat tree", "half fat tree"]
TIES = ["split", "positive", "alternate"]


def packet_dependencies(machine: Machine, routing: Any, one_channel: bool) -> set[tuple[int, int, int, int]]:
    """Send a packet between all pairs and follow every way that it may take."""
    way, found = cached_routes(machine, routing), set()
    assert isinstance(way, MemorylessRoutes)

    def follow(at: int, goal: int, held: tuple[int, int] | None, hop: int) -> None:
        hops = way.next_hops(np.array([at]), np.array([goal]))
        channels = np.full(len(hops.link), hop) if hops.channel is None else hops.channel
        for link, channel in zip(hops.link.tolist(), channels.tolist(), strict=True):
            wanted = (link, 0 if one_channel else channel)
            if held is not None:
                found.add((*held, *wanted))
            follow(int(machine.link_head[link]), goal, wanted, hop + 1)

    edge_routers = np.flatnonzero(machine.nodes_of_router).tolist()
    for source in edge_routers:
        for goal in range(machine.nodes) if way.by_destination_node else edge_routers:
            follow(source, goal, None, 0)
    return found


CASES: list[tuple[str, Routing]] = [(name, DimensionOrder(tie="split")) for name in ("torus", "mesh", "express mesh")]
CASES += [(name, DModK()) for name in TREES] + [(name, Adaptive()) for name in ("half fat tree", "hyperx", "even ring")]
CASES += [(name, Minimal()) for name in ("dragonfly", "aries", "percs")]


@pytest.mark.parametrize("one_channel", [False, True])
@pytest.mark.parametrize(("name", "routing"), CASES, ids=str)
def test_dependencies_are_those_of_single_packets(
    machine_of: Callable[..., Machine], name: str, routing: Any, one_channel: bool
) -> None:
    machine = machine_of(**MACHINES[name])
    expected = packet_dependencies(machine, routing, one_channel)
    found = channel_dependencies(machine, routing, one_channel=one_channel)
    assert len(found) == len(expected) and {tuple(row) for row in found.tolist()} == expected
    graph = nx.DiGraph([(row[:2], row[2:]) for row in expected])
    free = is_deadlock_free(machine, routing, one_channel=one_channel)
    assert free == nx.is_directed_acyclic_graph(graph)


@pytest.mark.parametrize("tie", TIES)
@pytest.mark.parametrize("name", GRIDS)
def test_dimension_order_is_deadlock_free_with_its_channels(
    machine_of: Callable[..., Machine], name: str, tie: str
) -> None:
    machine = machine_of(**MACHINES[name])
    routing = DimensionOrder(tie=tie)
    assert is_deadlock_free(machine, routing)
    channels = set(channel_dependencies(machine, routing)[:, [1, 3]].ravel().tolist())
    # On a ring of 3 no packet makes two hops.
    assert channels == (set() if name == "ring of 3" else {0, 1} if any(d.wrap for d in machine.dimensions) else {0})


def test_the_channel_changes_behind_the_dateline(machine_of: Callable[..., Machine]) -> None:
    machine = machine_of("torus", shape=[7])
    # At 5 to 1, up over the wrap link 6 -> 0: channel 0 at 5 and 6, then 1 at 0; down likewise; else 1 all the way.
    expected = {(5, 1): [0, 0, 1], (1, 5): [0, 0, 1], (2, 5): [1, 1, 1], (5, 2): [1, 1, 1]}
    way = cached_routes(machine, DimensionOrder())
    assert isinstance(way, MemorylessRoutes)
    for (at, goal), taken in expected.items():
        channels, here = [], np.array([at])
        while here[0] != goal:
            hops = way.next_hops(here, np.array([goal]))
            assert hops.channel is not None
            channels += hops.channel.tolist()
            here = machine.link_head[hops.link].astype(np.int64)
        assert channels == taken


@pytest.mark.parametrize("tie", TIES)
@pytest.mark.parametrize("name", GRIDS)
def test_only_rings_of_four_and_more_need_channels_for_dimension_order(
    machine_of: Callable[..., Machine], name: str, tie: str
) -> None:
    machine = machine_of(**MACHINES[name])
    ring = max((d.length for d in machine.dimensions if d.wrap), default=0)
    # On a ring of 4, packets of two hops close the circle if every router sends them the same way round.
    closes = ring > 4 or (ring == 4 and tie != "alternate")
    assert is_deadlock_free(machine, DimensionOrder(tie=tie), one_channel=True) == (not closes)


@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("routing", [DModK(), Adaptive()], ids=lambda r: r.kind)
def test_up_and_down_a_tree_needs_one_channel(machine_of: Callable[..., Machine], name: str, routing: Any) -> None:
    machine = machine_of(**MACHINES[name])
    assert is_deadlock_free(machine, routing)
    assert not channel_dependencies(machine, routing)[:, [1, 3]].any()


@pytest.mark.parametrize("name", ["slim fly", "dragonfly", "torus", "hyperx"])
@pytest.mark.parametrize("routing", [Minimal(), Adaptive(), Valiant(), Ugal()], ids=lambda r: r.kind)
def test_a_channel_a_hop_is_deadlock_free(machine_of: Callable[..., Machine], name: str, routing: Any) -> None:
    assert is_deadlock_free(machine_of(**MACHINES[name]), routing)


@pytest.mark.parametrize("name", ["slim fly", "dragonfly", "torus", "hyperx"])
def test_adaptive_hops_on_one_channel_may_lock(machine_of: Callable[..., Machine], name: str) -> None:
    assert not is_deadlock_free(machine_of(**MACHINES[name]), Adaptive(), one_channel=True)


def test_of_valiant_on_one_channel_nothing_is_said(machine_of: Callable[..., Machine]) -> None:
    with pytest.raises(ValueError, match="depends on more than the destination"):
        is_deadlock_free(machine_of(**MACHINES["mesh"]), Valiant(), one_channel=True)


def test_one_router_waits_for_nothing(from_graph: Callable[..., Machine]) -> None:
    machine = from_graph(nx.empty_graph(1))
    assert channel_dependencies(machine, Minimal()).shape == (0, 4)
    assert is_deadlock_free(machine, Minimal())
