"""CPU seconds of schedules on Intrepid: ``python -m benches schedule`` prints figures and judges nothing."""

from __future__ import annotations

import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.unit.schedule.reference import Job, Partition, Reference

from fabricstudy.machine.base import published_machine
from fabricstudy.schedule import Backfill, Jobs, Order, PartitionList, Partitions, Trace, simulate_schedule
from fabricstudy.schedule.backfill.rules import Easy
from fabricstudy.schedule.trace.swf_log import swf_text

SIZES = {512: 0.25, 1024: 0.35, 2048: 0.10, 4096: 0.22, 8192: 0.06, 16384: 0.015, 32768: 0.005}
MACHINE_NODES, BLOCK_NODES = 40960, 512
RUNS = (
    (3_890, 0.9, "none"), (3_890, 0.9, "easy"), (3_890, 0.9, "drain"), (3_890, 0.9, "conservative"),
    (10_000, 0.9, "conservative"), (100_000, 0.9, "easy"), (100_000, 1.0, "easy"), (100_000, 0.9, "none"),
)  # fmt: skip


def trace(jobs: int, load: float) -> Jobs:
    """Jobs of the source's mix; two weeks for 3,890 of them."""
    description: dict[str, Any] = {
        "kind": "synthetic", "jobs": jobs, "span": f"{14 * jobs / 3890} days", "load": load, "sizes": SIZES,
        "runtime": {"median": "40 min", "spread": 1.1, "longest": "12 h"},
        "request": {"factor": [1.05, 3], "round": "15 min"},
    }  # fmt: skip
    return Trace.model_validate(description).jobs(MACHINE_NODES, BLOCK_NODES, 1, Path())


def log_of_100_000_lines() -> None:
    """Reading a log."""
    with TemporaryDirectory() as folder:
        (Path(folder) / "log.swf").write_text(swf_text(trace(100_000, 0.9)))
        start = time.process_time()
        Trace.model_validate({"kind": "swf", "file": "log.swf"}).jobs(MACHINE_NODES, BLOCK_NODES, 1, Path(folder))
        print(f"log of 100,000 jobs: {time.process_time() - start:.2f} s CPU")


def in_python(found: Partitions, jobs: Jobs) -> None:
    """The reference of the tests, plain sets in Python, against the kernel."""
    columns = (jobs.submit_s, jobs.runtime_s, jobs.request_s, jobs.nodes)
    plain = [Job(*own) for own in zip(*(column.tolist() for column in columns), strict=True)]
    listed = [
        Partition(
            int(found.nodes[p]), frozenset(found.midplanes_of(p)), frozenset(("c", c) for c in found.cables_of(p))
        )
        for p in range(len(found))
    ]
    start = time.process_time()
    expected = Reference(plain, listed, "wfp", "easy").run()
    middle = time.process_time()
    done = simulate_schedule(found, jobs, Order.model_validate("wfp"), Easy())
    spent = time.process_time() - middle
    same = sum(expected[job] == (done.start_s[job], done.partition[job]) for job in expected)
    print(
        f"{len(jobs)} jobs, wfp, easy, reference in Python: {middle - start:.1f} s CPU, {(middle - start) / spent:,.0f}"
        f" times the kernel; {same} starts equal"
    )


def main() -> None:
    """Print all figures."""
    found = PartitionList.model_validate("intrepid-torus").partitions(published_machine("intrepid"))
    assert isinstance(found, Partitions)
    log_of_100_000_lines()
    few = trace(100, 0.9)
    in_python(found, trace(200, 0.9))
    for jobs, load, backfill in RUNS:
        own = trace(jobs, load)
        for order in ("fcfs",) if backfill == "conservative" else ("fcfs", "wfp"):
            with_what = Order.model_validate(order), Backfill.model_validate(backfill)
            simulate_schedule(found, few, *with_what)  # compiles, or loads what was compiled before
            start = time.process_time()
            done = simulate_schedule(found, own, *with_what)
            spent = time.process_time() - start
            queue = done.utilisation.queue.max()
            print(f"{jobs:,} jobs, load {load}, {order}, {backfill}: {spent:.3f} s CPU, queue {queue}", flush=True)
