"""What the adapter of the packet engine writes and refuses, and how it reads results; needs no program."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fabricstudy.engine.built_point import BuiltPoint
from fabricstudy.engine.bundled import DESTINATIONS, MACHINE, OPERATIONS, RESULT
from fabricstudy.engine.engine import Engine
from fabricstudy.engine.failures import EngineFailure
from fabricstudy.engine.outcome import EngineResult
from fabricstudy.engine.packet.adapter import Packet
from fabricstudy.engine.packet.files import SETTINGS
from fabricstudy.engine.packet.result import read_offered_result, read_result
from fabricstudy.engine.point import Point
from fabricstudy.engine.steady_state import SteadyRun
from fabricstudy.workload.messages import PlacedJob

from ..machines import DRAGONFLY, job_of, place_jobs, point_on

LINE = {
    "kind": "mesh", "shape": [2],
    "bandwidth": {"links": "1 GB/s", "host": "2.5 GB/s"}, "latency": {"links": "40 ns", "host": "12.5 ns"},
}  # fmt: skip
RING = {"kind": "torus", "shape": [4], "bandwidth": "1 GB/s"}


def point(machine: dict[str, Any] = LINE, routing: Any = "dimension-order", **more: Any) -> Point:
    return point_on(machine, routing, seed=3, **({"engine": "packet"} | more))


def settings(folder: Path, this: Point) -> dict[str, str]:
    """Settings of a point, by word."""
    folder.mkdir(exist_ok=True)
    machine = this.machine.build()
    Engine(Packet).write(BuiltPoint(this, machine, place_jobs(this, machine)), folder)
    return dict(line.split(" ", 1) for line in (folder / SETTINGS).read_text().splitlines())


class TestFiles:
    def test_all_files_of_two_nodes(self, tmp_path: Path) -> None:
        this = point()
        job = job_of([0, 1], [(0, 0, 1, 700), (0, 1, 0, 5000)])
        command = Engine(Packet).write(BuiltPoint(this, this.machine.build(), [job]), tmp_path)
        assert command[1:] == [SETTINGS, MACHINE, OPERATIONS, RESULT]
        assert sorted(path.name for path in tmp_path.iterdir()) == sorted([SETTINGS, MACHINE, OPERATIONS])
        assert (tmp_path / SETTINGS).read_text() == (
            "packet 1\nseed 3\nrouting dimension-order split router\nugal 1 1 0 0\nclass_weight 1\n"
            "bandwidth_Bps 1000000000.0 2500000000.0\nlatency_ns 40.0 12.5\nrouter_latency_ns 100.0\n"
            "packet_bytes 2000\nbuffer_bytes 256000\nbuffers port\nchannels 1 1 one\ncrossbar_speedup 1.0\n"
            "injection 16\ntraffic_classes 1\njob_classes 0\ncongestion_management 0\noverhead 0 0 0\ntimes 0\n"
        )
        assert (tmp_path / MACHINE).read_text() == (
            "graph 1\nrouters 2\nclasses 1\nnodes 2\n0\n1\ncables 1\n0 1 0 1\ndimensions 1\n2 0 0\n"
        )
        # Of each rank a calc that begins a phase, its send in bytes, its receive, and a calc that ends the phase.
        assert (tmp_path / OPERATIONS).read_text() == (
            "operations 1\njobs 1\nranks 2\n0\n1\nstreams 2\noperations 6\n"
            "0 0 0 0 0\n3 0 0 700 5\n2 0 0 0 4\n0 1 1 0 0\n3 1 1 5000 2\n2 1 1 0 1\n"
            "dependencies 4\n0 1 0\n0 2 0\n3 4 0\n3 5 0\n"
        )

    @pytest.mark.parametrize(
        ("machine", "routing", "words", "channels"),
        [
            (RING, "dimension-order", "dimension-order split router", "2 2 dateline"),
            (RING, {"kind": "dimension-order", "tie": "positive"}, "dimension-order positive router", "2 2 dateline"),
            (RING, "adaptive", "adaptive split router", "2 2 hops"),
            (LINE, "adaptive", "adaptive split router", "2 2 escape"),
            (DRAGONFLY, {"kind": "valiant", "via": "group"}, "valiant split group", "6 6 hops"),
        ],
    )
    def test_routing_and_channels(
        self, machine: dict[str, Any], routing: Any, words: str, channels: str, tmp_path: Path
    ) -> None:
        found = settings(tmp_path, point(machine, routing))
        assert (found["routing"], found["channels"]) == (words, channels)

    def test_ugal_has_its_parameters(self, tmp_path: Path) -> None:
        default = settings(tmp_path / "default", point(DRAGONFLY, "ugal"))
        assert default["ugal"] == "1 1.0 0 1" and default["class_weight"] == "1 100"
        own = {"kind": "ugal", "detours": 4, "bias": 1.5, "threshold": "8 kB", "progressive": False}
        assert settings(tmp_path / "own", point(DRAGONFLY, own))["ugal"] == "4 1.5 8000 0"

    def test_buffers_crossbar_classes_and_congestion_management(self, tmp_path: Path) -> None:
        network = {
            "buffer_per": "channel", "buffer": "32 kB", "virtual_channels": 6, "injection": 2,
            "congestion_management": True, "classes": {"slow": 0.25, "fast": 0.5},
        }  # fmt: skip
        pair = {"nodes": 2, "pattern": {"kind": "ring", "message": "1 kB"}}
        jobs = [pair | {"class": "slow"}, {"nodes": 1, "pattern": "idle"}, pair | {"class": "fast"}]
        engine = {"kind": "packet", "crossbar_speedup": 2}
        this = point({"kind": "mesh", "shape": [5], "bandwidth": "1 GB/s"}, network=network, jobs=jobs, engine=engine)
        assert Engine(Packet).unsupported(this, this.machine.build()) is None
        found = settings(tmp_path, this)
        assert (found["buffers"], found["buffer_bytes"], found["channels"]) == ("channel", "32000", "6 1 one")
        assert (found["injection"], found["crossbar_speedup"]) == ("2", "2.0")
        # Four cables and five routers, the two half ones at the nodes as one, there and back, at 1 B/ns; three packets.
        assert found["congestion_management"] == str(2 * (4 * 40 + 5 * 100 + 2 * 40) + 3 * 2000)
        # Classes are in the order of their names.
        assert (found["traffic_classes"], found["job_classes"]) == ("0.5 0.25", "1 0 0")

    def test_each_port_of_a_node_has_windows_of_its_own(self, tmp_path: Path) -> None:
        one, three = (
            settings(tmp_path / str(ports), point(network={"ports_per_node": ports, "congestion_management": True}))
            for ports in (1, 3)
        )
        assert one["congestion_management"] == three["congestion_management"] != "0"

    def test_nodes_with_ports_are_repeated(self, tmp_path: Path) -> None:
        settings(tmp_path, point(network={"ports_per_node": 3, "rails": "striping"}))
        assert (tmp_path / MACHINE).read_text().splitlines()[3:10] == ["nodes 6", *"000111"]
        assert (tmp_path / OPERATIONS).read_text().splitlines()[1] == "stripes 3"

    def test_offered_traffic(self, tmp_path: Path) -> None:
        offered = {
            "traffic": "uniform", "load": 0.4, "message": "500 B", "arrivals": "bursts", "burst": 4,
            "warmup": 10, "measured": 200, "batches": 8,
        }  # fmt: skip
        this = point(jobs=[], offered=offered)
        machine = this.machine.build()
        destinations = this.offered.destinations(machine, 3) if this.offered else None
        assert destinations is not None
        command = Engine(Packet).write(BuiltPoint(this, machine, load=0.4), tmp_path)
        assert command[1:] == [SETTINGS, MACHINE, DESTINATIONS, RESULT]
        # A message takes 200 ns on the link of a node.
        last = (tmp_path / SETTINGS).read_text().splitlines()[-2:]
        assert last == ["offered bursts 4.0 0.4 500.0 2000000 5000000 8 20", "sizes "]
        assert (tmp_path / DESTINATIONS).read_text().splitlines()[:3] == ["offered 1", "nodes 2", "rows 2"]


class TestRefusals:
    @pytest.mark.parametrize(
        ("routing", "network", "key"),
        [
            ("minimal", {"port_buffer": "7999 B"}, "network.port_buffer"),
            ("minimal", {"port_buffer": "8 kB"}, ""),
            ("valiant", {"port_buffer": "13 kB"}, "network.port_buffer"),
            ("valiant", {"port_buffer": "14 kB"}, ""),
            ("valiant", {"buffer": "7999 B", "buffer_per": "channel"}, "network.buffer"),
            ("valiant", {"buffer": "8 kB", "buffer_per": "channel"}, ""),
            ("valiant", {"virtual_channels": 5}, "network.virtual_channels"),
            ("valiant", {"virtual_channels": 6}, ""),
            # The buffers of other engines do not count.
            ("minimal", {"buffer": "2 kB"}, ""),
        ],
    )
    def test_buffers_and_channels(self, routing: str, network: dict[str, Any], key: str) -> None:
        this = point(DRAGONFLY, routing, network=network)
        reason = Engine(Packet).unsupported(this, this.machine.build())
        assert (reason is None) == (not key) and key in (reason or "")

    def test_offered_traffic_has_neither_ports_nor_classes(self) -> None:
        offered = {"traffic": "uniform", "load": 0.4}
        for network, fits in (({}, True), ({"ports_per_node": 2}, False), ({"congestion_management": True}, False)):
            this = point(jobs=[], offered=offered, network=network)
            assert (Engine(Packet).unsupported(this, this.machine.build()) is None) == fits

    def test_any_bandwidths_and_latencies_are_simulated(self) -> None:
        machine = DRAGONFLY | {"bandwidth": {"local": "1 GB/s", "global": "1237 GB/s", "host": "7 MB/s"}}
        this = point(machine | {"latency": "10 ms"}, "minimal")
        assert Engine(Packet).unsupported(this, this.machine.build()) is None

    def test_a_router_stores_nothing(self) -> None:
        assert Engine(Packet).stored_bytes(point(), point().machine.build()) == 0


RECORDED: dict[str, Any] = {
    "version": "0.1.0", "end_ps": 5_300_000, "job_finish_ps": [5_300_000, None],
    "rank_finish_ps": [900_000, 5_300_000, None, None], "rank_waiting_ps": [0, 0, 0, 0],
    "link_bytes": [701, 5000], "link_packets": [2, 3], "injected_bytes": 5701, "ejected_bytes": 5701,
    "job_sent_bytes": [5700, 1], "job_arrived_bytes": [5700, 1], "packets_by_hops": [0, 5], "job_messages": [2, 1],
    "job_message_sum_ps": [6_000_001, 9], "job_message_counts": [[1_600_000, 1, 10_400_000, 1], []],
    "job_link_packets": [0, 0, 1, 0, 1, 3, 1, 0, 1],
}  # fmt: skip
"""Two messages between two nodes, and a byte of a job in the background."""

OFFERED: dict[str, Any] = {
    "traffic": "uniform", "load": 0.5, "message": "500 B", "warmup": 10, "measured": 200, "batches": 8,
}  # fmt: skip
STEADY: dict[str, Any] = {
    "version": "0.1.0", "end_ps": 1, "awaited": 1, "backlog": [3, 2, 4], "link_bytes": [8000, 7500],
    "node_created_bytes": [4500, 4000], "node_arrived_bytes": [4000, 4000], "created": [3] + 7 * [2],
    "created_bytes": [1500] + 7 * [1000], "arrived_bytes": 8 * [1000],
    "backlog_ps": 8 * [10_000_000], "measured": 8 * [2], "latency_ps": 8 * [1_000_001], "in_network_ps": 8 * [900_000],
    "longest_ps": 7 * [600_000] + [700_500], "packets_by_hops": [0, 16],
    "twice_latency_counts": 7 * [[1_000_002, 2]] + [[801_000, 1, 1_000_002, 1]],
}  # fmt: skip


def jobs() -> list[PlacedJob]:
    behind = replace(job_of([0, 1], [(0, 0, 1, 1)]), background_duration_ns=1.0)
    return [job_of([0, 1], [(0, 0, 1, 700), (0, 1, 0, 5000)]), behind]


def read(folder: Path, written: dict[str, Any] | str) -> EngineResult:
    (folder / RESULT).write_text(written if isinstance(written, str) else json.dumps(written))
    return read_result(BuiltPoint(point(), point().machine.build(), jobs()), folder)


def read_offered(folder: Path, written: dict[str, Any]) -> SteadyRun:
    this = point(jobs=[], offered=OFFERED)
    (folder / RESULT).write_text(json.dumps(written))
    return read_offered_result(BuiltPoint(this, this.machine.build()), folder)


class TestResults:
    def test_times_and_counts(self, tmp_path: Path) -> None:
        result = read(tmp_path, RECORDED)
        assert result.job_runtime_ns == (5300.0, None) and result.job_rank_mean_ns == (3100.0, None)
        # The mean is exact, the percentile that of the buckets.
        assert result.job_message_mean_ns == (3000.0005, None) and result.job_message_p99_ns == (5200.0, None)
        assert result.link_bytes is not None and result.link_packets is not None
        assert (result.link_bytes.tolist(), result.link_packets.tolist()) == ([701, 5000], [2, 3])
        assert result.job_link_packets is not None and result.job_link_packets.tolist() == [[1, 3], [1, 0]]
        assert result.job_waiting_ns == (None, None) and result.job_marks == () and result.operations == ()

    def test_sums_of_many_messages_are_exact(self, tmp_path: Path) -> None:
        result = read(tmp_path, RECORDED | {"job_message_sum_ps": [2**70, 0]})
        assert result.job_message_mean_ns[0] == 2**69 / 1000

    @pytest.mark.parametrize(
        ("key", "value"),
        [
            ("job_finish_ps", [5_300_000]),
            ("job_finish_ps", [5_300_000, 7]),
            ("job_finish_ps", [None, None]),
            ("job_finish_ps", [-1, None]),
            ("job_finish_ps", "soon"),
            ("rank_finish_ps", [900_000, 5_299_999, None, None]),
            ("rank_finish_ps", [900_000, 5_300_000, None]),
            ("rank_waiting_ps", [0]),
            ("link_bytes", [701]),
            ("link_packets", [2, 3, 1]),
            ("injected_bytes", 5702),
            ("ejected_bytes", 5699),
            ("job_sent_bytes", [5699, 1]),
            ("job_arrived_bytes", [5699, 1]),
            ("job_arrived_bytes", [5700, 2]),
            ("job_messages", [1, 1]),
            ("job_messages", [2]),
            ("job_message_counts", [[1_600_000, 1], []]),
            ("job_message_counts", [[1_600_000, 1, 2], []]),
            ("job_link_packets", [0, 0, 1, 0, 2, 3]),
            ("job_link_packets", [2, 0, 1, 0, 1, 3]),
            ("operation_ps", [1, 2]),
        ],
    )
    def test_a_result_must_fit(self, key: str, value: Any, tmp_path: Path) -> None:
        with pytest.raises(EngineFailure):
            read(tmp_path, RECORDED | {key: value})

    @pytest.mark.parametrize("key", [key for key in RECORDED if key not in ("version", "end_ps", "packets_by_hops")])
    def test_what_is_missing_is_told(self, key: str, tmp_path: Path) -> None:
        written = {name: value for name, value in RECORDED.items() if name != key}
        if key == "job_link_packets":
            assert read(tmp_path, written).job_link_packets is None
            return
        with pytest.raises(EngineFailure, match="not a result"):
            read(tmp_path, written)

    @pytest.mark.parametrize("content", ["", "{", "[]", "{}", "null"])
    def test_garbage_is_no_result(self, content: str, tmp_path: Path) -> None:
        with pytest.raises(EngineFailure, match="not a result"):
            read(tmp_path, content)

    def test_operations_have_times(self, tmp_path: Path) -> None:
        times = list(range(0, 2000 * 20, 2000))
        assert read(tmp_path, RECORDED | {"operation_ps": times[:20]}).job_marks == (None, None)


class TestOfferedResults:
    def test_times_and_counts(self, tmp_path: Path) -> None:
        run = read_offered(tmp_path, STEADY)
        # A message takes 200 ns on the link of a node, a batch 25 of them.
        assert (run.message_ns, run.window_ns) == (200, 8 * 5000)
        assert run.latency_sum_ns.tolist() == 8 * [1000.001] and run.max_ns == 700.5
        assert run.network_sum_ns is not None and run.network_sum_ns.tolist() == 8 * [900.0]
        assert run.mean_backlog is not None and run.mean_backlog.tolist() == 8 * [2.0]
        assert run.histogram is not None and [part.tolist() for part in run.histogram] == [[400.5, 500.001], [1, 15]]
        assert (run.backlog, run.lost, run.routed) == ((3, 2, 4), 1, None)
        assert run.arrived is not None and run.created_load is not None
        assert run.node_created.tolist() == [9, 8] and run.arrived.tolist() == 8 * [2]
        assert run.created_load.tolist() == [3] + 7 * [2]
        ugal = read_offered(tmp_path, STEADY | {"minimal_packets": [12, 4]})
        assert ugal.routed is not None and ugal.routed.tolist() == [12, 4]

    @pytest.mark.parametrize(
        ("key", "value"),
        [
            ("node_created_bytes", [9]),
            ("link_bytes", [1]),
            ("awaited", 2),
            ("latency_ps", 7 * [1]),
            ("twice_latency_counts", 7 * [[1, 1]]),
            ("twice_latency_counts", 8 * [[1]]),
            ("backlog", [1, 2]),
            ("minimal_packets", [1]),
        ],
    )
    def test_a_result_must_fit(self, key: str, value: Any, tmp_path: Path) -> None:
        with pytest.raises(EngineFailure):
            read_offered(tmp_path, STEADY | {key: value})
