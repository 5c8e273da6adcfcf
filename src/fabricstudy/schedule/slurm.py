"""The nodes that Slurm assigns on a machine in use."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from fabricstudy.core.arrays import Bools, Floats, Ints
from fabricstudy.core.model import ConfigError
from fabricstudy.machine.graph import Machine
from fabricstudy.workload.allocation.base import Grant, Request
from fabricstudy.workload.messages import WorkloadError

from .best_fit import best_fit, switch_tree
from .fragmented import Fragmented
from .jobs import Jobs
from .trace.base import Trace


class Slurm(Fragmented, kind="slurm"):
    """Nodes that Slurm's topology/tree assigns while other jobs run: best fit over leaf switches.

    Jobs of the trace run in order of arrival with EASY backfilling, and get nodes by best fit over leaf switches, as
    Slurm 22.05 selects them (SchedMD: topology guide). After that time, the jobs of the point are submitted one after
    the other, each as soon as the one before has started. It is at the head of the queue, starts as soon as enough
    nodes are free, and keeps them; the jobs of the trace go on arriving, and start on the others. All jobs of the point
    need this allocation.
    """

    job_cpu_s = 2e-4

    def allocate(self, request: Request) -> Grant:
        jobs = int(request.holder.max()) + 1
        sizes = (*(int(np.count_nonzero(request.holder == job)) for job in range(jobs)), request.wanted)
        seed = int(request.common_rng.integers(2**31))
        state = _placed(request.machine, self.trace, self.after_s, seed, sizes)
        if not np.array_equal(state.holder[state.holder < jobs], request.holder[state.holder < jobs]):
            raise WorkloadError("a job before it has another allocation; use slurm, with the same keys, for all jobs")
        return Grant(np.flatnonzero(state.holder == jobs))

    def remark(self, nodes: int, machine_nodes: int) -> str:
        return ""


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
def _placed(machine: Machine, trace: Trace, after_s: float, seed: int, sizes: tuple[int, ...]) -> _State:
    """Return the state when the last of the point's jobs, of these sizes, has started."""
    jobs = _jobs(trace, machine.nodes, seed)
    if not sizes:
        if jobs.submit_s[-1] < after_s:
            days = jobs.submit_s[-1] / 86400
            problem = f"the last job of the trace arrives after {days:.2g} days"
            raise WorkloadError(f"{problem}; use more jobs, or a lower load")
        nodes = machine.nodes
        state = _State(0.0, np.zeros(nodes), np.zeros(nodes), np.full(nodes, -1), (), 0)
        return _run(machine, jobs, state, None, after_s)
    before = _placed(machine, trace, after_s, seed, sizes[:-1])
    state = _run(machine, jobs, before, sizes[-1], np.inf)
    own = best_fit(switch_tree(machine), state.free, sizes[-1])
    end_s, expected_s, holder = state.end_s.copy(), state.expected_s.copy(), state.holder.copy()
    end_s[own] = expected_s[own] = np.inf
    holder[own] = len(sizes) - 1
    return replace(state, end_s=end_s, expected_s=expected_s, holder=holder)


@lru_cache(maxsize=4)
def _jobs(trace: Trace, nodes: int, seed: int) -> Jobs:
    try:
        return trace.jobs(nodes, 1, seed, Path())
    except ConfigError as error:
        raise WorkloadError(f"{error.problem}; {error.remedy}") from None


def _run(machine: Machine, jobs: Jobs, state: _State, wanted: int | None, until_s: float) -> _State:
    """Run jobs of the trace until a time, or until `wanted` nodes are free for the head of the queue."""
    tree, now_s, queue, arrived = switch_tree(machine), state.now_s, list(state.queue), state.arrived
    end_s, expected_s = state.end_s.copy(), state.expected_s.copy()
    while True:
        free = end_s <= now_s
        if wanted is not None and np.count_nonzero(free) >= wanted:
            break
        for job in _startable(jobs, queue, now_s, expected_s, free, wanted):
            nodes = best_fit(tree, free, int(jobs.nodes[job]))
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
    jobs: Jobs, queue: list[int], now_s: float, expected_s: Floats, free: Bools, wanted: int | None
) -> Iterator[int]:
    """Yield the jobs that start now by EASY backfilling, and take them from the queue; `free` changes meanwhile.

    The head is a job of the point that needs `wanted` nodes, or the first of the queue that does not fit.
    """
    begin_s, spare = np.inf, 0
    left = np.count_nonzero(free)
    if wanted is not None:
        begin_s, spare = _reservation(now_s, expected_s, free, wanted)
    for job in list(queue):
        if not left:
            return
        nodes, by_s = int(jobs.nodes[job]), now_s + jobs.request_s[job]
        if nodes <= left and (wanted is None or by_s <= begin_s or nodes <= spare):
            spare -= nodes if by_s > begin_s else 0
            left -= nodes
            queue.remove(job)
            yield job
        elif wanted is None:
            wanted = nodes
            begin_s, spare = _reservation(now_s, expected_s, free, wanted)


def _reservation(now_s: float, expected_s: Floats, free: Bools, wanted: int) -> tuple[float, int]:
    """Return when so many nodes are free by requested times, and how many more are."""
    at_s = np.sort(np.where(free, now_s, np.maximum(expected_s, now_s)))
    begin_s = at_s[wanted - 1]
    return float(begin_s), int(np.searchsorted(at_s, begin_s, side="right")) - wanted
