"""A job's messages as traces that Ember's motif SIRIUSTrace reads: one binary file a rank.

In each phase a rank posts its receives, sends one message after the other, and waits for its receives. A send of the
trace blocks; the trace's own non-blocking one does not work in SST (2026).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from fabricstudy.workload.messages import PlacedJob

LARGEST_MESSAGE = 2**32 - 1

_INIT, _FINALIZE, _SEND, _RECEIVE, _WAIT = 1, 2, 4, 17, 129
_CHARACTERS, _WORLD = 4, 0
_TAGS = 2**30
"""Phases are told apart by the tag; the largest number of 32 bits would mean any."""

# Times are all 0: a rank does nothing between two calls.
_CALL = [("call", "<u4"), ("start", "<f8")]
_DATA = [("buffer", "<u8"), ("count", "<u4"), ("type", "<u4"), ("peer", "<i4"), ("tag", "<i4"), ("world", "<u4")]
_END = [("end", "<f8"), ("result", "<i4")]
_SEND_CALL = np.dtype([*_CALL, *_DATA, *_END])
_RECEIVE_CALL = np.dtype([*_CALL, *_DATA, ("request", "<u8"), *_END])
_EMPTY_CALL = np.dtype([*_CALL, *_END])
_WAIT_CALL = np.dtype([*_CALL, ("count", "<u4")])
_WAIT_END = np.dtype(_END)


@dataclass(frozen=True, eq=False)
class Seats:
    """Where SST has the ranks of a job: `cores` on each node, in the order of the nodes.

    Parameters
    ----------
    nodes : int64 array
        Nodes of the job, ascending.
    cores : int
        Ranks that SST gives each of them.
    seat_of_rank : int64 array [ranks]
        SST's number of each rank.
    """

    nodes: npt.NDArray[np.int64]
    cores: int
    seat_of_rank: npt.NDArray[np.int64]

    @property
    def seats(self) -> int:
        """SST's ranks; some do nothing where a node has fewer ranks than others."""
        return len(self.nodes) * self.cores


def seats_of(job: PlacedJob) -> Seats:
    """Give SST's numbers of a job's ranks.

    Examples
    --------
    >>> from fabricstudy.workload.messages import Messages
    >>> nothing = Messages(*(np.zeros(0, dtype=np.int32) for _ in range(3)), np.zeros(0, dtype=np.int64))
    >>> seats_of(PlacedJob("app", np.array([7, 3, 7, 3], dtype=np.int32), nothing)).seat_of_rank.tolist()
    [2, 0, 3, 1]
    """
    nodes, place, ranks = np.unique(job.node_of_rank, return_inverse=True, return_counts=True)
    order = np.argsort(place, kind="stable")
    core = np.empty(job.ranks, dtype=np.int64)
    core[order] = np.arange(job.ranks) - np.repeat(np.cumsum(ranks) - ranks, ranks)
    cores = int(ranks.max(initial=1))
    return Seats(nodes.astype(np.int64), cores, place * cores + core)


def write_traces(prefix: Path, job: PlacedJob, seats: Seats) -> None:
    """Write one trace a rank: ``<prefix>.<rank>``, by SST's numbers.

    Parameters
    ----------
    prefix : Path
        In an existing folder.
    """
    messages = job.messages
    source, destination = seats.seat_of_rank[messages.source], seats.seat_of_rank[messages.destination]
    tag = messages.phase % _TAGS
    sends = _calls(_SEND_CALL, _SEND, messages.size_bytes, destination, tag)
    receives = _calls(_RECEIVE_CALL, _RECEIVE, messages.size_bytes, source, tag)
    receives["request"] = np.arange(1, len(messages) + 1)
    # Rows of a rank and phase stay in send order, in which messages between two ranks are matched.
    sent, received = (_by_rank_and_phase(rank, messages.phase, seats.seats) for rank in (source, destination))
    for rank in range(seats.seats):
        with prefix.with_name(f"{prefix.name}.{rank}").open("wb") as file:
            file.write(_empty_call(_INIT))
            for phase in sorted(sent[rank].keys() | received[rank].keys()):
                posted = receives[received[rank].get(phase, [])]
                file.write(posted.tobytes())
                file.write(sends[sent[rank].get(phase, [])].tobytes())
                if len(posted):
                    file.write(_wait(posted["request"]))
            file.write(_empty_call(_FINALIZE))


def _calls(
    kind: np.dtype[np.void],
    call: int,
    size: npt.NDArray[np.int64],
    peer: npt.NDArray[np.int64],
    tag: npt.NDArray[np.int32],
) -> npt.NDArray[np.void]:
    rows = np.zeros(len(size), dtype=kind)
    rows["call"], rows["type"], rows["world"] = call, _CHARACTERS, _WORLD
    rows["count"], rows["peer"], rows["tag"] = size, peer, tag
    return rows


def _by_rank_and_phase(
    rank: npt.NDArray[np.int64], phase: npt.NDArray[np.int32], ranks: int
) -> list[dict[int, npt.NDArray[np.int64]]]:
    """Rows of each rank, by phase."""
    rows_of: list[dict[int, npt.NDArray[np.int64]]] = [{} for _ in range(ranks)]
    order = np.lexsort((phase, rank)).astype(np.int64)
    if len(order):
        cuts = np.flatnonzero(np.diff(rank[order]) | np.diff(phase[order])) + 1
        for rows in np.split(order, cuts):
            rows_of[int(rank[rows[0]])][int(phase[rows[0]])] = rows
    return rows_of


def _empty_call(call: int) -> bytes:
    row = np.zeros((), dtype=_EMPTY_CALL)
    row["call"] = call
    return row.tobytes()


def _wait(requests: npt.NDArray[np.uint64]) -> bytes:
    row = np.zeros((), dtype=_WAIT_CALL)
    row["call"], row["count"] = _WAIT, len(requests)
    return row.tobytes() + np.ascontiguousarray(requests).tobytes() + np.zeros((), dtype=_WAIT_END).tobytes()
