"""The nodes that Slurm assigns on a machine in use."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Annotated, NamedTuple

import numpy as np
from pydantic import Field

from fabricstudy.core.arrays import Bools, Floats, Ints
from fabricstudy.core.model import ConfigError, Whole, model_check
from fabricstudy.machine.base import Topology
from fabricstudy.machine.graph import Machine
from fabricstudy.workload.allocation.base import Grant, Request
from fabricstudy.workload.messages import WorkloadError

from .best_fit import best_fit, switch_tree
from .block_fit import block_fit
from .fragmented import Fragmented, arrivals
from .jobs import Jobs


class Slurm(Fragmented, kind="slurm"):
    """Nodes that Slurm assigns while other jobs run: by topology/tree, or with `block_sizes` by topology/block.

    Jobs of the trace run in order of arrival with EASY backfilling. They get nodes by best fit over leaf switches, as
    Slurm 22.05 selects them, or in as few blocks as possible, as Slurm 24.05 and later do (SchedMD: topology guide).
    After that time, the jobs of the point are submitted one after the other, each as soon as the one before has
    started. It is at the head of the queue, starts as soon as it can have nodes, and keeps them; the jobs of the trace
    go on arriving, and start on the others. All jobs of the point need this allocation.

    Not modelled are Slurm's own queue and its backfilling: priorities, partitions, limits, and the intervals in which
    it looks at the queue. With blocks, a job starts before the head only if it ends by the reserved time.
    """

    job_cpu_s = 2e-4

    block_sizes: tuple[Annotated[Whole, Field(ge=1)], ...] | None = Field(
        None,
        min_length=1,
        max_length=16,
        description="sizes of blocks in nodes: that of base blocks, which are runs of consecutive nodes, and it times "
        "powers of two; default: topology/tree",
    )

    @model_check
    def _doubled(self) -> None:
        for number, (smaller, larger) in enumerate(pairwise(self.block_sizes or ()), start=1):
            factor = larger // smaller
            if larger % smaller or factor < 2 or factor & (factor - 1):
                problem, path = "not the size before it times a power of two", ("block_sizes", str(number))
                raise ConfigError(problem, f"use a size such as {2 * smaller}", path, larger, "out-of-range")

    def reserved_nodes(self, machine: Topology, nodes: int) -> int:
        if self.block_sizes is not None and machine.nodes % self.block_sizes[0]:
            problem = f"the {machine.nodes} nodes of the machine are no multiple of it"
            raise ConfigError(problem, "use a divisor", ("block_sizes", "0"), self.block_sizes[0], "does-not-fit")
        return nodes

    def allocate(self, request: Request) -> Grant:
        jobs = int(request.holder.max()) + 1
        sizes = (*(int(np.count_nonzero(request.holder == job)) for job in range(jobs)), request.wanted)
        seed = int(request.common_rng.integers(2**31))
        trace = arrivals(self.trace, request.machine.nodes, self.after_s, seed, self.folder)
        state = _placed(_Site(request.machine, trace, self.block_sizes), self.after_s, sizes)
        if not np.array_equal(state.holder[state.holder < jobs], request.holder[state.holder < jobs]):
            raise WorkloadError("a job before it has another allocation; use slurm, with the same keys, for all jobs")
        return Grant(np.flatnonzero(state.holder == jobs))

    def remark(self, nodes: int, machine_nodes: int) -> str:
        return ""


class _Site(NamedTuple):
    """A machine, the jobs of the trace, and the sizes of its blocks."""

    machine: Machine
    jobs: Jobs
    block_sizes: tuple[int, ...] | None

    def selected(self, free: Bools, wanted: int) -> Ints | None:
        """Return nodes for a job, or None if it has to wait."""
        if np.count_nonzero(free) < wanted:
            return None
        if self.block_sizes is None:
            return best_fit(switch_tree(self.machine), free, wanted)
        return block_fit(self.block_sizes, free, wanted)

    def reservation(self, now_s: float, expected_s: Floats, free: Bools, wanted: int) -> tuple[float, int]:
        """Return when a job can have nodes by requested times, and how many more later jobs may use then."""
        of_node_s = np.where(free, now_s, np.maximum(expected_s, now_s))
        at_s = np.sort(of_node_s)
        if self.block_sizes is None:
            begin_s = at_s[wanted - 1]
            return float(begin_s), int(np.searchsorted(at_s, begin_s, side="right")) - wanted
        times = np.unique(at_s[wanted - 1 :])
        return next((float(then) for then in times if self.selected(of_node_s <= then, wanted) is not None), np.inf), 0


@dataclass(frozen=True, eq=False)
class _State:
    """The machine at a moment: what runs, and what waits."""

    now_s: float
    end_s: Floats
    expected_s: Floats
    """When each node becomes free, and by requested times; float64 [nodes], infinite for jobs of the point."""
    holder: Ints
    """Job of the point on each node, -1 if none; int64 [nodes]."""
    queue: tuple[int, ...]
    arrived: int
    """Jobs of the trace that wait, and the number of those that have arrived."""

    @property
    def free(self) -> Bools:
        return self.end_s <= self.now_s


@lru_cache(maxsize=64)
def _placed(site: _Site, after_s: float, sizes: tuple[int, ...]) -> _State:
    """Return the state when the last of the point's jobs, of these sizes, has started."""
    if not sizes:
        nodes = site.machine.nodes
        state = _State(0.0, np.zeros(nodes), np.zeros(nodes), np.full(nodes, -1), (), 0)
        return _run(site, state, None, after_s)
    state = _run(site, _placed(site, after_s, sizes[:-1]), sizes[-1], np.inf)
    own = site.selected(state.free, sizes[-1])
    if own is None:
        raise WorkloadError("the jobs before it leave no such blocks; place large jobs first, or use smaller blocks")
    end_s, expected_s, holder = state.end_s.copy(), state.expected_s.copy(), state.holder.copy()
    end_s[own] = expected_s[own] = np.inf
    holder[own] = len(sizes) - 1
    return replace(state, end_s=end_s, expected_s=expected_s, holder=holder)


