"""What is believed of SST's output: recorded real runs, the ones that failed with exit code 0 among them."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fabricstudy.engine.built_point import BuiltPoint
from fabricstudy.engine.engine import Engine
from fabricstudy.engine.failures import BackgroundMismatch, EngineFailure
from fabricstudy.engine.outcome import EngineResult
from fabricstudy.engine.point import Point
from fabricstudy.engine.sst.adapter import Sst
from fabricstudy.engine.sst.links import port_sums, read_links
from fabricstudy.engine.sst.result import check_output, motif_log, rank_finish_ns
from fabricstudy.routing.minimal import Minimal
from fabricstudy.structure.load import link_loads

from ..machines import place_jobs, point_on
from .run_caminos import ends

DATA = Path(__file__).resolve().parents[1] / "data" / "sst"


def recorded_point() -> Point:
    """Point of all recorded runs: two jobs on a small dragonfly."""
    return Point.model_validate(
        {
            "seed": 1,
            "engine": "sst",
            "routing": "minimal",
            "machine": {
                "kind": "dragonfly",
                "groups": 3,
                "routers_per_group": 2,
                "nodes_per_router": 1,
                "cores_per_node": 2,
                "bandwidth": {"local": "1 GB/s", "global": "2 GB/s", "host": "1 GB/s"},
            },
            "jobs": [
                {"share": 0.5, "pattern": {"kind": "all-to-all", "message": "5 kB"}, "mapping": "random"},
                {"share": 0.5, "pattern": {"kind": "ring", "message": "20 kB", "iterations": 2}},
            ],
        }
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the run that went well."""
    return shutil.copytree(DATA / "done", tmp_path / "run")


def read(folder: Path) -> list[float | None]:
    """Read a run with the exit code that it had, and give the jobs' times."""
    point = recorded_point()
    machine = point.machine.build()
    code = int((folder / "exit_code").read_text())
    return list(Engine(Sst).result(BuiltPoint(point, machine, place_jobs(point, machine)), folder, code).job_runtime_ns)


def test_times_of_a_run_that_went_well() -> None:
    # Each job waits for its slowest rank; the second sends twice as long as the first.
    assert read(DATA / "done") == pytest.approx([55207.7, 105708.0])


class TestBackground:
    """The run that went well, read as if one of its jobs had been in the background."""

    def times(self, folder: Path, number: int, lasts_ns: float) -> tuple[float | None, ...]:
        point = recorded_point()
        machine = point.machine.build()
        jobs = [
            replace(job, background_duration_ns=lasts_ns) if at == number else job
            for at, job in enumerate(place_jobs(point, machine))
        ]
        return Engine(Sst).result(BuiltPoint(point, machine, jobs), folder, 0).job_runtime_ns

    def end_ns(self, number: int) -> float:
        return max(line.end_ns for line in motif_log(DATA / "done" / f"job{number}.log"))

    def test_one_that_had_something_to_send_to_the_end_has_no_time(self) -> None:
        first, second = self.times(DATA / "done", 0, self.end_ns(1))
        assert first is None and second == pytest.approx(105708.0)

    def test_one_of_which_a_sender_ended_too_soon_is_run_again(self) -> None:
        with pytest.raises(BackgroundMismatch) as asked:
            self.times(DATA / "done", 0, 0.99 * self.end_ns(1))
        assert asked.value.needed_ns == 2 * self.end_ns(1)

    def test_ranks_that_are_still_sending_need_no_longer_background(self, folder: Path) -> None:
        """None of them has logged more than its beginning."""
        log = folder / "job0.log"
        log.write_text("".join(line for line in log.read_text().splitlines(True) if line.split()[3] == "Init"))
        first, second = self.times(folder, 0, 1.0)
        assert first is None and second == pytest.approx(105708.0)

    def test_the_others_must_have_ended(self, folder: Path) -> None:
        log = folder / "job1.log"
        log.write_text("".join(line for line in log.read_text().splitlines(True) if line.split()[3] == "Init"))
        with pytest.raises(EngineFailure):
            self.times(folder, 0, 1e9)


