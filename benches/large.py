"""The analysis of a dragonfly of about 10,000, 33,000 and 115,000 nodes: CPU seconds and memory, a process a part.

All sizes together take some three minutes of processor time and 4 GB: ``python -m benches large``.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benches.scale import measure
from benches.structure import clustered_jobs, dragonfly
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.base import Routing
from fabricstudy.routing.minimal import Minimal
from fabricstudy.routing.valiant import Valiant
from fabricstudy.structure.bisection import bisection_bounds
from fabricstudy.structure.load import link_support, router_link_loads
from fabricstudy.structure.sharing import link_sharing

# Groups, routers a group, nodes a router, and which part of the workload of 40,000 ranks fits.
SIZES = {"9,702 nodes": (99, 14, 7, 0.96), "32,940 nodes": (183, 18, 10, 3), "114,582 nodes": (339, 26, 13, 10)}


def loads(machine: Machine, routing: Routing) -> None:
    """Link loads of an all-to-all of 1 kB."""
    weight = 1000.0 * machine.nodes_of_router
    router_link_loads(machine, np.outer(weight, machine.nodes_of_router), routing)


def sharing(machine: Machine, routing: Routing, scale: float) -> None:
    """MLS and TLS of four jobs that nearly fill the machine."""
    jobs = clustered_jobs(np.random.default_rng(1), scale)
    link_sharing(np.array([link_support(machine, *messages, routing) for messages in jobs]))


PARTS: dict[str, Callable[[Machine, float], object]] = {
    "machine alone": lambda machine, scale: None,
    "bisection": lambda machine, scale: bisection_bounds(machine),
    "link loads, minimal": lambda machine, scale: loads(machine, Minimal()),
    "link loads, Valiant": lambda machine, scale: loads(machine, Valiant()),
    "MLS and TLS, minimal": lambda machine, scale: sharing(machine, Minimal(), scale),
    "MLS and TLS, Valiant": lambda machine, scale: sharing(machine, Valiant(), scale),
}


def part(name: str, size: str) -> None:
    """Do one part in this process."""
    *shape, scale = SIZES[size]
    PARTS[name](dragonfly(*map(int, shape)), scale)


def main() -> None:
    """Measure each part at each size; the smallest first, which compiles, too, where nothing was compiled before."""
    with tempfile.TemporaryDirectory() as folder:
        for size in SIZES:
            print(f" {size}", flush=True)
            for name in PARTS:
                code = f"from benches.large import part; part({name!r}, {size!r})"
                measure(name, Path(folder), sys.executable, "-c", code)


if __name__ == "__main__":
    main()
