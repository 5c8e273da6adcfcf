"""The flow engine against closed forms, the analysis and the bounds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fabricstudy.engine.built_point import BuiltPoint
from fabricstudy.engine.bundled import MACHINE, OPERATIONS, RESULT
from fabricstudy.engine.engine import Engine
from fabricstudy.engine.failures import EngineFailure
from fabricstudy.engine.flow.adapter import Flow
from fabricstudy.engine.flow.files import SETTINGS, window_bytes
from fabricstudy.engine.outcome import EngineResult
from fabricstudy.engine.point import Point
from fabricstudy.machine.graph import Machine
from fabricstudy.structure.bound import load_time_ns
from fabricstudy.structure.load import link_loads
from fabricstudy.workload.messages import PlacedJob

from ..machines import DRAGONFLY, job_of, place_jobs, point_on
from .run_caminos import ends, run

PROBE = Engine(Flow).probe()
needs_flow = pytest.mark.skipif(not PROBE.found, reason=str(PROBE.reason))

SIZE = 60_000
EXACT = {"kind": "flow", "batching": 0}
SLOW = {"bandwidth": {"links": "1 GB/s", "host": "9 GB/s"}, "latency": {"links": "40 ns", "host": "10 ns"}}
STAGE_NS, ENDS_NS = 140.0, 2 * 10.0 + 100.0
"""A cable and the router before it; the links of both nodes and the last router."""


def simulate(folder: Path, point: Point, jobs: list[PlacedJob], machine: Machine | None = None) -> EngineResult:
    machine = machine or point.machine.build()
    folder.mkdir(exist_ok=True)
    exit_code = run(Engine(Flow).write(BuiltPoint(point, machine, jobs), folder), folder)
    return Engine(Flow).result(BuiltPoint(point, machine, jobs), folder, exit_code)


def time_ns(folder: Path, shape: list[int], messages: list[tuple[int, int, int, int]], kind: str = "mesh") -> float:
    """Time of messages between nodes of a grid with a node a router."""
    point = point_on({"kind": kind, "shape": shape} | SLOW, "dimension-order", engine=EXACT)
    (runtime_ns,) = simulate(folder, point, [job_of(list(range(int(np.prod(shape)))), messages)]).job_runtime_ns
    assert runtime_ns is not None
    return runtime_ns


@needs_flow
class TestClosedForms:
    def test_a_single_message_takes_its_bytes_and_the_latency_of_its_way(self, tmp_path: Path) -> None:
        for hops in (1, 3):
            expected = SIZE + hops * STAGE_NS + ENDS_NS
            assert time_ns(tmp_path / str(hops), [4], [(0, 0, hops, SIZE)]) == pytest.approx(expected, rel=1e-9)

    def test_messages_share_a_link_and_the_longer_one_then_has_it_alone(self, tmp_path: Path) -> None:
        both = [(0, 0, 2, SIZE), (0, 1, 2, 5_000)]
        expected = SIZE + 5_000 + 2 * STAGE_NS + ENDS_NS
        assert time_ns(tmp_path, [3], both) == pytest.approx(expected, rel=1e-9)

    def test_a_parking_lot_takes_what_its_last_link_takes(self, tmp_path: Path) -> None:
        lot = [(0, car, 5, SIZE) for car in range(5)]
        # All have a fifth of the last link and end at once; the one from furthest away arrives last.
        assert time_ns(tmp_path, [6], lot) == pytest.approx(5 * SIZE + 5 * STAGE_NS + ENDS_NS, rel=1e-9)

    def test_a_ring_takes_one_message(self, tmp_path: Path) -> None:
        ring = [(phase, rank, (rank + 1) % 5, SIZE) for phase in range(3) for rank in range(5)]
        expected = 3 * (SIZE + STAGE_NS + ENDS_NS)
        assert time_ns(tmp_path, [5], ring, "torus") == pytest.approx(expected, rel=1e-9)

    def test_message_times_are_mean_and_maximum_of_few_messages(self, tmp_path: Path) -> None:
        # Both have half of the last link until the shorter one ends.
        both = job_of([0, 1, 2], [(0, 0, 2, SIZE), (0, 1, 2, 5_000)])
        point = point_on({"kind": "mesh", "shape": [3]} | SLOW, "dimension-order", engine=EXACT)
        result = simulate(tmp_path, point, [both])
        long_ns, short_ns = SIZE + 5_000 + 2 * STAGE_NS + ENDS_NS, 2 * 5_000 + STAGE_NS + ENDS_NS
        assert result.job_message_mean_ns == pytest.approx(((long_ns + short_ns) / 2,), rel=1e-9)
        assert result.job_message_p99_ns == pytest.approx((long_ns,), rel=1e-9)

    def test_a_slow_message_holds_up_the_others_of_its_node_once_the_buffer_is_full(self, tmp_path: Path) -> None:
        # Node 1 sends to 0 over a free link, and to 4 over one that it shares with two others: at a third of its
        # bandwidth. Once that message fills the buffer, both go as fast, and end as the buffer empties.
        size = 200_000
        free, slow = job_of([1, 0], [(0, 0, 1, size)]), job_of([1, 2, 3, 4], [(0, i, 3, size) for i in range(3)])
        point = point_on({"kind": "mesh", "shape": [5]} | SLOW, "dimension-order", engine=EXACT)
        held_ns, slow_ns = simulate(tmp_path, point, [free, slow]).job_runtime_ns
        ahead = window_bytes(point, point.machine.build())
        assert held_ns == pytest.approx(3 * (size - ahead) + STAGE_NS + ENDS_NS, rel=5e-4)
        assert slow_ns == pytest.approx(3 * size + 3 * STAGE_NS + ENDS_NS, rel=5e-4)

    def test_ugal_divides_a_message_by_hops_and_queues(self, tmp_path: Path) -> None:
        """Of 16 paths of two packets one after the other 11 are direct, since a detour has twice the hops."""
        triangle = {"kind": "hyperx", "shape": [3], "nodes_per_router": 1, "bandwidth": "1 GB/s"}
        point = point_on(triangle, "ugal", engine=EXACT)
        built, size = point.machine.build(), 1_600_000
        link_bytes = simulate(tmp_path, point, [job_of([0, 1], [(0, 0, 1, size)])]).link_bytes
        assert link_bytes is not None
        direct = (built.link_tail == 0) & (built.link_head == 1)
        assert link_bytes[direct] == pytest.approx([size * 11 / 16]) and link_bytes.sum() == pytest.approx(
            size * 21 / 16
        )
        # Rates are found anew after each eighth of the message.
        assert json.loads((tmp_path / RESULT).read_text())["solved"] == 8


TORUS = {"kind": "torus", "shape": [6, 4], "bandwidth": "1 GB/s"}
MACHINES: list[tuple[dict[str, Any], str]] = [
    (DRAGONFLY, "minimal"),
    (
        DRAGONFLY
        | {"arrangement": "circulant", "bandwidth": {"local": "1 GB/s", "global": "2 GB/s", "host": "1 GB/s"}},
        "minimal",
    ),
    (TORUS, "minimal"),
    (TORUS, "dimension-order"),
    ({"kind": "torus", "shape": [4, 2, 2], "pair_cables": 2, "bandwidth": "1 GB/s"}, "dimension-order"),
    (DRAGONFLY | {"links_per_local_pair": 3}, "minimal"),
    ({"kind": "hyperx", "shape": [4, 3], "links_per_pair": [1, 2], "bandwidth": "1 GB/s"}, "minimal"),
    ({"kind": "express-mesh", "shape": [8, 4], "gap": 2, "bandwidth": "1 GB/s"}, "dimension-order"),
    ({"kind": "fat-tree", "radix": 8, "pods": 4, "core_cables": 2, "bandwidth": "1 GB/s"}, "d-mod-k"),
    ({"kind": "slim-fly", "q": 5, "nodes_per_router": 1, "bandwidth": "1 GB/s"}, "minimal"),
]


@needs_flow
@pytest.mark.parametrize(("machine", "routing"), MACHINES)
def test_link_bytes_are_those_of_the_analysis_and_no_time_is_below_the_bound(
    tmp_path: Path, machine: dict[str, Any], routing: str
) -> None:
    point = point_on(machine, routing, message="20 kB", engine="flow")
    built = point.machine.build()
    jobs = place_jobs(point, built)
    loads = link_loads(built, *ends(jobs), point.routing)
    result = simulate(tmp_path, point, jobs, built)
    assert result.link_bytes is not None and result.job_runtime_ns[0] is not None
    assert np.allclose(result.link_bytes, loads.link_bytes, rtol=1e-9, atol=1e-3)
    assert load_time_ns(built, loads) <= result.job_runtime_ns[0] <= 2 * load_time_ns(built, loads)


@needs_flow
@pytest.mark.parametrize("via", ["router", "group"])
def test_detours_carry_what_the_analysis_expects(tmp_path: Path, via: str) -> None:
    point = point_on(DRAGONFLY, {"kind": "valiant", "via": via}, message="200 kB", engine="flow")
    built = point.machine.build()
    jobs = place_jobs(point, built)
    loads = link_loads(built, *ends(jobs), point.routing).link_bytes
    found = simulate(tmp_path, point, jobs, built).link_bytes
    assert found is not None and found.sum() == pytest.approx(loads.sum(), rel=0.01)
    # A link carries parts of some thousand draws.
    assert np.abs(found / loads - 1).max() < 0.1


@needs_flow
def test_ugal_detours_leave_both_groups(tmp_path: Path) -> None:
    """As on packet no detour leads through another router of the first or the last group."""
    machine = {"kind": "dragonfly", "groups": 5, "routers_per_group": 4, "nodes_per_router": 1, "bandwidth": "1 GB/s"}
    point = point_on(machine, "ugal", engine="flow")
    built = point.machine.build()
    jobs = [job_of(list(range(20)), [(0, node, 7, 10 * SIZE) for node in range(3)])]
    link_bytes = simulate(tmp_path, point, jobs, built).link_bytes
    assert link_bytes is not None
    used = np.flatnonzero(link_bytes)
    group, tail, head = built.group, built.link_tail[used], built.link_head[used]
    assert group is not None and set(group[head]) == set(range(5)), "the senders make detours"
    assert set(tail[(group[tail] == 0) & (group[head] == 0)]) <= {0, 1, 2}
    assert set(head[(group[tail] == 1) & (group[head] == 1)]) == {7}


@needs_flow
@pytest.mark.parametrize("routing", ["valiant", "ugal", "adaptive"])
def test_the_same_seed_gives_the_same_result(tmp_path: Path, routing: str) -> None:
    def outcome(name: str, seed: int) -> bytes:
        point = point_on(TORUS, routing, message="20 kB", engine="flow", seed=seed)
        simulate(tmp_path / name, point, [job_of(list(range(24)), [(0, i, (i + 8) % 24, SIZE) for i in range(24)])])
        return (tmp_path / name / RESULT).read_bytes()

    first = outcome("first", 1)
    assert outcome("again", 1) == first != outcome("other", 2)


@needs_flow
def test_a_run_that_is_no_result_is_a_failure(tmp_path: Path) -> None:
    point, jobs = point_on(DRAGONFLY, engine="flow"), [job_of([0, 1], [(0, 0, 1, SIZE)])]
    machine = point.machine.build()
    simulate(tmp_path, point, jobs, machine)
    for others in ([job_of([0, 1], [(0, 0, 1, SIZE + 1)])], [*jobs, *jobs]):
        with pytest.raises(EngineFailure):
            Engine(Flow).result(BuiltPoint(point, machine, others), tmp_path, 0)
    (tmp_path / RESULT).write_text("{}")
    with pytest.raises(EngineFailure):
        Engine(Flow).result(BuiltPoint(point, machine, jobs), tmp_path, 0)


@needs_flow
def test_a_bad_file_is_told_by_name(tmp_path: Path) -> None:
    point, jobs = point_on(DRAGONFLY, engine="flow"), [job_of([0, 1], [(0, 0, 1, SIZE)])]
    for file in (SETTINGS, MACHINE, OPERATIONS):
        command = Engine(Flow).write(BuiltPoint(point, point.machine.build(), jobs), tmp_path)
        (tmp_path / file).write_text("nonsense\n")
        assert run(command, tmp_path) == 2
        assert (tmp_path / "stderr").read_text().startswith(f"{file}:1: ")


IDLE = {"nodes": 4, "pattern": {"kind": "idle"}}
BUSY = {"nodes": 8, "pattern": {"kind": "all-to-all", "message": "20 kB"}}


@pytest.mark.parametrize(
    ("refused", "changes"),
    [
        (False, {}),
        (False, {"jobs": [BUSY, IDLE]}),
        (True, {"jobs": [BUSY, BUSY]}),
        (True, {"jobs": [BUSY, BUSY | {"background": True}]}),
        (False, {"jobs": [BUSY | {"compute": "5 us"}]}),
        (True, {"network": {"ports_per_node": 2}}),
        (True, {"message": "7 kB"}),
        (False, {"message": "8 kB"}),
        (False, {"message": "7 kB", "network": {"packet": "1 kB"}}),
    ],
)
def test_what_flows_tell_badly_is_refused(refused: bool, changes: dict[str, Any]) -> None:
    point = point_on(DRAGONFLY, engine="flow", **changes)
    assert (Engine(Flow).unsupported(point, point.machine.build()) is not None) is refused
