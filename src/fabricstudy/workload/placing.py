"""From a point to its placed jobs."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import inf
from typing import Protocol

import numpy as np

from fabricstudy.core.input_files import MAX_TRAFFIC_BYTES
from fabricstudy.core.model import ConfigError
from fabricstudy.machine.graph import Machine
from fabricstudy.workload.pattern.base import MessagePattern, Pattern
from fabricstudy.workload.pattern.send_order import in_send_order

from .allocation.request import NO_JOB, Grant, Request
from .compute import computing
from .job import Job
from .mapping.slots import Slots
from .mapping.tasks import Tasks
from .messages import Indices, IntArray, Mask, Messages, PlacedJob, WorkloadError
from .pattern.job_placement import JobPlacement
from .pattern.sends import Sends
from .streams import Purpose, stream


class _HasJobs(Protocol):
    """What of a point matters here."""

    @property
    def jobs(self) -> tuple[Job, ...]:
        """The jobs, in the order in which nodes are given out."""

    @property
    def seed(self) -> int:
        """Seed of all random choices."""


# About 8 GB while they are put in order; a study that asks for more is refused rather than killed.
MAX_MESSAGES = 2**27


@dataclass(frozen=True, eq=False)
class Placement:
    """Where the ranks of a job run.

    Parameters
    ----------
    node_of_rank : int32 array [ranks]
        Node of each rank.
    mapping_start : str or None
        The start that the mapping is from, None where it does not try several.
    """

    node_of_rank: IntArray
    mapping_start: str | None = None


def place(point: _HasJobs, machine: Machine, cut_side: Mask) -> list[PlacedJob]:
    """Give each job of a point its nodes, map its ranks to them and generate its messages.

    Parameters
    ----------
    point : Point
        Jobs and seed.
    machine : Machine
        The machine of the point.
    cut_side : bool array [routers]
        One side of the machine's best cut, for the bisection pattern.

    Returns
    -------
    list of PlacedJob
        In the order of the point's jobs.

    Raises
    ------
    WorkloadError
        If a job does not fit, or its pattern cannot be made where it lies.
    """
    return generate_messages(point, machine, cut_side, dict(placements(point, machine)))


def placements(
    point: _HasJobs, machine: Machine, wanted: Collection[int] | None = None
) -> Iterator[tuple[int, Placement]]:
    """Allocate the nodes of jobs and map their ranks, in the order of the point's jobs.

    Jobs are allocated in order, each from the nodes its predecessors left free. What a job gets depends on the seed,
    on its position, on itself and on the allocations before it; not on bandwidths, on names, on later jobs, or on what
    the other jobs send.

    Parameters
    ----------
    wanted : collection of int, optional
        Positions of the jobs whose ranks are mapped; all where left out.

    Raises
    ------
    WorkloadError
        At the first job that does not fit.
    """
    holder = np.full(machine.nodes, NO_JOB, dtype=np.int32)
    last = max(wanted, default=-1) if wanted is not None else len(point.jobs) - 1
    for index, job in enumerate(point.jobs[: last + 1]):
        with _naming(index):
            grant = _allocate(job, index, point.seed, machine, holder)
            holder[grant.all_reserved] = index
            if wanted is None or index in wanted:
                slots = Slots(machine, grant.nodes.astype(np.int32), _ranks_per_node(job, machine))
                _refuse_hopeless(job.pattern, slots.ranks)
                core, start = job.mapping.map_ranks_with_start(
                    slots, _tasks(job, index, point.seed, slots.ranks), stream(point.seed, index, Purpose.MAPPING)
                )
                yield index, Placement(slots.node_of_core[core], start)


def generate_messages(
    point: _HasJobs, machine: Machine, cut_side: Mask, placed: Mapping[int, Placement]
) -> list[PlacedJob]:
    """Generate the messages of jobs of a point whose ranks are placed, by position among its jobs.

    Raises
    ------
    WorkloadError
        If a pattern cannot be made where its job lies.
    """
    jobs = []
    for index, placement in placed.items():
        job = point.jobs[index]
        with _naming(index):
            site = JobPlacement(machine, placement.node_of_rank, cut_side)
            messages = _messages(job, index, point.seed, len(placement.node_of_rank), site)[0]
            lasts_ns = inf if job.background else None
            sent = PlacedJob(
                job.name, placement.node_of_rank, messages, lasts_ns, mapping_start=placement.mapping_start
            )
            jobs.append(_computing(sent, job, index, point.seed))
    return jobs


@contextmanager
def _naming(index: int) -> Iterator[None]:
    """Name the job of an error by position: the point's record is shared by studies that name their jobs otherwise."""
    try:
        yield
    except WorkloadError as error:
        raise WorkloadError(f"job {index}: {error}") from None


