"""The adapter and CODES together, on the real program."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from fabricstudy.engine.built_point import BuiltPoint
from fabricstudy.engine.caminos.adapter import Caminos
from fabricstudy.engine.caminos.files import CONFIGURATION
from fabricstudy.engine.codes.adapter import Codes
from fabricstudy.engine.codes.files import OUTPUTS
from fabricstudy.engine.codes.trace import traces
from fabricstudy.engine.engine import Engine
from fabricstudy.engine.failures import EngineFailure
from fabricstudy.engine.outcome import EngineResult
from fabricstudy.engine.point import PlannedPoint, Point
from fabricstudy.engine.settings import Limits
from fabricstudy.engine.single_point import simulate_in_folder
from fabricstudy.machine.graph import Machine
from fabricstudy.structure.bound import load_time_ns
from fabricstudy.structure.load import link_loads, link_support
from fabricstudy.workload.messages import PlacedJob

from ..machines import DRAGONFLY, all_pairs, job_of, place_jobs, point_on
from .run_caminos import ends
from .run_caminos import simulate as simulate_caminos
from .run_codes import FIXED, MACHINES, point, prepared, run, two_jobs

PROBE = Engine(Codes).probe()
CAMINOS = Engine(Caminos).probe()
pytestmark = pytest.mark.skipif(not PROBE.found, reason=str(PROBE.reason))


def simulate(folder: Path, this: Point, jobs: list[PlacedJob], machine: Machine | None = None) -> EngineResult:
    """Run a point and read the result."""
    machine = machine or this.machine.build()
    argv = prepared(folder, this, jobs, machine)
    return Engine(Codes).result(BuiltPoint(this, machine, jobs), folder, run(argv, folder))


def time_of(result: EngineResult, job: int = 0) -> float:
    """Time of a job, in ns."""
    found = result.job_runtime_ns[job]
    assert found is not None
    return found


def loads(machine: Machine, jobs: list[PlacedJob], this: Point) -> Any:
    """What the analysis says of the links."""
    return link_loads(machine, *ends(jobs), this.routing)


def through_groups(kind: str) -> dict[str, Any]:
    """Return the detours that CODES has on a dragonfly."""
    return {"kind": kind, "via": "group"}


class TestLinks:
    @pytest.mark.parametrize("name", [name for name in FIXED if name != "torus"])
    def test_few_links_are_the_ones_of_the_machine(self, tmp_path: Path, name: str) -> None:
        this = point(name)
        machine = this.machine.build()
        jobs = [job_of([0, 1, machine.nodes - 1], [(0, 0, 2, 6000), (0, 1, 0, 3000), (0, 2, 1, 1000)])]
        result = simulate(tmp_path, this, jobs, machine)
        assert result.link_bytes is not None
        np.testing.assert_array_equal(result.link_bytes, loads(machine, jobs, this).link_bytes)

    @pytest.mark.parametrize("arrangement", ["absolute", "relative", "circulant"])
    def test_a_dragonfly_is_wired_as_ours(self, tmp_path: Path, arrangement: str) -> None:
        this = point("dragonfly", machine={"arrangement": arrangement, "routers_per_group": 2})
        machine = this.machine.build()
        jobs = [all_pairs(list(range(machine.nodes)), 2000)]
        result = simulate(tmp_path, this, jobs, machine)
        analysed = loads(machine, jobs, this)
        assert result.link_bytes is not None
        np.testing.assert_array_equal(result.link_bytes, analysed.link_bytes)
        assert time_of(result) >= load_time_ns(machine, analysed)

    @pytest.mark.parametrize("name", [name for name in FIXED if name != "torus"])
    def test_all_links_are_the_ones_of_the_machine(self, tmp_path: Path, name: str) -> None:
        this = point(name)
        machine = this.machine.build()
        jobs = [all_pairs(list(range(machine.nodes)), 3000)]
        result = simulate(tmp_path, this, jobs, machine)
        assert result.link_bytes is not None
        np.testing.assert_array_equal(result.link_bytes, loads(machine, jobs, this).link_bytes)

    def test_parallel_cables_are_one_link(self, tmp_path: Path) -> None:
        this = point("dragonfly", machine={"groups": 3, "links_per_group_pair": 4})
        machine = this.machine.build()
        jobs = [all_pairs(list(range(machine.nodes)), 3000)]
        result = simulate(tmp_path, this, jobs, machine)
        assert result.link_bytes is not None and machine.cable_count.max() > 1
        between = machine.link_class == 1
        assert result.link_bytes[between].sum() == loads(machine, jobs, this).link_bytes[between].sum()

    @pytest.mark.parametrize("kind", ["dimension-order", "adaptive"])
    @pytest.mark.parametrize("gap", [2, 3])
    def test_an_express_mesh_takes_as_many_hops(self, tmp_path: Path, kind: str, gap: int) -> None:
        this = point("express", kind, machine={"shape": [7, 5], "gap": gap})
        machine = this.machine.build()
        jobs = [all_pairs(list(range(0, machine.nodes, 3)), 3000)]
        result = simulate(tmp_path, this, jobs, machine)
        expected = link_loads(machine, *ends(jobs), point("express", "dimension-order").routing).link_bytes
        assert result.link_bytes is not None
        # Long and short links in whichever order, all in the same number.
        np.testing.assert_allclose(result.link_bytes.sum(), expected.sum())

    @pytest.mark.parametrize(
        ("name", "kind"),
        [("dragonfly", "valiant"), ("dragonfly", "ugal"), ("tree", "adaptive"), ("slim fly", "valiant"),
         ("slim fly", "ugal"), ("hyperx", "adaptive")],
    )  # fmt: skip
    def test_other_routings_take_their_detours(self, tmp_path: Path, name: str, kind: str) -> None:
        this = point(name, through_groups(kind) if name == "dragonfly" else kind)
        machine = this.machine.build()
        jobs = [all_pairs(list(range(machine.nodes)), 3000)]
        result = simulate(tmp_path, this, jobs, machine)
        least = loads(machine, jobs, point(name)).link_bytes.sum()
        assert result.link_bytes is not None
        if kind == "adaptive":
            assert result.link_bytes.sum() == least
        else:
            assert least * (1.2 if kind == "valiant" else 1.0) <= result.link_bytes.sum() <= 2.5 * least

    def test_rows_and_columns_of_a_cray_xc(self, tmp_path: Path) -> None:
        """A node sends to another one of its row and one of its column."""
        this = point("aries")
        machine = this.machine.build()
        jobs = [job_of([0, 4, 8], [(0, 0, 1, 6000), (0, 0, 2, 4000), (0, 2, 0, 2000)])]
        result = simulate(tmp_path, this, jobs, machine)
        assert result.link_bytes is not None
        np.testing.assert_array_equal(result.link_bytes, loads(machine, jobs, this).link_bytes)

    @pytest.mark.parametrize("kind", ["minimal", "valiant", "ugal"])
    @pytest.mark.parametrize("sizes", [{}, {"cables_per_group_pair": 5, "arrangement": "circulant"}])
    def test_what_enters_a_router_of_a_cray_xc_leaves_it(
        self, tmp_path: Path, kind: str, sizes: dict[str, Any]
    ) -> None:
        this = point("aries", kind, machine=sizes)
        machine = this.machine.build()
        jobs = [all_pairs(list(range(machine.nodes)), 4000)]
        result = simulate(tmp_path, this, jobs, machine)
        assert result.link_bytes is not None and machine.group is not None
        entering, leaving = (
            np.bincount(ends_of, result.link_bytes, machine.routers)
            for ends_of in (machine.link_head, machine.link_tail)
        )
        np.testing.assert_array_equal(entering, leaving)
        between = np.zeros((3, 3))
        np.add.at(between, (machine.group[machine.link_tail], machine.group[machine.link_head]), result.link_bytes)
        crossing = 16 * 16 * 4000 * (1 - np.eye(3))
        least = loads(machine, jobs, point("aries")).link_bytes.sum()
        if kind == "minimal":
            np.testing.assert_array_equal(between * (1 - np.eye(3)), crossing)
            assert least <= result.link_bytes.sum() <= 1.5 * least
        else:
            assert between.sum() - between.trace() >= crossing.sum()

    def test_a_torus_does_not_tell(self, tmp_path: Path) -> None:
        this = point("torus")
        result = simulate(tmp_path, this, two_jobs(this.machine.build()))
        assert result.link_bytes is None and result.link_packets is None


class TestPackets:
    @pytest.mark.parametrize("name", [name for name in FIXED if name != "torus"])
    def test_packets_of_one_size(self, tmp_path: Path, name: str) -> None:
        this = point(name)
        machine = this.machine.build()
        for size, packets in ((6000, 3), (500, 1)):
            jobs = [all_pairs(list(range(machine.nodes)), size)]
            result = simulate(tmp_path / str(size), this, jobs, machine)
            assert result.link_packets is not None
            np.testing.assert_array_equal(result.link_packets, packets / size * loads(machine, jobs, this).link_bytes)

    @pytest.mark.parametrize("sizes", [(3000, 3000), (2000, 500), (500, 400)])
    def test_bytes_do_not_tell_packets_of_several_sizes(self, tmp_path: Path, sizes: tuple[int, int]) -> None:
        jobs = [job_of([0, 15], [(0, 0, 1, sizes[0]), (0, 1, 0, sizes[1])])]
        assert simulate(tmp_path, point("tree"), jobs).link_packets is None

    def test_a_list_of_hops_does(self, tmp_path: Path) -> None:
        this = point("dragonfly")
        machine = this.machine.build()
        jobs = two_jobs(machine)
        result = simulate(tmp_path, this, jobs, machine)
        source, destination, size = ends(jobs)
        by_hand = link_loads(machine, source, destination, -(-size // 2000), this.routing).link_bytes
        assert result.link_packets is not None
        np.testing.assert_array_equal(result.link_packets, by_hand)


class TestUgal:
    """Both sides of UGAL on a dragonfly (Singh 2005; Kim et al. 2008), on links that a packet takes 200 ns to cross."""

    MACHINE: ClassVar[dict[str, Any]] = DRAGONFLY | {"cores_per_node": 1, "bandwidth": "10 GB/s"}

    def _run(self, folder: Path, routing: Any, messages: list[tuple[int, int, int, int]]) -> EngineResult:
        this = point_on(self.MACHINE, routing, engine="codes")
        return simulate(folder, this, [job_of(list(range(72)), messages)])

    def _both(self, folder: Path, messages: list[tuple[int, int, int, int]]) -> tuple[EngineResult, EngineResult]:
        ugal = {"kind": "ugal", "via": "group"}
        return self._run(folder / "minimal", "minimal", messages), self._run(folder / "ugal", ugal, messages)

    def test_against_an_adversary_it_is_far_from_minimal(self, tmp_path: Path) -> None:
        minimal, ugal = self._both(tmp_path, [(0, i, (i + 8) % 72, 400_000) for i in range(72)])
        # Two ninths of the packets straight, the rest over two global links each, are the best there is.
        assert 2 / 9 <= time_of(ugal) / time_of(minimal) < 0.35

    def test_what_is_on_its_way_is_no_queue(self, tmp_path: Path) -> None:
        # One node sends alone, and no link is slower than its own: packets follow one another and wait nowhere.
        minimal, ugal = self._both(tmp_path, [(0, 0, 40, 200_000)])
        np.testing.assert_array_equal(ugal.link_bytes, minimal.link_bytes)


class TestInjection:
    """Each of four nodes sends 1 MB to each other one, over a link of its own; its host link is six times as fast.

    A message takes its link 1 ms. One at a time, all three take 3 ms, less what buffers hold; two at a time 2 ms, since
    the third starts when the first has left; three at a time 1 ms.
    """

    @pytest.mark.parametrize(("injection", "ms"), [(1, 3), (2, 2), (3, 1), (16, 1)])
    def test_so_many_messages_take_turns(self, tmp_path: Path, injection: int, ms: int) -> None:
        machine = {"kind": "hyperx", "shape": [4], "bandwidth": {"links": "1 GB/s", "host": "6 GB/s"}}
        this = point_on(machine, "dimension-order", engine="codes", network={"injection": injection})
        job = job_of([0, 1, 2, 3], [(0, i, (i + shift) % 4, 1_000_000) for i in range(4) for shift in (1, 2, 3)])
        exit_code = run(prepared(tmp_path, this, [job]), tmp_path)
        result = Engine(Codes).result(BuiltPoint(this, this.machine.build(), [job]), tmp_path, exit_code)
        # A message has left when its end is in the buffers of its node and of the router's output.
        held_ns = (ms - 1) * 2 * this.network.buffer_bytes
        assert result.job_runtime_ns[0] is not None
        assert ms * 1e6 - held_ns <= result.job_runtime_ns[0] < 1.03 * ms * 1e6


class TestStalls:
    """CODES writes for how long ports were full, but nothing that could be told as the stall of a link.

    In each case two or more nodes fill a link together, and the ones before it wait for room at its near end: these
    send for a known part of the time, and stand still for the rest.
    """

    @pytest.mark.parametrize(
        ("name", "machine", "flows", "file", "row", "column", "stall_ns"),
        [
            ("hyperx", {"shape": [3], "nodes_per_router": 4}, [(0, 4), (1, 4), (8, 4)], "router-stats", 0, 6, 1e6),
            ("slim fly", {"nodes_per_router": 4}, [(0, 4), (1, 4), (8, 4)], "slimfly-router-stats", 0, 3, 1e6),
            ("tree", {"radix": 8}, [(0, 16), (20, 16)], "fattree-switch-stats", 0, 8, 1e6),
            ("torus", {"shape": [9, 9]}, [(0, 20), (1, 20), (3, 20), (4, 20)], "torus-link-stats", 1, 3, 2e6),
            ("dragonfly", {"nodes_per_router": 4}, [(0, 4), (1, 4), (5, 4)], "dragonfly-router-busytime-sample",
             0, 4, 1e6),
        ],
    )  # fmt: skip
    def test_what_it_writes_is_something_else(
        self, tmp_path: Path, name: str, machine: dict[str, Any], flows: list[tuple[int, int]], file: str, row: int,
        column: int, stall_ns: float,
    ) -> None:  # fmt: skip
        nodes = sorted({node for flow in flows for node in flow})
        messages = [(0, nodes.index(source), nodes.index(destination), 1_000_000) for source, destination in flows]
        this = point(name, machine=machine, pattern={"kind": "ring"}, message="1 MB")
        result = simulate(tmp_path, this, [job_of(nodes, messages)])
        assert result.link_stall_ns is None
        rows = [line.split() for line in (tmp_path / OUTPUTS / file).read_text().splitlines() if line[:1] != "#"]
        told = float([row for row in rows if row][row][column])
        assert told > 0 and abs(told / stall_ns - 1) > 0.25

    def test_of_a_dragonfly_another_port_is_told(self, tmp_path: Path) -> None:
        this = point("dragonfly", machine={"nodes_per_router": 4})
        simulate(tmp_path, this, [job_of([0, 1, 4, 5], [(0, rank, 2, 1_000_000) for rank in (0, 1, 3)])])
        rows = [line.split() for line in (tmp_path / OUTPUTS / "dragonfly-link-stats").read_text().splitlines()]
        told = [row[5] for row in rows if row[:5] == ["0", "R", "1", "R", "L"]]
        # All of 2 MB went from router 0 to router 1; the figure stands beside another port's name.
        assert told == ["0"]


@pytest.mark.skipif(not CAMINOS.found, reason=str(CAMINOS.reason))
class TestDifferencesFromCaminos:
    """What CODES does otherwise than CAMINOS, each on a machine so small that both times can be counted by hand."""

    @pytest.mark.parametrize(
        ("buffer", "crossbar", "least", "most"),
        [("64 kB", 1, 143, 148), ("64 kB", 2, 141, 148), ("256 kB", 2, 120, 120)],
    )
    def test_packets_wait_behind_others_in_caminos(
        self, tmp_path: Path, buffer: str, crossbar: int, least: int, most: int
    ) -> None:
        """Nodes a and c send 60 packets each to one node of a router between them, and then a 60 to its other node.

        CODES sorts what waits by its output: the second message of a comes at once after the first, and all is over
        when 120 packets have crossed one link. In CAMINOS an input is one queue, so the second message of a begins to
        leave when the last packet of its first one is at the output, of which the link has sent 120 then but for
        those that wait there: 16 packets in half of a buffer of 64 kB, for each of two channels. So it begins after
        88 packets, or as measured up to seven earlier on CAMINOS' own router. With four times as much no more than 60
        wait when a has sent its first message.
        """
        shared: dict[str, Any] = {"machine": {"nodes_per_router": 2}, "network": {"buffer": buffer, "injection": 1}}
        this, elsewhere = point("slim fly", **shared), point("slim fly", engine="caminos", **shared)
        machine = this.machine.build()
        a, c = (2 * machine.link_tail[machine.link_head == 0][:2]).tolist()
        jobs = [job_of([a, c, 0, 1], [(0, 0, 2, 120_000), (0, 1, 2, 120_000), (0, 0, 3, 120_000)])]
        if crossbar == 1:
            assert time_of(simulate(tmp_path / "codes", this, jobs)) == pytest.approx(120 * 2000, rel=0.02)
        folder = tmp_path / "caminos"
        folder.mkdir()
        argv = Engine(Caminos).write(BuiltPoint(elsewhere, machine, jobs), folder)
        configuration = folder / CONFIGURATION
        # A cycle of the crossbar is as much shorter.
        slower = f"frequency_divisor: {crossbar} }}"
        configuration.write_text(configuration.read_text().replace("frequency_divisor: 1 }", slower))
        result = Engine(Caminos).result(BuiltPoint(elsewhere, machine, jobs), folder, run(argv, folder))
        assert least * 2000 * 0.98 <= time_of(result) / crossbar <= most * 2000 * 1.02

    def test_it_takes_both_ways_of_an_express_mesh(self, tmp_path: Path) -> None:
        """From router 0 to 4 of a line of gap 2 it is a link of 3 and one of 1; CAMINOS takes the long one first."""
        more = {
            "machine": {"shape": [5], "nodes_per_router": 1, "bandwidth": {"links": "1 GB/s", "host": "2 GB/s"}},
        }
        this = point("express", "dimension-order", **more)
        machine = this.machine.build()
        jobs = [job_of([0, 4], [(0, 0, 1, 400_000)])]
        codes = simulate(tmp_path / "codes", this, jobs)
        elsewhere = point("express", "dimension-order", engine="caminos", **more)
        caminos, _ = simulate_caminos(tmp_path / "caminos", elsewhere, jobs)
        first = {int(head): i for i, head in enumerate(machine.link_head) if machine.link_tail[i] == 0}
        assert codes.link_bytes is not None and caminos.link_bytes is not None
        assert codes.link_bytes[[first[1], first[3]]] == pytest.approx([200_000, 200_000], rel=0.05)
        assert caminos.link_bytes[[first[1], first[3]]].tolist() == [0, 400_000]
        assert time_of(codes) == pytest.approx(200_000, rel=0.05)
        assert time_of(caminos) == pytest.approx(400_000, rel=0.05)

    def test_the_second_router_of_a_dragonfly_draws_among_its_own_groups(self, tmp_path: Path) -> None:
        """Nodes of router 1 send to group 2, whose link is router 0's; that one has another to group 1, and no more.

        The link within the group is fast, so nothing waits at router 1, and UGAL stays minimal there. At router 0
        more than 16 kB wait, so packets make a detour as soon as twice what waits for group 1 is less. With its first
        draw, of groups 1, 3 and 4, only one packet of three could do so, which are 21 kB.
        """
        this = point(
            "dragonfly", through_groups("ugal"),
            machine={"bandwidth": {"local": "10 GB/s", "global": "1 GB/s", "host": "4 GB/s"}},
        )  # fmt: skip
        machine = this.machine.build()
        result = simulate(tmp_path, this, [job_of([2, 3, 8, 9], [(0, 0, 2, 40_000), (0, 1, 3, 40_000)])])
        assert machine.group is not None and result.link_bytes is not None
        between = {
            (int(machine.group[tail]), int(machine.group[head])): result.link_bytes[i]
            for i, (tail, head) in enumerate(zip(machine.link_tail, machine.link_head, strict=True))
            if machine.link_class[i] == 1
        }
        assert between[0, 3] == between[0, 4] == 0
        assert between[0, 1] == between[1, 2] == 80_000 - between[0, 2]
        # The queue for group 2 is twice the other at the end: 2/3 of 80 kB, or 50 kB if each link has sent 10 kB then.
        assert 26_000 <= between[0, 1] <= 30_000

    def test_the_second_router_draws_among_all_groups_in_caminos(self, tmp_path: Path) -> None:
        """In the same case a packet of CAMINOS may go on to another router of its group, and so to groups 3 and 4."""
        this = point(
            "dragonfly", through_groups("ugal"), engine="caminos",
            machine={"bandwidth": {"local": "10 GB/s", "global": "1 GB/s", "host": "4 GB/s"}},
        )  # fmt: skip
        machine = this.machine.build()
        result, _ = simulate_caminos(tmp_path, this, [job_of([2, 3, 8, 9], [(0, 0, 2, 40_000), (0, 1, 3, 40_000)])])
        assert machine.group is not None and result.link_bytes is not None
        tail, head = machine.group[machine.link_tail], machine.group[machine.link_head]
        assert result.link_bytes[(tail == 0) & (head >= 3)].min() > 0

    def test_packets_that_stay_in_their_group_make_detours_in_caminos_only(self, tmp_path: Path) -> None:
        """Two nodes of a router send to those of another one in the group, twice what their link can take.

        A detour goes through another group, and on both ways through another router of their own.
        """
        jobs = [job_of([0, 1, 2, 3], [(0, 0, 2, 400_000), (0, 1, 3, 400_000)])]
        more: dict[str, Any] = {"machine": {"routers_per_group": 4}}
        codes = simulate(tmp_path / "codes", point("dragonfly", through_groups("ugal"), **more), jobs)
        elsewhere = point("dragonfly", through_groups("ugal"), engine="caminos", **more)
        caminos, _ = simulate_caminos(tmp_path / "caminos", elsewhere, jobs)
        assert time_of(codes) == pytest.approx(800_000, rel=0.05)
        assert time_of(caminos) < 600_000


def planned(this: Point) -> PlannedPoint:
    """The point as a study plans it."""
    return PlannedPoint("p0", "m0", this)


class TestMemory:
    def test_a_point_above_its_limit_is_not_started(self, tmp_path: Path) -> None:
        this = planned(point("hyperx"))
        told = simulate_in_folder(this, tmp_path / "small", Limits.model_validate({"memory": "100 MB"}))
        needed = Engine(Codes).predict_memory_bytes(this.point)
        assert told["record"]["status"] == "out-of-memory" and told["command"] is None
        assert f"not started: it would need about {needed / 1e9:.2g} GB, and limits.memory is 0.1 GB" in str(
            told["record"]["reason"]
        )
        assert not any((tmp_path / "small").iterdir())

    def test_jobs_that_are_run_alone_as_well_need_no_more(self, tmp_path: Path) -> None:
        third = {"share": 0.33, "pattern": {"kind": "all-to-all", "message": "10 kB"}}
        this = planned(point("hyperx", jobs=[third] * 3, machine={"shape": [5, 4], "nodes_per_router": 3}))
        record = simulate_in_folder(this, tmp_path, Limits.model_validate({}))["record"]
        assert record["status"] == "done" and (tmp_path / "alone-2").is_dir()
        assert record["memory_bytes"] == pytest.approx(Engine(Codes).predict_memory_bytes(this.point), rel=0.15)


class TestTimes:
    """A message over an idle path: its packets, one packet at each further link, the latencies, and little else."""

    @pytest.mark.parametrize(
        ("name", "to", "links", "latencies_ns"),
        [
            ("dragonfly", 1, 2, 180),  # to the other node of the router
            ("dragonfly", 2, 3, 320),  # in the group
            ("hyperx", 1, 3, 280),
            ("mesh", 2, 3, 280),
            ("tree", 1, 2, 140),
            ("tree", 15, 6, 700),
            ("slim fly", 4, 3, 280),
            ("aries", 1, 2, 140),  # to another node of the router
            ("aries", 6, 3, 280),  # in the row
            ("aries", 8, 3, 280),  # in the column
            ("aries", 14, 4, 420),  # elsewhere in the group
        ],
    )
    @pytest.mark.parametrize("size", [2000, 20_000, 500])
    def test_one_message(self, tmp_path: Path, name: str, to: int, links: int, latencies_ns: float, size: int) -> None:
        this = point(name, message=f"{size} B")
        result = simulate(tmp_path, this, [job_of([0, to], [(0, 0, 1, size)])])
        expected = size + (links - 1) * min(size, 2000) + latencies_ns
        # It adds up to a nanosecond at random at each step of a packet.
        assert result.job_runtime_ns[0] == pytest.approx(expected, rel=0, abs=2 + 2.0 * links + size / 2000 * 2)

    def test_bandwidths_of_each_class(self, tmp_path: Path) -> None:
        bandwidth = {"local": "2 GB/s", "global": "0.5 GB/s", "host": "4 GB/s"}
        this = point(
            "dragonfly", machine={"bandwidth": bandwidth, "latency": "0 ns"}, network={"router_latency": "0 ns"}
        )
        machine = this.machine.build()
        between = np.flatnonzero(machine.cable_class == 1)[0]
        ends_of = [int(machine.cable_tail[between]) * 2, int(machine.cable_head[between]) * 2]
        result = simulate(tmp_path, this, [job_of(ends_of, [(0, 0, 1, 20_000)])], machine)
        assert result.job_runtime_ns[0] == pytest.approx(500 + 40_000 + 500, abs=30)

    def test_a_packet_of_the_torus_takes_its_time(self, tmp_path: Path) -> None:
        # The first waits 10 ns a byte; the last is followed over the second link by one packet's time.
        this = point("torus", pattern={"kind": "ring"}, message="20 kB")
        result = simulate(tmp_path, this, [job_of([0, 1], [(0, 0, 1, 20_000)])])
        short = 20_000 / 160
        assert result.job_runtime_ns[0] == pytest.approx(20_000 + 10 * short, rel=0.02)

    @pytest.mark.parametrize(("to", "hops"), [(1, 1), (2, 1), (3, 1), (12, 1), (4, 2), (6, 2), (8, 3), (14, 2)])
    def test_hops_of_a_torus(self, tmp_path: Path, to: int, hops: int) -> None:
        # It tells no links, but a packet takes its time on each of them.
        this = point("torus", pattern={"kind": "ring"}, message="2 kB")
        result = simulate(tmp_path, this, [job_of([0, to], [(0, 0, 1, 2000)])])
        assert time_of(result) == pytest.approx(10 * 125 + 2000 + (hops - 1) * 125, abs=40)

    def test_software_costs_are_taken_away(self, tmp_path: Path) -> None:
        # CODES itself would add 3500 ns and 0.55 ns a byte. Messages larger than the smallest go in pieces, so that
        # the copy of a piece takes little more: of 4 kB here, beside 2 kB.
        this = point("tree")
        small = simulate(tmp_path / "small", this, [job_of([0, 1], [(0, 0, 1, 2000)])])
        mixed = simulate(
            tmp_path / "mixed", this, [job_of([0, 1], [(0, 0, 1, 40_000)]), job_of([4, 5], [(0, 0, 1, 2000)])]
        )
        assert small.job_runtime_ns[0] == pytest.approx(4140, abs=10)
        assert mixed.job_runtime_ns == pytest.approx((42_140 + 0.55 * 2000, 4140), abs=100)

    def test_sends_leave_in_their_order(self, tmp_path: Path) -> None:
        # Rank 2 has something to do once its message is there: that is later if it was sent as the second one.
        this, then = point("tree", network={"injection": 1}), (1, 2, 3, 30_000)
        first, second = (0, 0, 1, 30_000), (0, 0, 2, 30_000)
        late = simulate(tmp_path / "late", this, [job_of([0, 1, 4, 8], [first, second, then])])
        early = simulate(tmp_path / "early", this, [job_of([0, 1, 4, 8], [second, first, then])])
        assert time_of(late) == pytest.approx(time_of(early) + 30_000, abs=200)

    def test_a_phase_waits_for_the_one_before(self, tmp_path: Path) -> None:
        this = point("tree")
        once = simulate(tmp_path / "once", this, [job_of([0, 15], [(0, 0, 1, 8000)])])
        chain = simulate(
            tmp_path / "chain", this, [job_of([0, 15], [(0, 0, 1, 8000), (1, 1, 0, 8000), (2, 0, 1, 8000)])]
        )
        assert time_of(chain) == pytest.approx(3 * time_of(once), rel=0.01)

    def test_ranks_of_a_node_share_its_link(self, tmp_path: Path) -> None:
        ranks = job_of([0, 0, 4, 4], [(0, 0, 2, 10_000), (0, 1, 3, 10_000)])
        result = simulate(tmp_path, point("tree", machine={"cores_per_node": 2}), [ranks])
        assert 24_000 <= time_of(result) <= 31_000

    def test_messages_within_a_node(self, tmp_path: Path) -> None:
        this = point("tree", machine={"cores_per_node": 2})
        inside = job_of([0, 0], [(0, 0, 1, 10**9)])
        mixed = job_of([1, 1, 6], [(0, 0, 1, 10**9), (0, 1, 0, 10**9), (1, 1, 2, 2000)])
        result = simulate(tmp_path, this, [inside, mixed])
        assert result.job_runtime_ns[0] == 0.0
        # The two within the node keep its ranks in step, as short messages.
        assert 8000 <= time_of(result, 1) <= 15_000
        assert result.link_bytes is not None and result.link_bytes.sum() == 4 * 2000

    def test_the_seed_decides(self, tmp_path: Path) -> None:
        def once(name: str, seed: int) -> EngineResult:
            jobs = two_jobs(point("dragonfly").machine.build())
            return simulate(tmp_path / name, point("dragonfly", through_groups("valiant"), seed=seed), jobs)

        first = once("first", 1)
        assert once("again", 1).job_runtime_ns == first.job_runtime_ns
        assert once("other", 2).job_runtime_ns != first.job_runtime_ns


class TestJobs:
    @pytest.mark.parametrize("name", [name for name in FIXED if name != "torus"])
    def test_the_links_of_each_job(self, tmp_path: Path, name: str) -> None:
        this = point(name)
        machine = this.machine.build()
        jobs = two_jobs(machine)
        result = simulate(tmp_path, this, jobs, machine)
        assert result.job_link_packets is not None
        for number, job in enumerate(jobs):
            used = loads(machine, [job], this).link_bytes > 0
            np.testing.assert_array_equal(result.job_link_packets[number] > 0, used)

    @pytest.mark.parametrize("kind", ["valiant", "ugal"])
    def test_a_dragonfly_tells_the_hops_of_each_job(self, tmp_path: Path, kind: str) -> None:
        # Two groups each: no packet of the one job needs the cables within the groups of the other.
        this = point("dragonfly", through_groups(kind))
        machine = this.machine.build()
        jobs = [all_pairs([0, 1, 2, 3, 4, 5, 6, 7], 3000), all_pairs([8, 9, 10, 11], 3000)]
        result = simulate(tmp_path, this, jobs, machine)
        assert result.job_link_packets is not None and result.link_bytes is not None
        np.testing.assert_array_equal(result.job_link_packets.any(axis=0), result.link_bytes > 0)
        for job, packets in zip(jobs, result.job_link_packets, strict=True):
            source, destination, _ = ends([job])
            possible = link_support(machine, source, destination, this.routing)
            assert packets.sum() > 0 and not np.any(packets[~possible])
        # Both packets of a message within the second job's group take its one cable.
        within = [link for link in range(machine.links) if (machine.link_tail[link], machine.link_head[link]) == (4, 5)]
        assert result.job_link_packets[1][within[0]] >= 8

    def test_too_many_hops_are_not_listed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("fabricstudy.engine.codes.files.MAX_LISTED_PACKETS", 10)
        result = simulate(tmp_path, point("dragonfly"), two_jobs(point("dragonfly").machine.build()))
        assert result.job_link_packets is None and result.link_bytes is not None

    def test_not_where_routes_vary_or_nobody_asks(self, tmp_path: Path) -> None:
        jobs = two_jobs(point("tree").machine.build())
        assert simulate(tmp_path / "ad", point("tree", "adaptive"), jobs).job_link_packets is None
        off = point("tree", engine={"kind": "codes", "job_links": False})
        assert simulate(tmp_path / "off", off, jobs).job_link_packets is None
        assert not any((tmp_path / "off").glob("alone-*"))

    def test_idle_jobs_take_no_time(self, tmp_path: Path) -> None:
        busy = job_of([2, 3], [(0, 0, 1, 2000)])
        result = simulate(tmp_path, point("tree"), [job_of([0, 1], []), busy, job_of([4, 5], [])])
        assert result.job_runtime_ns[0] == result.job_runtime_ns[2] == 0.0
        assert time_of(result, 1) > 2000

    @pytest.mark.parametrize(
        ("name", "machine", "network", "message"),
        [
            ("tree", {}, {"buffer": "1 MB"}, "1 MB"),
            ("slim fly", {"q": 3}, {"buffer": "1 MB"}, "256 kB"),
            ("torus", {"shape": [4, 3, 3]}, {"packet": "125 B"}, "32 kB"),
            ("dragonfly", {}, {"buffer": "1 MB"}, "256 kB"),
            ("mesh", {}, {"buffer": "1 MB"}, "256 kB"),
        ],
    )
    def test_many_packets_under_way(
        self, tmp_path: Path, name: str, machine: dict[str, Any], network: dict[str, Any], message: str
    ) -> None:
        # With the least room for events CODES would break off on the first three.
        this = point(name, machine=machine, network=network, message=message)
        built = this.machine.build()
        assert time_of(simulate(tmp_path, this, place_jobs(this, built), built)) > 0

    def test_more_requests_than_a_wait_can_hold(self, tmp_path: Path) -> None:
        many = job_of([0, 1], [(0, 0, 1, 100)] * 2500 + [(1, 1, 0, 100)])
        result = simulate(tmp_path, point("tree"), [many])
        assert 250_000 <= time_of(result) <= 300_000

    def test_patterns_and_placements_of_a_study(self, tmp_path: Path) -> None:
        half = {
            "share": 0.5,
            "pattern": {"kind": "stencil", "message": "4 kB", "iterations": 2},
            "allocation": "random",
        }
        this = point("dragonfly", machine={"cores_per_node": 2}, jobs=[half, half])
        machine = this.machine.build()
        result = simulate(tmp_path, this, place_jobs(this, machine), machine)
        assert all(time is not None and time > 0 for time in result.job_runtime_ns)


NOTHING = job_of([], []).messages


def _silence(folder: Path, trace: str) -> None:
    (folder / "traces" / trace).write_bytes(next(traces(1, NOTHING)))


def _edit(folder: Path, name: str, old: str, new: str) -> None:
    text = (folder / name).read_text()
    assert old in text
    (folder / name).write_text(text.replace(old, new))


def _keep_rows(folder: Path, name: str, rows: slice) -> None:
    (folder / name).write_text("".join((folder / name).read_text().splitlines(keepends=True)[rows]))


class TestWrongThoughItEndsWell:
    """CODES ends with 0 in each of these, but where a build with its own asserts stops at one."""

    JOBS = (job_of([0, 5, 9, 13], [(0, a, b, 9000) for a in range(4) for b in range(4) if a != b]),
            job_of([7, 8], [(0, 0, 1, 5000)]))  # fmt: skip

    def broken(self, folder: Path, name: str, change: Any, **more: Any) -> tuple[int, str]:
        this = point(name, engine={"kind": "codes", "job_links": False}, **more)
        machine = this.machine.build()
        jobs = list(self.JOBS)
        argv = prepared(folder, this, jobs, machine)
        change(folder)
        exit_code = run(argv, folder)
        with pytest.raises(EngineFailure) as failure:
            Engine(Codes).result(BuiltPoint(this, machine, jobs), folder, exit_code)
        return exit_code, str(failure.value)

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            (lambda f: _silence(f, "1-0000.bin"), "unmatched messages"),  # nobody sends what is waited for
            (lambda f: _silence(f, "1-0001.bin"), "unmatched messages"),  # nobody receives
            (lambda f: _keep_rows(f, "alloc.conf", slice(0, 1)), "6 ranks were to finish, and 4 did"),
            (lambda f: _edit(f, "alloc.conf", " 13", ""), "unmatched messages"),
            (lambda f: _edit(f, "net.yaml", "size: 64000", "size: 1000"), "unmatched messages"),
            (lambda f: _edit(f, "net.yaml", '"minimal"', '"minimalist"'), "did not use a setting: No routing"),
            (lambda f: _edit(f, "net.yaml", "local_bandwidth", "local_bandwith"), "did not use a setting"),
        ],
    )
    def test_it_is_no_result(self, tmp_path: Path, change: Any, said: str) -> None:
        exit_code, reason = self.broken(tmp_path, "dragonfly", change)
        assert exit_code == 0 and said in reason

    @pytest.mark.parametrize("name", [name for name in FIXED if name != "dragonfly"])
    def test_buffers_shorter_than_a_packet(self, tmp_path: Path, name: str) -> None:
        key = "buffer_size" if name == "torus" else "vc_size"
        exit_code, reason = self.broken(tmp_path, name, lambda f: _edit(f, "net.yaml", f"{key}: 64000", f"{key}: 100"))
        assert exit_code == 0 and "unmatched messages" in reason

    def test_generator_sets_that_are_none(self, tmp_path: Path) -> None:
        exit_code, reason = self.broken(tmp_path, "slim fly", lambda f: _edit(f, "net.yaml", "X: [1, 4]", "X: [1, 3]"))
        assert "unmatched messages" in reason or exit_code != 0

    def test_outputs_of_an_earlier_run(self, tmp_path: Path) -> None:
        exit_code, reason = self.broken(tmp_path, "dragonfly", lambda f: (f / OUTPUTS).mkdir())
        assert abs(exit_code) in (0, signal.SIGABRT) and "mkdir" in reason and OUTPUTS in reason

    def test_bytes_that_were_not_to_be_sent(self, tmp_path: Path) -> None:
        def other(folder: Path) -> None:
            for rank, data in enumerate(traces(2, job_of([7, 8], [(0, 0, 1, 6000)]).messages)):
                (folder / "traces" / f"1-{rank:04}.bin").write_bytes(data)

        exit_code, reason = self.broken(tmp_path, "dragonfly", other)
        assert (exit_code, reason) == (0, "job 1 has sent 6000 bytes, not 5000")

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            (lambda f: (f / "traces" / "1-0001.bin").unlink(), "unable to open DUMPI trace"),
            (lambda f: _edit(f, "alloc.conf", "7 8", "7 999"), "CODES ended with 1"),
            (lambda f: (f / "iteration-logs").mkdir(), "CODES ended with 1"),
            (lambda f: _keep_rows(f, "jobs.conf", slice(0, 1)), "CODES ended with -"),
        ],
    )
    def test_an_exit_code_is_said(self, tmp_path: Path, change: Any, said: str) -> None:
        exit_code, reason = self.broken(tmp_path, "dragonfly", change)
        assert exit_code != 0 and said in reason

    def test_without_the_phantom_job_it_crashes(self, tmp_path: Path) -> None:
        exit_code, reason = self.broken(tmp_path, "tree", lambda f: _edit(f, "jobs.conf", "0 phantom 0 0\n", ""))
        assert exit_code < 0 and reason.startswith("CODES ended with -")


def test_machines_are_all_tried() -> None:
    assert set(MACHINES) == {*FIXED, "express", "aries"} and shutil.which("sh")
