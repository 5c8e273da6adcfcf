"""Running the front end on prepared points."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

from fabricstudy.engine.built_point import BuiltPoint
from fabricstudy.engine.bundled import RESULT
from fabricstudy.engine.caminos.adapter import Caminos
from fabricstudy.engine.engine import Engine
from fabricstudy.engine.outcome import EngineResult
from fabricstudy.engine.point import Point
from fabricstudy.machine.graph import Machine
from fabricstudy.workload.messages import PlacedJob


def simulate(
    folder: Path, point: Point, jobs: list[PlacedJob], machine: Machine | None = None
) -> tuple[EngineResult, dict[str, Any]]:
    """Run a point and give the result as read, and as written."""
    machine = machine or point.machine.build()
    folder.mkdir(exist_ok=True)
    argv = Engine(Caminos).write(BuiltPoint(point, machine, jobs), folder)
    exit_code = run(argv, folder)
    result = Engine(Caminos).result(BuiltPoint(point, machine, jobs), folder, exit_code)
    return result, json.loads((folder / RESULT).read_text())


def run(argv: list[str], folder: Path) -> int:
    """Run the front end, keep its words, give its exit code."""
    with (folder / "stdout").open("w") as out, (folder / "stderr").open("w") as err:
        return subprocess.run(argv, cwd=folder, stdout=out, stderr=err, timeout=120).returncode


def ends(jobs: list[PlacedJob]) -> tuple[Any, Any, Any]:
    """Source node, destination node and bytes of all messages."""
    return (
        np.concatenate([j.node_of_rank[j.messages.source] for j in jobs]),
        np.concatenate([j.node_of_rank[j.messages.destination] for j in jobs]),
        np.concatenate([j.messages.size_bytes for j in jobs]),
    )
