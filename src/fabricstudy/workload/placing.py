"""Placement of the jobs of a point, and their messages."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np

from fabricstudy.core.arrays import Bools, Int32s, Integers
from fabricstudy.core.input_files import MAX_TRAFFIC_BYTES, InputFileError
from fabricstudy.core.model import ConfigError
from fabricstudy.core.returned import Returned
from fabricstudy.core.source import extension_package
from fabricstudy.machine.graph import Machine
from fabricstudy.workload.pattern.base import MessagePattern, Pattern, Sends, in_send_order

from .allocation.base import NO_JOB, Allocation, Grant, Request
from .job import HasJobs, Job, computing
from .mapping.base import MappingResult
from .mapping.tasks import Slots, Tasks
from .messages import Messages, PlacedJob, WorkloadError
from .operations import Operations
from .pattern.base import JobPlacement
from .sizes import MessageSizes
from .streams import Purpose, stream

# About 8 GB while they are sorted; a study that asks for more is refused before the process runs out of memory.
MAX_MESSAGES = 2**27


@dataclass(frozen=True, eq=False)
class Placement:
    """The node of each rank of a job (int32 [ranks]), and the start of its mapping if that tries several."""

    node_of_rank: Int32s
    mapping_start: str | None = None


def place(point: HasJobs, machine: Machine, cut_side: Bools) -> list[PlacedJob]:
    """Allocate nodes to each job of a point, map its ranks and generate its messages; return the jobs in their order.

    `cut_side` (bool [routers]) is one side of the machine's best cut, for the bisection pattern. Raises WorkloadError
    if a job does not fit, or its pattern does not exist for its placement.
    """
    return generate_messages(point, machine, cut_side, dict(placements(point, machine)))


def placements(
    point: HasJobs, machine: Machine, wanted: Collection[int] | None = None
) -> Iterator[tuple[int, Placement]]:
    """Allocate the nodes of jobs and map their ranks, in the order of the point's jobs.

    Jobs are allocated in order, each from the remaining free nodes. The placement of a job depends on the seed, its
    position, its own keys and the allocations before it; not on bandwidths, names, later jobs, or the traffic of other
    jobs. `wanted` are the positions of the jobs whose ranks are mapped; default: all.

    Raises WorkloadError at the first job that does not fit.
    """
    last = max(wanted, default=-1) if wanted is not None else len(point.jobs) - 1
    for index, grant in _grants(point, machine, point.jobs[: last + 1]):
        if wanted is None or index in wanted:
            job = point.jobs[index]
            with _naming(index):
                on_node, most = job.ranks_on_node(machine.cores_per_node), machine.cores_per_node * job.ranks_per_core
                if on_node > most:
                    raise WorkloadError(f"{on_node} ranks per node, but slots for {most}; lower ranks_per_node")
                slots = Slots(machine, grant.nodes.astype(np.int32), on_node)
                _check_pattern(job.pattern, slots.ranks)
                tasks, rng = _tasks(job, index, point.seed, slots.ranks), stream(point.seed, index, Purpose.MAPPING)
                returned = Returned(job.mapping, "map_ranks")
                with returned.time_limit():
                    mapped = returned.instance(job.mapping.map_ranks_with_start(slots, tasks, rng), MappingResult)
                core = returned.distinct(mapped.core, "cores", slots.ranks, slots.ranks)
            yield index, Placement(slots.node_of_core[core], mapped.start)


def generate_messages(
    point: HasJobs, machine: Machine, cut_side: Bools, placed: Mapping[int, Placement]
) -> list[PlacedJob]:
    """Generate the messages of placed jobs of a point, by position among its jobs.

    Raises WorkloadError if a pattern does not exist for the placement of its job.
    """
    jobs = []
    for index, placement in placed.items():
        job, nodes = point.jobs[index], placement.node_of_rank
        with _naming(index):
            messages = _messages(job, index, point.seed, len(nodes), JobPlacement(machine, nodes, cut_side))[0]
            rows = None
            if job.compute is not None:
                iterations = getattr(job.pattern, "iterations", 1)
                rows = computing(job.compute, messages, iterations, stream(point.seed, index, Purpose.COMPUTE))
            operations = _operations(job.pattern, messages, len(nodes)) if job.pattern.has_operations else None
        background_ns = inf if job.background else None
        start = placement.mapping_start
        jobs.append(
            PlacedJob(job.name, nodes, messages, background_ns, rows, start, operations, job.start_ns, job.load)
        )
    return jobs


@contextmanager
def _naming(index: int) -> Iterator[None]:
    """Prefix errors with the position of the job: a point's record is shared by studies with other job names."""
    try:
        yield
    except WorkloadError as error:
        raise WorkloadError(f"job {index}: {error}") from None


