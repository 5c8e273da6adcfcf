"""CAMINOS' phit: what it changes in job times and what it costs; and our front end beside stock CAMINOS.

The stock binary (``cargo install caminos --version 0.6.3 --locked``) is looked for in CAMINOS_STOCK, then on PATH.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from fabricstudy.engine.built_point import BuiltPoint
from fabricstudy.engine.caminos.adapter import Caminos
from fabricstudy.engine.caminos.files import CONFIGURATION
from fabricstudy.engine.engine import Engine
from fabricstudy.engine.point import Point
from fabricstudy.machine.graph import Machine
from fabricstudy.structure.bisection import bisection_bounds
from fabricstudy.workload.messages import PlacedJob
from fabricstudy.workload.placing import place

PHITS = (250, 500, 1000, 2000)
SIZES = ("16 kB",)
# All-to-all under minimal routing varies by 4 % from seed to seed, so a difference of 2 % needs many.
SEEDS = {"minimal": range(1, 21), "valiant": range(1, 6)}


def point(pattern: str, routing: str, message: str, phit: int, seed: int) -> Point:
    """Point on the small machine of the dragonfly study, all cores busy."""
    return Point.model_validate(
        {
            "machine": {
                "kind": "dragonfly",
                "groups": 9,
                "routers_per_group": 4,
                "nodes_per_router": 2,
                "cores_per_node": 2,
                "bandwidth": {"local": "1 GB/s", "global": "2 GB/s", "host": "1 GB/s"},
            },
            "routing": {"kind": routing},
            "jobs": [{"share": 1.0, "pattern": {"kind": pattern, "message": message}}],
            "engine": {"kind": "caminos", "phit": f"{phit} B"},
            "seed": seed,
        }
    )


def simulate(this: Point, machine: Machine, jobs: list[PlacedJob]) -> tuple[float, float]:
    """Give the first job's time (us) and the processor time (s)."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        argv = Engine(Caminos).write(BuiltPoint(this, machine, jobs), folder)
        exit_code, cpu_s = run(argv, folder)
        result = Engine(Caminos).result(BuiltPoint(this, machine, jobs), folder, exit_code)
    assert result.job_runtime_ns[0] is not None
    return result.job_runtime_ns[0] / 1e3, cpu_s


def run(argv: list[str], folder: Path) -> tuple[int, float]:
    """Run a program silently; give its exit code and processor time (s)."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
        exit_code = subprocess.run(argv, cwd=folder, stdout=out, stderr=err).returncode
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return exit_code, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compare_phits() -> None:
    """Print job times and processor seconds against the phit."""
    machine = point("all-to-all", "minimal", "16 kB", 2000, 1).machine.build()
    half = bisection_bounds(machine).cut_side
    print(f"{'pattern':<12}{'routing':<9}{'message':>8}{'phit B':>8}{'us':>9}{'error %':>9}{'noise %':>9}{'cpu s':>8}")
    for pattern in ("all-to-all", "bisection"):
        for routing in ("minimal", "valiant"):
            for message in SIZES:
                reference_us = 0.0
                for phit in PHITS:
                    points = [point(pattern, routing, message, phit, seed) for seed in SEEDS[routing]]
                    runs = np.array([simulate(p, machine, place(p, machine, half)) for p in points])
                    mean_us, cpu_s = runs.mean(axis=0)
                    reference_us = reference_us or mean_us
                    error, noise = 100 * (mean_us / reference_us - 1), 100 * runs[:, 0].std(ddof=1) / mean_us
                    print(
                        f"{pattern:<12}{routing:<9}{message:>8}{phit:>8}{mean_us:>9.0f}{error:>9.2f}{noise:>9.2f}"
                        f"{cpu_s:>8.2f}",
                        flush=True,
                    )


def compare_stock() -> None:
    """Print the processor time of both programs for uniform random bursts on a dragonfly of the same size."""
    stock = os.environ.get("CAMINOS_STOCK") or shutil.which("caminos")
    if stock is None:
        print("stock CAMINOS: skipped, no binary (set CAMINOS_STOCK)")
        return
    for routing in ("minimal", "valiant"):
        cpu_s, stock_cpu_s = (compare_once(routing, stock if other else None) for other in (False, True))
        print(f"uniform random, {routing}: front end {cpu_s:.2f} s CPU, stock CAMINOS {stock_cpu_s:.2f} s CPU")


def compare_once(routing: str, stock: str | None) -> float:
    """Processor time (s) of the front end, or of the stock program for the same amount of traffic."""
    message, count = 16_000, 150
    this = point("uniform-random", routing, f"{message} B", 2000, 1)
    pattern = this.jobs[0].pattern.model_copy(update={"messages_per_rank": count})
    job = this.jobs[0].model_copy(update={"pattern": pattern, "ranks_per_node": 1})
    this = this.model_copy(update={"jobs": (job,)})
    machine = this.machine.build()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        argv = Engine(Caminos).write(
            BuiltPoint(this, machine, place(this, machine, np.zeros(machine.routers, dtype=bool))), folder
        )
        if stock is not None:
            path = folder / CONFIGURATION
            path.write_text(as_stock(path.read_text(), machine, routing, count, message // 2000))
            argv = [stock, CONFIGURATION, "--results", "result"]
        exit_code, cpu_s = run(argv, folder)
        if exit_code != 0 or not any((folder / result).exists() for result in ("result", "result.json")):
            raise SystemExit(f"{argv[0]} failed: {(folder / 'stderr').read_text()}")
    return cpu_s


def as_stock(configuration: str, machine: Machine, routing: str, count: int, phits: int) -> str:
    """Put CAMINOS' own topology, traffic, router and routing in the place of our plugs'."""
    minimal = "WeighedShortest { class_weight: [1, 100] }"
    hops = 3
    if routing == "valiant":
        minimal, hops = f"Valiant {{ first: {minimal}, second: {minimal} }}", 6
    channels = [[hop] for hop in range(hops)] + [list(range(hops))]
    own = {
        "topology:": "topology: Dragonfly { global_ports_per_router: 2, servers_per_router: 2, group_size: 4, "
        "number_of_groups: 9 },",
        "traffic:": f"traffic: Burst {{ pattern: Uniform, tasks: {machine.nodes}, messages_per_task: {count}, "
        f"message_size: {phits} }},",
        "router:": "router: InputOutput {",
        "routing:": f"routing: ChannelsPerHop {{ routing: {minimal}, channels: {channels} }},",
    }
    lines = [
        next((line for key, line in own.items() if text.strip().startswith(key)), text)
        for text in configuration.splitlines()
    ]
    return "\n".join(lines)


def main() -> None:
    """Print all."""
    compare_phits()
    compare_stock()


if __name__ == "__main__":
    main()
