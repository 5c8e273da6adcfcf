"""What dependencies cost on CAMINOS: the same jobs as phases and as operations, and a large graph of operations.

A job is simulated as the list of its messages in phases, and as operations that wait for the previous phase. Both have
equal runtimes; each is run three times and the least time counts. Then a million operations are written as Parquet,
read, matched, checked and written for CAMINOS.
"""

from __future__ import annotations

import resource
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from fabricstudy.engine.caminos.adapter import Caminos
from fabricstudy.engine.caminos.clock import clock
from fabricstudy.engine.caminos.files import write_operations
from fabricstudy.engine.point import Point
from fabricstudy.structure.bisection import bisection_bounds
from fabricstudy.workload.operations import Operations
from fabricstudy.workload.pattern.trace import Trace
from fabricstudy.workload.phases import from_phases
from fabricstudy.workload.placing import PlacedJob, place
from fabricstudy.workload.traces import parquet

from .phit import run

RUNS = 3
PATTERNS: dict[str, dict[str, Any]] = {
    "all-to-all": {"message": "24 kB"},
    "all-reduce": {"message": "1 MB", "algorithm": "ring"},
    "stencil": {"message": "200 kB", "iterations": 10},
}
WAVES = 4
"""All-to-alls of 353 ranks, one after the other, which are a million operations."""
RANKS = 353


def point(pattern: str, keys: dict[str, Any], nodes: int = 72) -> Point:
    """Return a job on a dragonfly."""
    groups = {"groups": 9, "routers_per_group": 4, "nodes_per_router": 2}
    if nodes > 72:
        groups = {"groups": 33, "routers_per_group": 8, "nodes_per_router": 4}
    return Point.model_validate(
        {
            "machine": {"kind": "dragonfly", **groups, "bandwidth": "1 GB/s"},
            "routing": "minimal",
            "jobs": [{"nodes": nodes, "pattern": {"kind": pattern, **keys}}],
            "engine": {"kind": "caminos", "phit": "2 kB"},
            "seed": 1,
        }
    )


def placed(this: Point) -> PlacedJob:
    """Return the job of a point."""
    machine = this.machine.build()
    (job,) = place(this, machine, bisection_bounds(machine).cut_side)
    return job


def operations_of(job: PlacedJob) -> Operations:
    """Return the phases of a job as operations."""
    return from_phases(job.messages, job.computing, job.ranks)


def least_cpu_s(this: Point, job: PlacedJob) -> float:
    """Return the least processor seconds of a simulation."""
    with tempfile.TemporaryDirectory() as name:
        argv = Caminos().prepare(Path(name), this, this.machine.build(), [job])
        runs = [run(argv, Path(name)) for _ in range(RUNS)]
    if any(exit_code for exit_code, _ in runs):
        raise SystemExit(f"{job}: the front end failed")
    return min(cpu_s for _, cpu_s in runs)


def main() -> None:
    """Print a line for each pattern, and one for the large graph."""
    for pattern, keys in PATTERNS.items():
        this = point(pattern, keys)
        job = placed(this)
        phases_s = least_cpu_s(this, job)
        operations_s = least_cpu_s(this, replace(job, operations=operations_of(job)))
        print(
            f"{pattern:<12}{len(job.messages):>8,} messages: phases {phases_s:.2f} s, operations {operations_s:.2f} "
            f"s CPU, {operations_s / phases_s:.2f} times",
            flush=True,
        )
    this = point("all-to-all", {"message": "2 kB", "iterations": WAVES}, RANKS)
    job = placed(this)
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "large.parquet"
        parquet.write(operations_of(job), file)
        start_s = time.process_time()
        pattern_read = Trace.model_validate({"file": file.name}, context={"folder": Path(name)})
        operations = pattern_read.operations()
        units = clock(this, this.machine.build())
        write_operations(Path(name) / "operations", [replace(job, operations=operations)], units, this.network)
        cpu_s = time.process_time() - start_s
    memory_GB = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"{len(operations):,} operations read, checked and written: {cpu_s:.1f} s CPU; {memory_GB:.2f} GB at most")


if __name__ == "__main__":
    main()
