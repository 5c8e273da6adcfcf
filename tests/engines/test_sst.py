"""SST itself, where it is installed: link loads counted by hand, times, several jobs, Ember's own motifs, failures."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from fabricstudy.engine.attempt import attempt_point
from fabricstudy.engine.built_point import BuiltPoint
from fabricstudy.engine.definitions import AnalysedMachine
from fabricstudy.engine.engine import Engine
from fabricstudy.engine.outcome import EngineResult
from fabricstudy.engine.point import Point
from fabricstudy.engine.settings import Limits
from fabricstudy.engine.sst.adapter import Sst
from fabricstudy.machine.graph import Machine
from fabricstudy.structure.load import has_loads, link_loads
from fabricstudy.workload.messages import PlacedJob

from ..machines import DRAGONFLY, all_pairs, job_of, place_jobs, point_on
from .run_caminos import ends, run
from .test_sst_translation import EXPRESS, HYPERX, MESH, SLIM_FLY, TORUS, TREE, UP

_PROBE = Engine(Sst).probe()

pytestmark = [
    pytest.mark.skipif(not _PROBE.found, reason=f"needs SST: {_PROBE.reason}"),
    pytest.mark.slow,
]

SMALL = {"kind": "dragonfly", "groups": 5, "routers_per_group": 2, "nodes_per_router": 2, "cores_per_node": 2}
SMALL |= {"bandwidth": {"local": "1 GB/s", "global": "2 GB/s", "host": "1 GB/s"}}
HEADER = (40, 90)
"""Bytes that SST adds to each message, those of the barrier at the end included."""
GROUPS = {"kind": "valiant", "via": "group"}
"""Detours as SST's own dragonfly makes them."""
SIZES = {"chassis_per_group": 2, "blades_per_chassis": 4, "nodes_per_router": 1}
ARIES: dict[str, Any] = {"kind": "aries", "groups": 3, "bandwidth": "1 GB/s", **SIZES}
PERCS: dict[str, Any] = {
    "kind": "percs", "supernodes": 4, "drawers_per_supernode": 2, "hubs_per_drawer": 2, "bandwidth": "1 GB/s",
}  # fmt: skip
UNEVEN_PERCS = PERCS | {"bandwidth": {"local": "1 GB/s", "remote": "1 GB/s", "global": "2 GB/s", "host": "4 GB/s"}}

TWO_JOBS: list[dict[str, Any]] = [
    {"share": 0.5, "pattern": {"kind": "all-to-all", "message": "5 kB"}, "mapping": "random", "allocation": "random"},
    {"share": 0.5, "pattern": {"kind": "stencil", "message": "20 kB"}, "mapping": "random", "allocation": "random"},
]


def simulate(
    folder: Path, this: Point, jobs: list[PlacedJob] | None = None
) -> tuple[EngineResult, list[PlacedJob], Machine]:
    """Run a point and give what came out, the placed jobs and the machine."""
    machine = this.machine.build()
    placed = place_jobs(this, machine) if jobs is None else jobs
    folder.mkdir(exist_ok=True)
    assert Engine(Sst).unsupported(this, machine) is None
    argv = Engine(Sst).write(BuiltPoint(this, machine, placed), folder)
    assert argv is not None
    return Engine(Sst).result(BuiltPoint(this, machine, placed), folder, run(argv, folder)), placed, machine


def point(
    machine: dict[str, Any], routing: Any = "minimal", engine: Any = "sst", message: str = "10 kB", **more: Any
) -> Point:
    """Point with one job on all nodes, whose ranks sit anywhere."""
    jobs = [{"share": 1.0, "pattern": {"kind": "all-to-all", "message": message}, "mapping": "random"}]
    return point_on(machine, routing, engine=engine, **({"jobs": jobs} | more))


