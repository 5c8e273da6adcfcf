"""Scotch as a separate process: from task graph and machine (.npz, standard input) to places of the tasks (.npy).

Scotch gives the same mapping each time only if an environment variable limits its threads before it is loaded. This
file is run as a script, without the rest of the package.
"""

import io
import sys
from typing import Any

import numpy as np

BIPARTITIONS = 8
"""Bipartitions of which the lightest is taken; Scotch's default is 2, and 3 where quality matters more than time.

With one thread, which alone repeats itself, each try gives one bipartition; with more threads each gives as many.
"""
REFINEMENT = "f{bal=0.01,move=120}"
UNCOARSENING = f"b{{bnd=(d{{pass=40}}{REFINEMENT}|{REFINEMENT}),org={REFINEMENT}}}"
TRY = f"m{{vert=120,low=h{{pass=20}}{REFINEMENT},asc={UNCOARSENING}}}"
STRATEGY = f"r{{job=t,map=t,poli=S,bal=0.01,sep={'|'.join([TRY] * BIPARTITIONS)}}}"
"""Dual recursive bipartitioning, as in Scotch's default for up to 20 tasks a seat, but for `BIPARTITIONS`."""


def mapped(problem: Any) -> Any:
    """Return the vertex of the architecture of each task."""
    import scotchpy
    from scotchpy import common

    graph = scotchpy.Graph()
    graph.build(baseval=0, verttab=problem["first"], edgetab=problem["partner"], edlotab=problem["weight"])
    architecture = scotchpy.Arch()
    if len(problem["shape"]):
        (architecture.torusX if problem["closed"] else architecture.meshX)(problem["shape"])
    else:
        routers = scotchpy.Graph()
        loads = problem["seats"]
        routers.build(
            baseval=0, verttab=problem["joined_first"], edgetab=problem["joined"], velotab=np.maximum(loads, 1)
        )
        architecture.build2(routers, np.flatnonzero(loads).astype(np.int64))
    common.random_seed(int(problem["seed"]))
    common.random_reset()
    vertex_of_task = np.zeros(len(problem["first"]) - 1, dtype=np.int64)
    strategy = scotchpy.Strat()
    strategy.graph_map(STRATEGY)
    graph.map(architecture, strategy, vertex_of_task)
    return vertex_of_task


def main() -> None:
    """Read, map and write."""
    with np.load(io.BytesIO(sys.stdin.buffer.read())) as problem:
        vertex_of_task = mapped(problem)
    np.save(sys.stdout.buffer, vertex_of_task)


if __name__ == "__main__":
    main()
