"""The output of the front end, validated."""

from pathlib import Path

import numpy as np

from .. import program_results
from ..built_point import BuiltPoint
from ..bundled import RESULT
from ..failures import EngineFailure
from ..outcome import EngineResult, mean_of_senders_ns
from ..steady_state import SteadyRun
from ..traffic_files import whole_units
from .clock import clock
from .files import offered_window


def read_result(point: BuiltPoint, folder: Path) -> EngineResult:
    """Read the result; raise `EngineFailure` unless it fits jobs and machine, and all messages have arrived."""
    machine, jobs = point.machine, list(point.jobs)
    units, background = clock(point.point, machine), np.array([job.background for job in jobs])
    sizes = [job.messages.size_bytes[job.is_inter_node] for job in jobs]
    whole_bytes = np.array([size.sum() for size in sizes])
    whole = np.array([whole_units(size, units.phit_bytes).sum() for size in sizes])
    with program_results.result_in(folder) as result:
        cycles = np.array(result["job_finish_cycles"], dtype=np.float64)
        rank_cycles = np.array(result["rank_finish_cycles"], dtype=np.float64)
        link_phits = np.array(result["link_phits"], dtype=np.float64)
        doubled = [program_results.pairs(counts) for counts in result["job_twice_message_counts"]]
        waiting = np.array(result["rank_waiting_cycles"], dtype=np.float64)
        operation_cycles = np.array(result.get("operation_cycles", []), dtype=np.float64).reshape(-1, 2)
        if cycles.shape != (len(jobs),) or link_phits.shape != (machine.links,):
            raise EngineFailure(program_results.OTHER)
        sent = program_results.check_arrived(whole, result, "phits", jobs)
        packets = program_results.packets_by_job(result.get("job_link_packets"), link_phits > 0, jobs)
    program_results.check_ends(cycles, jobs)
    p99 = program_results.message_percentiles(doubled, 0.99, jobs)
    half_ns = units.cycle_ns / 2
    # Phits hold as many bytes as the messages have: exact where all are of one size and paths are unique.
    sent_bytes = np.where(background, whole_bytes / np.maximum(whole, 1) * sent, whole_bytes).sum()
    return EngineResult(
        job_runtime_ns=tuple(None if np.isnan(cycle) else float(cycle) * units.cycle_ns for cycle in cycles),
        job_rank_mean_ns=tuple(
            mean_of_senders_ns(job, of_job * units.cycle_ns)
            for job, of_job in zip(jobs, program_results.by_rank(rank_cycles, cycles, jobs), strict=True)
        ),
        link_bytes=link_phits * (sent_bytes / max(1, sent.sum())),
        job_link_packets=packets,
        job_message_mean_ns=tuple(
            None if of_job is None else float(time @ count) / int(count.sum()) * half_ns
            for of_job, (time, count) in zip(p99, (of_job.T for of_job in doubled), strict=True)
        ),
        job_message_p99_ns=tuple(None if of_job is None else of_job * half_ns for of_job in p99),
        job_waiting_ns=program_results.mean_waiting(waiting * units.cycle_ns, jobs),
        **program_results.of_operations(operation_cycles * units.cycle_ns, jobs),
    )


def read_offered_result(point: BuiltPoint, folder: Path) -> SteadyRun:
    """Read the result of a run of offered traffic; raise `EngineFailure` unless it fits the machine."""
    machine, units, window = point.machine, clock(point.point, point.machine), offered_window(point)
    with program_results.result_in(folder) as result:
        counts = {name: np.array(result[name], dtype=np.int64) for name in _OFFERED_COUNTS}
        listed = [program_results.pairs(batch) for batch in result["twice_latency_counts"]]
        lost, (start, middle, end) = int(result["awaited"]), map(int, result["backlog"])
    if len(counts["node_created"]) != machine.nodes or len(counts["link_phits"]) != machine.links:
        raise EngineFailure(f"{RESULT} is of another machine")
    if counts["measured"].sum() + lost != counts["created"].sum():
        raise EngineFailure(f"{RESULT} is not a result: messages are missing")
    cycle_ns = units.cycle_ns
    latency_cycles, messages = program_results.halves(listed)
    return SteadyRun(
        window_ns=window.batch_cycles * len(listed) * cycle_ns,
        message_ns=window.message_cycles * cycle_ns,
        node_created=counts["node_created"],
        node_arrived=counts["node_arrived"],
        measured=counts["measured"],
        latency_sum_ns=counts["latency_cycles"].astype(np.float64) * cycle_ns,
        max_ns=float(counts["longest_cycles"].max(initial=0)) * cycle_ns,
        created=counts["created"],
        arrived=counts["arrived"],
        backlog=(start, middle, end),
        mean_backlog=counts["backlog_cycles"] / window.batch_cycles,
        lost=lost,
        histogram=(latency_cycles * cycle_ns, messages),
        hops=counts["packets_by_hops"],
        link_bytes=counts["link_phits"].astype(np.float64) * units.phit_bytes,
    )


_OFFERED_COUNTS = (
    "node_created", "node_arrived", "created", "arrived", "measured", "latency_cycles", "longest_cycles",
    "backlog_cycles", "packets_by_hops", "link_phits",
)  # fmt: skip