@pytest.mark.parametrize(
    ("machine", "routing"),
    [
        (SMALL, "minimal"),
        (SMALL | {"arrangement": "relative"}, "minimal"),
        (DRAGONFLY | {"arrangement": "circulant", "cores_per_node": 1}, "minimal"),
        (TORUS, UP),
        (TORUS | {"shape": [3, 5]}, "dimension-order"),
        (MESH, "dimension-order"),
        ({"kind": "hypercube", "dimensions": 4, "bandwidth": "1 GB/s"}, "dimension-order"),
        (HYPERX, "dimension-order"),
        (TREE, "d-mod-k"),
        (SLIM_FLY, "minimal"),
        (PERCS, "minimal"),
        (UNEVEN_PERCS, "minimal"),
        (UNEVEN_PERCS | {"supernodes": 5, "arrangement": "circulant"}, "minimal"),
    ],
)
def test_loads_of_unique_routes_are_the_hand_count(tmp_path: Path, machine: dict[str, Any], routing: Any) -> None:
    this = point(machine, routing, message="5 kB")
    result, jobs, built = simulate(tmp_path, this)
    source, destination, size = ends(jobs)
    payload = link_loads(built, source, destination, size, this.routing).link_bytes
    messages = link_loads(built, source, destination, np.ones(len(size)), this.routing).link_bytes
    assert result.link_bytes is not None
    each = (result.link_bytes - payload)[messages > 0] / messages[messages > 0]
    assert HEADER[0] <= each.min() and each.max() <= HEADER[1]


@pytest.mark.parametrize(
    ("machine", "routing"),
    [
        (EXPRESS, "minimal"), (EXPRESS, "valiant"), (TORUS, "dimension-order"), (HYPERX, "valiant"), (SMALL, GROUPS),
        (ARIES, "minimal"), (ARIES, "valiant"), (PERCS, "valiant"),
    ],
)  # fmt: skip
def test_drawn_routes_meet_the_expected_loads(tmp_path: Path, machine: dict[str, Any], routing: Any) -> None:
    this = point(machine, routing, message="20 kB")
    result, jobs, built = simulate(tmp_path, this)
    source, destination, size = ends(jobs)
    expected = link_loads(built, source, destination, size, this.routing).link_bytes
    assert result.link_bytes is not None
    # Detours of SST's dragonfly and HyperX never lead back to the source, so they are longer than ours.
    slack = 0.3 if this.routing.kind == "valiant" and machine in (SMALL, HYPERX) else 0.05
    assert result.link_bytes.sum() == pytest.approx(expected.sum(), rel=slack)


def test_detours_of_a_dragonfly_through_any_router_are_ours(tmp_path: Path) -> None:
    this = point(SMALL | {"bandwidth": "1 GB/s"}, "valiant", message="20 kB")
    result, jobs, built = simulate(tmp_path, this)
    source, destination, size = ends(jobs)
    expected = link_loads(built, source, destination, size, this.routing).link_bytes
    assert result.link_bytes is not None
    assert result.link_bytes.sum() == pytest.approx(expected.sum(), rel=0.05)


@pytest.mark.parametrize(
    ("machine", "routing"),
    [
        (SMALL, "adaptive"),
        (SMALL, {"kind": "ugal", "via": "group"}),
        (UNEVEN_PERCS, {"kind": "ugal", "via": "group"}),
        (HYPERX, "adaptive"),
        (HYPERX, "ugal"),
        (TREE, "adaptive"),
        (EXPRESS, "ugal"),
    ],
)
def test_adaptive_routings_finish(tmp_path: Path, machine: dict[str, Any], routing: str) -> None:
    this = point(machine, routing)
    result, _, built = simulate(tmp_path, this)
    assert result.job_runtime_ns[0] and not has_loads(built, this.routing)


class TestUgal:
    """On a dragonfly, where minimal routing has an adversary: every node sends to the next group (Kim et al. 2008)."""

    @pytest.mark.parametrize(("flit", "least", "most"), [("100 B", 0.22, 0.35), ("250 B", 1.0, 1.0)])
    def test_it_detours_only_where_an_output_holds_more_than_50_flits(
        self, tmp_path: Path, flit: str, least: float, most: float
    ) -> None:
        job = job_of(list(range(72)), [(0, i, (i + 8) % 72, 200_000) for i in range(72)])
        times: list[float] = []
        for routing in ("minimal", {"kind": "ugal", "via": "group"}):
            this = point(
                DRAGONFLY | {"cores_per_node": 1},
                routing,
                {"kind": "sst", "flit": flit},
                network={"packet": "1 kB", "buffer": "16 kB", "router_latency": "0 ns"},
            )
            machine, folder = this.machine.build(), tmp_path / str(len(times))
            folder.mkdir()
            # Past the adapter, which refuses the larger flit under UGAL.
            argv = Engine(Sst).write(BuiltPoint(this, machine, [job]), folder)
            assert argv is not None
            (time_ns,) = Engine(Sst).result(BuiltPoint(this, machine, [job]), folder, run(argv, folder)).job_runtime_ns
            assert time_ns is not None
            times.append(time_ns)
        # Two ninths of the packets straight, the rest over two global links each, are the best there is.
        assert least <= times[1] / times[0] <= most


