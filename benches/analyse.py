"""CPU seconds of the analysis: ``python benches/analyse.py`` prints figures and fails on none."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import numpy as np

from fabricstudy.analyse import Routing, bisect, router_link_loads
from fabricstudy.machine import Machine, build
from fabricstudy.study import DragonflyConfig

ARRANGEMENTS = ("absolute", "relative", "circulant")
RATIOS = (0.5, 1, 1.25, 1.5, 2, 2.5, 3, 4)
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
    return build(DragonflyConfig.model_validate(description))


def cpu_s(work: Callable[[], T]) -> tuple[float, T]:
    """CPU seconds of a piece of work, and what it gives."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def all_to_all_loads() -> None:
    """Link loads of a 9,702-node dragonfly under all-to-all."""
    machine = dragonfly(99, 14, 7)
    traffic = np.full((machine.routers, machine.routers), 49_000.0)
    routings: tuple[Routing, ...] = ("minimal", "valiant")
    for routing in routings:
        spent, _ = cpu_s(partial(router_link_loads, machine, traffic, routing))
        print(f"link loads, all-to-all, {machine.nodes} nodes, {routing}: {spent:.2f} s CPU")


def bisection_of_small_dragonflies() -> None:
    """Exact bisections of the small machine of the dragonfly studies."""
    spent, exact = [], 0
    for ratio in RATIOS:
        for arrangement in ARRANGEMENTS:
            cost, found = cpu_s(partial(bisect, dragonfly(9, 4, 2, arrangement, ratio)))
            spent.append(cost)
            exact += found.exact
    print(f"bisection, 36 routers: {exact} of {len(spent)} exact, {sum(spent):.1f} s CPU, most {max(spent):.2f} s")


def bisection_of_larger_machines() -> None:
    """Bisection intervals of the medium machine and of one of 10,272 routers."""
    for machine in (dragonfly(17, 8, 2), dragonfly(321, 32, 1)):
        spent, found = cpu_s(partial(bisect, machine))
        interval = f"[{found.lower_Bps / 1e9:.0f}, {found.upper_Bps / 1e9:.0f}] GB/s"
        print(f"bisection, {machine.routers} routers, {machine.cables} cables: {interval}, {spent:.1f} s CPU")


def main() -> None:
    """Print all figures."""
    bisect(dragonfly(3, 2, 1))  # compiles, or loads what was compiled before
    router_link_loads(dragonfly(3, 2, 1), np.ones((6, 6)), "valiant")
    all_to_all_loads()
    bisection_of_larger_machines()
    bisection_of_small_dragonflies()
