"""Asymptotes of offered load, against closed forms and hand counts."""

from typing import Any

import numpy as np
import pytest

from fabricstudy.engine.detours import through_other_groups
from fabricstudy.machine.base import Topology
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.base import Routing
from fabricstudy.structure.bisection import bisection_bounds
from fabricstudy.structure.saturation import offered_rates, saturation_bound, zero_load_ns
from fabricstudy.workload.offered import Offered

DRAGONFLY = {"kind": "dragonfly", "groups": 9, "routers_per_group": 4, "nodes_per_router": 2, "bandwidth": "25 GB/s"}
TORUS = {"kind": "torus", "shape": [8, 8], "bandwidth": "25 GB/s"}
TREE = {"kind": "xgft", "down": [43, 18], "up": [7], "parallel": 3, "bandwidth": "25 GB/s"}
GROUP = {"kind": "valiant", "via": "group"}
ADVERSARY = {"kind": "group-shift"}


@pytest.mark.parametrize(
    ("machine", "routing", "traffic", "bound", "method"),
    [
        # One cable between two groups of a p = 8 nodes (Kim et al. 2008).
        (DRAGONFLY, "minimal", ADVERSARY, 1 / 8, "paths"),
        # Each detour takes two global cables, of which each group has as many as nodes.
        (DRAGONFLY, GROUP, ADVERSARY, 1 / 2, "expected loads"),
        (DRAGONFLY, "ugal", "uniform", 1.0, "host"),
        # Tornado: ceil(k / 2) - 1 flows on each link of one direction.
        (TORUS, "dimension-order", {"kind": "tornado", "dimensions": 1}, 1 / 3, "paths"),
        (TORUS, "dimension-order", "tornado", 1 / 3, "paths"),
        # Half of each row crosses its middle, over two links each way.
        (TORUS, "dimension-order", "complement", 1 / 2, "cut"),
        (TORUS, "dimension-order", "transpose", 2 / 7, "paths"),
        # The link of the hot node carries 63 (0.05 + 0.95 / 63).
        (TORUS, "dimension-order", {"kind": "hot-spot", "share": 0.05}, 1 / (63 * 0.05 + 0.95), "host"),
        # Of 43 nodes of a leaf seven have the digit of one of seven spines, to which three cables lead.
        (TREE, "d-mod-k", {"kind": "shift", "nodes": 43}, 3 / 7, "paths"),
        (TREE, "d-mod-k", "uniform", 3 / 7 * 773 / 731, "paths"),
        # 63 pairs of a node make 256 hops, on 4 links.
        (TORUS, "minimal", "uniform", 4 * 63 / 256, "hop-bytes"),
    ],
)
def test_saturation_bound(machine: Any, routing: Any, traffic: Any, bound: float, method: str) -> None:
    built = Topology.model_validate(machine, by_alias=True).build()
    offered = Offered.model_validate({"traffic": traffic, "load": 0.1}, by_alias=True)
    rates = offered_rates(built, *offered.destinations(built, 1))
    way = Routing.model_validate(routing, by_alias=True)
    found = saturation_bound(built, rates, way, bisection_bounds(built).cut_side)
    assert found.load == pytest.approx(bound, rel=1e-9)
    assert found.method == method


def test_detours_take_two_global_cables() -> None:
    """Of the eight global cables of a group, one leads to the goal, and two of the others carry a detour: 4.5 / 8."""
    built = Topology.model_validate(DRAGONFLY, by_alias=True).build()
    offered = Offered.model_validate({"traffic": ADVERSARY, "load": 0.1}, by_alias=True)
    rates = offered_rates(built, *offered.destinations(built, 1))
    found = saturation_bound(built, rates, Routing.model_validate("ugal"), bisection_bounds(built).cut_side)
    assert found.method == "paths" and 9 / 16 <= found.load * (1 + 1e-9) <= 1.01 * 9 / 16


def test_rates_are_those_of_all_pairs() -> None:
    machine = Topology.model_validate(DRAGONFLY, by_alias=True).build()
    rates = offered_rates(machine, *Offered.model_validate({"traffic": "uniform", "load": 1}).destinations(machine, 1))
    pairs = np.zeros((36, 36))
    for source in range(72):
        for goal in set(range(72)) - {source}:
            pairs[machine.node_router[source], machine.node_router[goal]] += 1 / 71
    np.testing.assert_allclose(rates.between, pairs)
    np.testing.assert_allclose(rates.ejection, 1.0)


def test_zero_load_latency_by_hand() -> None:
    """A line of three routers, all nodes to the last one: h cables, h + 2 latencies and h + 1 routers."""
    line = {"kind": "mesh", "shape": [3], "bandwidth": "1 GB/s", "latency": {"links": "30 ns", "host": "10 ns"}}
    machine = Topology.model_validate(line, by_alias=True).build()
    node = np.array([0, 1])
    rates = offered_rates(machine, node, np.ones(2), np.full(2, 2), np.full(2, 2))
    found = zero_load_ns(machine, rates, Routing.model_validate("minimal"), 2 * 10, 100.0, 256, 64.0)
    two, one = (2 * 10 + h * 30 + (h + 1) * 100 + 256 + (h + 1) * 64 for h in (2, 1))
    assert found == pytest.approx((two + one) / 2)


def test_detours_through_other_groups_by_hand() -> None:
    """Of nine groups seven remain, so a global link carries 16 / 7 at load 1; a path has three or four more hops."""
    machine = Topology.model_validate(DRAGONFLY, by_alias=True).build()
    routing = through_other_groups(Routing.model_validate(GROUP, by_alias=True))
    for traffic, bound in ((ADVERSARY | {"fixed": True}, 7 / 16), ("uniform", None)):
        rows = Offered.model_validate({"traffic": traffic, "load": 1}, by_alias=True).destinations(machine, 1)
        rates = offered_rates(machine, *rows)
        hops, pairs = 0.0, rates.between / rates.between.sum()
        for source, goal in zip(*np.nonzero(pairs), strict=True):
            hops += pairs[source, goal] * _hops(machine, int(source), int(goal))
        found = zero_load_ns(machine, rates, routing, 0.0, 1.0, 0, 0.0) - 1.0
        assert found == pytest.approx(hops * (machine.classes[0].latency_ns + 1.0))
        if bound is not None:
            assert saturation_bound(machine, rates, routing, bisection_bounds(machine).cut_side).load == pytest.approx(
                bound
            )


def _hops(machine: Machine, source: int, goal: int) -> float:
    """Return the mean hops of the detours of a pair, along the only cable between two groups."""
    assert machine.group is not None
    group, crossing = machine.group, {}
    for tail, head in zip(machine.link_tail.tolist(), machine.link_head.tolist(), strict=True):
        if group[tail] != group[head]:
            crossing[group[tail], group[head]] = tail, head
    if group[source] == group[goal]:
        return float(source != goal)
    totals = []
    for middle in set(range(9)) - {group[source], group[goal]}:
        (first, entry), (last, end) = crossing[group[source], middle], crossing[middle, group[goal]]
        totals.append((source != first) + 1 + (entry != last) + 1 + (end != goal))
    return float(np.mean(totals))
