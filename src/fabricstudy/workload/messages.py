"""Placed jobs and their messages: the input of every engine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fabricstudy.core.arrays import Array, Bools, Floats, Int32s, Ints
from fabricstudy.core.errors import FabricstudyError
from fabricstudy.machine.distances import hop_distances
from fabricstudy.machine.graph import Machine

if TYPE_CHECKING:
    import pyarrow as pa

    from .operations import Operations


# Rows converted to Arrow at a time, to limit memory.
ROWS_PER_WRITE = 1 << 20


class WorkloadError(FabricstudyError):
    """A job cannot be placed, or its pattern is not defined for its placement."""


@dataclass(frozen=True, eq=False)
class Messages:
    """Messages of one job, sorted by phase, source and send order.

    In each phase a rank posts its receives and sends, waits for their completion, then starts its next phase; there
    is no global barrier.
    """

    phase: Int32s
    source: Int32s
    destination: Int32s
    """Phase, and the ranks within the job; int32 [messages] each."""
    size_bytes: Ints
    """Bytes of each message, int64 [messages]."""

    def __len__(self) -> int:
        return len(self.phase)


@dataclass(frozen=True, eq=False)
class Computing:
    """Computation of the ranks of a job: one row per phase and rank with a message in it, sorted by phase.

    A rank posts the messages of the phase after computing for `before_ns`, and completes the phase when they have
    arrived and `overlapped_ns` have passed since.
    """

    phase: Int32s
    rank: Int32s
    """Each pair once; int32 [rows] each."""
    before_ns: Floats
    overlapped_ns: Floats
    """Times, not negative; float64 [rows] each."""

    @property
    def columns(self) -> tuple[Array, ...]:
        """Return all columns."""
        return self.phase, self.rank, self.before_ns, self.overlapped_ns

    @property
    def first_ns(self) -> float:
        """Minimum time that a rank computes before it posts its first message."""
        first = np.unique(self.rank, return_index=True)[1]
        return float(self.before_ns[first].min(initial=np.inf)) if len(first) else 0.0

    def total_ns_per_rank(self, ranks: int) -> Floats:
        """Return the total computation time of each rank, float64 [ranks]."""
        # Without rows, numpy returns integers.
        return np.bincount(self.rank, self.before_ns + self.overlapped_ns, ranks).astype(np.float64, copy=False)


@dataclass(frozen=True, eq=False)
class PlacedJob:
    """A job with the node of each rank (int32 [ranks]) and its messages."""

    name: str
    node_of_rank: Int32s
    messages: Messages
    background_duration_ns: float | None = None
    """Minimum time that the repeated messages of a background job have to fill, for engines that need a finite number;
    None for a foreground job."""
    computing: Computing | None = None
    """None for a job without computation."""
    mapping_start: str | None = None
    """The start that the mapping selected; None if it has only one."""
    operations: Operations | None = None
    """What the ranks do, if `messages` are not sent in phases, but in the order of dependencies."""
    start_ns: float = 0.0
    """When the job starts, from the start of the simulation."""
    load: float | None = None
    """Load that each node of a background job offers, over the bandwidth of its link; None for jobs that repeat."""

    @property
    def background(self) -> bool:
        """True if the job repeats its messages until all other jobs have finished."""
        return self.background_duration_ns is not None

    @property
    def ranks(self) -> int:
        return len(self.node_of_rank)

    @property
    def is_inter_node(self) -> Bools:
        """Mask of the messages between different nodes, bool [messages]."""
        return np.not_equal(self.node_of_rank[self.messages.source], self.node_of_rank[self.messages.destination])

    @property
    def bytes_sent(self) -> int:
        return int(self.messages.size_bytes.sum())


MAX_REPEATED_MESSAGES = 20_000_000
"""Maximum number of messages of a background job with all repetitions written out: some GB of traces."""


def repeat_background(job: PlacedJob, machine: Machine) -> PlacedJob:
    """Repeat the messages of a background job to fill its `background_duration_ns`; return other jobs unchanged.

    A rank cannot send faster than its node's link. So however an engine defines the end of a send, each rank that sends
    to another node still has bytes to send after that time.

    Raises WorkloadError if this results in too many messages, or the job has operations with dependencies.
    """
    sent = job.messages
    if job.background_duration_ns is None or not job.is_inter_node.any():
        return job
    if job.operations is not None:
        raise WorkloadError("this engine repeats no operations with dependencies in the background; use packet")
    bytes_of_rank = np.bincount(sent.source, weights=sent.size_bytes * job.is_inter_node)
    least = bytes_of_rank[bytes_of_rank > 0].min()
    rounds = 1 + ceil(job.background_duration_ns * 1e-9 * machine.host.bandwidth_Bps / least)
    if rounds * len(sent) > MAX_REPEATED_MESSAGES:
        raise WorkloadError(
            f"its {len(sent):,} background messages would be repeated {rounds:,} times, but this engine supports "
            f"{MAX_REPEATED_MESSAGES:,} messages; increase the message size, or use the engine packet"
        )
    phases = int(sent.phase.max()) + 1

    def repeated(phase: Int32s, *columns: Array) -> list[Array]:
        phase_of_round = np.arange(rounds, dtype=np.int32)[:, None] * np.int32(phases)
        return [(phase_of_round + phase).ravel(), *(np.tile(column, rounds) for column in columns)]

    rows = None if job.computing is None else Computing(*repeated(*job.computing.columns))
    return replace(job, messages=Messages(*repeated(*vars(sent).values())), computing=rows)


def hop_bytes(job: PlacedJob, machine: Machine) -> float:
    """Return the sum over the job's messages of bytes times hops between routers (Agarwal, Sharma and Kale 2006)."""
    router = machine.node_router[job.node_of_rank]
    hops = hop_distances(machine).between(router[job.messages.source], router[job.messages.destination])
    return float(hops.astype(np.float64) @ job.messages.size_bytes)


def write_workload_tables(jobs: list[PlacedJob], folder: Path) -> None:
    """Write ranks.parquet (job, rank, node) and messages.parquet (job, phase, source, destination, bytes).

    Rows are in the order of `jobs`, ranks ascending, messages in send order; the folder must exist.
    """
    import pyarrow as pa

    job, number = ("job", pa.dictionary(pa.int32(), pa.string())), pa.int32()
    ranks = pa.schema([job, ("rank", number), ("node", number)])
    messages = pa.schema([job, ("phase", number), ("source", number), ("destination", number), ("bytes", pa.int64())])
    rank_columns = ((j.name, [np.arange(j.ranks, dtype=np.int32), j.node_of_rank]) for j in jobs)
    _write(folder / "ranks.parquet", ranks, rank_columns)
    _write(folder / "messages.parquet", messages, ((j.name, [*vars(j.messages).values()]) for j in jobs))


def _write(path: Path, schema: pa.Schema, jobs: Iterator[tuple[str, list[Array]]]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetWriter(path, schema) as writer:
        for name, columns in jobs:
            for start in range(0, len(columns[0]), ROWS_PER_WRITE):
                part = [column[start : start + ROWS_PER_WRITE] for column in columns]
                names = pa.DictionaryArray.from_arrays(np.zeros(len(part[0]), dtype=np.int32), [name])
                writer.write_batch(pa.RecordBatch.from_arrays([names, *map(pa.array, part)], schema=schema))
