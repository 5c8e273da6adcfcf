"""The output of the program, validated."""

from pathlib import Path

import numpy as np

from fabricstudy.core.arrays import Floats, Ints
from fabricstudy.workload.messages import PlacedJob

from .. import program_results
from ..built_point import BuiltPoint
from ..bundled import RESULT
from ..failures import EngineFailure
from ..outcome import EngineResult, mean_of_senders_ns
from ..steady_state import SteadyRun
from .offered_window import offered_window

PS_PER_NS = 1e3


def read_result(point: BuiltPoint, folder: Path) -> EngineResult:
    """Read the result; raise `EngineFailure` unless it fits jobs and machine, and all messages have arrived."""
    machine, jobs = point.machine, list(point.jobs)
    wanted = np.array([job.messages.size_bytes[job.is_inter_node].sum() for job in jobs], dtype=np.int64)
    with program_results.result_in(folder) as result:
        ended_ns = _since_start(result["job_finish_ps"], jobs, np.ones(len(jobs), dtype=np.int64))
        rank_ns = _since_start(result["rank_finish_ps"], jobs, np.array([job.ranks for job in jobs]))
        waiting_ns = np.array(result["rank_waiting_ps"], dtype=np.float64) / PS_PER_NS
        link_bytes, link_packets = (np.array(result[f"link_{name}"], dtype=np.int64) for name in ("bytes", "packets"))
        end_s = int(result["end_ps"]) * 1e-12
        arrived = np.array(result["job_arrived_bytes"], dtype=np.int64)
        messages, sums_ps = ([int(of_job) for of_job in result[f"job_message{name}"]] for name in ("s", "_sum_ps"))
        doubled = [program_results.pairs(counts) for counts in result["job_message_counts"]]
        operations_ns = np.array(result.get("operation_ps", []), dtype=np.float64).reshape(-1, 2) / PS_PER_NS
        messages_ns = np.array(result.get("message_ps", []), dtype=np.float64).reshape(-1, 2) / PS_PER_NS
        of_jobs = (ended_ns, messages, sums_ps, doubled)
        if any(len(values) != len(jobs) for values in of_jobs):
            raise EngineFailure(program_results.OTHER)
        if not link_bytes.shape == link_packets.shape == (machine.links,):
            raise EngineFailure(program_results.OTHER)
        program_results.check_arrived(wanted, result, "bytes", jobs)
        packets = program_results.packets_by_job(result.get("job_link_packets"), link_bytes > 0, jobs)
    program_results.check_ends(ended_ns, jobs)
    node_Bps = machine.host.bandwidth_Bps * point.network.ports_per_node
    p99_ps = program_results.message_percentiles(doubled, 0.99, jobs)
    for number, (count, of_messages) in enumerate(zip(messages, p99_ps, strict=True)):
        if of_messages is not None and count != doubled[number][:, 1].sum():
            raise EngineFailure(f"{RESULT} is not a result: job {number} has the times of {count} messages")
    return EngineResult(
        job_runtime_ns=tuple(None if np.isnan(ns) else float(ns) for ns in ended_ns),
        job_rank_mean_ns=tuple(map(mean_of_senders_ns, jobs, program_results.by_rank(rank_ns, ended_ns, jobs))),
        link_bytes=link_bytes.astype(np.float64),
        link_packets=link_packets,
        job_link_packets=packets,
        job_message_mean_ns=tuple(
            None if p99 is None else total / count / PS_PER_NS
            for p99, total, count in zip(p99_ps, sums_ps, messages, strict=True)
        ),
        job_message_p99_ns=tuple(None if p99 is None else p99 / 2 / PS_PER_NS for p99 in p99_ps),
        job_waiting_ns=program_results.mean_waiting(waiting_ns, jobs),
        job_delivered_load=tuple(
            None
            if job.load is None
            else float(job_bytes / (end_s * node_Bps * len(np.unique(job.node_of_rank))))
            if end_s
            else 0.0
            for job, job_bytes in zip(jobs, arrived, strict=True)
        ),
        **program_results.of_operations(operations_ns, jobs),
        messages=program_results.message_rows(messages_ns, jobs, point.point, machine),
    )


def _since_start(times_ps: list[float | None], jobs: list[PlacedJob], counts: Ints) -> Floats:
    """Return times from the start of their jobs, of which each has as many as `counts` says, in ns."""
    starts_ps = np.repeat([np.rint(job.start_ns * PS_PER_NS) for job in jobs], counts)
    if len(times_ps) != len(starts_ps):
        raise EngineFailure(program_results.OTHER)
    since: Floats = (np.array(times_ps, dtype=np.float64) - starts_ps) / PS_PER_NS
    return since


def read_offered_result(point: BuiltPoint, folder: Path) -> SteadyRun:
    """Read the result of a run of offered traffic; raise `EngineFailure` unless it fits the machine."""
    window, machine = offered_window(point), point.machine
    with program_results.result_in(folder) as result:
        counts = {name: np.array(result[name], dtype=np.int64) for name in _COUNTS}
        batches = [program_results.pairs(batch) for batch in result["twice_latency_counts"]]
        lost, (start, middle, end) = int(result["awaited"]), map(int, result["backlog"])
        routed = result.get("minimal_packets")
        routed = None if routed is None else np.array(routed, dtype=np.int64).reshape(2)
    if len(counts["node_created_bytes"]) != machine.nodes or len(counts["link_bytes"]) != machine.links:
        raise EngineFailure(f"{RESULT} is of another machine")
    if any(len(counts[name]) != len(batches) for name in _OF_BATCHES) or len(batches) != point.offered.batches:
        raise EngineFailure(f"{RESULT} is of another traffic")
    if counts["measured"].sum() + lost != counts["created"].sum():
        raise EngineFailure(f"{RESULT} is not a result: messages are missing")
    latency_ps, messages = program_results.halves(batches)
    mean_bytes = point.offered.mean_bytes
    return SteadyRun(
        window_ns=window.batch_ps * len(batches) / PS_PER_NS,
        message_ns=window.message_ps / PS_PER_NS,
        node_created=counts["node_created_bytes"] / mean_bytes,
        node_arrived=counts["node_arrived_bytes"] / mean_bytes,
        measured=counts["measured"],
        latency_sum_ns=counts["latency_ps"] / PS_PER_NS,
        network_sum_ns=counts["in_network_ps"] / PS_PER_NS,
        max_ns=float(counts["longest_ps"].max(initial=0)) / PS_PER_NS,
        created=counts["created"],
        created_load=counts["created_bytes"] / mean_bytes,
        arrived=counts["arrived_bytes"] / mean_bytes,
        backlog=(start, middle, end),
        mean_backlog=counts["backlog_ps"] / window.batch_ps,
        lost=lost,
        histogram=(latency_ps / PS_PER_NS, messages),
        hops=counts["packets_by_hops"],
        routed=routed,
        link_bytes=counts["link_bytes"].astype(np.float64),
    )


_OF_BATCHES = (
    "created", "created_bytes", "arrived_bytes", "measured", "latency_ps", "in_network_ps", "longest_ps", "backlog_ps",
)  # fmt: skip

_COUNTS = ("node_created_bytes", "node_arrived_bytes", "packets_by_hops", "link_bytes", *_OF_BATCHES)
