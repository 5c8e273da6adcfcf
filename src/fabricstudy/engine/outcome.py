"""The result of an engine, and how it is stored.

Stored are the times of jobs, in the record, and arrays by directed link. All other entries of a record are computed
from these, the machine and the workload, and again when the code changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fabricstudy.core.arrays import Array, Floats, Int32s, Ints
from fabricstudy.core.parquet import read_parquet, rows_writer
from fabricstudy.core.store import Record
from fabricstudy.workload.messages import PlacedJob

if TYPE_CHECKING:
    from fabricstudy.machine.graph import Machine

LINKS, LINK_PACKETS, LINK_STALLS, JOB_LINKS = "links.npy", "link_packets.npy", "link_stall_ns.npy", "job_links.npy"
"""Arrays: bytes, packets and stalls of each directed link, and a bit for each job and link that it used."""

ARRAYS = (LINKS, LINK_PACKETS, LINK_STALLS, JOB_LINKS)

OPERATIONS = "operations.parquet"
"""Start and end of operations, `OPERATION_COLUMNS`, of small jobs."""

MESSAGES = "message_times.parquet"
"""Times of messages, `MESSAGE_COLUMNS`, where the engine's key `record` asks for them."""

STORED = (*ARRAYS, OPERATIONS, MESSAGES)

OPERATION_COLUMNS = {
    "job": "int32", "rank": "int32", "kind": "string", "mark": "string", "start_ns": "double", "end_ns": "double",
}  # fmt: skip

MESSAGE_COLUMNS = {
    "job": "int32", "source_rank": "int32", "destination_rank": "int32", "bytes": "int64", "started_ns": "double",
    "arrived_ns": "double", "least_ns": "double",
}  # fmt: skip

TIMES = ("runtime_ns", "rank_mean_ns", "message_mean_ns", "message_p99_ns", "waiting_ns", "delivered_load")
MARKS = ("marks", "exposed_ns", "bubble_ns")
OF_ENGINE = (*TIMES, *MARKS)
"""Entries of a job that only the engine knows."""


@dataclass(frozen=True, eq=False)
class EngineResult:
    """Result of a finished simulation; None where the engine does not measure it.

    Parameters
    ----------
    job_runtime_ns : tuple of float or None
        Runtime of each job: start to the last completion of its last rank. 0 for idle jobs, None for background jobs,
        and from an engine that does not simulate.
    link_bytes : float64 array [links], optional
        Bytes that crossed each directed link of the machine.
    job_link_packets : int32 array [jobs, links], optional
        Packets of each job that crossed each directed link. None also where there is one job, or two share a node.
    link_packets : int64 array [links], optional
        Packets that crossed each directed link, as the engine cuts messages.
    link_stall_ns : float64 array [links], optional
        Time in which each directed link had something to send and no room at its other end, by the engine's count.
    job_rank_mean_ns : tuple of float or None
        `mean_of_senders_ns` of each job; empty if unknown.
    job_message_mean_ns, job_message_p99_ns : tuple of float or None
        Mean of the message times of each job, and the least time that 99 % of them do not exceed; empty if unknown. The
        time of a message between two nodes is that from its posting to its arrival. None without such messages, and for
        background jobs.
    job_waiting_ns : tuple of float or None
        Time in which a rank neither computes nor sends, until it ends, mean over the ranks; empty if unknown.
    job_delivered_load : tuple of float or None
        Bytes of a background job with a load that have arrived, over those that the links of its nodes could carry.
    job_marks : tuple of dict or None
        `mark_times` of each job with marks, None of others; empty if unknown.
    operations : list of dict
        `OPERATION_COLUMNS` of jobs that are small enough to be drawn.
    messages : list of dict
        `MESSAGE_COLUMNS` of each job that is not in the background, if they are asked for.
    """

    job_runtime_ns: tuple[float | None, ...]
    link_bytes: Floats | None = None
    job_link_packets: Int32s | None = None
    link_packets: Ints | None = None
    link_stall_ns: Floats | None = None
    job_rank_mean_ns: tuple[float | None, ...] = ()
    job_message_mean_ns: tuple[float | None, ...] = ()
    job_message_p99_ns: tuple[float | None, ...] = ()
    job_waiting_ns: tuple[float | None, ...] = ()
    job_delivered_load: tuple[float | None, ...] = ()
    job_marks: tuple[dict[str, Any] | None, ...] = ()
    operations: tuple[dict[str, Any], ...] = ()
    messages: tuple[dict[str, Any], ...] = ()


