"""What CAMINOS costs by topology: about 1,000 and 10,000 nodes, one permutation of 16 kB messages.

CPU seconds and memory are those of the simulator, then those of our part (placing, writing its input, reading its
result, and once for each machine its structure and distances).
"""

from __future__ import annotations

import resource
import tempfile
import time
from pathlib import Path
from typing import Any

from fabricstudy.engine.attempt import attempt_point
from fabricstudy.engine.caminos.adapter import Caminos
from fabricstudy.engine.definitions import AnalysedMachine
from fabricstudy.engine.engine import Engine
from fabricstudy.engine.point import Point
from fabricstudy.engine.settings import Limits
from fabricstudy.structure.summary import describe_machine

LINKS = {"bandwidth": "10 GB/s"}
# Each topology at both sizes, and its deterministic (or only oblivious) routing.
MACHINES: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "torus": ({"shape": [16, 8, 8], **LINKS}, {"shape": [22, 22, 22], **LINKS}, "dimension-order"),
    "mesh": ({"shape": [16, 8, 8], **LINKS}, {"shape": [22, 22, 22], **LINKS}, "dimension-order"),
    "bluegene-q": ({"midplanes": [2, 1, 1, 1]}, {"midplanes": [5, 2, 2, 1]}, "dimension-order"),
    "bluegene-p": ({"midplanes": [1, 1, 2]}, {"midplanes": [5, 2, 2]}, "dimension-order"),
    "hypercube": ({"dimensions": 10, **LINKS}, {"dimensions": 13, **LINKS}, "dimension-order"),
    "hyperx": (
        {"shape": [5, 5, 5], "nodes_per_router": 8, **LINKS},
        {"shape": [12, 10, 10], "nodes_per_router": 9, **LINKS},
        "dimension-order",
    ),
    "express-mesh": (
        {"shape": [6, 6, 6], "gap": 2, "nodes_per_router": 5, **LINKS},
        {"shape": [14, 12, 12], "gap": 2, "nodes_per_router": 5, **LINKS},
        "dimension-order",
    ),
    "fat-tree": ({"radix": 16, **LINKS}, {"radix": 44, "pods": 22, "core_cables": 2, **LINKS}, "d-mod-k"),
    "slim-fly": (
        {"q": 7, "nodes_per_router": 11, **LINKS},
        {"q": 19, "nodes_per_router": 15, **LINKS},
        "minimal",
    ),
    "dragonfly": (
        {"groups": 33, "routers_per_group": 8, "nodes_per_router": 4, **LINKS},
        {"groups": 106, "routers_per_group": 15, "nodes_per_router": 7, **LINKS},
        "minimal",
    ),
}
LIMITS = Limits.model_validate({"time": "5 min", "memory": "8 GB"})


def point(kind: str, sizes: dict[str, Any], routing: str) -> Point:
    """One rank on each node, and a message of 16 kB from each to another one."""
    job = {"share": 1.0, "ranks_per_node": 1, "pattern": {"kind": "permutation", "message": "16 kB"}}
    return Point.model_validate(
        {
            "machine": {"kind": kind, **sizes},
            "routing": {"kind": routing},
            "jobs": [job],
            "engine": {"kind": "caminos", "phit": "2 kB"},
            "seed": 1,
        }
    )


def simulate(this: Point) -> None:
    """Simulate a point once and print what it took."""
    start = time.process_time()
    machine = this.machine.build()
    analysed = AnalysedMachine(machine, describe_machine(machine).bisection.cut_side)
    analysis_s = time.process_time() - start
    with tempfile.TemporaryDirectory() as folder:
        found = attempt_point(this, Engine(Caminos), analysed, LIMITS, Path(folder))
    if found["status"] != "done":
        raise SystemExit(f"{this.machine.kind}: {found['reason']}")
    print(
        f"{this.machine.kind:<13}{machine.nodes:>7} nodes{machine.routers:>7} routers, {this.routing.kind:<16}"
        f"simulator {found['cpu_s']:6.2f} s CPU, {found['memory_bytes'] / 1e6:6.0f} MB; "
        f"ours {found['overhead_cpu_s']:5.2f} s and {analysis_s:5.2f} s for the machine",
        flush=True,
    )


def main() -> None:
    """Print a line for each topology and size."""
    for number in (0, 1):
        for kind, (*sizes, routing) in MACHINES.items():
            simulate(point(kind, sizes[number], routing))
    print(f"most memory of ours: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")


if __name__ == "__main__":
    main()