class TestTimes:
    def test_one_message_takes_its_bytes_and_a_few_flits(self, tmp_path: Path) -> None:
        this = point(SMALL)
        result, *_ = simulate(tmp_path, this, [job_of([0, 1], [(0, 0, 1, 200_000)])])
        # 1 GB/s: a byte takes a nanosecond.
        assert result.job_runtime_ns[0] is not None and 200_000 < result.job_runtime_ns[0] < 205_000

    def test_bandwidth_of_a_class_counts(self, tmp_path: Path) -> None:
        def across(local: str, name: str) -> float:
            machine = SMALL | {"bandwidth": {"local": local, "global": "2 GB/s", "host": "2 GB/s"}}
            # Nodes 0 and 2 are on the two routers of a group.
            result, *_ = simulate(tmp_path / name, point(machine), [job_of([0, 2], [(0, 0, 1, 100_000)])])
            assert result.job_runtime_ns[0] is not None
            return result.job_runtime_ns[0]

        assert across("1 GB/s", "fast") * 1.9 < across("0.5 GB/s", "slow") < 210_000

    def test_bandwidth_of_d_links_counts(self, tmp_path: Path) -> None:
        """From the first supernode to another one over a D link that starts or ends at both hubs, so over no other."""
        bandwidth = {"local": "4 GB/s", "remote": "4 GB/s", "host": "4 GB/s"}
        for d_link, nanoseconds_per_byte in (("0.5 GB/s", 2.0), ("1 GB/s", 1.0), ("8 GB/s", 0.25)):
            machine = PERCS | {"bandwidth": bandwidth | {"global": d_link}}
            built = point(machine).machine.build()
            d_links = np.flatnonzero(built.cable_class == [link.name for link in built.classes].index("global"))
            ends = [int(built.cable_tail[d_links[0]]), int(built.cable_head[d_links[0]])]
            job = job_of(ends, [(0, 0, 1, 200_000)])
            (time_ns,) = simulate(tmp_path / d_link.replace(" GB/s", ""), point(machine), [job])[0].job_runtime_ns
            assert time_ns == pytest.approx(200_000 * nanoseconds_per_byte, rel=0.05)

    def test_each_hop_of_a_cray_xc_takes_the_same_time(self, tmp_path: Path) -> None:
        """To a router of the row, diagonally, and across a global cable with a hop in the other group before it."""
        times_ns = []
        for destination in (1, 5, 13):
            job = job_of([0, destination], [(0, 0, 1, 20_000)])
            (time_ns,) = simulate(tmp_path / str(destination), point(ARIES), [job])[0].job_runtime_ns
            times_ns.append(time_ns)
        hop_ns, last_hop_ns = np.diff(np.array(times_ns, dtype=float))
        # Of a message, and of the two of the barrier that follows it.
        assert hop_ns == pytest.approx(last_hop_ns) and 3 * 140 < hop_ns < 1000

    def test_phases_follow_each_other(self, tmp_path: Path) -> None:
        one, *_ = simulate(tmp_path / "one", point(SMALL), [job_of([0, 1], [(0, 0, 1, 50_000)])])
        both = job_of([0, 1], [(0, 0, 1, 50_000), (1, 1, 0, 50_000)])
        two, *_ = simulate(tmp_path / "two", point(SMALL), [both])
        assert one.job_runtime_ns[0] is not None
        assert two.job_runtime_ns[0] == pytest.approx(2 * one.job_runtime_ns[0], rel=0.02)

    def test_the_same_run_gives_the_same(self, tmp_path: Path) -> None:
        this = point(SMALL, GROUPS)
        first, second = (simulate(tmp_path / name, this)[0] for name in ("first", "second"))
        assert first.job_runtime_ns == second.job_runtime_ns
        np.testing.assert_array_equal(first.link_bytes, second.link_bytes)


