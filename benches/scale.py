"""What many points cost beside the simulator: processor time, memory and files of each step.

A program that answers at once stands in for CAMINOS' front end, so that everything of ours is run as it is: planning,
Snakemake, placing, input files, processes, the store, tables and report. Its numbers mean nothing. 100,000 points, for
which as many processes are started, take about half an hour of processor time: ``FABRICSTUDY_SCALE=100000``.
"""

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

from benches.pipeline import ROOT

SIZES = (1_000, 10_000)
# 24 machines of 12 nodes, 48 points a seed; each of 12 ranks sends a packet to both its neighbours.
STUDY = """\
study: scale
machine: {{kind: dragonfly, groups: 3, routers_per_group: 2, nodes_per_router: 2, arrangement: absolute,
          bandwidth: 1 GB/s}}
routing: {{kind: minimal}}
jobs: [{{share: 1.0, pattern: {{kind: ring, message: 2 kB}}}}]
engine: {{kind: caminos, phit: 2 kB}}
sweep:
  arrangement: {{of: machine.arrangement, values: [absolute, relative]}}
  alpha: {{of: machine.bandwidth.global, values: {{{ratios}}}}}
  routing: {{of: routing.kind, values: [minimal, valiant]}}
seeds: {seeds}
figures:
  - {{id: time, kind: line, title: Time, x: alpha, y: runtime_ns, unit: us, hue: arrangement, columns: routing}}
claims:
  - id: ratio
    statement: More global bandwidth changes nothing here.
    source: this bench
    parts:
      - statement: time at ratio 4 over time at ratio 1
        measure: {{kind: contrast, metric: runtime_ns, of: {{alpha: 4.0}}, against: {{alpha: 1.0}}, reduce: max}}
        source_range: [1.0, 1.0]
"""
RATIOS = tuple(step / 2 for step in range(1, 13))
POINTS_A_SEED = 2 * len(RATIOS) * 2
PHITS, LINKS, RANKS = 24, 12, 12


def prepare(folder: Path, points: int) -> int:
    """Write the study and the stand-in; give the exact number of points."""
    seeds = -(-points // POINTS_A_SEED)
    ratios = ", ".join(f"{ratio}: {ratio} GB/s" for ratio in RATIOS)
    (folder / "scale.yaml").write_text(STUDY.format(ratios=ratios, seeds=seeds))
    answer = {
        "job_finish_cycles": [10], "rank_finish_cycles": [10] * RANKS, "link_phits": [1] * LINKS,
        "injected_phits": PHITS, "ejected_phits": PHITS, "job_sent_phits": [PHITS], "job_arrived_phits": [PHITS],
    }  # fmt: skip
    stand_in = folder / "answer-at-once"
    stand_in.write_text(
        f'#!/bin/sh\nif [ "$1" = --version ]; then echo no simulator; else echo \'{json.dumps(answer)}\' > "$2"; fi\n'
    )
    stand_in.chmod(0o755)
    return seeds * POINTS_A_SEED


def measure(name: str, folder: Path, *command: str) -> str:
    """Run a step in a process of its own, print what it cost, and give what it said."""
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}",
        "FABRICSTUDY_CAMINOS": str(folder / "answer-at-once"),
    }
    start, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    # The kernel tells the largest process of a tree only when its root has ended, so each step has a root of its own.
    code = (
        "import resource, subprocess, sys; ended = subprocess.run(sys.argv[1:]).returncode;"
        "print('peak', resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss); sys.exit(ended)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *command],
        cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout[-5000:]}")
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    peak_kB = int(re.findall(r"^peak (\d+)$", done.stdout, re.MULTILINE)[-1])
    wall_s = time.monotonic() - start
    print(f"  {name:34} {cpu_s:9.1f} s CPU {wall_s:9.1f} s elapsed {peak_kB / 1024:8.0f} MB", flush=True)
    return done.stdout


def files(folder: Path) -> None:
    """Print files, folders and bytes of each part of the working folder."""
    for name in ("results/points", "results/scale", "logs", "benchmarks", ".snakemake", "reports"):
        plain = folders = size = 0
        for _, below, inside in os.walk(folder / name):
            folders += len(below)
            plain += len(inside)
        for path in (folder / name).rglob("*"):
            size += path.stat().st_blocks * 512
        print(f"  {name:34} {plain:9} files {folders:7} folders {size / 1e6:9.1f} MB on disk", flush=True)


def run(points: int) -> None:
    """Measure all steps for one number of points."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        exact = prepare(folder, points)
        print(f" {exact:,} points", flush=True)
        snakemake = [
            *(sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), "--cores", "2"),
            *("--config", "study=scale.yaml"),
        ]
        planning = "from pathlib import Path; from fabricstudy.study import *; plan(load_study(Path('scale.yaml')))"
        measure("plan", folder, sys.executable, "-c", planning)
        measure("fabricstudy plan", folder, "fabricstudy", "plan", "scale.yaml")
        measure("dry run", folder, *snakemake, "--dry-run", "--quiet")
        measure("machines and their analysis", folder, *snakemake, "--until", "structure")
        measure("simulate, with Snakemake", folder, *snakemake, "--until", "simulate")
        measure("tables, with Snakemake", folder, *snakemake, "--until", "table")
        measure("report, with Snakemake", folder, *snakemake)
        measure("again, nothing to be done", folder, *snakemake)
        measure("all shards again from the store", folder, *snakemake, "--forcerun", "simulate", "--until", "simulate")
        said = measure("fabricstudy status", folder, "fabricstudy", "status", "scale.yaml", "--json")
        if f'"done": {exact},' not in said:
            raise SystemExit(f"not all points are done:\n{said}")
        files(folder)


def main() -> None:
    """Measure each size; ``FABRICSTUDY_SCALE=10000,100000`` chooses others."""
    sizes = os.environ.get("FABRICSTUDY_SCALE")
    for points in [int(size) for size in sizes.split(",")] if sizes else SIZES:
        run(points)


if __name__ == "__main__":
    main()
