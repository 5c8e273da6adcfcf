"""The engine of `extensions/htsim.py`, with recorded output, and with htsim where it is installed."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fabricstudy.core.extensions import load_extensions, unload_extensions
from fabricstudy.core.store import Record
from fabricstudy.engine.attempt import attempt_point
from fabricstudy.engine.contract import EngineFailure
from fabricstudy.engine.definitions import built
from fabricstudy.engine.point import Point
from fabricstudy.engine.registry import engine_of
from fabricstudy.engine.settings import Limits
from fabricstudy.workload.messages import WorkloadError

from ...machines import DRAGONFLY, place_jobs

ROOT = Path(__file__).resolve().parents[3]
RECORDED = ROOT / "tests/data/htsim"
TREE: dict[str, Any] = {"kind": "fat-tree", "radix": 4, "bandwidth": "1 GB/s", "latency": "100 ns"}
PACKET, HEADER = 2000, 64
"""Bytes, and ns at 1 GB/s."""


@pytest.fixture(autouse=True)
def known() -> Iterator[None]:
    package = load_extensions(["htsim.py"], ROOT / "configs/extensions")
    yield
    unload_extensions(package)


def send(message: str, *nodes: int, name: str = "app") -> dict[str, Any]:
    """Return a job in which each node sends one message to the first one."""
    pattern = {"kind": "gather", "algorithm": "linear", "message": message}
    return {"name": name, "pattern": pattern, "allocation": {"kind": "explicit", "nodes": list(nodes)}}


def all_nodes(**pattern: Any) -> dict[str, Any]:
    return {"share": 1.0, "pattern": pattern}


HALVES = [send("50 kB", 2, 0), send("50 kB", 3, 1, name="other")]


def point(
    *jobs: dict[str, Any],
    machine: dict[str, Any] = TREE,
    routing: str = "minimal",
    router: str = "100 ns",
    network: dict[str, Any] | None = None,
    **engine: Any,
) -> Point:
    settings = {"kind": "htsim"} | engine
    parts = {"packet": "2 kB", "router_latency": router} | (network or {})
    sections = {"machine": machine, "routing": routing, "engine": settings, "network": parts, "seed": 1}
    return Point.model_validate(sections | {"jobs": list(jobs) or HALVES})


def written(of: Point, folder: Path) -> list[str]:
    """Write the input of a point, and return the command without the program."""
    machine = of.machine.build()
    command = engine_of(of.engine).prepare(folder, of, machine, place_jobs(of, machine))
    assert command is not None
    return command[1:]


TRANSPORTS: dict[str, dict[str, Any]] = {
    "eqds": {},
    "ndp": {"transport": "ndp", "router": "0 ns"},
    "roce": {"transport": "roce", "routing": "ecmp"},
    "swift": {"transport": "swift", "routing": "ecmp", "router": "0 ns", "machine": TREE | {"latency": "1 us"}},
}


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_the_input_is_that_of_the_recorded_run(transport: str, tmp_path: Path) -> None:
    assert " ".join(written(point(**TRANSPORTS[transport]), tmp_path)) + "\n" == recorded(transport, "command")
    assert (tmp_path / "messages.cm").read_text() == (RECORDED / "messages.cm").read_text()
    if transport == "eqds":
        assert (tmp_path / "machine.topo").read_text() == (RECORDED / "machine.topo").read_text()


def recorded(transport: str, name: str) -> str:
    return (RECORDED / f"{transport}.{name}").read_text()


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_times_of_the_recorded_run(transport: str, tmp_path: Path) -> None:
    """Two flows of 50 kB over two links upwards: 50 us at least and 100 us, with headers and latencies, on one link."""
    shutil.copy(RECORDED / f"{transport}.stdout", tmp_path / "stdout")
    (tmp_path / "stderr").write_text("")
    of = point(**TRANSPORTS[transport])
    machine = of.machine.build()
    jobs = place_jobs(of, machine)
    result = engine_of(of.engine).read(tmp_path, 0, of, machine, jobs)
    times = [float(time or 0) for time in result.job_runtime_ns]
    assert all(50e3 < time < 120e3 for time in times)
    assert result.job_message_mean_ns == result.job_message_p99_ns == result.job_runtime_ns
    lines = re.findall(r"Flow \S+.* finished at (\S+)", recorded(transport, "stdout"))
    assert sorted(times) == pytest.approx(sorted(1000 * float(time) for time in lines))
    (tmp_path / "stdout").write_text("".join(recorded(transport, "stdout").splitlines(keepends=True)[1:]))
    with pytest.raises(EngineFailure):  # a flow is missing
        engine_of(of.engine).read(tmp_path, 0, of, machine, jobs)


@pytest.mark.parametrize(
    ("machine", "lines"),
    [
        (TREE, ["Nodes 16", "Tiers 3", "Podsize 4", "Radix_Down 2", "Radix_Up 2", "Oversubscribed 1", "Radix_Down 4"]),
        (TREE | {"pods": 2, "core_cables": 2}, ["Nodes 8", "Podsize 4", "Bundle 2", "Radix_Up 2", "Radix_Down 4"]),
        (TREE | {"kind": "xgft", "radix": None, "down": [8, 4], "up": [2], "parallel": 1},
         ["Nodes 32", "Tiers 2", "Podsize 32", "Radix_Down 8", "Radix_Up 2", "Oversubscribed 4", "Radix_Down 4"]),
    ],
)  # fmt: skip
def test_trees(machine: dict[str, Any], lines: list[str], tmp_path: Path) -> None:
    written(point(machine={key: value for key, value in machine.items() if value is not None}), tmp_path)
    text = (tmp_path / "machine.topo").read_text()
    assert set(lines) <= set(text.splitlines())
    assert text.count("Downlink_speed_Gbps 8\n") == text.count("Downlink_Latency_ns 100\n") == text.count("Tier ")


def flows(folder: Path) -> tuple[dict[int, re.Match[str]], dict[int, int]]:
    """Return the lines of flows by their number, and the counts of triggers."""
    text = (folder / "messages.cm").read_text()
    lines = re.finditer(
        r"(\d+)->(\d+) id (\d+) (?:trigger (\d+)|start 0) size \d+(?: send_done_trigger (\d+))?\n", text
    )
    counts = {int(one): int(count) for one, count in re.findall(r"trigger id (\d+) barrier count (\d+)", text)}
    return {int(line[3]): line for line in lines}, counts


def test_a_flow_waits_for_all_that_its_sender_exchanged(tmp_path: Path) -> None:
    """Pairwise exchange among 16 ranks: a flow of round k > 0 waits for both flows of its sender in round k - 1."""
    written(point(all_nodes(kind="all-to-all", algorithm="pairwise", message="4 kB")), tmp_path)
    found, counts = flows(tmp_path)
    assert len(found) == 16 * 15
    fired = {int(line[5]): 0 for line in found.values() if line[5]}
    for line in found.values():
        if line[5]:
            fired[int(line[5])] += 1
    assert counts == fired == dict.fromkeys(range(1, 8 * 14 + 1), 2)
    for line in found.values():
        fires = [other for other in found.values() if line[4] and other[5] == line[4]]
        before = (int(line[1]) ^ int(line[2])) - 1  # partner of the round before: rank xor k
        pair = {int(line[1]), int(line[1]) ^ before}
        assert not fires if before == 0 else [{int(o[1]), int(o[2])} for o in fires] == [pair, pair]


REFUSED: dict[str, dict[str, Any]] = {
    "a dragonfly": {"machine": DRAGONFLY},
    "faults": {"machine": TREE | {"faults": {"cables": "5 %"}}},
    "four levels": {"machine": TREE | {"kind": "xgft", "radix": None, "down": [2, 2, 2, 2], "up": [1, 1, 1]}},
    "more cables up than down": {"machine": TREE | {"kind": "xgft", "radix": None, "down": [2, 4], "up": [3]}},
    "two bandwidths": {"machine": TREE | {"bandwidth": {"pod": "1 GB/s", "core": "2 GB/s", "host": "1 GB/s"}}},
    "half a Gbit/s": {"machine": TREE | {"bandwidth": "1.05 GB/s"}},
    "half a ns": {"machine": TREE | {"latency": "0.5 ns"}},
    "adaptive routing": {"routing": "adaptive"},
    "one path with EQDS": {"routing": "ecmp"},
    "sprayed RoCE by the host": {"transport": "roce"},
    "source routes with EQDS": {"paths": "perm"},
    "slow routers on source routes": {"transport": "ndp"},
    "a short link with Swift": TRANSPORTS["swift"] | {"machine": TREE},
    "few pods with Swift": TRANSPORTS["swift"] | {"machine": TREE | {"latency": "1 us", "pods": 2}},
    "virtual channels": {"network": {"virtual_channels": 2}},
}


@pytest.mark.parametrize("parts", REFUSED.values(), ids=REFUSED)
def test_what_htsim_cannot_do(parts: dict[str, Any]) -> None:
    if "machine" in parts:
        machine = {key: value for key, value in parts["machine"].items() if value is not None}
        parts = parts | {"machine": machine}
    of = point(**parts)
    assert engine_of(of.engine).unsupported(of, of.machine.build())


@pytest.mark.parametrize(
    ("job", "transport"),
    [
        (all_nodes(kind="all-gather", algorithm="ring", message="4 kB"), "eqds"),
        (all_nodes(kind="all-to-all", algorithm="pairwise", message="4 kB"), "swift"),
        (send("2 kB", 2, 0), "swift"),
        (send("5 kB", 2, 0), "swift"),
        (send("3 GB", 2, 0), "ndp"),
    ],
)
def test_messages_that_htsim_cannot_send(job: dict[str, Any], transport: str, tmp_path: Path) -> None:
    with pytest.raises(WorkloadError):
        written(point(job, **TRANSPORTS[transport]), tmp_path)


class TestWithThePrograms:
    @pytest.fixture(autouse=True)
    def installed(self, known: None) -> None:
        probe = engine_of(point().engine).probe()
        if not probe.found:
            pytest.skip(str(probe.reason))

    def run(self, of: Point, folder: Path) -> Record:
        record = attempt_point(of, engine_of(of.engine), built(of.machine), Limits(), folder)
        assert record["status"] == "done", record["reason"]
        return record

    @pytest.mark.parametrize("transport", TRANSPORTS)
    @pytest.mark.parametrize("destination", [0, 4], ids=["in a pod", "between pods"])
    def test_a_flow_alone(self, transport: str, destination: int, tmp_path: Path) -> None:
        """Latencies both ways, the packets on the first link, the last one on the others, and its acknowledgement."""
        of = point(send("20 kB", destination, 2), **TRANSPORTS[transport])
        links = 4 if destination == 0 else 6
        swift = transport == "swift"
        header, ack = (0, 40) if swift else (HEADER, 64)
        latency = links * (1000 if swift else 100) + (links - 1) * float(of.network.router_latency_ns)
        expected = 2 * latency + (10 + links - 1) * (PACKET + header) + links * ack
        # EQDS sends what exceeds its first window at 0.99 of the rate: 1 % of 20 kB.
        runtime = self.run(of, tmp_path)["jobs"][0]["runtime_ns"]
        assert expected * (1 - 5e-6) <= runtime <= expected * (1 + 5e-6) + (206.4 if transport == "eqds" else 0)

    @pytest.mark.parametrize("transport", ["eqds", "ndp", "roce"])
    def test_two_flows_on_a_cable(self, transport: str, tmp_path: Path) -> None:
        """Both have half of it; the last ends after all packets, and latencies."""
        xgft = TREE | {"kind": "xgft", "down": [2, 2, 2], "up": [1, 1]}
        tree = {key: value for key, value in xgft.items() if key != "radix"}
        jobs = send("1 MB", 2, 0), send("1 MB", 3, 1, name="other")
        rows = self.run(point(*jobs, **TRANSPORTS[transport] | {"machine": tree}), tmp_path)["jobs"]
        wire_ns = 2 * 500 * (PACKET + HEADER)
        assert wire_ns < max(row["runtime_ns"] for row in rows) < 1.1 * wire_ns
        assert min(row["runtime_ns"] for row in rows) > 0.9 * wire_ns

    @pytest.mark.parametrize("transport", ["ndp", "roce"])
    def test_an_incast_takes_as_long_as_the_link_of_its_receiver(self, transport: str, tmp_path: Path) -> None:
        of = point(send("100 kB", 0, *range(4, 12)), **TRANSPORTS[transport])
        row = self.run(of, tmp_path)["jobs"][0]
        wire_ns = 8 * 50 * (PACKET + HEADER)
        assert row["bound_ns"] == 800e3 and wire_ns < row["runtime_ns"] < 1.05 * wire_ns

    def test_phases_one_after_the_other(self, tmp_path: Path) -> None:
        """Each of 15 rounds of pairwise exchange takes a round trip and its packets at least."""
        of = point(all_nodes(kind="all-to-all", algorithm="pairwise", message="20 kB"))
        row = self.run(of, tmp_path)["jobs"][0]
        assert row["runtime_ns"] > 15 * (10 * (PACKET + HEADER) + 2 * (PACKET + HEADER))
        assert row["bytes"] == 16 * 15 * 20_000
        assert np.isfinite(row["runtime_ns"]) and "message_mean_ns" not in row