def test_bytes_on_the_links_are_those_of_the_messages_and_their_headers() -> None:
    point = recorded_point()
    machine = point.machine.build()
    jobs = place_jobs(point, machine)
    found = result_of(DATA / "done").link_bytes
    assert found is not None
    source, destination, size = ends(jobs)
    payload = link_loads(machine, source, destination, size, Minimal()).link_bytes
    messages = link_loads(machine, source, destination, np.ones(len(size)), Minimal()).link_bytes
    header = (found - payload)[messages > 0] / messages[messages > 0]
    # The barrier at the end adds some small messages of its own.
    assert header.min() >= 40 and header.max() <= 120
    assert not found[messages == 0].any()


def result_of(folder: Path) -> EngineResult:
    """Read the run that went well from a copy of it."""
    point = recorded_point()
    machine = point.machine.build()
    return Engine(Sst).result(BuiltPoint(point, machine, place_jobs(point, machine)), folder, 0)


def test_packets_on_the_links_and_those_of_each_job() -> None:
    found = result_of(DATA / "done")
    assert found.link_packets is not None and found.job_link_packets is not None and found.link_stall_ns is not None
    # Links of routers 0-1, 2-3 and 4-5 within groups stand first, there and back, then those between groups.
    assert found.link_packets.tolist() == [27, 27, 0, 0, 47, 47, 26, 26, 0, 0, 47, 47]
    # The first job has 8 messages of 3 packets (5,045 B), the second 4 of 11 packets (20,045 B); the rest is barrier.
    assert found.job_link_packets.tolist() == [
        [24, 24, 0, 0, 0, 0, 24, 24, 0, 0, 0, 0],
        [0] * 4 + [44] * 2 + [0] * 4 + [44] * 2,
    ]
    assert not found.link_stall_ns.any()


def change_port(folder: Path, statistic: str, router: int, port: int, value: int) -> None:
    """Write another sum into the statistics."""
    path = folder / "links.csv"
    lines = path.read_text().splitlines()
    place = next(i for i, line in enumerate(lines) if line.startswith(f"router{router},{statistic},port{port},"))
    cells = lines[place].split(",")
    lines[place] = ",".join([*cells[:6], str(value), *cells[7:]])
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize(("statistic", "value"), [("send_packet_count", 28), ("send_bit_count", 323968)])
def test_packets_of_jobs_must_add_up_to_what_was_counted(folder: Path, statistic: str, value: int) -> None:
    change_port(folder, statistic, 0, 1, value)
    found = result_of(folder)
    assert found.job_link_packets is None and found.link_packets is not None


def test_stalls_are_picoseconds_of_the_port(folder: Path) -> None:
    change_port(folder, "output_port_stalls", 0, 1, 2_500_000)
    found = result_of(folder).link_stall_ns
    # The first link is that from router 0 to router 1, whose port follows that of the node.
    assert found is not None and found.tolist() == [2500.0] + [0.0] * 11


def test_stalls_of_parallel_cables_are_their_mean(tmp_path: Path) -> None:
    two = {"kind": "dragonfly", "groups": 2, "routers_per_group": 1, "nodes_per_router": 1, "links_per_group_pair": 2}
    point = point_on(two | {"bandwidth": "1 GB/s"}, engine="sst")
    machine = point.machine.build()
    assert machine.cable_count.tolist() == [2]
    head = "ComponentName,StatisticName,StatisticSubId,Sum.u64\n"
    rows = (
        f"router{router},{name},port{port},{1000 * port * (1 + router)}\n"
        for name in ("send_bit_count", "send_packet_count", "output_port_stalls")
        for router in (0, 1)
        for port in (1, 2)
    )
    (tmp_path / "links.csv").write_text(head + "".join(rows))
    found = read_links(tmp_path / "links.csv", point, machine)
    assert found.packets.tolist() == [3000, 6000] and found.link_bytes.tolist() == [375.0, 750.0]
    assert found.stall_ns.tolist() == [1.5, 3.0]


