"""How often small loads on fast links are judged steady: machines, speeds and loads, each with as many seeds.

``python -m benches.small_loads 200`` took 70 minutes on a busy computer, for 14,400 points.
"""

from __future__ import annotations

import itertools
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from fabricstudy.core.store import Record
from fabricstudy.engine.definitions import built
from fabricstudy.engine.offered_traffic import OfferedRuns
from fabricstudy.engine.point import Point
from fabricstudy.engine.registry import engine_named
from fabricstudy.engine.settings import Limits
from fabricstudy.engine.steady_state import State, state_of

MACHINES: dict[str, tuple[dict[str, Any], str]] = {
    "dragonfly": ({"groups": 9, "routers_per_group": 4, "nodes_per_router": 2}, "minimal"),
    "torus": ({"shape": [8, 8]}, "dimension-order"),
    "fat-tree": ({"radix": 8, "pods": 8}, "minimal"),
    "hyperx": ({"shape": [4, 4], "nodes_per_router": 2}, "minimal"),
    "slim-fly": ({"q": 5, "nodes_per_router": 2}, "minimal"),
    "megafly": ({"groups": 9, "leaves_per_group": 4, "spines_per_group": 4, "nodes_per_leaf": 2}, "minimal"),
}
BANDWIDTHS, LOADS = ("100 Gb/s", "200 Gb/s", "400 Gb/s", "800 Gb/s"), (0.01, 0.02, 0.05)


def state(kind: str, bandwidth: str, load: float, seed: int) -> State:
    """Return the state of one point with the defaults of a study."""
    keys, routing = MACHINES[kind]
    point = Point.model_validate(
        {
            "machine": {"kind": kind, **keys, "bandwidth": bandwidth}, "routing": routing, "engine": "packet",
            "seed": seed, "offered": {"traffic": "uniform", "load": load},
        },
        by_alias=True,
    )  # fmt: skip
    assert point.offered is not None
    machine, engine = built(point.machine).machine, engine_named("packet")
    record: Record = {"runs": []}
    with tempfile.TemporaryDirectory() as folder:
        runs = OfferedRuns(point, engine, machine, Limits(), Path(folder), record)
        return state_of(runs.at(load))


def main(seeds: int = 20) -> None:
    """Print the number of seeds with each state."""
    for bandwidth, load in itertools.product(BANDWIDTHS, LOADS):
        for kind in MACHINES:
            states = Counter(state(kind, bandwidth, load, seed) for seed in range(1, seeds + 1))
            print(f"{kind:10} {bandwidth} {load:.0%}:", dict(states), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
