"""From a point to its placed jobs."""

from __future__ import annotations

from math import inf
from typing import Protocol

import numpy as np

from fabricstudy.machine.graph import Machine
from fabricstudy.model import ConfigError
from fabricstudy.workload.pattern.base import Pattern
from fabricstudy.workload.pattern.send_order import in_send_order

from .allocation.request import NOBODY, Grant, Request
from .job import Job
from .mapping.slots import Slots
from .messages import Indices, IntArray, Mask, Messages, PlacedJob, WorkloadError
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


# About 8 GB while they are put in order; a study that asks for more is told so rather than killed.
MOST_MESSAGES = 2**27


def place(point: _HasJobs, machine: Machine, cut_side: Mask, distances: Indices | None = None) -> list[PlacedJob]:
    """Give each job of a point its nodes, map its ranks to them and generate its messages.

    Jobs are allocated in order, each from the nodes its predecessors left free. What a job gets depends on
    the seed, on its position, on itself and on the allocations before it; not on names, on later jobs, or on
    what the other jobs send.

    Parameters
    ----------
    point : Point
        Jobs and seed.
    machine : Machine
        The machine of the point.
    cut_side : bool array [routers]
        One side of the machine's best cut, for the bisection pattern.
    distances : integer array [routers, routers], optional
        Hops between routers; computed where a pattern needs them and they are left out.

    Returns
    -------
    list of PlacedJob
        In the order of the point's jobs.

    Raises
    ------
    WorkloadError
        If a job does not fit, or its pattern cannot be made where it lies.
    """
    holder = np.full(machine.nodes, NOBODY, dtype=np.int32)
    placed = []
    for index, job in enumerate(point.jobs):
        try:
            grant = _allocate(job, index, point.seed, machine, holder)
            holder[grant.all_reserved] = index
            slots = Slots(machine, grant.nodes.astype(np.int32), _ranks_per_node(job, machine))
            _refuse_hopeless(job.pattern, slots.ranks)
            placed.append(_map_and_send(job, index, point.seed, slots, cut_side, distances))
        except WorkloadError as error:
            # By position: the point's record is shared by studies that name their jobs differently.
            raise WorkloadError(f"job {index}: {error}") from None
    return placed


def _allocate(job: Job, index: int, seed: int, machine: Machine, holder: IntArray) -> Grant:
    wanted, left = job.node_count(machine.nodes), int(np.count_nonzero(holder == NOBODY))
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


def _map_and_send(
    job: Job, index: int, seed: int, slots: Slots, cut_side: Mask, distances: Indices | None
) -> PlacedJob:
    """Map ranks and generate messages, that first on which the other depends."""
    pattern, order = job.pattern, stream(seed, index, Purpose.ORDER)
    lasts_ns = inf if job.background else None
    if pattern.follows_placement:
        node_of_rank = _map_ranks(job, index, seed, slots, None)
        sends = pattern.sends_at(Site(slots.machine, node_of_rank, cut_side, distances))
        return PlacedJob(job.name, node_of_rank, in_send_order(sends, pattern, slots.ranks, order), lasts_ns)
    sends = pattern.sends(slots.ranks, stream(seed, index, Purpose.PATTERN))
    messages = in_send_order(sends, pattern, slots.ranks, order)
    return PlacedJob(job.name, _map_ranks(job, index, seed, slots, messages), messages, lasts_ns)


def _map_ranks(job: Job, index: int, seed: int, slots: Slots, messages: Messages | None) -> IntArray:
    """Give the node of each rank, int32 [ranks]."""
    return slots.node_of_core[job.mapping.map_ranks(slots, messages, stream(seed, index, Purpose.MAPPING))]


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
        raise WorkloadError(
            f"{messages:.3g} messages, and at most {MOST_MESSAGES:.3g} can be made; lower iterations or ranks"
        )
