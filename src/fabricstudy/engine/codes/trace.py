"""Traces of MPI calls in DUMPI's binary format: only the five calls that a message list needs.

A file holds a stream of records, then header, footer and an index of where these stand; all numbers are
big-endian. A record is a label, a mask that says which times follow, those times, and the call's arguments.

CODES computes where a call starts later than the one before it ended, so that all calls after a computation are later.

References
----------
Sandia National Laboratories: SST DUMPI trace library, format of version 0.6.7 and later.
"""

import struct
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from fabricstudy.workload.messages import Computing, Messages, WorkloadError

IntArray = npt.NDArray[np.int64]

ISEND, IRECV, WAITALL, INIT, FINALIZE = 8, 12, 18, 124, 125

MIN_DELAY_NS = 101
"""CODES takes a pause between two calls for computing if it is longer than 100 ns."""

# CODES holds fewer than 2048 requests in one wait.
REQUESTS_OF_A_WAIT = 1000

HEAD, FOOT, _END_OF_STREAM, _FUNCTIONS = 0xFFAADD44554D5049, 0xF007FEE7, 293, 291
_VERSION = (0, 6, 7)
_WALL_TIME = 8
_BYTE, _WORLD = 5, 2
_TIMES = [("start_s", ">u2"), ("start_ns", ">u4"), ("stop_s", ">u2"), ("stop_ns", ">u4")]
_CALL = [("label", ">u2"), ("mask", "u1"), *_TIMES]
CALL_DTYPE = np.dtype(_CALL)
TRANSFER_DTYPE = np.dtype(
    [*_CALL, ("count", ">u4"), ("type", ">u2"), ("peer", ">u4"), ("tag", ">u4"), ("comm", ">u2"), ("request", ">u4")]
)


def traces(
    ranks: int, messages: Messages, under_way: int | None = None, computing: Computing | None = None
) -> Iterator[bytes]:
    """Return the trace of each rank of a job, in order.

    In each phase a rank posts its receives, then its sends in their order, and waits for all of them. With `under_way`
    a send is posted when the one that stands so many before it has left: where messages take turns, they leave in the
    order in which they were posted. The sends of a phase are 101 ns apart: CODES adds up to 1 ns at random to each, so
    that messages posted at the same time would leave in another order than the one they were posted in.

    Parameters
    ----------
    ranks : int
        Ranks of the job.
    messages : Messages
        What they send; bytes fit in 31 bits.
    under_way : int, optional
        Sends of a rank that are under way at once; left out: all of a phase.
    computing : Computing, optional
        What the ranks compute, in whole ns.

    Raises
    ------
    WorkloadError
        If a rank would compute beside messages of which it cannot post all at once.
    """
    calls, rank, phase = _transfers(messages)
    starts = np.flatnonzero(np.diff(rank, prepend=-1) | np.diff(phase, prepend=-1))
    ends = np.append(starts[1:], len(calls))[: len(starts)]
    times = _times(calls, rank, starts)
    apart_ns = times[ends - 1] - times[starts]
    late_ns, beside_ns, after_ns = _pauses(rank[starts], phase[starts], apart_ns, computing, ranks)
    times += np.repeat(late_ns, ends - starts)
    calls["start_s"], calls["start_ns"] = calls["stop_s"], calls["stop_ns"] = np.divmod(times, 10**9)
    calls["request"] = np.arange(len(calls)) - np.repeat(starts, ends - starts)
    data, size = memoryview(calls.tobytes()), TRANSFER_DTYPE.itemsize
    groups = np.searchsorted(rank[starts], np.arange(ranks + 1))
    for of_rank, (first, last) in enumerate(pairwise(groups)):
        stream: list[bytes | memoryview] = [_call(INIT, 0), struct.pack(">I", 0)]
        now_ns = 0
        parts = (part[first:last].tolist() for part in (starts, ends, beside_ns))
        for start, end, computes_ns in zip(*parts, strict=True):
            # Between its sends it has computed a little.
            now_ns = int(max(times[end - 1], times[start] + computes_ns))
            requests, receives = np.arange(end - start), int(np.count_nonzero(calls["label"][start:end] == IRECV))
            at_once = min(receives + (under_way or end), end - start)
            if computes_ns and at_once < end - start:
                raise WorkloadError(
                    "a rank computes beside more messages than it has under way in CODES; raise network.injection, "
                    "leave overlap out, or take the engine caminos"
                )
            stream.append(data[start * size : (start + at_once) * size])
            for number in range(at_once, end - start):
                send = start + number
                stream += [
                    *_waits(int(times[send - 1]), requests[number - at_once + receives :][:1]),
                    data[send * size : (send + 1) * size],
                ]
            stream += _waits(now_ns, np.delete(requests, slice(receives, receives + end - start - at_once)))
        yield _file(b"".join([*stream, _call(FINALIZE, now_ns + int(after_ns[of_rank]))]))


