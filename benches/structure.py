"""CPU seconds of the analysis: ``python benches/structure.py`` prints figures and fails on none."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from fabricstudy.core.bundled_files import CONFIGS
from fabricstudy.core.extensions import load_extensions
from fabricstudy.machine.base import Topology
from fabricstudy.machine.dragonfly import DragonflyConfig
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.adaptive import Adaptive
from fabricstudy.routing.base import Routing
from fabricstudy.routing.d_mod_k import DModK
from fabricstudy.routing.dimension_order import DimensionOrder
from fabricstudy.routing.minimal import Minimal
from fabricstudy.routing.ugal import Ugal
from fabricstudy.routing.valiant import Valiant
from fabricstudy.structure.bisection import bisection_bounds
from fabricstudy.structure.load import link_loads, link_support, router_link_loads
from fabricstudy.structure.sharing import link_sharing
from fabricstudy.workload.pattern.base import Pattern

ARRANGEMENTS = ("absolute", "relative", "circulant")
RATIOS = (0.5, 1, 1.25, 1.5, 2, 2.5, 3, 4)
# Ranks and pattern of the jobs of a workload such as those of Jain et al. (IPDPS 2017), 40,000 ranks together.
load_extensions(["extensions/low_diameter.py"], CONFIGS)
MESH = Pattern.model_validate({"kind": "unstructured-mesh", "message": "1 MiB", "degree": [20, 20], "iterations": 1})
LINES = Pattern.model_validate({"kind": "sub-all-to-all", "message": "1 MiB", "iterations": 1})
JOBS = ((16_000, LINES), (12_000, MESH), (8_000, LINES), (4_000, MESH))
RANKS_PER_NODE = 4
SYSTEMS: dict[str, tuple[Routing, ...]] = {
    "fat-tree-11k": (DModK(), Adaptive(), Minimal()),
    "slim-fly-11k": (Minimal(), Valiant(), Ugal()),
    "dragonfly-11k": (Minimal(), Valiant(), Ugal()),
    "express-mesh-11k-g1": (DimensionOrder(), Adaptive(), Minimal()),
    "express-mesh-11k-g2": (DimensionOrder(), Adaptive(), Minimal()),
}
Messages = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]
T = TypeVar("T")


def dragonfly(groups: int, routers: int, nodes: int, arrangement: str = "relative", ratio: float = 1) -> Machine:
    """Dragonfly with local bandwidth 1 GB/s and global bandwidth `ratio` GB/s."""
    description = {
        "groups": groups,
        "routers_per_group": routers,
        "nodes_per_router": nodes,
        "arrangement": arrangement,
        "bandwidth": {"local": "1 GB/s", "global": f"{ratio} GB/s", "host": "1 GB/s"},
    }
    return DragonflyConfig.model_validate(description).build()


def cpu_s(work: Callable[[], T]) -> tuple[float, T]:
    """CPU seconds of a piece of work, and what it gives."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def all_to_all_loads() -> None:
    """Link loads of a 9,702-node dragonfly under all-to-all."""
    machine = dragonfly(99, 14, 7)
    traffic = np.full((machine.routers, machine.routers), 49_000.0)
    for routing in (Minimal(), Valiant()):
        spent, _ = cpu_s(partial(router_link_loads, machine, traffic, routing))
        print(f"link loads, all-to-all, {machine.nodes} nodes, {routing.kind}: {spent:.2f} s CPU")


def clustered_jobs(random: np.random.Generator, scale: float = 1) -> list[Messages]:
    """Source and destination nodes of the messages of each job; 500 swaps among nodes in linear order."""
    sizes = [(int(ranks * scale) // RANKS_PER_NODE * RANKS_PER_NODE, pattern) for ranks, pattern in JOBS]
    nodes = np.arange(sum(ranks for ranks, _ in sizes) // RANKS_PER_NODE)
    for one, other in random.integers(0, len(nodes), (500, 2)):
        nodes[[one, other]] = nodes[[other, one]]
    jobs, first = [], 0
    for ranks, pattern in sizes:
        sends = pattern.sends(ranks, random)
        jobs.append(
            (nodes[(first + sends.source) // RANKS_PER_NODE], nodes[(first + sends.destination) // RANKS_PER_NODE])
        )
        first += ranks
    return jobs


def interference(machine: Machine, jobs: list[Messages], routing: Routing) -> tuple[float, float]:
    """Link loads of each job where they are known, then MLS and TLS."""
    if routing.kind not in ("adaptive", "ugal"):
        for source, destination in jobs:
            link_loads(machine, source, destination, np.full(len(source), 2**20), routing)
    found = link_sharing(np.array([link_support(machine, *messages, routing) for messages in jobs]))
    return found.mls, found.tls


def interference_of_large_workloads() -> None:
    """Loads and sharing of 40,000 ranks on the five systems of Jain et al."""
    jobs = clustered_jobs(np.random.default_rng(1))
    messages = sum(len(source) for source, _ in jobs)
    for name, routings in SYSTEMS.items():
        machine = Topology.model_validate(name).build()
        for routing in routings:
            spent, (mls, tls) = cpu_s(partial(interference, machine, jobs, routing))
            print(
                f"loads and sharing, {messages / 1e6:.1f}M messages, {name}, {routing.kind}: "
                f"{spent:.2f} s CPU, MLS {mls:.0%}, TLS {tls:.0%}"
            )
    print(f"most memory so far: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")


def bisection_of_small_dragonflies() -> None:
    """Exact bisections of the small machine of the dragonfly studies."""
    spent, exact = [], 0
    for ratio in RATIOS:
        for arrangement in ARRANGEMENTS:
            cost, found = cpu_s(partial(bisection_bounds, dragonfly(9, 4, 2, arrangement, ratio)))
            spent.append(cost)
            exact += found.exact
    print(f"bisection, 36 routers: {exact} of {len(spent)} exact, {sum(spent):.1f} s CPU, most {max(spent):.2f} s")


def bisection_of_larger_machines() -> None:
    """Bisection intervals of the medium machine and of one of 10,272 routers."""
    for machine in (dragonfly(17, 8, 2), dragonfly(321, 32, 1)):
        spent, found = cpu_s(partial(bisection_bounds, machine))
        interval = f"[{found.lower_Bps / 1e9:.0f}, {found.upper_Bps / 1e9:.0f}] GB/s"
        print(f"bisection, {machine.routers} routers, {machine.cables} cables: {interval}, {spent:.1f} s CPU")


def main() -> None:
    """Print all figures."""
    bisection_bounds(dragonfly(3, 2, 1))  # compiles, or loads what was compiled before
    router_link_loads(dragonfly(17, 10, 1), np.ones((170, 170)), Valiant())
    interference_of_large_workloads()
    all_to_all_loads()
    bisection_of_larger_machines()
    bisection_of_small_dragonflies()
