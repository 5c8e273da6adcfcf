"""From a point to its placed jobs."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Protocol

import numpy as np

from fabricstudy.core.input_files import MOST_BYTES
from fabricstudy.core.model import ConfigError
from fabricstudy.machine.graph import Machine
from fabricstudy.workload.pattern.base import MessagePattern, Pattern
from fabricstudy.workload.pattern.send_order import in_send_order

from .allocation.request import NOBODY, Grant, Request
from .compute import computing
from .job import Job
from .mapping.slots import Slots
from .mapping.tasks import Tasks
from .messages import Indices, IntArray, Mask, Messages, PlacedJob, WorkloadError
from .pattern.sends import Sends
from .pattern.site import Site
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
MOST_MESSAGES = 2**27


def place(point: _HasJobs, machine: Machine, cut_side: Mask) -> list[PlacedJob]:
    """Place the jobs of a point: give each its nodes, map its ranks to them and generate its messages.

    Jobs are allocated in order, each from the nodes its predecessors left free. What a job gets depends on
    the seed, on its position, on itself and on the allocations before it; not on names, on later jobs, or on
    what the other jobs send. `cut_side` (bool [routers]) is one side of the best cut, for the bisection pattern.

    Raises WorkloadError if a job does not fit, or its pattern cannot be made where it lies.
    """
    holder = np.full(machine.nodes, NOBODY, dtype=np.int32)
    placed = []
    for index, job in enumerate(point.jobs):
        try:
            grant = _allocate(job, index, point.seed, machine, holder)
            holder[grant.all_reserved] = index
            ranks_per_node = job.ranks_per_node or machine.cores_per_node
            if ranks_per_node > machine.cores_per_node:
                cores = f"{ranks_per_node} ranks per node and {machine.cores_per_node} cores"
                raise WorkloadError(f"{cores}; lower ranks_per_node")
            slots = Slots(machine, grant.nodes.astype(np.int32), ranks_per_node)
            _refuse_hopeless(job.pattern, slots.ranks)
            placed.append(_map_and_send(job, index, point.seed, slots, cut_side))
            if job.compute is not None:
                iterations, rng = getattr(job.pattern, "iterations", 1), stream(point.seed, index, Purpose.COMPUTE)
                rows = computing(job.compute, placed[-1].messages, iterations, rng)
                placed[-1] = replace(placed[-1], computing=rows)
        except WorkloadError as error:
            # By position: the point's record is shared by studies that name their jobs differently.
            raise WorkloadError(f"job {index}: {error}") from None
    return placed


def holders(point: _HasJobs, machine: Machine) -> IntArray:
    """Return the job that runs on each node of a placed point, `NOBODY` where none does, int32 [nodes].

    Raises WorkloadError if a job does not fit.
    """
    reserved, used = (np.full(machine.nodes, NOBODY, dtype=np.int32) for _ in range(2))
    for index, job in enumerate(point.jobs):
        grant = _allocate(job, index, point.seed, machine, reserved)
        reserved[grant.all_reserved] = used[grant.nodes] = index
    return used


def _allocate(job: Job, index: int, seed: int, machine: Machine, holder: IntArray) -> Grant:
    wanted, left = job.node_count(machine.nodes), int(np.count_nonzero(holder == NOBODY))
    if wanted < 1:
        raise WorkloadError(f"its share of {machine.nodes} nodes is less than one node; give it a larger share")
    if wanted > left:
        raise WorkloadError(f"it needs {wanted} nodes and {left} are free; make the jobs smaller")
    rng, common_rng = stream(seed, index, Purpose.ALLOCATION), stream(seed, 0, Purpose.ALL_JOBS)
    return job.allocation.allocate(Request(machine, holder, wanted, rng, common_rng))


def _map_and_send(job: Job, index: int, seed: int, slots: Slots, cut_side: Mask) -> PlacedJob:
    """Map ranks and generate messages, that first on which the other depends."""
    pattern, order = job.pattern, stream(seed, index, Purpose.ORDER)
    lasts_ns = inf if job.background else None
    if pattern.follows_placement:
        node_of_rank, start = _map_ranks(job, index, seed, slots, Tasks(slots.ranks))
        sends = pattern.sends_at(Site(slots.machine, node_of_rank, cut_side))
        messages = _countable(in_send_order(sends, pattern, slots.ranks, order))
        return PlacedJob(job.name, node_of_rank, messages, lasts_ns, mapping_start=start)
    sends, places = _numbered(pattern, slots.ranks, index, seed)
    messages = _countable(in_send_order(sends, pattern, slots.ranks, order))
    node_of_rank, start = _map_ranks(job, index, seed, slots, Tasks(slots.ranks, messages, places))
    return PlacedJob(job.name, node_of_rank, messages, lasts_ns, mapping_start=start)


def _countable(messages: Messages) -> Messages:
    """Return the messages if 64 bits count their bytes."""
    total = float(messages.size_bytes.sum(dtype=np.float64))
    if total > MOST_BYTES:
        raise WorkloadError(f"{total:.3g} bytes in all, and at most {MOST_BYTES:.3g} can be counted; send less")
    return messages


def _numbered(pattern: Pattern, ranks: int, index: int, seed: int) -> tuple[Sends, Indices | None]:
    """Return the sends and the ranks' places in the application, with the numbers of ranks that the pattern states."""
    sends, places = pattern.sends(ranks, stream(seed, index, Purpose.PATTERN)), pattern.places(ranks)
    if not isinstance(pattern, MessagePattern) or pattern.numbering == "natural":
        return sends, places
    number = stream(seed, index, Purpose.NUMBERING).permutation(ranks)
    renumbered = replace(sends, source=number[sends.source], destination=number[sends.destination])
    return renumbered, None if places is None else places[np.argsort(number)]


def _map_ranks(job: Job, index: int, seed: int, slots: Slots, tasks: Tasks) -> tuple[IntArray, str | None]:
    """Return the node of each rank, int32 [ranks], and the start that the mapping is from."""
    core, start = job.mapping.seat_ranks(slots, tasks, stream(seed, index, Purpose.MAPPING))
    return slots.node_of_core[core], start


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
    if messages > MOST_MESSAGES:
        problem = f"{messages:.3g} messages, and at most {MOST_MESSAGES:.3g} can be made; lower iterations or ranks"
        raise WorkloadError(problem)
