"""The output of SST, validated: an exit code of 0 proves nothing.

SST also ends with 0 when its event queue runs dry in a deadlock, or at one of its limits. A run is successful only if
its output says that the simulation is complete and has none of the messages below, its simulated time is plausible, and
each rank of each job has logged the end of the motif Fini, a barrier.
"""

import math
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fabricstudy.core.arrays import Floats
from fabricstudy.workload.messages import PlacedJob

from ..built_point import BuiltPoint
from ..failures import BackgroundMismatch, EngineFailure
from ..outcome import EngineResult, idle_times_ns, mean_of_senders_ns
from .links import packets_of_jobs, read_links
from .system import STATISTICS, communicating, has_no_foreground_traffic, log_name
from .traces import rank_layout

MAX_SIMULATED_S = 1e6
"""A simulated time above this is that of an empty event queue (2^64 ps)."""

FAILURE_MESSAGES = ("Event queue empty", "FATAL", "DEADLOCK", "exit-after", "stop-at")

_TIME = re.compile(r"simulated time: *([0-9.eE+-]+) *(\w+)")
SECONDS = {"fs": 1e-15, "ps": 1e-12, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "ks": 1e3, "Ks": 1e3, "Ms": 1e6}

BACKGROUND_FACTOR = 2.0
"""Duration of the background in a repeated run, over the runtime of the other jobs."""

MPI_INIT, MPI_FINI = "Init", "Fini"


@dataclass(frozen=True)
class MotifEnd:
    """A line of a motif log: the end of a motif on one rank."""

    job: int
    rank: int
    number: int
    motif: str
    start_ns: float
    end_ns: float


def read_result(point: BuiltPoint, folder: Path) -> EngineResult:
    """Read the result of a run with exit code 0, or of jobs for which none was needed.

    Raises `EngineFailure` if the run did not finish, or its output is not of these jobs and this machine, and
    `BackgroundMismatch` if a background job may have ended before the others.
    """
    machine, jobs = point.machine, list(point.jobs)
    runtime_ns, rank_mean_ns = idle_times_ns(jobs)
    if has_no_foreground_traffic(jobs):
        return EngineResult(tuple(runtime_ns), job_rank_mean_ns=tuple(rank_mean_ns))
    check_output((folder / "stdout").read_text(errors="replace"), (folder / "stderr").read_text(errors="replace"))
    end_ns = 0.0
    for number, job in communicating(jobs):
        if not job.background:
            log = motif_log(folder / f"{log_name(number)}.log")
            seats = rank_layout(job)
            ended_ns = rank_finish_ns(log, number, seats.seats)
            runtime_ns[number] = float(ended_ns.max())
            rank_mean_ns[number] = mean_of_senders_ns(job, ended_ns[seats.sst_rank_of_rank])
            end_ns = max(end_ns, *(line.end_ns for line in log))
    _check_background(folder, jobs, end_ns)
    counted = read_links(folder / STATISTICS, point.point, machine)
    return EngineResult(
        job_runtime_ns=tuple(runtime_ns),
        job_rank_mean_ns=tuple(rank_mean_ns),
        link_bytes=counted.link_bytes,
        job_link_packets=packets_of_jobs(point.point, machine, jobs, counted),
        link_packets=counted.packets,
        link_stall_ns=counted.stall_ns,
    )


def _check_background(folder: Path, jobs: list[PlacedJob], end_ns: float) -> None:
    """Raise `BackgroundMismatch` if a sending rank of a background job may have finished before the end."""
    for number, job in communicating(jobs):
        if job.background_duration_ns is None or job.background_duration_ns >= end_ns:
            continue
        sending = set(rank_layout(job).sst_rank_of_rank[job.messages.source[job.is_inter_node]].tolist())
        log = motif_log(folder / f"{log_name(number)}.log")
        if any(line.rank in sending and line.motif not in (MPI_INIT, MPI_FINI) for line in log):
            raise BackgroundMismatch(BACKGROUND_FACTOR * end_ns)


def check_output(stdout: str, stderr: str) -> None:
    """Raise `EngineFailure` if the output shows that a run did not finish."""
    for sign in FAILURE_MESSAGES:
        for line in (*stdout.splitlines(), *stderr.splitlines()):
            if sign in line:
                raise EngineFailure(f"SST did not finish: {line.strip()}")
    time = _TIME.search(stdout)
    if "Simulation is complete" not in stdout or time is None:
        raise EngineFailure("SST ended with 0 and does not say that the simulation is complete")
    time_s = float(time[1]) * SECONDS.get(time[2], math.inf)
    if not 0 < time_s < MAX_SIMULATED_S:
        raise EngineFailure(
            f"SST did not finish: a simulated time of {time[1]} {time[2]} is that of an empty event queue"
        )


def motif_log(path: Path) -> list[MotifEnd]:
    """Read a motif log: job, rank, number and name of the motif, start and end with their units.

    Raises `EngineFailure` if it is missing, or another file.
    """
    try:
        log = []
        for line in path.read_text().splitlines():
            job, rank, number, motif, start, start_unit, end, end_unit = line.split()[:8]
            start_ns, end_ns = float(start) * SECONDS[start_unit] * 1e9, float(end) * SECONDS[end_unit] * 1e9
            log.append(MotifEnd(int(job), int(rank), int(number), motif, start_ns, end_ns))
        return log
    except (OSError, ValueError, KeyError) as error:
        raise EngineFailure(f"{path.name} is not a motif log ({type(error).__name__})") from None


def rank_finish_ns(log: list[MotifEnd], job: int, ranks: int) -> Floats:
    """Return the finish times (ns) of a job's ranks, before Fini and from the first start after Init.

    Raises `EngineFailure` if not every rank has finished.
    """
    expected = set(range(ranks))
    finished = {line.rank for line in log if line.motif == MPI_FINI and line.job == job}
    if finished != expected:
        raise EngineFailure(f"of the {ranks} ranks of job {job} {len(finished & expected)} have finished")
    traffic = [line for line in log if line.motif not in (MPI_INIT, MPI_FINI)]
    valid = all(0 <= line.start_ns <= line.end_ns < math.inf for line in log)
    if {line.rank for line in traffic} != expected or len(log) != 3 * ranks or not valid:
        raise EngineFailure(f"the motif log of job {job} is of another workload")
    ended_ns = np.empty(ranks)
    ended_ns[[line.rank for line in traffic]] = [line.end_ns for line in traffic]
    return ended_ns - min(line.start_ns for line in traffic)
