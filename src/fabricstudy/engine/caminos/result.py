"""The output of the front end, validated."""

import json
from pathlib import Path

import numpy as np

from fabricstudy.core.arrays import Floats, Ints

from ..built_point import BuiltPoint
from ..bundled import RESULT
from ..failures import EngineFailure
from ..outcome import EngineResult, mean_of_senders_ns
from ..program_results import OTHER, by_rank, mean_waiting, message_percentiles, of_operations, packets_by_job
from ..steady_state import SteadyRun
from ..traffic_files import whole_units
from .clock import Clock, clock
from .files import offered_window


def read_result(point: BuiltPoint, folder: Path) -> EngineResult:
    """Read the result; raise `EngineFailure` unless it fits jobs and machine, and all messages have arrived."""
    machine, jobs = point.machine, list(point.jobs)
    units = clock(point.point, machine)
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
        raise EngineFailure(OTHER)
    background = np.array([job.background for job in jobs])
    if not np.all((cycles >= 0) ^ background) or np.any(np.isinf(cycles)):
        raise EngineFailure(f"{RESULT} is not a result: it has finish cycles {cycles.tolist()}")
    sent, arrived = phits
    sizes = [job.messages.size_bytes[job.is_inter_node] for job in jobs]
    whole_bytes = np.array([size.sum() for size in sizes])
    whole = np.array([whole_units(size, units.phit_bytes).sum() for size in sizes])
    complete = np.all(np.where(background, arrived <= sent, (sent == whole) & (arrived == whole)))
    if not complete or not arrived.sum() <= ejected <= injected <= sent.sum():
        wanted = whole[~background].sum()
        raise EngineFailure(f"{wanted} phits were to be sent, {injected} were, and {ejected} arrived")
    p99 = message_percentiles(doubled, 0.99, jobs)
    half_ns = units.cycle_ns / 2
    # Phits hold as many bytes as the messages have: exact where all are of one size and paths are unique.
    sent_bytes = np.where(background, whole_bytes / np.maximum(whole, 1) * sent, whole_bytes).sum()
    return EngineResult(
        job_runtime_ns=tuple(None if np.isnan(cycle) else float(cycle) * units.cycle_ns for cycle in cycles),
        job_rank_mean_ns=tuple(
            mean_of_senders_ns(job, of_job * units.cycle_ns)
            for job, of_job in zip(jobs, by_rank(rank_cycles, cycles, jobs), strict=True)
        ),
        link_bytes=link_phits * (sent_bytes / max(1, sent.sum())),
        job_link_packets=None if packets is None else packets_by_job(packets, link_phits > 0, jobs),
        job_message_mean_ns=tuple(
            None if of_job is None else float(time @ count) / int(count.sum()) * half_ns
            for of_job, (time, count) in zip(p99, (of_job.T for of_job in doubled), strict=True)
        ),
        job_message_p99_ns=tuple(None if of_job is None else of_job * half_ns for of_job in p99),
        job_waiting_ns=mean_waiting(waiting * units.cycle_ns, jobs),
        **of_operations(operation_cycles * units.cycle_ns, jobs),
    )


def read_offered_result(point: BuiltPoint, folder: Path) -> SteadyRun:
    """Read the result of a run of offered traffic; raise `EngineFailure` unless it fits the machine."""
    machine, units, window = point.machine, clock(point.point, point.machine), offered_window(point)
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
