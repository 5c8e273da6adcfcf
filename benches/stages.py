"""Predicted over measured processor time of each stage of studies that Snakemake ran in this folder, without caches.

``python -m benches.stages STUDY [STUDY...]``. Measured: Snakemake's benchmark files, and for simulations the records of
the points, since Snakemake samples the time of programs that end quickly.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path

from fabricstudy.core.store import read_checksummed
from fabricstudy.workflow.forecast import START_CPU_S, job_counts, stage_cpu_s
from fabricstudy.workflow.pipeline import load_pipelines


def measured_cpu_s(study: str, folder: Path = Path()) -> dict[str, float]:
    """Return the processor time of all jobs of each rule."""
    found: dict[str, float] = defaultdict(float)
    for path in sorted((folder / "benchmarks" / study).rglob("*.jsonl")):
        rule = path.relative_to(folder / "benchmarks" / study).parts[0].removesuffix(".jsonl")
        if rule != "simulate":
            found[rule] += sum(float(json.loads(line)["cpu_time"] or 0) for line in path.read_text().splitlines())
    for path in sorted((folder / "results" / study / "simulate").glob("*.jsonl")):
        found["simulate"] += START_CPU_S["simulate"]
        for _, record in read_checksummed(path):
            if record is not None and record["status"] == "done":
                found["simulate"] += record["cpu_s"] + record["overhead_cpu_s"]
    return found


def main() -> None:
    """Print a line for each stage of each study."""
    print(f"{'study':24} {'stage':10} {'jobs':>5} {'forecast s':>11} {'measured s':>11} {'ratio':>6}")
    for name in sys.argv[1:]:
        (pipeline,) = load_pipelines(name).values()
        jobs, measured = job_counts(pipeline), measured_cpu_s(pipeline.name)
        for rule, forecast_s in stage_cpu_s(pipeline).items():
            ratio = f"{forecast_s / measured[rule]:6.2f}" if measured[rule] else "     -"
            print(f"{pipeline.name:24} {rule:10} {jobs[rule]:5} {forecast_s:11.1f} {measured[rule]:11.1f} {ratio}")


if __name__ == "__main__":
    main()
