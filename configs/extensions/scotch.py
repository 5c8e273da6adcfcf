"""Mapping by Scotch.

Scotch runs in a process of its own, this file as a script (task graph and machine as .npz on standard input, places of
the tasks as .npy on standard output), since it gives the same mapping each time only if an environment variable limits
its threads before it is loaded.
"""

import io
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from fabricstudy.core.arrays import Integers, Ints
from fabricstudy.machine.distances import adjacency, hop_distances
from fabricstudy.machine.graph import Machine
from fabricstudy.workload.mapping.base import Mapping
from fabricstudy.workload.mapping.tasks import Slots, Tasks
from fabricstudy.workload.messages import WorkloadError

SCOTCH_PACKAGE = "scotchpy64"
SCOTCH_SCRIPT = Path(__file__)
SCOTCH_CPU_S_PER_PARTNER = 1.5e-4
BIPARTITIONS = 8
"""Bipartitions of which the lightest is taken; Scotch's default is 2, and 3 where quality matters more than time.

With one thread, which alone repeats itself, each try gives one bipartition; with more threads each gives as many.
"""
REFINEMENT = "f{bal=0.01,move=120}"
UNCOARSENING = f"b{{bnd=(d{{pass=40}}{REFINEMENT}|{REFINEMENT}),org={REFINEMENT}}}"
TRY = f"m{{vert=120,low=h{{pass=20}}{REFINEMENT},asc={UNCOARSENING}}}"
STRATEGY = f"r{{job=t,map=t,poli=S,bal=0.01,sep={'|'.join([TRY] * BIPARTITIONS)}}}"
"""Dual recursive bipartitioning, as in Scotch's default for up to 20 tasks a core, but for `BIPARTITIONS`."""


class ScotchMapping(Mapping, kind="scotch"):
    """Dual recursive bipartitioning of ranks and machine by Scotch; needs the package scotchpy64.

    Good for more than 10,000 ranks, as the start of `exchange`. (Pellegrini and Roman: Scotch: a software package for
    static mapping by dual recursive bipartitioning of process and architecture graphs, HPCN Europe 1996.) Without the
    package, points with this mapping are refused. Results may differ between versions of Scotch.
    """

    needs_traffic = True

    def predict_cpu_s(self, ranks: int, degree: float) -> float:
        return SCOTCH_CPU_S_PER_PARTNER * ranks * (1 + degree)

    def map_ranks(self, slots: Slots, tasks: Tasks, rng: np.random.Generator) -> Integers:
        if find_spec("scotchpy") is None:
            raise WorkloadError(
                f"the mapping scotch needs the package {SCOTCH_PACKAGE}, which is not installed; "
                f"pip install {SCOTCH_PACKAGE} (Linux on x86-64), or use exchange"
            )
        routers, architecture = _architecture(slots)
        graph, seed = tasks.graph, np.int64(rng.integers(2**31))
        weight = np.rint(graph.size_bytes).astype(np.int64)
        edges = {"first": graph.first, "partner": graph.partner, "weight": weight}
        vertex_of_rank = _run(edges | architecture | {"seed": seed})
        router = relieve_overfull_routers(routers[vertex_of_rank], slots)
        core = np.empty(slots.ranks, dtype=np.int64)
        core[np.argsort(router, kind="stable")] = np.argsort(slots.router_of_core, kind="stable")
        return core


def _architecture(slots: Slots) -> tuple[Ints, dict[str, Any]]:
    """The router of each vertex of Scotch's architecture, and the architecture."""
    machine = slots.machine
    cores = np.bincount(slots.router_of_core, minlength=machine.routers).astype(np.int64)
    closed = _closed(machine)
    if closed is None or len(np.unique(cores)) > 1:
        links = adjacency(machine)
        joined = {"joined_first": links.first.astype(np.int64), "joined": links.head}
        return np.flatnonzero(cores), {"shape": np.empty(0, np.int64), "closed": False, "cores": cores, **joined}
    assert machine.coordinates is not None
    shape = np.array([dimension.length for dimension in machine.dimensions], dtype=np.int64)
    routers = np.argsort(np.ravel_multi_index(tuple(machine.coordinates.T), tuple(shape)))
    # The first of Scotch's dimensions is the fastest.
    return routers, {"shape": shape[::-1].copy(), "closed": closed}


def _closed(machine: Machine) -> bool | None:
    """True if all dimensions of a grid are rings, False if all are lines, else None."""
    if machine.coordinates is None or not machine.dimensions:
        return None
    # A ring of two is a line of two.
    kinds = {dimension.graph for dimension in machine.dimensions if dimension.length > 2}
    return None if kinds not in ({"rings"}, {"lines"}) else kinds == {"rings"}


def _run(problem: dict[str, Any]) -> Ints:
    """Run Scotch with one thread: with several, its results are not deterministic."""
    data = io.BytesIO()
    np.savez(data, **problem)
    # -P: do not import from the folder of the script.
    done = subprocess.run(
        [sys.executable, "-P", str(SCOTCH_SCRIPT)], input=data.getvalue(), capture_output=True, check=False,
        env={**os.environ, "SCOTCH_PTHREAD_NUMBER": "1"},
    )  # fmt: skip
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise WorkloadError(f"Scotch exited with {done.returncode}: {lines[-1] if lines else 'no message'}")
    vertex_of_rank: Ints = np.load(io.BytesIO(done.stdout))
    return vertex_of_rank


def relieve_overfull_routers(router: Ints, slots: Slots) -> Ints:
    """Move the last ranks of routers with more ranks than cores to the nearest routers with free cores."""
    table, moved = hop_distances(slots.machine), router.copy()
    free_cores = np.bincount(slots.router_of_core, minlength=slots.machine.routers)
    free_cores -= np.bincount(router, minlength=slots.machine.routers)
    for full in np.flatnonzero(free_cores < 0):
        for rank in np.flatnonzero(router == full)[free_cores[full] :]:
            free = np.flatnonzero(free_cores > 0)
            nearest = free[np.argmin(table.between(np.array([full]), free))]
            moved[rank] = nearest
            free_cores[nearest] -= 1
    return moved


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
        loads = problem["cores"]
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
    """Read the problem from standard input, and write the vertex of each task."""
    with np.load(io.BytesIO(sys.stdin.buffer.read())) as problem:
        vertex_of_task = mapped(problem)
    np.save(sys.stdout.buffer, vertex_of_task)


if __name__ == "__main__":
    main()