def job_of_node(point: _HasJobs, machine: Machine) -> IntArray:
    """Give the job that runs on each node of a placed point, `NO_JOB` where none does, int32 [nodes].

    Raises
    ------
    WorkloadError
        If a job does not fit.
    """
    reserved, used = (np.full(machine.nodes, NO_JOB, dtype=np.int32) for _ in range(2))
    for index, job in enumerate(point.jobs):
        grant = _allocate(job, index, point.seed, machine, reserved)
        reserved[grant.all_reserved] = used[grant.nodes] = index
    return used


def _allocate(job: Job, index: int, seed: int, machine: Machine, holder: IntArray) -> Grant:
    wanted, left = job.node_count(machine.nodes), int(np.count_nonzero(holder == NO_JOB))
    if wanted < 1:
        raise WorkloadError(f"its share of {machine.nodes} nodes is less than one node; give it a larger share")
    if wanted > left:
        raise WorkloadError(f"it needs {wanted} nodes and {left} are free; make the jobs smaller")
    rng, common_rng = stream(seed, index, Purpose.ALLOCATION), stream(seed, 0, Purpose.ALL_JOBS)
    return job.allocation.allocate(Request(machine, holder, wanted, rng, common_rng))


def _ranks_per_node(job: Job, machine: Machine) -> int:
    ranks_per_node = job.ranks_per_node or machine.cores_per_node
    if ranks_per_node > machine.cores_per_node:
        raise WorkloadError(f"{ranks_per_node} ranks per node and {machine.cores_per_node} cores; lower ranks_per_node")
    return ranks_per_node


def _tasks(job: Job, index: int, seed: int, ranks: int) -> Tasks:
    """Return what a mapping goes by: no messages where the traffic follows the placement, or does not matter."""
    if job.pattern.follows_placement or not (job.mapping.needs_traffic or job.mapping.needs_places):
        return Tasks(ranks)
    return Tasks(ranks, *_messages(job, index, seed, ranks, None))


def _messages(
    job: Job, index: int, seed: int, ranks: int, site: JobPlacement | None
) -> tuple[Messages, Indices | None]:
    """Return the messages of a job in the order in which ranks send, and the ranks' places in the application."""
    pattern, order = job.pattern, stream(seed, index, Purpose.ORDER)
    if pattern.follows_placement:
        assert site is not None
        sends, places = pattern.sends_at(site), None
    else:
        sends, places = _numbered(pattern, ranks, index, seed)
    return _countable(in_send_order(sends, pattern, ranks, order)), places


def _countable(messages: Messages) -> Messages:
    """Return the messages if 64 bits count their bytes."""
    total = float(messages.size_bytes.sum(dtype=np.float64))
    if total > MAX_TRAFFIC_BYTES:
        raise WorkloadError(f"{total:.3g} bytes in all, and at most {MAX_TRAFFIC_BYTES:.3g} can be counted; send less")
    return messages


def _computing(placed: PlacedJob, job: Job, index: int, seed: int) -> PlacedJob:
    if job.compute is None:
        return placed
    iterations = getattr(job.pattern, "iterations", 1)
    rows = computing(job.compute, placed.messages, iterations, stream(seed, index, Purpose.COMPUTE))
    return replace(placed, computing=rows)


def _numbered(pattern: Pattern, ranks: int, index: int, seed: int) -> tuple[Sends, Indices | None]:
    """Give the sends and the ranks' places in the application, with the numbers of ranks that the pattern states."""
    sends, places = pattern.sends(ranks, stream(seed, index, Purpose.PATTERN)), pattern.places(ranks)
    if not isinstance(pattern, MessagePattern) or pattern.numbering == "natural":
        return sends, places
    number = stream(seed, index, Purpose.NUMBERING).permutation(ranks)
    renumbered = replace(sends, source=number[sends.source], destination=number[sends.destination])
    return renumbered, None if places is None else places[np.argsort(number)]


def _refuse_hopeless(pattern: Pattern, ranks: int) -> None:
    if pattern.silent:
        return
    if ranks < 2:
        raise WorkloadError(f"the pattern {pattern.kind} needs at least 2 ranks; give the job more nodes")
    try:
        pattern.check_ranks(ranks)
    except ConfigError as error:
        raise WorkloadError(str(error)) from None
    messages = pattern.traffic_messages(ranks)
    if messages > MAX_MESSAGES:
        raise WorkloadError(
            f"{messages:.3g} messages, and at most {MAX_MESSAGES:.3g} can be made; lower iterations or ranks"
        )