class TestJobs:
    def test_an_incast_of_many_long_messages_takes_what_its_last_link_takes(self, tmp_path: Path) -> None:
        # By its defaults a network interface receives 16 messages at once, and this would never end.
        incast = job_of(list(range(71)), [(0, rank, 70, 32_000) for rank in range(70)])
        this = point(DRAGONFLY | {"bandwidth": "10 GB/s"}, network={"packet": "2 kB"})
        result, _, _ = simulate(tmp_path, this, [incast])
        assert result.job_runtime_ns[0] == pytest.approx(70 * 32_000 / 10, rel=0.02)

    def test_jobs_end_each_at_its_own_time(self, tmp_path: Path) -> None:
        jobs = [all_pairs([0, 5, 9], 10_000), job_of([3, 12], [(0, 0, 1, 1000)]), job_of([1], [])]
        result, *_ = simulate(tmp_path, point(SMALL), jobs)
        long, short, idle = result.job_runtime_ns
        assert long is not None and short is not None
        assert idle == 0 and short < long / 5 and long > 20_000

    def test_several_ranks_on_a_node_share_its_link(self, tmp_path: Path) -> None:
        ranks = job_of([0, 0, 3, 3], [(0, 0, 2, 50_000), (0, 1, 3, 50_000)])
        result, *_ = simulate(tmp_path, point(SMALL), [ranks])
        assert result.job_runtime_ns[0] is not None and 100_000 < result.job_runtime_ns[0] < 105_000

    def test_jobs_anywhere_on_a_graph(self, tmp_path: Path) -> None:
        jobs = [all_pairs([19, 4, 11], 5000), all_pairs([2, 17], 5000)]
        result, _, built = simulate(tmp_path, point(EXPRESS), jobs)
        source, destination, size = ends(jobs)
        expected = link_loads(built, source, destination, size, point(EXPRESS).routing).link_bytes
        assert result.link_bytes is not None
        assert result.link_bytes.sum() == pytest.approx(expected.sum(), rel=0.05)


class TestPackets:
    """Three routers in a row, a node on each: links 0->1, 1->0, 1->2, 2->1 in this order."""

    ROW: ClassVar[dict[str, Any]] = {"kind": "mesh", "shape": [3], "bandwidth": "1 GB/s"}

    def row(self, folder: Path, messages: list[tuple[int, int, int, int]], engine: Any = "sst") -> EngineResult:
        this = point(self.ROW, "dimension-order", engine)
        result, _, built = simulate(folder, this, [job_of([0, 1, 2], messages)])
        assert list(zip(built.link_tail, built.link_head, strict=True)) == [(0, 1), (1, 0), (1, 2), (2, 1)]
        return result

    def test_without_contention_nothing_stalls(self, tmp_path: Path) -> None:
        result = self.row(tmp_path, [(0, 0, 2, 300_000)])
        # 300,045 B with the header are 151 packets of 2 kB; in the barrier ranks 1 and 2 tell rank 0, which answers.
        assert result.link_packets is not None and result.link_packets.tolist() == [151 + 2, 2, 151 + 1, 1]
        assert result.link_bytes is not None
        assert result.link_bytes.tolist() == [300_045 + 90, 90, 300_045 + 45, 45]
        assert result.link_stall_ns is not None and not result.link_stall_ns.any()

    @pytest.mark.parametrize("flit", [500, 100])
    def test_a_link_stalls_while_the_buffer_at_its_end_is_full(self, tmp_path: Path, flit: int) -> None:
        def stall_ns(size: int) -> float:
            messages = [(0, 0, 2, size), (0, 1, 2, size)]
            result = self.row(tmp_path / str(size), messages, {"kind": "sst", "flit": f"{flit} B"})
            assert result.link_stall_ns is not None
            into, *others = result.link_stall_ns.tolist()
            assert not any(others)
            return float(into)

        # Half of link 1->2 is left for what comes by 0->1, where a packet of 2 us waits for 2 us once all buffers are
        # full. SST counts each wait without the flit in which the port wakes up.
        more = 300_000 // 2000
        assert stall_ns(600_000) - stall_ns(300_000) == pytest.approx(more * (2000 - flit), rel=0.01)


