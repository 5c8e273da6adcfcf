"""Predicted over measured processor time of each stage of studies that Snakemake ran in this folder, without caches.

``python -m benches.stages STUDY [STUDY...]``. Measured: Snakemake's benchmark files, and for simulations the records of
the points. Snakemake samples the processor time of a job every half second at first, later every 30 s, so that it
misses the end of a job: of jobs that it has sampled a few times only, the elapsed time counts, on an idle computer
their processor time. That of longer jobs, which includes waiting for a processor, is the upper bound. The first run
on a computer also compiles, once: some seconds of the stages that analyse, place or schedule.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path

from fabricstudy.core.store import read_checksummed
from fabricstudy.workflow.forecast import START_CPU_S, job_counts, stage_cpu_s
from fabricstudy.workflow.pipeline import load_pipelines

FEW_SAMPLES_S = 4.0
"""Jobs below this have fewer than eight samples, so that up to an eighth of their time is missing."""


def measured_s(study: str, folder: Path = Path()) -> dict[str, tuple[float, float]]:
    """Return the processor time and the elapsed time of all jobs of each rule."""
    used: dict[str, float] = defaultdict(float)
    elapsed: dict[str, float] = defaultdict(float)
    for path in sorted((folder / "benchmarks" / study).rglob("*.jsonl")):
        rule = path.relative_to(folder / "benchmarks" / study).parts[0].removesuffix(".jsonl")
        for job in map(json.loads, path.read_text().splitlines()):
            elapsed[rule] += job["s"]
            if rule != "simulate":
                used[rule] += job["s"] if job["s"] < FEW_SAMPLES_S else float(job["cpu_time"] or 0)
    for path in sorted((folder / "results" / study / "simulate").glob("*.jsonl")):
        used["simulate"] += START_CPU_S["simulate"]
        for _, record in read_checksummed(path):
            if record is not None and record["status"] == "done":
                used["simulate"] += record["cpu_s"] + record["overhead_cpu_s"]
    return {rule: (used[rule], elapsed[rule]) for rule in elapsed}


def main() -> None:
    """Print a line for each stage of each study."""
    print(f"{'study':26} {'stage':10} {'jobs':>5} {'forecast s':>11} {'CPU s':>8} {'ratio':>6} {'elapsed s':>10}")
    for name in sys.argv[1:]:
        (pipeline,) = load_pipelines(name).values()
        jobs, measured = job_counts(pipeline), measured_s(pipeline.name)
        for rule, forecast_s in stage_cpu_s(pipeline).items():
            used_s, elapsed_s = measured.get(rule, (0.0, 0.0))
            ratio = f"{forecast_s / used_s:6.2f}" if used_s else "     -"
            row = f"{jobs[rule]:5} {forecast_s:11.1f} {used_s:8.1f} {ratio} {elapsed_s:10.1f}"
            print(f"{pipeline.name:26} {rule:10} {row}")


if __name__ == "__main__":
    main()
