"""Planning, the dry run of 10,000 points, and what the pipeline costs beside the simulator."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# {ratios} and {seeds} set the number of points; at {message} a simulation takes about a second.
STUDY = """\
study: bench
machine: {{kind: dragonfly, groups: 9, routers_per_group: 4, nodes_per_router: 2, cores_per_node: 2,
          arrangement: absolute, bandwidth: 1 GB/s}}
routing: {{kind: minimal}}
jobs: [{{share: 1.0, pattern: {{kind: all-to-all, message: {message}}}, mapping: {{kind: random}}}}]
engine: caminos
sweep:
  arrangement: {{of: machine.arrangement, values: [absolute, relative, circulant]}}
  alpha: {{of: machine.bandwidth.global, values: {{{ratios}}}}}
  routing: {{of: routing.kind, values: [minimal, valiant]}}
seeds: {seeds}
"""
EIGHT = [0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4]


def study(folder: Path, ratios: list[float], seeds: int, message: str) -> Path:
    """Write the bench's study."""
    text = ", ".join(f"{ratio}: {ratio} GB/s" for ratio in ratios)
    path = folder / "bench.yaml"
    path.write_text(STUDY.format(ratios=text, seeds=seeds, message=message))
    return path


def run(command: list[str], folder: Path) -> tuple[str, float]:
    """Run a command; give its output and the CPU seconds of it and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = dict(os.environ, PATH=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.stdout + done.stderr, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def snakemake(*arguments: str) -> list[str]:
    """Command line of Snakemake for the bench's study."""
    snakefile = str(ROOT / "Snakefile")
    options = ["--cores", "2", "--snakefile", snakefile, *arguments, "--config", "study=bench.yaml"]
    return [sys.executable, "-m", "snakemake", *options]


def planning(folder: Path) -> None:
    """Plan and dry-run 10,080 points."""
    file = study(folder, EIGHT, 210, "16 kB")
    code = (
        "from pathlib import Path; from fabricstudy.study import load_study, plan;"
        f"plan(load_study(Path({str(file)!r})))"
    )
    print(f"plan of 10,080 points: {run([sys.executable, '-c', code], folder)[1]:.2f} s CPU, imports included")
    said, cpu_s = run(snakemake("--dry-run"), folder)
    jobs = re.search(r"^total\s+(\d+)", said, re.MULTILINE)
    print(f"dry run of it: {jobs.group(1) if jobs else '?'} jobs, {cpu_s:.1f} s CPU")


def overhead(folder: Path) -> None:
    """Simulate 384 points of about a second, and compare all that was used with what the simulator used."""
    study(folder, EIGHT, 8, "12 kB")
    run(snakemake("--until", "structure"), folder)
    start = time.monotonic()
    stage_s = run(snakemake("--until", "simulate"), folder)[1]
    wall_s = time.monotonic() - start
    rest_s = run(snakemake(), folder)[1]
    shards = (folder / "results/bench/simulate").glob("*.jsonl")
    records = [json.loads(line) for shard in shards for line in shard.read_text().splitlines()]
    simulator_s = sum(record["cpu_s"] for record in records)
    ours_s = sum(record["overhead_cpu_s"] for record in records)
    print(
        f"{len(records)} points: simulator {simulator_s:.1f} s CPU, {simulator_s / len(records):.2f} s a point; "
        f"ours per point {ours_s / len(records) * 1000:.0f} ms ({ours_s / simulator_s:.1%}); "
        f"simulate stage with Snakemake {stage_s:.1f} s CPU in {wall_s:.0f} s, ours {stage_s / simulator_s - 1:.1%}; "
        f"tables and report {rest_s:.1f} s CPU"
    )


def main() -> None:
    """Print all figures."""
    for bench in (planning, overhead):
        with tempfile.TemporaryDirectory() as folder:
            bench(Path(folder))


if __name__ == "__main__":
    main()