def mean_of_senders_ns(job: PlacedJob, ended_ns: Floats) -> float | None:
    """Return the mean finish time of the ranks of a job that send; None without any, and for background jobs.

    `ended_ns` has the time from the start of the job to the end of the last phase of each rank, [ranks].
    """
    senders = np.unique(job.messages.source)
    return None if job.background or not len(senders) else float(ended_ns[senders].mean())


def idle_times_ns(jobs: list[PlacedJob]) -> tuple[list[float | None], list[float | None]]:
    """Return runtime and `mean_of_senders_ns` of each job where nothing is sent between nodes."""
    runtime_ns = [None if job.background else 0.0 for job in jobs]
    return runtime_ns, [mean_of_senders_ns(job, np.zeros(job.ranks)) for job in jobs]


def store_result(result: EngineResult, folder: Path, record: Record) -> None:
    """Write the times of a result to its record, and its arrays to the folder; all must be finite and not negative."""
    for name in TIMES:
        times: tuple[float | None, ...] = getattr(result, f"job_{name}")
        for job, time_ns in zip(record["jobs"], times, strict=bool(times)):
            _check(f"{name} of job {job['job']}", 0.0 if time_ns is None else time_ns)
            job[name] = time_ns
    for job, marks in zip(record["jobs"], result.job_marks, strict=bool(result.job_marks)):
        job |= marks or {}
    arrays = {LINKS: result.link_bytes, LINK_PACKETS: result.link_packets, LINK_STALLS: result.link_stall_ns}
    for name, values in arrays.items():
        if values is not None:
            _check(name, values)
            np.save(folder / name, values)
    for name, columns, of_jobs in (
        (OPERATIONS, OPERATION_COLUMNS, result.operations),
        (MESSAGES, MESSAGE_COLUMNS, result.messages),
    ):
        if of_jobs:
            with rows_writer(folder / name, columns) as write:
                for rows in of_jobs:
                    write(rows)
    if result.job_link_packets is not None:
        np.save(folder / JOB_LINKS, np.packbits(result.job_link_packets > 0, axis=1))


def load_arrays(folder: Path) -> dict[str, Array | None]:
    """Return the arrays stored by `store_result`, by name; None for those that the engine does not measure."""
    return {name: np.load(folder / name) if (folder / name).exists() else None for name in ARRAYS}


def recorded_rows(path: Path) -> dict[str, Any]:
    """Return the columns of `OPERATIONS` or `MESSAGES` of a finished point; empty if they were not recorded."""
    return read_parquet(path).to_pydict() if path.exists() else {}


LINK_COLUMNS = {
    "point_id": "string", "class": "string", "tail": "int32", "head": "int32", "cables": "int32",
    "load_bytes": "double", "busy_ns": "double", "packets": "int64", "stall_ns": "double",
}  # fmt: skip


def link_rows(point_id: str, machine: Machine, folder: Path) -> dict[str, Any]:
    """Return `LINK_COLUMNS`, a row per directed link of a finished point; {} if the engine does not measure loads."""
    arrays = load_arrays(folder)
    load_bytes, packets, stall_ns = arrays[LINKS], arrays[LINK_PACKETS], arrays[LINK_STALLS]
    if load_bytes is None:
        return {}
    names = np.array([link.name for link in machine.classes], dtype=object)
    unknown = [None] * machine.links
    return {
        "point_id": [point_id] * machine.links,
        "class": names[machine.link_class],
        "tail": machine.link_tail,
        "head": machine.link_head,
        "cables": np.repeat(machine.cable_count, 2),
        "load_bytes": load_bytes,
        "busy_ns": load_bytes / machine.link_capacity_Bps * 1e9,
        "packets": unknown if packets is None else packets,
        "stall_ns": unknown if stall_ns is None else stall_ns,
    }


def _check(name: str, values: npt.ArrayLike) -> None:
    if not np.all(np.isfinite(values) & (np.asarray(values) >= 0)):
        raise ValueError(f"{name} is negative or not finite")
