"""Expected time to reproduce a study, from measured times."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from .completed_study import CompletedStudy

SETUP_MINUTES = (4, 10)
"""Environment and simulator, mostly downloads and compilation; seven minutes measured on two cores under load."""

JOB_START_S = 3.0
"""Overhead of Snakemake for a job."""

CORES = (1, 4, 16, 64)


@dataclass(frozen=True)
class Effort:
    """CPU time of the stages and of the longest batch, and peak memory of a process."""

    execution_s: float
    longest_s: float
    analysis_s: float
    memory_bytes: float

    def execution_minutes(self, cores: int) -> float:
        """Return the expected wall time of the simulations, at least that of the longest batch."""
        return max(self.execution_s / cores, self.longest_s) / 60


def effort(run: CompletedStudy) -> Effort:
    """Return the effort of a study.

    Times of simulations are from the records of the points: the benchmark of a batch does not include cached points.
    """
    points = run.points
    used = (points["cpu_s"].fillna(0) + points["overhead_cpu_s"].fillna(0)).astype(float)
    spent_s = dict(zip(points["point_id"], used, strict=True))
    batches_s = [
        sum(spent_s.get(json.loads(line)["point_id"], 0.0) for line in path.read_text().splitlines())
        for path in run.outputs.shards
    ]
    timings = {stage: _timings(paths) for stage, paths in run.outputs.benchmarks.items()}
    machines_s = [seconds for stage in ("structure", "analysis") for seconds, _ in timings[stage]]
    jobs_s = [seconds + JOB_START_S for seconds in (*batches_s, *machines_s)]
    peaks = [megabytes * 1e6 for parts in timings.values() for _, megabytes in parts]
    return Effort(
        execution_s=sum(jobs_s),
        longest_s=max(jobs_s, default=0.0),
        analysis_s=sum(seconds + JOB_START_S for stage in ("table", "report") for seconds, _ in timings[stage]),
        memory_bytes=max([*peaks, *points["memory_bytes"].dropna().astype(float)], default=0.0),
    )


def _timings(paths: Iterable[Path]) -> list[tuple[float, float]]:
    """Return wall time (s) and peak resident memory (MB) of jobs, from Snakemake's benchmark files."""
    rows = [json.loads(line) for path in paths for line in path.read_text().splitlines()]
    # Snakemake writes NA for a job that ended before the first sample of its memory.
    memory = pd.to_numeric(pd.Series([row["max_rss"] for row in rows], dtype=object), errors="coerce").fillna(0.0)
    return [(float(row["s"]), float(peak)) for row, peak in zip(rows, memory, strict=True)]
