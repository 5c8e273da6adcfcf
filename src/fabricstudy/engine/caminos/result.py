"""The output of the front end, validated."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from fabricstudy.core.arrays import Array, Floats, Int32s, Ints
from fabricstudy.machine.graph import Machine
from fabricstudy.workload.marks import is_drawable, mark_times, operation_rows
from fabricstudy.workload.messages import PlacedJob
from fabricstudy.workload.phases import operations_of

from ..bundled import RESULT
from ..contract import EngineFailure
from ..outcome import EngineResult, mean_of_senders_ns
from ..point import Point
from ..steady_state import SteadyRun
from .clock import Clock, clock, phits_of
from .files import offered_window


def read_result(folder: Path, point: Point, machine: Machine, jobs: list[PlacedJob]) -> EngineResult:
    """Read the result; raise `EngineFailure` unless it fits jobs and machine, and all messages have arrived."""
    units = clock(point, machine)
    try:
        result = json.loads((folder / RESULT).read_bytes())
        cycles = np.array(result["job_finish_cycles"], dtype=np.float64)
        rank_cycles = np.array(result["rank_finish_cycles"], dtype=np.float64)
        link_phits = np.array(result["link_phits"], dtype=np.float64)
        injected, ejected = int(result["injected_phits"]), int(result["ejected_phits"])
        phits = np.array([result["job_sent_phits"], result["job_arrived_phits"]], dtype=np.int64)
        doubled = [np.array(counts, dtype=np.int64).reshape(-1, 2) for counts in result["job_twice_message_counts"]]
        waiting = np.array(result["rank_waiting_cycles"], dtype=np.float64)
        operation_cycles = np.array(result.get("operation_cycles", []), dtype=np.float64).reshape(-1, 2)
        counted = result.get("job_link_packets")
        packets = None if counted is None else np.array(counted, dtype=np.int64).reshape(-1, 3)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EngineFailure(f"{RESULT} is not a result ({type(error).__name__})") from None
    if cycles.shape != (len(jobs),) or phits.shape != (2, len(jobs)) or link_phits.shape != (machine.links,):
        raise EngineFailure(f"{RESULT} is of another workload or machine")
    background = np.array([job.background for job in jobs])
    if not np.all((cycles >= 0) ^ background) or np.any(np.isinf(cycles)):
        raise EngineFailure(f"{RESULT} is not a result: it has finish cycles {cycles.tolist()}")
    sent, arrived = phits
    sizes = [job.messages.size_bytes[job.is_inter_node] for job in jobs]
    whole_bytes = np.array([size.sum() for size in sizes])
    whole = np.array([phits_of(size, units.phit_bytes).sum() for size in sizes])
    complete = np.all(np.where(background, arrived <= sent, (sent == whole) & (arrived == whole)))
    if not complete or not arrived.sum() <= ejected <= injected <= sent.sum():
        wanted = whole[~background].sum()
        raise EngineFailure(f"{wanted} phits were to be sent, {injected} were, and {ejected} arrived")
    message_ns = _message_times(doubled, units.cycle_ns / 2, jobs)
    # Phits hold as many bytes as the messages have: exact where all are of one size and paths are unique.
    sent_bytes = np.where(background, whole_bytes / np.maximum(whole, 1) * sent, whole_bytes).sum()
    return EngineResult(
        job_runtime_ns=tuple(None if np.isnan(cycle) else float(cycle) * units.cycle_ns for cycle in cycles),
        job_rank_mean_ns=tuple(
            mean_of_senders_ns(job, of_job * units.cycle_ns)
            for job, of_job in zip(jobs, _by_rank(rank_cycles, cycles, jobs), strict=True)
        ),
        link_bytes=link_phits * (sent_bytes / max(1, sent.sum())),
        job_link_packets=None if packets is None else _by_job(packets, link_phits, jobs),
        job_message_mean_ns=tuple(mean_ns for mean_ns, _ in message_ns),
        job_message_p99_ns=tuple(p99_ns for _, p99_ns in message_ns),
        job_waiting_ns=_waiting_ns(waiting, units.cycle_ns, jobs),
        **_of_operations(operation_cycles * units.cycle_ns, jobs),
    )


def _of_operations(times_ns: Floats, jobs: list[PlacedJob]) -> dict[str, Any]:
    """Return what follows from start and end of all operations, ns [operations, 2], if they were asked for."""
    if not len(times_ns):
        return {}
    operations = [operations_of(job) for job in jobs]
    ends = np.cumsum([len(of_job) for of_job in operations])
    if len(times_ns) != ends[-1]:
        raise EngineFailure(f"{RESULT} is of another workload or machine")
    timed = list(zip(operations, np.split(times_ns, ends[:-1]), strict=True))
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


def _by_rank(rank_cycles: Floats, cycles: Floats, jobs: list[PlacedJob]) -> list[Floats]:
    """Return the finish cycles of the ranks of each job; their maximum must be that of the job."""
    ends = np.cumsum([job.ranks for job in jobs])
    if rank_cycles.shape != (ends[-1],):
        raise EngineFailure(f"{RESULT} is of another workload or machine")
    by_job = np.split(rank_cycles, ends[:-1])
    last = [of_job.max(initial=0.0) if len(of_job) else cycle for of_job, cycle in zip(by_job, cycles, strict=True)]
    if not np.array_equal(last, cycles, equal_nan=True):
        raise EngineFailure(f"{RESULT} is not a result: its jobs do not end with their last ranks")
    return by_job


def _waiting_ns(cycles: Floats, cycle_ns: float, jobs: list[PlacedJob]) -> tuple[float | None, ...]:
    """Return the mean waiting time of the ranks of each job of operations."""
    ends = np.cumsum([job.ranks for job in jobs])
    if cycles.shape != (ends[-1],):
        raise EngineFailure(f"{RESULT} is of another workload or machine")
    means = (float(of_job.mean()) * cycle_ns if len(of_job) else 0.0 for of_job in np.split(cycles, ends[:-1]))
    hidden = [job.background or job.operations is None for job in jobs]
    return tuple(None if hide else mean for hide, mean in zip(hidden, means, strict=True))


def _message_times(
    counts: list[Ints], unit_ns: float, jobs: list[PlacedJob]
) -> list[tuple[float, float] | tuple[None, None]]:
    """Return mean and 99th percentile of the message times of each job, given times and counts, [times, 2] of each."""
    times: list[tuple[float, float] | tuple[None, None]] = []
    for number, (job, (time, count)) in enumerate(zip(jobs, (of_job.T for of_job in counts), strict=True)):
        messages = np.count_nonzero(job.is_inter_node)
        if job.background or messages == 0:
            times.append((None, None))
            continue
        if count.sum() != messages:
            raise EngineFailure(f"{RESULT} is not a result: job {number} has the times of {count.sum()} messages")
        p99 = time[np.searchsorted(np.cumsum(count), 0.99 * messages)]
        times.append((float(time @ count) / messages * unit_ns, float(p99) * unit_ns))
    return times


def _by_job(rows: Ints, link_phits: Array, jobs: list[PlacedJob]) -> Int32s:
    """Return packets [jobs, links], given rows of job, link and packets."""
    shape = (len(jobs), len(link_phits))
    if rows.min(initial=0) < 0 or np.any(rows[:, :2].max(axis=0, initial=0) >= shape):
        raise EngineFailure(f"{RESULT} is of another workload or machine")
    packets = np.zeros(shape, dtype=np.int32)
    packets[rows[:, 0], rows[:, 1]] = rows[:, 2]
    used, loaded = packets.any(axis=0), link_phits > 0
    # Of a truncated background job, first phits of an uncounted packet may be on a link.
    truncated = any(job.background for job in jobs)
    if np.any(used & ~loaded) or (not truncated and np.any(loaded & ~used)):
        raise EngineFailure(f"{RESULT} is not a result: links and jobs contradict each other")
    return packets


def read_offered_result(folder: Path, point: Point, machine: Machine) -> SteadyRun:
    """Read the result of a run of offered traffic; raise `EngineFailure` unless it fits the machine."""
    units, window = clock(point, machine), offered_window(point, machine)
    try:
        result = json.loads((folder / RESULT).read_bytes())
        counts = {name: np.array(result[name], dtype=np.int64) for name in _OFFERED_COUNTS}
        listed = [np.array(batch, dtype=np.int64).reshape(-1, 2) for batch in result["twice_latency_counts"]]
        lost, (start, middle, end) = int(result["awaited"]), map(int, result["backlog"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EngineFailure(f"{RESULT} is not a result ({type(error).__name__})") from None
    if len(counts["node_created"]) != machine.nodes or len(counts["link_phits"]) != machine.links:
        raise EngineFailure(f"{RESULT} is of another machine")
    if counts["measured"].sum() + lost != counts["created"].sum():
        raise EngineFailure(f"{RESULT} is not a result: messages are missing")
    cycle_ns = units.cycle_ns
    doubled, number = np.unique(np.concatenate([one[:, 0] for one in listed]), return_inverse=True)
    return SteadyRun(
        window_ns=window.batch_cycles * len(listed) * cycle_ns,
        message_ns=window.message_cycles * cycle_ns,
        node_created=counts["node_created"],
        node_arrived=counts["node_arrived"],
        measured=counts["measured"],
        latency_sum_ns=_to_ns(counts["latency_cycles"], units),
        max_ns=float(counts["longest_cycles"].max(initial=0)) * cycle_ns,
        created=counts["created"],
        arrived=counts["arrived"],
        backlog=(start, middle, end),
        mean_backlog=counts["backlog_cycles"] / window.batch_cycles,
        lost=lost,
        histogram=(
            doubled / 2 * cycle_ns,
            np.bincount(number, weights=np.concatenate([one[:, 1] for one in listed])).astype(np.int64),
        ),
        hops=counts["packets_by_hops"],
        link_bytes=counts["link_phits"].astype(np.float64) * units.phit_bytes,
    )


def _to_ns(cycles: Ints, units: Clock) -> Floats:
    return cycles.astype(np.float64) * units.cycle_ns


_OFFERED_COUNTS = (
    "node_created", "node_arrived", "created", "arrived", "measured", "latency_cycles", "longest_cycles",
    "backlog_cycles", "packets_by_hops", "link_phits",
)  # fmt: skip
