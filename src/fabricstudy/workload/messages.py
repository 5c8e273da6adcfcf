"""Placed jobs and their messages: what every engine gets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fabricstudy.core.errors import FabricstudyError
from fabricstudy.machine.graph import Machine
from fabricstudy.machine.hops import hop_distances

if TYPE_CHECKING:
    import pyarrow as pa

IntArray = npt.NDArray[np.int32]
Indices = npt.NDArray[np.integer[Any]]
Mask = npt.NDArray[np.bool_]

# Rows converted to Arrow at a time, so that writing needs little memory beside the messages themselves.
ROWS_PER_WRITE = 1 << 20


class WorkloadError(FabricstudyError):
    """A job that cannot be placed, or whose pattern cannot be made there; the message says why."""


@dataclass(frozen=True, eq=False)
class Messages:
    """Messages of one job: the rows of a rank within a phase stand in the order in which it sends.

    In each phase a rank posts its receives and sends, waits for its own, then goes to its next phase; there
    is no global barrier. Rows are sorted by phase, then source.
    """

    phase: IntArray
    source: IntArray
    destination: IntArray
    """Phase, and the ranks within the job; int32 [messages] each."""
    size_bytes: npt.NDArray[np.int64]
    """Bytes of each message, at least 1; int64 [messages]."""

    def __len__(self) -> int:
        return len(self.phase)


@dataclass(frozen=True, eq=False)
class Computing:
    """What the ranks of a job compute: one row for a rank and a phase in which it has a message, sorted by phase.

    A rank posts the messages of the phase when it has computed `before_ns`, and leaves it when they have arrived and
    `beside_ns` have passed since.
    """

    phase: IntArray
    rank: IntArray
    """Each pair once; int32 [rows] each."""
    before_ns: npt.NDArray[np.float64]
    overlapped_ns: npt.NDArray[np.float64]
    """Times, not negative; float64 [rows] each."""

    @property
    def columns(self) -> tuple[npt.NDArray[Any], ...]:
        """The arrays in their order."""
        return self.phase, self.rank, self.before_ns, self.overlapped_ns

    @property
    def first_ns(self) -> float:
        """Least time that a rank computes before it posts its first message."""
        first = np.unique(self.rank, return_index=True)[1]
        return float(self.before_ns[first].min(initial=np.inf)) if len(first) else 0.0

    def total_ns_per_rank(self, ranks: int) -> npt.NDArray[np.float64]:
        """Time that each rank computes in all, float64 [ranks]."""
        # Of nothing, numpy would make integers.
        return np.bincount(self.rank, self.before_ns + self.overlapped_ns, ranks).astype(np.float64, copy=False)


@dataclass(frozen=True, eq=False)
class PlacedJob:
    """A job with the node of each rank (int32 [ranks]) and its messages."""

    name: str
    node_of_rank: IntArray
    messages: Messages
    background_duration_ns: float | None = None
    """None for a job that ends. In the background: the time that its repeated messages have to fill at least, by an
    engine that cannot go on for ever."""
    computing: Computing | None = None
    """None for a job that computes nothing."""
    mapping_start: str | None = None
    """The start that its mapping is from, None where the mapping does not try several."""

    @property
    def background(self) -> bool:
        """Whether it repeats its messages until all other jobs have ended."""
        return self.background_duration_ns is not None

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return len(self.node_of_rank)

    @property
    def is_inter_node(self) -> Mask:
        """Whether each message goes from one node to another, bool [messages]."""
        between: Mask = self.node_of_rank[self.messages.source] != self.node_of_rank[self.messages.destination]
        return between

    @property
    def bytes_sent(self) -> int:
        """Bytes of all messages."""
        return int(self.messages.size_bytes.sum())


MAX_REPEATED_MESSAGES = 20_000_000
"""Messages that a background job becomes at most where its rounds are written out: some GB of traces."""


def repeat_background(job: PlacedJob, machine: Machine) -> PlacedJob:
    """Return a background job with as many rounds of its messages as fill `PlacedJob.lasts_ns`, and any other as it is.

    A rank cannot send its bytes faster than its node's link takes them. So whatever an engine calls the end of a send,
    each rank that sends something to another node still has bytes to send after that time.

    Raises WorkloadError if that are too many messages.
    """
    sent = job.messages
    if job.background_duration_ns is None or not job.is_inter_node.any():
        return job
    bytes_of_rank = np.bincount(sent.source, weights=sent.size_bytes * job.is_inter_node)
    least = bytes_of_rank[bytes_of_rank > 0].min()
    rounds = 1 + ceil(job.background_duration_ns * 1e-9 * machine.host.bandwidth_Bps / least)
    if rounds * len(sent) > MAX_REPEATED_MESSAGES:
        raise WorkloadError(
            f"in the background it would repeat {len(sent):,} messages {rounds:,} times, and this engine can be given "
            f"{MAX_REPEATED_MESSAGES:,} messages; raise its message size, or take the engine caminos"
        )
    phases = int(sent.phase.max()) + 1
    first_phase = np.repeat(np.arange(rounds, dtype=np.int32) * phases, len(sent)).astype(np.int32)
    phase, *columns = (np.tile(column, rounds) for column in vars(sent).values())
    repeated = Messages(phase + first_phase, *columns)
    return replace(job, messages=repeated, computing=_repeated(job.computing, rounds, phases))


def _repeated(computing: Computing | None, rounds: int, phases: int) -> Computing | None:
    if computing is None:
        return None
    first_phase = np.repeat(np.arange(rounds) * phases, len(computing.phase))
    phase, *columns = (np.tile(column, rounds) for column in computing.columns)
    return Computing((phase + first_phase).astype(np.int32), *columns)


def hop_bytes(job: PlacedJob, machine: Machine) -> float:
    """Return the sum over the job's messages of bytes times hops between routers; within a router they count 0.

    The measure of Agarwal, Sharma and Kale (IPDPS 2006).
    """
    router = machine.node_router[job.node_of_rank]
    far = hop_distances(machine).between(router[job.messages.source], router[job.messages.destination])
    return float(far.astype(np.float64) @ job.messages.size_bytes)


def write_parquet(jobs: list[PlacedJob], folder: Path) -> None:
    """Write ranks.parquet (job, rank, node) and messages.parquet (job, phase, source, destination, bytes).

    Rows stand job after job in the order of `jobs`, ranks ascending, messages in send order; the folder exists.
    """
    import pyarrow as pa

    job, number = ("job", pa.dictionary(pa.int32(), pa.string())), pa.int32()
    ranks = pa.schema([job, ("rank", number), ("node", number)])
    messages = pa.schema([job, ("phase", number), ("source", number), ("destination", number), ("bytes", pa.int64())])
    of_ranks = ((j.name, [np.arange(j.ranks, dtype=np.int32), j.node_of_rank]) for j in jobs)
    _write(folder / "ranks.parquet", ranks, of_ranks)
    sent = ((j.name, j.messages) for j in jobs)
    _write(folder / "messages.parquet", messages, ((name, [*vars(columns).values()]) for name, columns in sent))


def _write(path: Path, schema: pa.Schema, jobs: Iterator[tuple[str, list[npt.NDArray[Any]]]]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetWriter(path, schema) as writer:
        for name, columns in jobs:
            for start in range(0, len(columns[0]), ROWS_PER_WRITE):
                part = [column[start : start + ROWS_PER_WRITE] for column in columns]
                names = pa.DictionaryArray.from_arrays(np.zeros(len(part[0]), dtype=np.int32), [name])
                writer.write_batch(pa.RecordBatch.from_arrays([names, *map(pa.array, part)], schema=schema))
