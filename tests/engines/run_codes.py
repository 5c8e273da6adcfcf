"""Small points for CODES, how they are run, and recording what CODES writes.

``python -m tests.engines.run_codes`` writes tests/data/codes anew, from the program on PATH.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

from fabricstudy.engine.built_point import BuiltPoint
from fabricstudy.engine.codes.adapter import PROGRAM, Codes
from fabricstudy.engine.codes.files import HOPS, OUTPUTS
from fabricstudy.engine.engine import Engine
from fabricstudy.engine.point import Point
from fabricstudy.machine.graph import Machine
from fabricstudy.workload.messages import PlacedJob

from ..machines import job_of, point_on

RECORDED = Path(__file__).parents[1] / "data" / "codes"

TORUS_BANDWIDTH = {"links": "1 GB/s", "host": "6 GB/s"}
EVEN = {"bandwidth": "1 GB/s"}
MACHINES: dict[str, dict[str, Any]] = {
    "dragonfly": {
        "kind": "dragonfly",
        "groups": 5,
        "routers_per_group": 2,
        "nodes_per_router": 2,
        "bandwidth": "1 GB/s",
    },
    "aries": {"kind": "aries", "groups": 3, "chassis_per_group": 2, "blades_per_chassis": 4, "nodes_per_router": 2}
    | EVEN,
    "percs": {
        "kind": "percs",
        "supernodes": 5,
        "drawers_per_supernode": 2,
        "hubs_per_drawer": 2,
        "nodes_per_router": 2,
        "bandwidth": "1 GB/s",
    },
    "torus": {"kind": "torus", "shape": [3, 5], "bandwidth": TORUS_BANDWIDTH},
    "express": {"kind": "express-mesh", "shape": [5, 4], "gap": 2, "nodes_per_router": 2} | EVEN,
    "hyperx": {"kind": "hyperx", "shape": [4, 2, 3]} | EVEN,
    "mesh": {"kind": "mesh", "shape": [4, 3], "nodes_per_router": 2} | EVEN,
    "cube": {"kind": "hypercube", "dimensions": 4} | EVEN,
    "tree": {"kind": "fat-tree", "radix": 4} | EVEN,
    "slim fly": {"kind": "slim-fly", "q": 5, "nodes_per_router": 1} | EVEN,
}
FIXED = {
    "dragonfly": "minimal",
    "percs": "minimal",
    "torus": "dimension-order",
    "hyperx": "dimension-order",
    "mesh": "dimension-order",
    "cube": "dimension-order",
    "tree": "d-mod-k",
    "slim fly": "minimal",
}
"""Routings under which a packet's path is known beforehand."""


RECORDED_NAMES = ("dragonfly", "torus", "hyperx", "tree", "slim fly")


def point(name: str, routing: str | dict[str, Any] | None = None, **more: Any) -> Point:
    """Point on one of `MACHINES`, with the routing of fixed paths, or minimal, unless another is asked for."""
    machine = MACHINES[name] | more.pop("machine", {})
    return point_on(machine, routing or FIXED.get(name, "minimal"), **({"engine": "codes"} | more))


def two_jobs(machine: Machine) -> list[PlacedJob]:
    """Two jobs on different nodes: a few sizes, two phases in the first one."""
    half = machine.nodes // 2
    rng = np.random.default_rng(3)
    node = rng.permutation(machine.nodes)
    first = [(phase, i, (i + 1 + phase) % half, 3000 + 500 * (i % 3)) for phase in range(2) for i in range(half)]
    rest = machine.nodes - half
    second = [(0, i, (i + rest // 2) % rest, 5000) for i in range(rest)]
    return [job_of(node[:half].tolist(), first), job_of(node[half:].tolist(), second)]


def run(argv: list[str], folder: Path) -> int:
    """Run the program, keep its words, give its exit code."""
    with (folder / "stdout").open("w") as out, (folder / "stderr").open("w") as err:
        return subprocess.run(argv, cwd=folder, stdout=out, stderr=err, timeout=120).returncode


def prepared(folder: Path, this: Point, jobs: list[PlacedJob], machine: Machine | None = None) -> list[str]:
    """Write the input of a point and give the command."""
    folder.mkdir(exist_ok=True)
    argv = Engine(Codes).write(BuiltPoint(this, machine or this.machine.build(), jobs), folder)
    assert argv is not None
    return argv


def _record(name: str) -> None:
    this = point(name)
    machine = this.machine.build()
    jobs = two_jobs(machine)
    folder = RECORDED / name.replace(" ", "-")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    exit_code = run(prepared(folder, this, jobs, machine), folder)
    Engine(Codes).result(BuiltPoint(this, machine, jobs), folder, exit_code)
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_dir() and not path.is_symlink():
            if not any(path.iterdir()):
                path.rmdir()
        elif path.parent.name == OUTPUTS:
            if not re.fullmatch(r"mpi-replay-stats|.*router-traffic.*|.*switch-traffic", path.name):
                path.unlink()
        elif path.name not in ("stdout", "stderr") and path.parent.name != HOPS:
            path.unlink()
    # The line of the command names a folder of the computer that ran it.
    told = (folder / "stdout").read_text().replace(str(shutil.which(PROGRAM)), PROGRAM)
    (folder / "stdout").write_text(told)


if __name__ == "__main__":
    for recorded in RECORDED_NAMES:
        _record(recorded)