def _transfers(messages: Messages) -> tuple[npt.NDArray[np.void], IntArray, IntArray]:
    """Receives and sends in the order in which the ranks post them, with the rank and phase of each."""
    sent = np.repeat([False, True], len(messages))
    rank = np.concatenate([messages.destination, messages.source]).astype(np.int64)
    phase = np.tile(messages.phase, 2).astype(np.int64)
    order = np.lexsort((sent, phase, rank))
    calls = np.zeros(len(order), dtype=TRANSFER_DTYPE)
    calls["label"], calls["mask"] = np.where(sent, ISEND, IRECV)[order], _WALL_TIME
    calls["count"] = np.tile(messages.size_bytes, 2)[order]
    calls["peer"] = np.concatenate([messages.source, messages.destination])[order]
    calls["type"], calls["tag"], calls["comm"] = _BYTE, phase[order], _WORLD
    return calls, rank[order], phase[order]


def _times(calls: npt.NDArray[np.void], rank: IntArray, starts: IntArray) -> IntArray:
    """Time of each call: a send after another one of its phase comes later than that one."""
    send = calls["label"] == ISEND
    pause = send & np.append(False, send[:-1])
    pause[starts] = False
    pauses = np.cumsum(pause)
    first_of_rank = np.flatnonzero(np.diff(rank, prepend=-1))
    before = np.repeat(pauses[first_of_rank], np.diff(np.append(first_of_rank, len(calls))))
    times: IntArray = MIN_DELAY_NS * (pauses - before)
    return times


def _pauses(
    rank: IntArray, phase: IntArray, apart_ns: IntArray, computing: Computing | None, ranks: int
) -> tuple[IntArray, IntArray, IntArray]:
    """Return how much later the calls of each rank and phase are, and what is computed beside them and behind all.

    Parameters
    ----------
    rank, phase, apart_ns : int64 arrays [groups]
        Calls by rank and phase, and the time from the first to the last of them.
    """
    late_ns, beside_ns, after_ns = np.zeros_like(rank), np.zeros_like(rank), np.zeros(ranks, dtype=np.int64)
    if computing is None:
        return late_ns, beside_ns, after_ns
    group_of = {pair: group for group, pair in enumerate(zip(rank.tolist(), phase.tolist(), strict=True))}
    parts_ns = (np.rint(part).astype(np.int64).tolist() for part in (computing.before_ns, computing.overlapped_ns))
    pairs = zip(computing.rank.tolist(), computing.phase.tolist(), strict=True)
    pause_of = dict(zip(pairs, zip(*parts_ns, strict=True), strict=True))
    late_of = [0] * ranks
    for pair in sorted(group_of.keys() | pause_of.keys()):
        of_rank, group = pair[0], group_of.get(pair)
        before, beside = pause_of.get(pair, (0, 0))
        late_of[of_rank] += before
        if group is None:  # all its messages are within nodes
            late_of[of_rank] += beside
            after_ns[of_rank] += before + beside
        else:
            late_ns[group], beside_ns[group] = late_of[of_rank], beside
            late_of[of_rank] += max(0, beside - int(apart_ns[group]))
            after_ns[of_rank] = 0
    return late_ns, beside_ns, after_ns


def _call(label: int, now_ns: int) -> bytes:
    return struct.pack(">HBHIHI", label, _WALL_TIME, *divmod(now_ns, 10**9), *divmod(now_ns, 10**9))


def _waits(now_ns: int, requests: IntArray) -> Iterator[bytes]:
    for first in range(0, len(requests), REQUESTS_OF_A_WAIT):
        numbers = requests[first : first + REQUESTS_OF_A_WAIT].astype(">u4")
        count = len(numbers)
        yield _call(WAITALL, now_ns) + struct.pack(">II", count, count) + numbers.tobytes()


def _file(stream: bytes) -> bytes:
    body = struct.pack(">Q", HEAD) + struct.pack(">II", 0, 0) + stream + struct.pack(">H", _END_OF_STREAM)
    header = bytes(_VERSION) + struct.pack(">QHHII", 0, 0, 0, 0, 0)
    footer = struct.pack(">Q", FOOT) + bytes(2 * 4 * _FUNCTIONS)
    header_at = len(body)
    footer_at = header_at + len(header)
    index = struct.pack(">8Q", HEAD, 0, 0, 0, header_at, 8, footer_at, 0)
    return body + header + footer + index
