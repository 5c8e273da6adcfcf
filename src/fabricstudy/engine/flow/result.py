"""The output of the program, validated."""

from pathlib import Path

import numpy as np

from ..built_point import BuiltPoint
from ..bundled import RESULT
from ..failures import EngineFailure
from ..outcome import EngineResult
from ..program_results import message_rows, result_in

SUM_TOLERANCE = 1e-6
"""Relative tolerance of sums of bytes."""


def read_result(point: BuiltPoint, folder: Path) -> EngineResult:
    """Read the result; raise `EngineFailure` unless it fits jobs and machine, and all messages have arrived."""
    machine, jobs = point.machine, list(point.jobs)
    names = ("job_finish_ns", "job_sent_bytes", "job_arrived_bytes", "link_bytes")
    with result_in(folder) as result:
        ended_ns, sent, arrived, link_bytes = (np.array(result[name], dtype=np.float64) for name in names)
        mean_ns, p99_ns = tuple(result["job_message_mean_ns"]), tuple(result["job_message_p99_ns"])
        waiting_ns = result["job_waiting_ns"]
        messages_ns = np.array(result.get("message_ns", []), dtype=np.float64).reshape(-1, 2)
    of_job = (len(jobs),)
    if not ended_ns.shape == sent.shape == arrived.shape == of_job or link_bytes.shape != (machine.links,):
        raise EngineFailure(f"{RESULT} is of another workload or machine")
    finish_ns = ended_ns - [job.start_ns for job in jobs]
    if not all(np.all(np.isfinite(values) & (values >= 0)) for values in (finish_ns, link_bytes)):
        raise EngineFailure(f"{RESULT} is not a result: it has invalid times or bytes")
    wanted = np.array([job.messages.size_bytes[job.is_inter_node].sum() for job in jobs])
    if not (np.allclose(sent, wanted, SUM_TOLERANCE, 0) and np.allclose(arrived, wanted, SUM_TOLERANCE, 0)):
        raise EngineFailure(f"{wanted.sum()} B were to be sent, {sent.sum():.0f} were, and {arrived.sum():.0f} arrived")
    return EngineResult(
        job_runtime_ns=tuple(finish_ns.tolist()),
        link_bytes=link_bytes,
        job_message_mean_ns=mean_ns,
        job_message_p99_ns=p99_ns,
        messages=message_rows(messages_ns, jobs, point.point, machine),
        job_waiting_ns=tuple(None if job.operations is None else ns for job, ns in zip(jobs, waiting_ns, strict=True)),
    )
