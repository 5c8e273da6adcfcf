"""Faults of machines against hand counts, networkx and closed forms."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from pydantic import ValidationError

from fabricstudy.core.model import ConfigError
from fabricstudy.engine.point import machine_id, point_from_json, point_id
from fabricstudy.machine.base import Topology
from fabricstudy.machine.faults import Faults, _parts
from fabricstudy.machine.graph import Machine, NamedMachine
from fabricstudy.routing.minimal import Minimal
from fabricstudy.structure.bisection import bisection_bounds
from fabricstudy.structure.load import router_link_loads
from fabricstudy.structure.summary import hop_figures
from fabricstudy.study.checks import check_point

from ...machines import DRAGONFLY, point_on

SLIM_FLY = {"kind": "slim-fly", "q": 5, "nodes_per_router": 2, "bandwidth": "1 GB/s"}
TREE = {"kind": "fat-tree", "radix": 4, "bandwidth": "1 GB/s"}
STAR = {"kind": "xgft", "down": [2, 2], "up": [1], "parallel": 3, "bandwidth": "1 GB/s"}
TORUS = {"kind": "torus", "shape": [4, 4], "bandwidth": "1 GB/s"}


def config(machine: dict[str, Any], **faults: Any) -> Topology:
    topology: Topology = Topology.model_validate(machine | {"faults": faults}, context={"folder": Path()})
    return topology


def built(machine: dict[str, Any], **faults: Any) -> Machine:
    return config(machine, **faults).build()


def cables_of(machine: Machine) -> Counter[tuple[int, int, str]]:
    rows = zip(machine.cable_tail, machine.cable_head, machine.cable_class, machine.cable_count, strict=True)
    return Counter(
        {(min(tail, head), max(tail, head), machine.classes[kind].name): int(count) for tail, head, kind, count in rows}
    )


def refused(machine: dict[str, Any], **faults: Any) -> tuple[str, tuple[str, ...]]:
    """Return code and path of the mistake."""
    with pytest.raises(ValidationError) as caught:
        config(machine, **faults)
    (error,) = caught.value.errors()
    mistake = error["ctx"]["error"]
    assert isinstance(mistake, ConfigError)
    return mistake.code, (*map(str, error["loc"]), *mistake.keys)


@pytest.mark.parametrize(
    "none", [{}, {"cables": 0}, {"cables": "0 %", "seed": 7}, {"degraded": {"cables": 0, "to": 0.5}}]
)
def test_without_faults_the_id_is_that_without_the_key(none: dict[str, Any]) -> None:
    plain, point = point_on(DRAGONFLY), point_on(DRAGONFLY | {"faults": none})
    assert point_id(point) == point_id(plain) and point == plain
    assert point_id(point_on(DRAGONFLY | {"faults": {"cables": 1}})) != point_id(plain)


@pytest.mark.parametrize(
    "faults",
    [{"cables": "2 %"}, {"cables": [[0, 1]]}, {"routers": [3], "nodes": 2}, {"degraded": {"cables": 4, "to": 0.5}}],
)
def test_a_stored_point_is_read_back(faults: dict[str, Any]) -> None:
    point = point_on(DRAGONFLY | {"faults": faults})
    again = point_from_json(point.model_dump(mode="json"))
    assert again == point and point_id(again) == point_id(point)
    assert again.machine.nodes == again.machine.build().nodes


@pytest.mark.parametrize("seed", range(1, 6))
def test_draws_are_nested_and_depend_on_the_seed(seed: int) -> None:
    whole = cables_of(built(DRAGONFLY))
    left = [cables_of(built(DRAGONFLY, cables=share, seed=seed)) for share in ("2 %", "5 %", "10 %")]
    assert [whole.total() - one.total() for one in left] == [2, 5, 9]  # of 90, rounded half up
    assert left[2] <= left[1] <= left[0] <= whole
    assert left[1] != cables_of(built(DRAGONFLY, cables="5 %", seed=seed + 100))


@pytest.mark.parametrize("noun", ["routers", "nodes"])
@pytest.mark.parametrize("seed", range(1, 4))
def test_draws_of_routers_and_nodes_are_nested(noun: str, seed: int) -> None:
    """Whoever fails among 1, 2, ... also fails among more; a fixed order would make all seeds equal."""
    machine = Topology.model_validate(DRAGONFLY).build()
    drawn = [set(_parts(machine, Faults(**{noun: number, "seed": seed}), noun).tolist()) for number in range(1, 9)]
    assert [len(failed) for failed in drawn] == list(range(1, 9))
    assert all(few < more for few, more in itertools.pairwise(drawn))
    assert drawn[7] != set(_parts(machine, Faults(**{noun: 8, "seed": seed + 100}), noun).tolist())


def test_only_chosen_classes_fail() -> None:
    whole, left = cables_of(built(DRAGONFLY)), cables_of(built(DRAGONFLY, cables=20, of=["global"]))
    assert {name for _, _, name in whole - left} == {"global"} and (whole - left).total() == 20


def test_parallel_cables_fail_one_by_one() -> None:
    assert cables_of(built(STAR)) == Counter({(0, 2, "up1"): 3, (1, 2, "up1"): 3})
    assert cables_of(built(STAR, cables=[[2, 0], [0, 2]])) == Counter({(0, 2, "up1"): 1, (1, 2, "up1"): 3})
    assert refused(STAR, cables=[[0, 2]] * 4) == ("unknown-name", ("faults", "cables", "3"))


@pytest.mark.parametrize("parallel", [2, 3, 5])
def test_one_of_parallel_cables_scales_the_bound(parallel: int) -> None:
    """The only way between the two leaves of a star loses 1 of m cables."""
    star = STAR | {"parallel": parallel}
    whole, left = built(star), built(star, cables=1)
    assert bisection_bounds(left).upper_Bps == pytest.approx(
        bisection_bounds(whole).upper_Bps * (parallel - 1) / parallel
    )


def test_a_ring_without_a_cable_is_a_mesh() -> None:
    ring = built({"kind": "torus", "shape": [4], "bandwidth": "1 GB/s"}, cables=[[3, 0]])
    line = built({"kind": "mesh", "shape": [4], "bandwidth": "1 GB/s"})
    assert [key[:2] for key in sorted(cables_of(ring))] == [key[:2] for key in sorted(cables_of(line))]
    assert hop_figures(ring) == hop_figures(line)
    assert bisection_bounds(ring).upper_Bps == bisection_bounds(line).upper_Bps
    with pytest.raises(ValidationError):
        config({"kind": "mesh", "shape": [4], "bandwidth": "1 GB/s"}, cables=[[1, 2]])


def test_degraded_cables_have_a_class_and_have_not_failed() -> None:
    whole = cables_of(built(DRAGONFLY))
    machine = built(DRAGONFLY, cables=10, degraded={"cables": "10 %", "to": 0.25}, of=["global"])
    left = cables_of(machine)
    slow = {ends: count for ends, count in left.items() if ends[2] == "global-degraded"}
    assert sum(slow.values()) == 4 and left.total() == 80  # a tenth of 36 global cables, of 90
    assert all((*ends[:2], "global") in whole for ends in slow)
    assert {link.name: link.bandwidth_Bps for link in machine.classes}["global-degraded"] == 0.25e9
    assert machine.hop_weight == (1, 100, 100)
    assert refused(DRAGONFLY, cables=80, degraded={"cables": 11, "to": 0.5})[0] == "out-of-range"


def test_failed_routers_take_cables_and_nodes() -> None:
    machine = built(DRAGONFLY, routers=[0, 5])
    assert (machine.routers, machine.nodes) == (34, 68)
    degree = nx.Graph(list(zip(built(DRAGONFLY).cable_tail, built(DRAGONFLY).cable_head, strict=True)))
    degree.remove_nodes_from([0, 5])
    assert machine.cables == degree.number_of_edges()
    assert np.bincount(machine.group).tolist() == [3, 3, *[4] * 7]  # type: ignore[arg-type]
    assert config(DRAGONFLY, routers=1).traits == frozenset()
    assert config(DRAGONFLY, cables=1).traits == {"groups"}
    without_a_group = built(DRAGONFLY, routers=[4, 5, 6, 7])
    assert np.bincount(without_a_group.group).tolist() == [4] * 8  # type: ignore[arg-type]


def test_nodes_that_are_cut_off_leave_the_pool() -> None:
    """Router 0 of the ring loses both cables."""
    machine = config(TORUS | {"shape": [5]}, cables=[[0, 1], [0, 4]])
    assert (machine.nodes, machine.build().routers, machine.build().cables) == (4, 4, 3)
    with pytest.raises(ConfigError) as caught:
        point = point_on(machine, jobs=[{"nodes": 5, "pattern": {"kind": "ring", "message": "1 kB"}}])
        check_point(point.machine, point.routing, point.jobs)
    assert (caught.value.code, caught.value.keys) == ("does-not-fit", ("jobs", "0", "nodes"))


@pytest.mark.parametrize("share", ["10 %", "20 %", "30 %"])
@pytest.mark.parametrize("machine", [DRAGONFLY, SLIM_FLY, TREE, TORUS], ids=lambda machine: machine["kind"])
def test_pieces_are_those_of_networkx(machine: dict[str, Any], share: str) -> None:
    whole = Topology.model_validate(machine).build()
    count = int(float(share[:-2]) / 100 * whole.cables + 0.5)
    for seed in range(1, 11):
        order = np.random.default_rng(seed).permutation(whole.cables)
        ends = list(zip(whole.cable_tail, whole.cable_head, strict=True))
        graph = nx.Graph([ends[cable] for cable in order[count:]])
        graph.add_nodes_from(range(whole.routers))
        has_nodes = whole.nodes_of_router > 0
        pieces = [int(has_nodes[list(part)].sum()) for part in nx.connected_components(graph)]
        if sum(size > 1 for size in pieces) != 1:
            assert refused(machine, cables=share, seed=seed) == ("invalid-machine", ("faults",))
            continue
        assert built(machine, cables=share, seed=seed).nodes == max(pieces) * whole.nodes // has_nodes.sum()


def _uniform_load(machine: Machine) -> float:
    nodes = machine.nodes_of_router.astype(np.float64)
    traffic = np.outer(nodes, nodes) / (machine.nodes - 1) * machine.host.bandwidth_Bps
    return 1 / float(np.max(router_link_loads(machine, traffic, Minimal()) / machine.link_capacity_Bps))


@pytest.mark.parametrize(
    ("machine", "whole", "range_at_2_percent"), [(DRAGONFLY, 1.044, (0.6, 0.85)), (SLIM_FLY, 1.904, (1.65, 1.75))]
)
def test_two_percent_cost_a_dragonfly_a_third(
    machine: dict[str, Any], whole: float, range_at_2_percent: tuple[float, float]
) -> None:
    assert _uniform_load(built(machine)) == pytest.approx(whole, abs=0.001)
    loads = [_uniform_load(built(machine, cables="2 %", seed=seed)) for seed in range(1, 6)]
    assert range_at_2_percent[0] < np.median(loads) < range_at_2_percent[1]


@pytest.mark.parametrize(
    ("faults", "code", "path"),
    [
        ({"cables": "120 %"}, "out-of-range", ("cables",)),
        ({"cables": 91}, "out-of-range", ("cables",)),
        ({"routers": 37}, "out-of-range", ("routers",)),
        ({"cables": "0.1 %"}, "out-of-range", ("cables",)),
        ({"nodes": "0.1 %"}, "out-of-range", ("nodes",)),
        ({"cables": 1, "of": ["optical"]}, "unknown-value", ("of", "0")),
        ({"cables": 1.5}, "invalid-value", ("cables",)),
        ({"cables": "some"}, "invalid-value", ("cables",)),
        ({"cables": True}, "invalid-value", ("cables",)),
        ({"cables": [[0, 36]]}, "unknown-name", ("cables", "0")),
        ({"cables": [[0, 1], [0, "r5"]]}, "unknown-name", ("cables", "1")),
        ({"routers": [36]}, "unknown-name", ("routers", "0")),
        ({"cables": "100 %"}, "invalid-machine", ()),
        ({"cables": 36, "of": ["global"]}, "invalid-machine", ()),
    ],
)
def test_wrong_faults_are_refused(faults: dict[str, Any], code: str, path: tuple[str, ...]) -> None:
    assert refused(DRAGONFLY, **faults) == (code, ("faults", *path))


@pytest.mark.parametrize(
    ("machine", "routing"), [(TORUS, "dimension-order"), (TREE, "d-mod-k")], ids=["dimension order", "D-mod-k"]
)
def test_routings_of_whole_grids_and_trees_are_refused(machine: dict[str, Any], routing: str) -> None:
    whole, left = point_on(machine, routing), point_on(machine | {"faults": {"cables": 1}}, routing)
    check_point(whole.machine, whole.routing, whole.jobs)
    with pytest.raises(ConfigError) as caught:
        check_point(left.machine, left.routing, left.jobs)
    assert (caught.value.code, caught.value.keys) == ("unsupported", ("routing", "kind"))
    for other in ("minimal", "valiant", "ugal", "adaptive"):
        point = point_on(machine | {"faults": {"cables": 1}}, other)
        check_point(point.machine, point.routing, point.jobs)


def test_names_of_a_file_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "ring.csv"
    file.write_text("from,to,class\na,b,x\nb,c,x\nc,d,x\nd,a,x\nn1,a,host\nn2,b,host\nn3,c,host\nn4,d,host\n")
    described = {"kind": "graph", "file": str(file), "bandwidth": "1 GB/s"}
    machine = built(described, routers=["b"], cables=[["c", "d"]])
    assert isinstance(machine, NamedMachine)
    assert machine.router_names == ("a", "d") and machine.node_names == ("n1", "n4")
    assert machine.router_of["d"] == 1 and machine.node_of["n4"] == 1 and "b" not in machine.router_of
    assert refused(described, routers=["e"]) == ("unknown-name", ("faults", "routers", "0"))


def test_machines_of_a_plan_are_distinct_by_their_faults() -> None:
    ids = {machine_id(config(DRAGONFLY, cables=2, seed=seed)) for seed in range(5)}
    assert len(ids) == 5
