"""From a point to its placed jobs."""

from __future__ import annotations

import numpy as np

from fabricstudy.machine import Machine
from fabricstudy.study import Job, PatternConfig, Point

from .allocation import ALLOCATIONS
from .mapping import MAPPINGS, Seats
from .pattern import PATTERNS, PLACED_PATTERNS, Site, in_send_order
from .placed import IntArray, Mask, PlacedJob, WorkloadError
from .streams import Purpose, stream

# About 8 GB while they are put in order; a study that asks for more is told so rather than killed.
MOST_MESSAGES = 2**27


def place(point: Point, machine: Machine, half: Mask) -> list[PlacedJob]:
    """Give each job of a point its nodes, seat its ranks there and make its messages.

    Jobs are allocated in order, each from the nodes its predecessors left free. What a job gets depends on
    the seed, on its position, on itself and on the allocations before it; not on names, on later jobs, or on
    what the other jobs send.

    Parameters
    ----------
    point : Point
        Jobs and seed.
    machine : Machine
        The machine of the point.
    half : bool array [routers]
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
    free = np.ones(machine.nodes, dtype=np.bool_)
    placed = []
    for index, job in enumerate(point.jobs):
        try:
            seats = Seats(machine, _allocate(job, index, point.seed, machine, free), _ranks_per_node(job, machine))
            free[seats.nodes] = False
            placed.append(_seat(job, index, point.seed, seats, half))
        except WorkloadError as error:
            # By position: the point's record is shared by studies that name their jobs differently.
            raise WorkloadError(f"job {index}: {error}") from None
    return placed


def _allocate(job: Job, index: int, seed: int, machine: Machine, free: Mask) -> IntArray:
    wanted, left = job.node_count(machine.nodes), int(np.count_nonzero(free))
    if wanted < 1:
        raise WorkloadError(f"its share of {machine.nodes} nodes is less than one node; give it a larger share")
    if wanted > left:
        raise WorkloadError(f"it needs {wanted} nodes and {left} are free; make the jobs smaller")
    rng = stream(seed, index, Purpose.ALLOCATION)
    return ALLOCATIONS[job.allocation.kind](job.allocation, machine, free, wanted, rng).astype(np.int32)


def _ranks_per_node(job: Job, machine: Machine) -> int:
    ranks_per_node = job.ranks_per_node or machine.cores_per_node
    if ranks_per_node > machine.cores_per_node:
        raise WorkloadError(f"{ranks_per_node} ranks per node and {machine.cores_per_node} cores; lower ranks_per_node")
    return ranks_per_node


def _seat(job: Job, index: int, seed: int, seats: Seats, half: Mask) -> PlacedJob:
    _refuse_hopeless(job.pattern, seats.ranks)
    order = stream(seed, index, Purpose.ORDER)
    kind, mapping = job.pattern.kind, MAPPINGS[job.mapping.kind]
    seating = stream(seed, index, Purpose.MAPPING)
    if kind in PLACED_PATTERNS:
        node_of_rank = seats.node_of_core[mapping(job.mapping, seats, None, seating)]
        sends = PLACED_PATTERNS[kind](job.pattern, Site(seats.machine, node_of_rank, half))
        return PlacedJob(job.name, node_of_rank, in_send_order(sends, job.pattern, seats.ranks, order))
    sends = PATTERNS[kind](job.pattern, seats.ranks, stream(seed, index, Purpose.PATTERN))
    messages = in_send_order(sends, job.pattern, seats.ranks, order)
    return PlacedJob(job.name, seats.node_of_core[mapping(job.mapping, seats, messages, seating)], messages)


def _refuse_hopeless(pattern: PatternConfig, ranks: int) -> None:
    if pattern.kind != "idle" and ranks < 2:
        raise WorkloadError(f"the pattern {pattern.kind} needs at least 2 ranks; give the job more nodes")
    messages = pattern.traffic_messages(ranks)
    if messages > MOST_MESSAGES:
        raise WorkloadError(
            f"{messages:.3g} messages, and at most {MOST_MESSAGES:.3g} can be made; lower iterations or ranks"
        )