def job_of_node(point: HasJobs, machine: Machine) -> Int32s:
    """Return the job that runs on each node of a placed point, or `NO_JOB`, int32 [nodes].

    Raises WorkloadError if a job does not fit.
    """
    used = np.full(machine.nodes, NO_JOB, dtype=np.int32)
    for index, grant in _grants(point, machine, point.jobs):
        used[grant.nodes] = index
    return used


def _grants(point: HasJobs, machine: Machine, jobs: Sequence[Job]) -> Iterator[tuple[int, Grant]]:
    """Allocate jobs in order, each from the nodes left free."""
    holder = np.full(machine.nodes, NO_JOB, dtype=np.int32)
    for index, job in enumerate(jobs):
        wanted, free = job.node_count(machine.nodes), int(np.count_nonzero(holder == NO_JOB))
        with _naming(index):
            if wanted < 1:
                raise WorkloadError(f"its share of {machine.nodes} nodes is less than one node; increase the share")
            if wanted > free:
                raise WorkloadError(f"it needs {wanted} nodes, but {free} are free; make the jobs smaller")
            rng, common_rng = stream(point.seed, index, Purpose.ALLOCATION), stream(point.seed, 0, Purpose.ALL_JOBS)
            grant = _checked_grant(job.allocation, Request(machine, holder, wanted, rng, common_rng))
        holder[grant.all_reserved] = index
        yield index, grant


def _checked_grant(allocation: Allocation, request: Request) -> Grant:
    """Return the nodes that an allocation grants."""
    returned, machine = Returned(allocation, "allocate"), request.machine
    with returned.time_limit():
        grant = returned.instance(allocation.allocate(request), Grant)
    nodes = returned.distinct(grant.nodes, "nodes", request.wanted, machine.nodes)
    reserved = returned.distinct(grant.all_reserved, "reserved nodes", None, machine.nodes)
    if not request.free[reserved].all():
        raise returned.error("returns nodes that are not free")
    if not np.isin(nodes, reserved).all():
        raise returned.error("returns nodes that it does not reserve")
    return Grant(nodes, reserved)


def _tasks(job: Job, index: int, seed: int, ranks: int) -> Tasks:
    """Return the input of a mapping: no messages if the traffic depends on the placement, or the mapping ignores it."""
    pattern, mapping = job.pattern, job.mapping
    if pattern.follows_placement and mapping.needs_traffic:
        problem = f"the mapping {mapping.kind} needs the traffic, which depends on the placement for {pattern.kind}"
        raise WorkloadError(f"{problem}; use another mapping, such as linear or random")
    if pattern.follows_placement or not (mapping.needs_traffic or mapping.needs_coordinates):
        return Tasks(ranks)
    return Tasks(ranks, *_messages(job, index, seed, ranks, None))


def _messages(
    job: Job, index: int, seed: int, ranks: int, site: JobPlacement | None
) -> tuple[Messages, Integers | None]:
    """Return the messages of a job in send order, and the ranks' coordinates in the application."""
    pattern, coordinates = job.pattern, None
    if pattern.follows_placement:
        assert site is not None
        sends = _checked_sends(pattern, "sends_at", ranks, site)
    else:
        sends = _checked_sends(pattern, "sends", ranks, ranks, stream(seed, index, Purpose.PATTERN))
        coordinates = pattern.coordinates(ranks)
        if isinstance(pattern, MessagePattern) and pattern.numbering != "natural":
            number = stream(seed, index, Purpose.NUMBERING).permutation(ranks)
            sends = replace(sends, source=number[sends.source], destination=number[sends.destination])
            coordinates = None if coordinates is None else coordinates[np.argsort(number)]
    messages = in_send_order(sends, pattern, ranks, stream(seed, index, Purpose.ORDER))
    if isinstance(pattern, MessagePattern) and isinstance(pattern.message_bytes, MessageSizes):
        sizes = pattern.message_bytes.draw(len(messages), stream(seed, index, Purpose.SIZES))
        messages = replace(messages, size_bytes=sizes)
    total = float(messages.size_bytes.sum(dtype=np.float64))
    if total > MAX_TRAFFIC_BYTES:
        raise WorkloadError(f"{total:.3g} bytes in total, but at most {MAX_TRAFFIC_BYTES:.3g} are supported; send less")
    return messages, coordinates