@pytest.mark.parametrize(
    ("run", "said"),
    [
        ("unsent", "SST did not finish: .*Event queue empty"),
        ("small-buffer", "SST did not finish: .*Event queue empty"),
        ("stopped", "of the 6 ranks of job 0 0 have finished"),
        ("no-trace", "SST ended with 255: .*unable to open SIRIUS trace: job1.traces/rank.0"),
        ("no-motif", "SST ended with 255: .*Could not load the generator ember.NothingMotif"),
        ("no-parameter", "SST ended with 1: KeyError.*packetsize"),
    ],
)
def test_runs_that_failed_are_told_apart(run: str, said: str) -> None:
    with pytest.raises(EngineFailure, match=said):
        read(DATA / run)


def test_a_crash_without_a_word(tmp_path: Path) -> None:
    for name in ("stdout", "stderr"):
        (tmp_path / name).write_text("")
    (tmp_path / "exit_code").write_text("139")
    with pytest.raises(EngineFailure, match="139"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("stdout", "Simulation is complete", "", "does not say"),
        ("stdout", "114.208 us", "18.4467 Ms", "empty event queue"),
        ("stdout", "114.208 us", "0 s", "empty event queue"),
        ("stdout", "114.208 us", "1 parsec", "empty event queue"),
        ("job0.log", "Fini", "Fin", "ranks of job 0"),
        ("job1.log", "1 5 1 SIRIUSTrace", "1 4 1 SIRIUSTrace", "another workload"),
        ("job1.log", " us", " miles", "no motif log|not a motif log"),
        ("job1.log", "SIRIUSTrace 0 s", "SIRIUSTrace inf s", "another workload"),
        ("links.csv", "router3", "router9", "no statistics of router and port"),
        ("links.csv", "Sum.u64", "Sum", "no file of statistics"),
    ],
)
def test_output_that_is_not_of_this_run(folder: Path, file: str, old: str, new: str, said: str) -> None:
    path = folder / file
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(EngineFailure, match=said):
        read(folder)


@pytest.mark.parametrize("file", ["job0.log", "job1.log", "links.csv"])
def test_output_that_is_not_there(folder: Path, file: str) -> None:
    (folder / file).unlink()
    with pytest.raises(EngineFailure):
        read(folder)


def test_the_mean_time_of_ranks_that_send_is_that_of_the_log(folder: Path) -> None:
    point = recorded_point()
    machine = point.machine.build()
    means = Engine(Sst).result(BuiltPoint(point, machine, place_jobs(point, machine)), folder, 0).job_rank_mean_ns
    for number, mean in enumerate(means):
        rows = [line.split() for line in (folder / f"job{number}.log").read_text().splitlines()]
        traffic = [row for row in rows if row[3] not in ("Init", "Fini")]
        # All ranks send, and all start at once.
        assert len({row[4] for row in traffic}) == 1 and {row[7] for row in traffic} == {"us"}
        assert mean == pytest.approx(1e3 * np.mean([float(row[6]) for row in traffic]))


def test_a_rank_that_ends_twice_is_of_another_workload() -> None:
    log = motif_log(DATA / "done" / "job0.log")
    assert rank_finish_ns(log, 0, 6).max() > 0
    with pytest.raises(EngineFailure, match="another workload"):
        rank_finish_ns([*log, log[-1]], 0, 6)
    with pytest.raises(EngineFailure, match="of the 7 ranks of job 0 6 have finished"):
        rank_finish_ns(log, 0, 7)


def test_statistics_by_router_and_port() -> None:
    sums = port_sums(DATA / "done" / "links.csv")
    bits, packets = sums["send_bit_count"], sums["send_packet_count"]
    assert bits.keys() == packets.keys() and len(bits) == 6 * 3
    assert all((bits[port] > 0) == (packets[port] > 0) for port in bits)


def test_a_long_time_is_no_failure() -> None:
    check_output("Simulation is complete, simulated time: 12.5 s\n", "")
