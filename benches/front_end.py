"""What the front end for CAMINOS costs alone: CPU seconds on fixed inputs, one for each routing and machine it fits.

Each input is simulated three times and the least time counts. Compare two front ends by running this twice, with
FABRICSTUDY_CAMINOS naming the other one.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from fabricstudy.engine.built_point import BuiltPoint
from fabricstudy.engine.caminos.adapter import Caminos
from fabricstudy.engine.engine import Engine
from fabricstudy.engine.point import Point
from fabricstudy.structure.bisection import bisection_bounds
from fabricstudy.workload.placing import place

from .phit import run

RUNS = 3
LINKS = {"bandwidth": "1 GB/s"}
MACHINES: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "dragonfly": (
        {
            "groups": 9,
            "routers_per_group": 4,
            "nodes_per_router": 2,
            "bandwidth": {"host": "1 GB/s", "local": "1 GB/s", "global": "2 GB/s"},
        },
        ("minimal", "valiant", "ugal"),
    ),
    "torus": ({"shape": [6, 6], "nodes_per_router": 2, **LINKS}, ("dimension-order", "adaptive")),
    "express-mesh": ({"shape": [8, 6], "gap": 2, "nodes_per_router": 2, **LINKS}, ("dimension-order", "adaptive")),
    "fat-tree": ({"radix": 8, **LINKS}, ("d-mod-k", "adaptive")),
    "slim-fly": ({"q": 5, "nodes_per_router": 2, **LINKS}, ("minimal", "ugal")),
}


def point(kind: str, sizes: dict[str, Any], routing: str) -> Point:
    """All-to-all of 24 kB on all nodes, as in the study `quick`."""
    return Point.model_validate(
        {
            "machine": {"kind": kind, **sizes},
            "routing": {"kind": routing},
            "jobs": [{"share": 1.0, "pattern": {"kind": "all-to-all", "message": "24 kB"}}],
            "engine": {"kind": "caminos", "phit": "2 kB"},
            "seed": 1,
        }
    )


def main() -> None:
    """Print a line for each input."""
    in_all_s = 0.0
    for kind, (sizes, routings) in MACHINES.items():
        for routing in routings:
            this = point(kind, sizes, routing)
            machine = this.machine.build()
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                jobs = place(this, machine, bisection_bounds(machine).cut_side)
                argv = Engine(Caminos).write(BuiltPoint(this, machine, jobs), folder)
                runs = [run(argv, folder) for _ in range(RUNS)]
            if any(exit_code for exit_code, _ in runs):
                raise SystemExit(f"{kind}, {routing}: the front end failed")
            least_s = min(cpu_s for _, cpu_s in runs)
            in_all_s += least_s
            print(f"{kind:<13}{routing:<16}{least_s:6.2f} s CPU", flush=True)
    print(f"{'in all':<29}{in_all_s:6.2f} s CPU")


if __name__ == "__main__":
    main()