def _run(site: _Site, state: _State, wanted: int | None, until_s: float) -> _State:
    """Run jobs of the trace until a time, or until the head of the queue can have `wanted` nodes."""
    jobs, now_s, queue, arrived = site.jobs, state.now_s, list(state.queue), state.arrived
    end_s, expected_s = state.end_s.copy(), state.expected_s.copy()
    while True:
        free = end_s <= now_s
        if wanted is not None and site.selected(free, wanted) is not None:
            break
        for job, nodes in _startable(site, queue, now_s, expected_s, free, wanted):
            free[nodes] = False
            end_s[nodes] = now_s + jobs.runtime_s[job]
            expected_s[nodes] = now_s + jobs.request_s[job]
        next_s = min(end_s[end_s > now_s].min(initial=np.inf), *jobs.submit_s[arrived : arrived + 1], np.inf)
        if next_s > until_s or np.isinf(next_s):
            break
        now_s = next_s
        first, arrived = arrived, int(np.searchsorted(jobs.submit_s, now_s, side="right"))
        queue += range(first, arrived)
    return _State(now_s if wanted is not None else until_s, end_s, expected_s, state.holder, tuple(queue), arrived)


def _startable(
    site: _Site, queue: list[int], now_s: float, expected_s: Floats, free: Bools, wanted: int | None
) -> Iterator[tuple[int, Ints]]:
    """Yield the jobs that start now by EASY backfilling, with their nodes, and take them from the queue.

    `free` changes meanwhile. The head is a job of the point that needs `wanted` nodes, or the first of the queue that
    does not fit.
    """
    begin_s, spare = np.inf, 0
    left = np.count_nonzero(free)
    if wanted is not None:
        begin_s, spare = site.reservation(now_s, expected_s, free, wanted)
    for job in list(queue):
        if not left:
            return
        nodes, by_s = int(site.jobs.nodes[job]), now_s + site.jobs.request_s[job]
        may_start = wanted is None or by_s <= begin_s or nodes <= spare
        selected = site.selected(free, nodes) if may_start and nodes <= left else None
        if selected is not None:
            spare -= nodes if by_s > begin_s else 0
            left -= nodes
            queue.remove(job)
            yield job, selected
        elif wanted is None:
            wanted = nodes
            begin_s, spare = site.reservation(now_s, expected_s, free, wanted)