def _checked_sends(pattern: Pattern, method: str, ranks: int, *arguments: object) -> Sends:
    """Return the sends of a pattern."""
    returned = Returned(pattern, method)
    with returned.time_limit():
        sends = returned.instance(getattr(pattern, method)(*arguments), Sends)
    source = returned.integers(sends.source, "sources", None, ranks)
    destination = returned.integers(sends.destination, "destinations", len(source), ranks)
    phase = returned.integers(sends.phase, "phases", len(source))
    if sends.size_bytes is None:
        return Sends(phase, source, destination)
    return Sends(
        phase, source, destination, returned.integers(sends.size_bytes, "sizes", len(source), MAX_TRAFFIC_BYTES)
    )


def _operations(pattern: Pattern, messages: Messages, ranks: int) -> Operations:
    """Return the operations of a pattern; those of an extension are checked as those of a trace, and for its sends."""
    # Imports numba, which planning does not need.
    from .matching import matched, relisted

    returned = Returned(pattern, "operations")
    with returned.time_limit():
        given = returned.instance(pattern.operations(), Operations)
    if not extension_package(type(pattern).__module__):
        return given
    if returned.instance(given.ranks, int) != ranks:
        raise returned.error(f"returns operations of {given.ranks} ranks instead of {ranks}")
    rank = returned.integers(given.rank, "ranks", None, ranks)
    count = len(rank)
    dependent = returned.integers(given.dependent, "dependents", None, count)
    columns: dict[str, Any] = {
        "rank": rank.astype(np.int32),
        "stream": returned.integers(given.stream, "streams", count),
        "kind": returned.integers(given.kind, "kinds", count),
        "duration_ns": returned.floats(given.duration_ns, "durations", count),
        "size_bytes": returned.integers(given.size_bytes, "sizes", count, MAX_TRAFFIC_BYTES).astype(np.int64),
        "partner": returned.integers(given.partner, "partners", count, count, -1).astype(np.int64),
        "dependent": dependent.astype(np.int64),
        "needs": returned.integers(given.needs, "needs", len(dependent), count).astype(np.int64),
        "when": returned.integers(given.when, "waits", len(dependent)),
    }
    if given.mark is not None:
        columns["mark"] = returned.integers(given.mark, "marks", count, len(given.mark_names), -1)
    try:
        operations = replace(matched(relisted(replace(given, **columns))), eager=bool(given.eager))
    except InputFileError as error:
        raise returned.error(f"returns no program: {error.problem}") from None
    sends = operations.sends
    ends = (operations.rank[sends], operations.rank[operations.partner[sends]], operations.size_bytes[sends])
    both = [np.stack(ends), np.stack([messages.source, messages.destination, messages.size_bytes])]
    own, sent = (columns[:, np.lexsort(columns)] for columns in both)
    if not np.array_equal(own, sent):
        raise returned.error("returns other messages than its method sends")
    return operations


def _check_pattern(pattern: Pattern, ranks: int) -> None:
    """Raise WorkloadError if a pattern does not exist for a number of ranks, or has too many messages."""
    if pattern.is_idle:
        return
    if ranks < 2:
        raise WorkloadError(f"the pattern {pattern.kind} needs at least 2 ranks; give the job more nodes")
    try:
        pattern.check_ranks(ranks)
    except ConfigError as error:
        raise WorkloadError(str(error)) from None
    messages = pattern.traffic_messages(ranks)
    if messages > MAX_MESSAGES:
        problem = f"{messages:.3g} messages, but at most {MAX_MESSAGES:.3g} are supported"
        raise WorkloadError(f"{problem}; lower iterations or ranks")