class TestPacketsOfJobs:
    @pytest.mark.parametrize(
        ("machine", "routing"),
        [
            (SMALL, "minimal"),
            (TORUS, UP),
            (TORUS | {"shape": [3, 5]}, "dimension-order"),
            (MESH, "dimension-order"),
            (HYPERX, "dimension-order"),
            (TREE, "d-mod-k"),
            (SLIM_FLY, "minimal"),
        ],
    )
    def test_what_follows_from_unique_routes_is_what_was_counted(
        self, tmp_path: Path, machine: dict[str, Any], routing: Any
    ) -> None:
        this = point(machine, routing, jobs=TWO_JOBS)
        result, jobs, built = simulate(tmp_path, this)
        assert result.job_link_packets is not None and result.link_packets is not None
        for packets, job in zip(result.job_link_packets, jobs, strict=True):
            used = link_loads(built, *ends([job]), this.routing).link_bytes > 0
            np.testing.assert_array_equal(packets > 0, used)
        barrier = result.link_packets - result.job_link_packets.sum(axis=0)
        # Two messages for each rank but one, of each job.
        assert barrier.min() >= 0 and 0 < barrier.sum() <= 2 * sum(job.ranks - 1 for job in jobs) * built.routers

    @pytest.mark.parametrize(
        ("machine", "routing", "engine"),
        [
            (SMALL, GROUPS, "sst"),
            (TORUS, "dimension-order", "sst"),
            # Above 12 kB messages ask before they are sent.
            (SMALL, "minimal", {"kind": "sst", "mpi": "default"}),
        ],
    )
    def test_where_they_are_not_certain_nothing_is_said(
        self, tmp_path: Path, machine: dict[str, Any], routing: Any, engine: Any
    ) -> None:
        result, *_ = simulate(tmp_path, point(machine, routing, engine, jobs=TWO_JOBS))
        assert result.job_link_packets is None and result.link_packets is not None

    def test_one_job_has_all_links(self, tmp_path: Path) -> None:
        assert simulate(tmp_path, point(SMALL))[0].job_link_packets is None


class TestMotifs:
    @pytest.mark.parametrize("pattern", ["all-to-all", "stencil"])
    def test_embers_own_move_the_same_bytes(self, tmp_path: Path, pattern: str) -> None:
        jobs = [{"share": 1.0, "pattern": {"kind": pattern, "message": "20 kB"}, "mapping": "random"}]
        listed, *_ = simulate(tmp_path / "list", point(SMALL, jobs=jobs))
        native, *_ = simulate(tmp_path / "own", point(SMALL, engine={"kind": "sst", "motifs": "native"}, jobs=jobs))
        assert listed.link_bytes is not None and native.link_bytes is not None
        # So both know the same ranks on the same nodes.
        np.testing.assert_allclose(native.link_bytes, listed.link_bytes, rtol=0.01)
        # Ember's Alltoall has one message outstanding.
        assert listed.job_runtime_ns[0] and native.job_runtime_ns[0]
        assert native.job_runtime_ns[0] > 0.8 * listed.job_runtime_ns[0]

    def test_costs_of_mpi_cost_time(self, tmp_path: Path) -> None:
        free, *_ = simulate(tmp_path / "free", point(SMALL))
        paid, *_ = simulate(tmp_path / "paid", point(SMALL, engine={"kind": "sst", "mpi": "default"}, message="20 kB"))
        assert free.job_runtime_ns[0] and paid.job_runtime_ns[0] and paid.job_runtime_ns[0] > free.job_runtime_ns[0]


def test_limits_end_a_run_or_do_not_start_it(tmp_path: Path) -> None:
    this = point(DRAGONFLY, message="50 kB")
    machine = this.machine.build()
    analysed = AnalysedMachine(machine, np.arange(machine.routers) < 18)

    def ended(limits: dict[str, str]) -> Any:
        folder = tmp_path / "-".join(limits)
        folder.mkdir()
        return attempt_point(this, Engine(Sst), analysed, Limits.model_validate(limits), folder)

    assert ended({"time": "1 s"})["status"] == "timeout"
    record = ended({"memory": "500 MB"})
    assert record["status"] == "out-of-memory" and record["reason"].startswith(
        "not started: it would need about 1.2 GB"
    )
