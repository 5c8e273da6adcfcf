"""What operations cost on CAMINOS: jobs of phases, and a large graph.

The phases of a job are written as operations for CAMINOS and simulated; each of the two is done three times and the
least time counts. Then a million operations are written as Parquet, read, matched, checked and written for CAMINOS.
"""

from __future__ import annotations

import resource
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from fabricstudy.engine.built_point import BuiltPoint
from fabricstudy.engine.caminos.adapter import Caminos
from fabricstudy.engine.caminos.clock import clock
from fabricstudy.engine.caminos.files import write_operations
from fabricstudy.engine.engine import Engine
from fabricstudy.engine.point import Point
from fabricstudy.structure.bisection import bisection_bounds
from fabricstudy.workload.pattern.trace import Trace
from fabricstudy.workload.phases import operations_of
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


def least_cpu_s(this: Point, job: PlacedJob) -> tuple[float, float]:
    """Return the least processor seconds of writing the input of a simulation, and of the simulation."""
    machine, prepared_s, run_s = this.machine.build(), [], []
    for _ in range(RUNS):
        with tempfile.TemporaryDirectory() as name:
            start_s = time.process_time()
            argv = Engine(Caminos).write(BuiltPoint(this, machine, [job]), Path(name))
            prepared_s.append(time.process_time() - start_s)
            exit_code, cpu_s = run(argv, Path(name))
            run_s.append(cpu_s)
            if exit_code:
                raise SystemExit(f"{job}: the front end failed")
    return min(prepared_s), min(run_s)


def main() -> None:
    """Print a line for each pattern, and one for the large graph."""
    for pattern, keys in PATTERNS.items():
        this = point(pattern, keys)
        job = placed(this)
        prepared_s, run_s = least_cpu_s(this, job)
        print(
            f"{pattern:<12}{len(job.messages):>8,} messages: written in {prepared_s:.2f} s, "
            f"simulated in {run_s:.2f} s CPU",
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
