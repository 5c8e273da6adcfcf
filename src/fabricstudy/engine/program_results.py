"""What the results of the programs with packets share: times by rank, operation and message, packets by job and link.

Raises `EngineFailure` where a result contradicts its workload.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from fabricstudy.core.arrays import Array, Floats, Int32s, Ints
from fabricstudy.machine.graph import Machine
from fabricstudy.structure.message_times import message_times_ns
from fabricstudy.workload.marks import is_drawable, mark_times, operation_rows
from fabricstudy.workload.messages import PlacedJob
from fabricstudy.workload.operations import Operations
from fabricstudy.workload.phases import operations_of

from .bundled import RESULT
from .failures import EngineFailure
from .point import Point

OTHER = f"{RESULT} is of another workload or machine"


@contextmanager
def result_in(folder: Path) -> Iterator[dict[str, Any]]:
    """Provide the result of a program; raise `EngineFailure` if what the block takes from it is missing or invalid."""
    try:
        yield json.loads((folder / RESULT).read_bytes())
    except (OSError, ValueError, KeyError, TypeError, OverflowError) as error:
        raise EngineFailure(f"{RESULT} is not a result ({type(error).__name__})") from None


def pairs(rows: list[Any]) -> Ints:
    """Return the rows of a result with two numbers each, int64 [rows, 2]."""
    return np.array(rows, dtype=np.int64).reshape(-1, 2)


def check_ends(ends: Floats, jobs: list[PlacedJob]) -> None:
    """Raise `EngineFailure` unless each foreground job has an end, and no background job, whose end is NaN."""
    background = np.array([job.background for job in jobs])
    if not np.all((ends >= 0) ^ background) or np.any(np.isinf(ends)):
        raise EngineFailure(f"{RESULT} is not a result: its jobs end at {ends.tolist()}")


def check_arrived(wanted: Ints, result: dict[str, Any], unit: str, jobs: list[PlacedJob]) -> Ints:
    """Return the data that each job has sent, in units of a program, "bytes" or "phits".

    Raises `EngineFailure` unless all that the foreground jobs were to send, `wanted`, was sent and has arrived.
    """
    background = np.array([job.background for job in jobs])
    injected, ejected = int(result[f"injected_{unit}"]), int(result[f"ejected_{unit}"])
    sent, arrived = (np.array(result[f"job_{name}_{unit}"], dtype=np.int64) for name in ("sent", "arrived"))
    if not sent.shape == arrived.shape == wanted.shape:
        raise EngineFailure(OTHER)
    complete = np.all(np.where(background, arrived <= sent, (sent == wanted) & (arrived == wanted)))
    if not complete or not arrived.sum() <= ejected <= injected <= sent.sum():
        whole = wanted[~background].sum()
        raise EngineFailure(f"{whole} {unit} were to be sent, {injected} were, and {ejected} arrived")
    return sent


def halves(batches: list[Ints]) -> tuple[Floats, Ints]:
    """Return latencies, ascending, and counts of all batches, given twice the latencies and counts, [latencies, 2]."""
    doubled, number = np.unique(np.concatenate([batch[:, 0] for batch in batches]), return_inverse=True)
    counts = np.bincount(number, weights=np.concatenate([batch[:, 1] for batch in batches]))
    return doubled / 2, counts.astype(np.int64)


def of_operations(times_ns: Floats, jobs: list[PlacedJob]) -> dict[str, Any]:
    """Return what follows from start and end of all operations, ns [operations, 2], if they were asked for."""
    if not len(times_ns):
        return {}
    timed = _by_job(times_ns, jobs)
    operations = [of_job for of_job, _ in timed]
    hidden = [job.background or job.operations is None for job in jobs]
    return {
        "job_marks": tuple(
            None if hidden[number] or of_job.mark is None else mark_times(of_job, *of_job_ns.T)
            for number, (of_job, of_job_ns) in enumerate(timed)
        ),
        "operations": tuple(
            operation_rows(number, of_job, *of_job_ns.T)
            for number, (of_job, of_job_ns) in enumerate(timed)
            if not jobs[number].background and is_drawable(operations)
        ),
    }


def _by_job(times_ns: Floats, jobs: list[PlacedJob]) -> list[tuple[Operations, Floats]]:
    """Return the operations of each job with times from its start, ns [operations, 2], given those of all jobs."""
    operations = [operations_of(job) for job in jobs]
    # A job with a start has an operation for it first in each rank.
    first = [
        np.searchsorted(of.rank, np.arange(of.ranks if job.start_ns else 0))
        for of, job in zip(operations, jobs, strict=True)
    ]
    ends = np.cumsum([len(of_job) + len(starts) for of_job, starts in zip(operations, first, strict=True)])
    if len(times_ns) != ends[-1]:
        raise EngineFailure(OTHER)
    of_jobs = zip(operations, np.split(times_ns, ends[:-1]), first, jobs, strict=True)
    return [
        (of_job, np.delete(of_job_ns, starts + np.arange(len(starts)), axis=0) - job.start_ns)
        for of_job, of_job_ns, starts, job in of_jobs
    ]


def message_rows(times_ns: Floats, jobs: list[PlacedJob], point: Point, machine: Machine) -> tuple[dict[str, Any], ...]:
    """Return `MESSAGE_COLUMNS` of each job, given start and arrival by operation, ns [operations, 2], if asked for."""
    if not len(times_ns):
        return ()
    of_jobs = zip(jobs, _by_job(times_ns, jobs), strict=True)
    return tuple(
        _rows_of_job(number, job, *timed, point, machine)
        for number, (job, timed) in enumerate(of_jobs)
        if not job.background
    )


def _rows_of_job(
    number: int, job: PlacedJob, operations: Operations, times_ns: Floats, point: Point, machine: Machine
) -> dict[str, Any]:
    sends = operations.sends
    source, destination = operations.rank[sends], operations.rank[operations.partner[sends]]
    size_bytes, nodes = operations.size_bytes[sends], job.node_of_rank
    network, ends = point.network, (nodes[source], nodes[destination])
    host_Bps = network.ports_of_message * machine.host.bandwidth_Bps
    _, least_ns = message_times_ns(machine, *ends, size_bytes, network.router_latency_ns, point.routing, host_Bps)
    return {
        "job": np.full(len(sends), number),
        "source_rank": source,
        "destination_rank": destination,
        "bytes": size_bytes,
        "started_ns": times_ns[sends, 0],
        "arrived_ns": times_ns[sends, 1],
        "least_ns": least_ns,
    }


def by_rank(rank_ends: Floats, job_ends: Floats, jobs: list[PlacedJob]) -> list[Floats]:
    """Return the finish times of the ranks of each job; their maximum must be that of the job."""
    ends = np.cumsum([job.ranks for job in jobs])
    if rank_ends.shape != (ends[-1],):
        raise EngineFailure(OTHER)
    of_jobs = np.split(rank_ends, ends[:-1])
    last = [of_job.max(initial=0.0) if len(of_job) else end for of_job, end in zip(of_jobs, job_ends, strict=True)]
    if not np.array_equal(last, job_ends, equal_nan=True):
        raise EngineFailure(f"{RESULT} is not a result: its jobs do not end with their last ranks")
    return of_jobs


def mean_waiting(times: Floats, jobs: list[PlacedJob]) -> tuple[float | None, ...]:
    """Return the mean waiting time of the ranks of each job of operations."""
    ends = np.cumsum([job.ranks for job in jobs])
    if times.shape != (ends[-1],):
        raise EngineFailure(OTHER)
    means = (float(of_job.mean()) if len(of_job) else 0.0 for of_job in np.split(times, ends[:-1]))
    hidden = [job.background or job.operations is None for job in jobs]
    return tuple(None if hide else mean for hide, mean in zip(hidden, means, strict=True))


def message_percentiles(counts: Sequence[Ints], share: float, jobs: list[PlacedJob]) -> tuple[float | None, ...]:
    """Return the time that a share of the messages of each job does not exceed, given times and counts, [times, 2].

    None for jobs without messages between nodes, and for background jobs.
    """
    times: list[float | None] = []
    for number, (job, (time, count)) in enumerate(zip(jobs, (of_job.T for of_job in counts), strict=True)):
        messages = np.count_nonzero(job.is_inter_node)
        if job.background or messages == 0:
            times.append(None)
            continue
        if count.sum() != messages:
            raise EngineFailure(f"{RESULT} is not a result: job {number} has the times of {count.sum()} messages")
        times.append(float(time[np.searchsorted(np.cumsum(count), share * messages)]))
    return tuple(times)


def packets_by_job(counted: list[Any] | None, loaded: Array, jobs: list[PlacedJob]) -> Int32s | None:
    """Return packets [jobs, links], given rows of job, link and packets, if counted, and which links carried any."""
    if counted is None:
        return None
    rows: Ints = np.array(counted, dtype=np.int64).reshape(-1, 3)
    shape = (len(jobs), len(loaded))
    if rows.min(initial=0) < 0 or np.any(rows[:, :2].max(axis=0, initial=0) >= shape):
        raise EngineFailure(OTHER)
    packets = np.zeros(shape, dtype=np.int32)
    packets[rows[:, 0], rows[:, 1]] = rows[:, 2]
    used = packets.any(axis=0)
    # Packets of a truncated background job that have not arrived are not counted, but may have crossed links.
    truncated = any(job.background for job in jobs)
    if np.any(used & ~loaded) or (not truncated and np.any(loaded & ~used)):
        raise EngineFailure(f"{RESULT} is not a result: links and jobs contradict each other")
    return packets
