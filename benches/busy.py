"""How busy a study keeps the cores: a stand-in for CAMINOS that sleeps, and what Snakemake itself costs.

``python -m benches busy``, or ``python -m benches.busy POINTS CORES SECONDS``. A sleeping simulator needs no core, so
more cores may be named than the computer has. The start of each batch, about a second of processor time, does need one:
with many more cores, let points take more seconds.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path

from fabricstudy.engine.caminos import Caminos

from .pipeline import snakemake, study

STAND_IN = """\
#!/bin/sh
if [ "$1" = --version ]; then exec {program} --version; fi
if ! [ -e {recorded} ]; then {program} "$@" && mv "$2" {recorded}.$$ && mv {recorded}.$$ {recorded}; fi
cp {recorded} "$2" && exec sleep {seconds}
"""
"""All points have the same result: that of the first one, since they differ only in the seed, which changes nothing."""
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def stand_in(folder: Path, seconds: int) -> Path:
    """Write a program that sleeps and answers with a recorded result."""
    path = folder / "simulator"
    program, recorded = shlex.quote(str(Caminos.built())), shlex.quote(str(folder / "recorded.json"))
    path.write_text(STAND_IN.format(program=program, recorded=recorded, seconds=seconds))
    path.chmod(0o755)
    return path


def processor_s(pid: int) -> float:
    """Processor seconds of a process so far, without its children."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


def run_watched(command: list[str], folder: Path, environment: dict[str, str]) -> tuple[float, float]:
    """Run Snakemake; return its elapsed seconds and its own processor seconds."""
    start, own_s = time.monotonic(), 0.0
    with (folder / "said").open("w") as said:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=said, stderr=said)
        while process.poll() is None:
            own_s = max(own_s, processor_s(process.pid))
            time.sleep(0.2)
    if process.returncode:
        raise SystemExit((folder / "said").read_text())
    return time.monotonic() - start, own_s


def busy_seconds(records: list[dict[str, object]]) -> tuple[float, float]:
    """Return the seconds in simulations, and those from the start of the first one to the end of the last one."""
    starts = [datetime.fromisoformat(str(record["started"])).timestamp() for record in records]
    walls = [float(str(record["wall_s"])) for record in records]
    return sum(walls), max(start + wall for start, wall in zip(starts, walls, strict=True)) - min(starts)


def main(points: int = 1000, cores: int = 8, seconds: int = 1) -> None:
    """Print what share of the cores' time was spent in the simulator."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = study(folder, [1], points, "12 kB")
        text = file.read_text()
        text = text.replace("mapping: {kind: random}", "mapping: {kind: linear}")
        file.write_text(text[: text.index("sweep:")] + text[text.index("seeds:") :])
        environment = dict(os.environ, PATH=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
        environment["FABRICSTUDY_CAMINOS"] = str(stand_in(folder, seconds))
        command = [word if word != "2" else str(cores) for word in snakemake()]
        run_watched([*command[:-2], "--until", "workload", *command[-2:]], folder, environment)
        stage_s, own_s = run_watched([*command[:-2], "--until", "simulate", *command[-2:]], folder, environment)
        shards = sorted((folder / "results/bench/simulate").glob("*.jsonl"))
        records = [json.loads(line) for shard in shards for line in shard.read_text().splitlines()]
        assert all(record["status"] == "done" for record in records), records[0]
        busy_s, span_s = busy_seconds(records)
        print(
            f"{len(records)} points of {busy_s / len(records):.2f} s in {len(shards)} batches on {cores} cores: "
            f"busy {busy_s / (cores * span_s):.1%} of {span_s:.0f} s from the first start to the last end, and "
            f"{busy_s / (cores * stage_s):.1%} of the {stage_s:.0f} s of the call; Snakemake itself {own_s:.1f} s CPU"
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
