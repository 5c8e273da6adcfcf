"""Scotch in a process of its own: from task graph and machine (.npz, standard input) to places of the tasks (.npy).

Scotch repeats itself only if its threads are limited before it is loaded, by a variable of the environment. This file
is run as a script, without the rest of the package.
"""

from __future__ import annotations

import io
import sys
from typing import Any

import numpy as np


def mapped(given: Any) -> Any:
    """Give the vertex of the architecture of each task, as Scotch's default strategy finds it."""
    import scotchpy
    from scotchpy import common

    graph = scotchpy.Graph()
    graph.build(baseval=0, verttab=given["first"], edgetab=given["partner"], edlotab=given["weight"])
    architecture = scotchpy.Arch()
    if len(given["shape"]):
        (architecture.torusX if given["closed"] else architecture.meshX)(given["shape"])
    else:
        routers = scotchpy.Graph()
        loads = given["seats"]
        routers.build(baseval=0, verttab=given["joined_first"], edgetab=given["joined"], velotab=np.maximum(loads, 1))
        architecture.build2(routers, np.flatnonzero(loads).astype(np.int64))
    common.random_seed(int(given["seed"]))
    common.random_reset()
    found = np.zeros(len(given["first"]) - 1, dtype=np.int64)
    graph.map(architecture, scotchpy.Strat(), found)
    return found


def main() -> None:
    """Read, map and write."""
    # The package draws graphs by these where they are there, and takes most of a second to load them.
    for name in ("networkx", "matplotlib"):
        sys.modules[name] = None  # type: ignore[assignment]
    with np.load(io.BytesIO(sys.stdin.buffer.read())) as given:
        found = mapped(given)
    np.save(sys.stdout.buffer, found)


if __name__ == "__main__":
    main()
