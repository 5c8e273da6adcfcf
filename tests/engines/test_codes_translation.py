"""What the adapter makes of a point; needs no simulator."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricstudy.engine.built_point import BuiltPoint
from fabricstudy.engine.codes.adapter import PROGRAM, Codes
from fabricstudy.engine.codes.files import configuration, ranks_per_node, traced_jobs
from fabricstudy.engine.codes.models import network_of
from fabricstudy.engine.codes.models.aries import whole_packet
from fabricstudy.engine.codes.network import CodesNetwork
from fabricstudy.engine.codes.packet import packet_bytes
from fabricstudy.engine.codes.trace import FINALIZE, INIT, IRECV, ISEND, WAITALL, traces
from fabricstudy.engine.engine import Engine
from fabricstudy.engine.point import Point
from fabricstudy.workload.messages import WorkloadError

from ..machines import DRAGONFLY, job_of, point_on
from .dumpi_traces import read_trace
from .run_codes import EVEN, FIXED, MACHINES, TORUS_BANDWIDTH, point, two_jobs

UNEVEN_ROWS: dict[str, Any] = {
    "bandwidth": {"row": "2 GB/s", "column": "1 GB/s", "global": "1 GB/s", "host": "1 GB/s"},
    "latency": {"row": "40 ns", "column": "40 ns", "global": "90 ns", "host": "40 ns"},
}
XC = {"chassis_per_group": 6, "blades_per_chassis": 16, "nodes_per_router": 4, "cables_per_group_pair": 6}
PERCS_BANDWIDTH = {"local": "24 GB/s", "remote": "5 GB/s", "global": "10 GB/s", "host": "24 GB/s"}

MESSAGES = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 4), st.integers(0, 4), st.integers(1, 2**31 - 1)), max_size=60
)


class TestTraces:
    @settings(deadline=None)
    @given(MESSAGES)
    def test_each_rank_does_what_its_messages_ask_for(self, rows: list[tuple[int, int, int, int]]) -> None:
        rows.sort(key=lambda row: row[:2])
        messages = job_of([0], rows).messages
        for rank, data in enumerate(traces(5, messages)):
            calls = read_trace(data)
            assert (calls[0].label, calls[-1].label) == (INIT, FINALIZE)
            sent = [(c.tag, c.peer, c.size_bytes) for c in calls if c.label == ISEND]
            received = [(c.tag, c.peer, c.size_bytes) for c in calls if c.label == IRECV]
            assert sent == [(phase, to, size) for phase, by, to, size in rows if by == rank]
            assert sorted(received) == sorted((phase, by, size) for phase, by, to, size in rows if to == rank)
            self._phases_end_with_a_wait(calls[1:-1])

    def _phases_end_with_a_wait(self, calls: list[Any]) -> None:
        open_requests: list[int] = []
        phase, last_send = -1, None
        for call in calls:
            if call.label == WAITALL:
                assert list(call.requests) == open_requests
                open_requests, last_send = [], None
                continue
            assert call.tag > phase or (open_requests and call.tag == phase)
            phase = call.tag
            open_requests += call.requests
            if call.label == ISEND:
                assert last_send is None or call.time_ns == last_send + 101
                last_send = call.time_ns

    def test_waits_hold_a_thousand_requests(self) -> None:
        (sender, _) = traces(2, job_of([0], [(0, 0, 1, 8)] * 2345).messages)
        assert [len(call.requests) for call in read_trace(sender) if call.label == WAITALL] == [1000, 1000, 345]

    def test_a_send_waits_for_the_one_that_is_so_many_before_it(self) -> None:
        rows = [(0, 1, 0, 9), *[(0, 0, 1, size) for size in (1, 2, 3, 4)], (1, 0, 1, 5)]
        calls = read_trace(next(traces(2, job_of([0], rows).messages, under_way=2)))[1:-1]
        # Request 0 is the receive, 1 to 4 are the sends of the first phase.
        assert [(c.label, c.requests) for c in calls] == [
            (IRECV, (0,)), (ISEND, (1,)), (ISEND, (2,)),
            (WAITALL, (1,)), (ISEND, (3,)), (WAITALL, (2,)), (ISEND, (4,)), (WAITALL, (0, 3, 4)),
            (ISEND, (0,)), (WAITALL, (0,)),
        ]  # fmt: skip

    def test_sends_that_all_fit_need_no_wait_between_them(self) -> None:
        messages = job_of([0], [(0, 0, 1, size) for size in (1, 2, 3)]).messages
        assert next(traces(2, messages, under_way=3)) == next(traces(2, messages))

    @pytest.mark.parametrize("data", [bytes(100), b"x" * 200])
    def test_something_else_is_no_trace(self, data: bytes) -> None:
        with pytest.raises(ValueError, match="not a DUMPI trace"):
            read_trace(data)

    @pytest.mark.skipif(shutil.which("dumpi2ascii") is None, reason="dumpi2ascii is not on PATH")
    def test_dumpi_reads_the_same(self, tmp_path: Path) -> None:
        rows = [(0, 0, 1, 700), (0, 0, 2, 800), (0, 2, 0, 900), (1, 0, 1, 50)]
        (tmp_path / "t.bin").write_bytes(next(traces(3, job_of([0], rows).messages)))
        text = subprocess.run(["dumpi2ascii", tmp_path / "t.bin"], capture_output=True, text=True, check=True).stdout
        entered = [line.split()[0] for line in text.splitlines() if " entering at " in line]
        assert entered == ["MPI_Init", "MPI_Irecv", "MPI_Isend", "MPI_Isend", "MPI_Waitall", "MPI_Isend",
                           "MPI_Waitall", "MPI_Finalize"]  # fmt: skip
        assert [line for line in text.splitlines() if line.startswith("int count=")] == [
            f"int count={count}" for count in (900, 700, 800, 3, 50, 1)
        ]


def told(name: str, **more: Any) -> tuple[CodesNetwork, dict[str, str]]:
    """Network of a point, and its configuration as keys and values."""
    this = point(name, **more)
    machine = this.machine.build()
    network = network_of(this, machine)
    jobs = two_jobs(machine)
    text = configuration(network, ranks_per_node(machine, jobs), traced_jobs(machine, network, jobs), 48)
    return network, dict(line.strip().split(": ", 1) for line in text.splitlines() if ": " in line)


class TestConfiguration:
    def test_units_are_gibibytes_but_for_the_fat_tree(self) -> None:
        assert float(told("dragonfly")[1]["local_bandwidth"]) == pytest.approx(1e9 / 2**30)
        assert float(told("tree")[1]["link_bandwidth"]) == 1.0

    def test_a_dragonfly_has_a_bandwidth_and_a_latency_a_class(self) -> None:
        bandwidth = {"local": "1 GB/s", "global": "2 GB/s", "host": "3 GB/s"}
        latency = {"local": "10 ns", "global": "300 ns", "host": "7 ns"}
        keys = told("dragonfly", machine={"bandwidth": bandwidth, "latency": latency})[1]
        found = [float(keys[f"{name}_bandwidth"]) * 2**30 / 1e9 for name in ("local", "global", "cn")]
        assert found == pytest.approx([1, 2, 3])
        # The latency of a router, 100 ns, is that of the links behind it, and half and half of those to nodes.
        assert [float(keys[f"{name}_delay"]) for name in ("local", "global", "cn", "router")] == [110, 400, 57, 0]

    def test_wiring_files(self) -> None:
        this = point("dragonfly")
        machine = this.machine.build()
        files = network_of(this, machine).files
        intra = np.frombuffer(files["intra"], "<i4").reshape(-1, 3)
        inter = np.frombuffer(files["inter"], "<i4").reshape(-1, 2)
        assert intra.tolist() == [[0, 1, 0], [1, 0, 0]]
        assert {tuple(row) for row in inter.tolist()} == {
            pair for a, b in zip(machine.link_tail.tolist(), machine.link_head.tolist(), strict=True)
            for pair in [(a, b)] if a // 2 != b // 2
        }  # fmt: skip

    def test_software_costs_of_the_smallest_message_are_taken_away(self) -> None:
        assert float(told("tree")[1]["self_msg_overhead"]) == -(3500 + 0.55 * 3000)

    @pytest.mark.parametrize("name", list(FIXED))
    def test_buffers_are_what_the_study_says_and_hold_four_packets(self, name: str) -> None:
        small = point(name, network={"packet": "8 kB", "buffer": "31.999 kB"})
        assert "network.buffer" in (Engine(Codes).unsupported(small, small.machine.build()) or "")
        enough = point(name, network={"packet": "8 kB", "buffer": "32 kB"})
        assert Engine(Codes).unsupported(enough, enough.machine.build()) is None
        keys = told(name, network={"packet": "8 kB", "buffer": "32 kB"})[1]
        sizes = {int(value) for key, value in keys.items() if key.endswith(("vc_size", "buffer_size"))}
        assert sizes == {32_000} and int(keys["packet_size"]) <= 8000
        assert keys["packet_size"] == keys["chunk_size"]

    def test_sets_of_a_slim_fly(self) -> None:
        keys = told("slim fly")[1]
        assert (keys["generator_set_X"], keys["generator_set_X_prime"]) == ("[1, 4]", "[2, 3]")
        assert (keys["local_channels"], keys["global_channels"]) == ("2", "5")

    def test_tables_of_a_fat_tree(self) -> None:
        this = point("tree")
        files = network_of(this, this.machine.build()).files
        assert len(files) == 20
        # To node 15: up by its last digits, 15 % 2, and down by the pod, leaf and node; ports count from 1.
        ports = {name[-20:-4]: content.decode().splitlines()[15].split()[1] for name, content in files.items()}
        way = [((1 << 32), 0), ((2 << 32), 9), ((3 << 32), 19), ((2 << 32), 15), ((1 << 32), 7)]
        assert [ports[f"{level + router:016x}"] for level, router in way] == ["4", "4", "4", "2", "2"]


class TestPlaces:
    @settings(deadline=None, max_examples=30)
    @given(st.data())
    def test_a_place_belongs_to_the_rank_s_node_and_to_nobody_else(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(list(FIXED)))
        this = point(name)
        machine = this.machine.build()
        nodes = st.lists(st.integers(0, machine.nodes - 1), min_size=2, max_size=8)
        jobs = [job_of(data.draw(nodes), [(0, 0, 1, 100), (1, 0, 1, 100)]) for _ in range(3)]
        network, per_node = network_of(this, machine), ranks_per_node(machine, jobs)
        traced = traced_jobs(machine, network, jobs)
        slots = [slot for job in traced for slot in job.slot_of_rank.tolist()]
        assert len(set(slots)) == len(slots)
        for job in traced:
            repetition, seat = np.divmod(job.slot_of_rank, network.terminals * per_node)
            # CODES gives the slots of a repetition to its nodes in turn.
            node = repetition * network.terminals + seat % network.terminals
            np.testing.assert_array_equal(node, jobs[job.number].node_of_rank)

    def test_jobs_that_send_nothing_between_nodes_are_left_out(self) -> None:
        this = point("tree")
        machine = this.machine.build()
        jobs = [job_of([0, 1], []), job_of([2, 2], [(0, 0, 1, 9)]), job_of([3, 4], [(0, 0, 1, 9)])]
        traced = traced_jobs(machine, network_of(this, machine), jobs)
        assert [job.number for job in traced] == [2]

    @given(st.lists(st.integers(1, 60_000), min_size=1, max_size=20))
    def test_pieces_are_neither_small_nor_lost(self, sizes: list[int]) -> None:
        this = point("tree")
        machine = this.machine.build()
        jobs = [job_of([0, 5, 9], [(0, 0, 1 + i % 2, size) for i, size in enumerate(sizes)])]
        (traced,) = traced_jobs(machine, network_of(this, machine), jobs)
        pieces = traced.messages
        for to in (1, 2):
            wanted = sum(size for i, size in enumerate(sizes) if 1 + i % 2 == to)
            assert pieces.size_bytes[pieces.destination == to].sum() == wanted
        # The copy of a piece takes 2 us more than that of the smallest at most, and of one with an end as much again.
        assert min(sizes) == pieces.size_bytes.min() <= pieces.size_bytes.max() < 2 * min(sizes) + 3700 + 2000
        if max(sizes) < min(sizes) + 3600:
            assert pieces.size_bytes.tolist() == sizes

    def test_nothing_to_simulate_needs_no_program(self, tmp_path: Path) -> None:
        this = point("tree")
        machine = this.machine.build()
        jobs = [job_of([0, 1], []), job_of([2, 2], [(0, 0, 1, 9)])]
        assert Engine(Codes).write(BuiltPoint(this, machine, jobs), tmp_path) == []
        result = Engine(Codes).result(BuiltPoint(this, machine, jobs), tmp_path, 0)
        assert result.job_runtime_ns == (0.0, 0.0)
        assert result.link_bytes is not None and not result.link_bytes.any()


class TestRefusals:
    @pytest.mark.parametrize(
        ("machine", "routing", "said"),
        [
            (DRAGONFLY | {"groups": 2}, "minimal", "crashes with two groups"),
            (DRAGONFLY, "adaptive", "does not support adaptive routing; use minimal, valiant, ugal"),
            (MACHINES["torus"], "minimal", "does not support minimal routing; use dimension-order"),
            (MACHINES["torus"] | {"wrap": [True, False]}, "dimension-order", "wraps around in every dimension"),
            (MACHINES["torus"] | {"nodes_per_router": 2}, "dimension-order", "one node per router"),
            (
                MACHINES["torus"] | EVEN,
                "dimension-order",
                "unlimited bandwidth between a node and its router; set bandwidth.host",
            ),
            (
                {"kind": "torus", "shape": [4, 3], "bandwidth": TORUS_BANDWIDTH},
                {"kind": "dimension-order", "tie": "positive"},
                "breaks ties",
            ),
            (
                {"kind": "torus", "shape": [3, 3], "bandwidth": {"links": ["1 GB/s", "2 GB/s"], "host": "9 GB/s"}},
                "dimension-order",
                "one bandwidth for all links",
            ),
            (
                {"kind": "torus", "shape": [3, 3], "bandwidth": {"links": "50 GB/s", "host": "500 GB/s"}},
                "dimension-order",
                "choose a network.packet and messages of 5150 B or more",
            ),
            (MACHINES["express"], "minimal", "does not support minimal routing; use dimension-order, adaptive"),
            (MACHINES["express"] | {"latency": {"links": ["9 ns", "8 ns"]}}, "adaptive", "one latency for all links"),
            (MACHINES["tree"], "minimal", "does not support minimal routing; use adaptive, d-mod-k"),
            (MACHINES["tree"] | {"pods": 2}, "d-mod-k", "has another core"),
            (MACHINES["tree"] | {"radix": 10, "pods": 4}, "adaptive", "has another core"),
            (MACHINES["tree"] | {"pods": 2, "core_cables": 2}, "adaptive", "has another core"),
            (
                MACHINES["tree"] | {"bandwidth": {"pod": "1 GB/s", "core": "1 GB/s", "host": "2 GB/s"}},
                "d-mod-k",
                "one bandwidth for all links",
            ),
            (MACHINES["slim fly"] | {"q": 9}, "minimal", "needs a prime q, not 9"),
            (MACHINES["slim fly"], "adaptive", "does not support adaptive routing"),
            (MACHINES["aries"], "adaptive", "does not support adaptive routing"),
            (MACHINES["aries"] | {"groups": 1}, "minimal", "group or side of length 1"),
            (MACHINES["aries"] | {"latency": UNEVEN_ROWS["latency"]}, "minimal", "one latency for all"),
            (
                MACHINES["aries"] | {"bandwidth": UNEVEN_ROWS["bandwidth"]},
                "minimal",
                "one bandwidth for all links of a group",
            ),
            (MACHINES["aries"], {"kind": "valiant", "via": "group"}, "routing.via: router"),
            (MACHINES["percs"] | {"bandwidth": PERCS_BANDWIDTH}, "minimal", "one bandwidth for all links of a group"),
        ],
    )
    def test_what_codes_lacks(self, machine: dict[str, Any], routing: Any, said: str) -> None:
        reason = self.refusal(point_on(machine, routing, engine="codes"))
        assert reason is not None and said in reason

    @pytest.mark.parametrize(
        ("message", "packet"),
        [("100 kB", 2000), ("3 kB", 1500), ("500 B", 500), ("2002 B", 1001), ("25 kB", 1250), ("2003 B", None)],
    )
    def test_packets_of_a_cray_xc_divide_messages(self, message: str, packet: int | None) -> None:
        this = point("aries", message=message)
        assert whole_packet(this) == packet
        assert (self.refusal(this) is None) == (packet is not None)

    def test_a_cray_xc_does_not_get_messages_of_other_sizes(self, tmp_path: Path) -> None:
        this = point("aries", message="2 kB")
        with pytest.raises(WorkloadError):
            Engine(Codes).write(BuiltPoint(this, this.machine.build(), [job_of([0, 2], [(0, 0, 1, 2001)])]), tmp_path)

    def refusal(self, this: Point) -> str | None:
        return Engine(Codes).unsupported(this, this.machine.build())

    @pytest.mark.parametrize("name", list(FIXED))
    def test_what_it_has(self, name: str) -> None:
        assert self.refusal(point(name)) is None

    def test_blue_gene_is_a_torus(self) -> None:
        def gene(letter: str, dimensions: int) -> Point:
            machine = {"kind": f"bluegene-{letter}", "midplanes": [1] * dimensions, "cores_per_node": 1}
            return point_on(machine, "dimension-order", {"kind": "ring"}, engine="codes")

        this = gene("p", 3)
        assert self.refusal(this) is None and network_of(this, this.machine.build()).parameters["dim_length"] == "8,8,8"
        # Its two nodes along the fifth dimension have two cables, of which CODES would use one.
        assert self.refusal(gene("q", 4)) is not None

    @pytest.mark.parametrize(
        ("machine", "routing"),
        [
            ({"kind": "hyperx", "shape": [4, 3], "links_per_pair": [1, 2], "bandwidth": "9 GB/s"}, "dimension-order"),
            ({"kind": "torus", "shape": [4, 3], "links_per_pair": 2, "bandwidth": "9 GB/s"}, "dimension-order"),
            ({**DRAGONFLY, "links_per_local_pair": 2}, "minimal"),
        ],
    )
    def test_parallel_cables_that_its_models_lack_are_refused(self, machine: dict[str, Any], routing: str) -> None:
        keys = {key: 1 for key in ("links_per_pair", "links_per_local_pair") if key in machine}
        torus = machine["kind"] == "torus"  # refused by its host links, too
        assert self.refusal(point_on(machine, routing, {"kind": "ring"}, engine="codes")) is not None
        single = self.refusal(point_on(machine | keys, routing, {"kind": "ring"}, engine="codes"))
        assert single is None or torus

    def test_messages_without_a_common_packet(self) -> None:
        def jobs(*sizes: str) -> Any:
            return [{"share": 0.4, "pattern": {"kind": "all-to-all", "message": size}} for size in sizes]

        assert self.refusal(point("torus", jobs=jobs("20 kB", "10 kB"))) is None
        reason = self.refusal(point("torus", jobs=jobs("333 B", "200 B")))
        assert reason is not None and "no common packet" in reason

    def test_more_jobs_and_bytes_than_it_takes(self) -> None:
        jobs: Any = [{"nodes": 1, "pattern": {"kind": "ring", "message": "1 kB"}}] * 64
        tree = MACHINES["tree"] | {"radix": 8}
        assert "up to 63 communicating jobs" in str(self.refusal(point_on(tree, "adaptive", jobs=jobs, engine="codes")))
        assert self.refusal(point_on(tree, "adaptive", jobs=jobs[1:], engine="codes")) is None
        assert "messages below 2 GB" in str(self.refusal(point("tree", message="2.2 GB")))

    def test_memory_that_is_not_there(self) -> None:
        huge = {"kind": "express-mesh", "shape": [100, 100], "gap": 2, "nodes_per_router": 1000} | EVEN
        this = point_on(huge, "adaptive", {"kind": "ring"}, engine="codes")
        assert Engine(Codes).predict_memory_bytes(this) > 4e13


class TestPackets:
    def torus(self, message: str, pattern: str = "all-to-all", **more: Any) -> int:
        this = point("torus", pattern={"kind": pattern}, message=message, **more)
        return packet_bytes(this, 1e9)

    def test_elsewhere_as_the_study_says(self) -> None:
        this = point("tree", message="2.1 kB", network={"packet": "1 kB"})
        assert network_of(this, this.machine.build()).packet == 1000

    def test_on_a_torus_equal_pieces_of_the_longest_message(self) -> None:
        assert self.torus("100 kB") == 2000
        assert self.torus("102.1 kB") == 1964

    def test_short_bursts_get_small_packets(self) -> None:
        # A packet waits 10 ns a byte, and 2 % of the phase is allowed for that.
        assert self.torus("100 kB", "ring") == 250
        assert self.torus("1 kB", "ring") == 125

    def test_not_so_small_that_the_hops_count_for_more(self) -> None:
        assert packet_bytes(point("torus", pattern={"kind": "ring"}, message="2 kB"), 10e9) == 2000


class TestProgram:
    def test_missing_program_is_said(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        probe = Engine(Codes).probe()
        assert not probe.found and probe.reason is not None
        assert f"{PROGRAM} is not on PATH" in probe.reason and "docs/engines/codes.md" in probe.reason

    def fake(self, folder: Path, script: str) -> None:
        folder.mkdir()
        (folder / PROGRAM).write_text(f"#!/bin/sh\n{script}\n")
        (folder / PROGRAM).chmod(0o755)

    def test_another_program_is_said(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        self.fake(tmp_path / "bin", "echo 'ROSS Version: 8'")
        monkeypatch.setenv("PATH", str(tmp_path / "bin"))
        probe = Engine(Codes).probe()
        assert not probe.found and probe.reason is not None and "did not print its version" in probe.reason

    def test_another_build_is_another_fingerprint(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        prints, versions = set(), set()
        for name in ("one", "two"):
            self.fake(tmp_path / name, f"# {name}\necho 'ROSS Version: 8.1'; echo ' --workload_type=str'")
            monkeypatch.setenv("PATH", str(tmp_path / name))
            prints.add(Engine(Codes).program())
            versions.add(Engine(Codes).probe().version)
        assert len(prints) == len(versions) == 2 and all("on ROSS 8.1" in str(version) for version in versions)


class TestPrediction:
    def test_more_work_costs_more(self) -> None:
        def cost(routing: str = "minimal", machine: Any = DRAGONFLY, engine: Any = "codes", **given: Any) -> float:
            return Engine(Codes).predict_cpu_s(point_on(machine, routing, engine=engine, **given))

        assert cost(message="200 kB") > 1.5 * cost(message="100 kB")
        assert cost("valiant") > 1.3 * cost()
        assert cost(network={"packet": "500 B"}) > 3 * cost()
        assert 0 < cost(jobs=[{"share": 1.0, "pattern": {"kind": "idle"}}]) < 0.2
        halves: Any = [{"share": 0.5, "pattern": {"kind": "all-to-all", "message": "50 kB"}}] * 2
        without: Any = {"kind": "codes", "job_links": False}
        assert cost(jobs=halves) > 1.3 * cost(jobs=halves, engine=without)
        tree: Any = {"routing": "d-mod-k", "machine": MACHINES["tree"]}
        assert cost(jobs=halves, **tree) > 1.8 * cost(jobs=halves, engine=without, **tree)

    @pytest.mark.parametrize(
        ("name", "machine", "measured_bytes", "off"),
        [
            ("dragonfly", {"groups": 17, "routers_per_group": 8, "nodes_per_router": 8}, 419e6, 0.1),
            # The law has one number for a node of any torus.
            ("torus", {"shape": [16, 16, 16]}, 1068e6, 0.35),
            ("hyperx", {"shape": [8, 6, 4]}, 887e6, 0.1),
            ("tree", {"radix": 24}, 1235e6, 0.1),
            ("slim fly", {"q": 11, "nodes_per_router": 5}, 1614e6, 0.1),
            ("aries", XC | {"groups": 4}, 561e6, 0.1),
        ],
    )
    def test_memory_as_measured(self, name: str, machine: dict[str, Any], measured_bytes: float, off: float) -> None:
        this = point(name, machine=machine, pattern={"kind": "ring"}, message="2 kB")
        assert Engine(Codes).predict_memory_bytes(this) == pytest.approx(measured_bytes, rel=off)

    @pytest.mark.parametrize(
        ("name", "machine", "network", "measured_bytes", "off"),
        [
            ("tree", {"radix": 8}, {"buffer": "1 MB"}, 350e6, 0.1),
            ("torus", {"shape": [5, 5, 3]}, {"packet": "500 B"}, 82e6, 0.25),
        ],
    )
    def test_memory_of_packets_under_way(
        self, name: str, machine: dict[str, Any], network: dict[str, Any], measured_bytes: float, off: float
    ) -> None:
        this = point(name, machine=machine, network=network, message="64 kB")
        assert Engine(Codes).predict_memory_bytes(this) == pytest.approx(measured_bytes, rel=off)
