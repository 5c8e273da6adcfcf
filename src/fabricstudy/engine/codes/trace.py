"""Traces of MPI calls in DUMPI's binary format: only the five calls that a message list needs.

A file has a stream of records, header, footer and an index of their offsets; all numbers are big-endian. A record is a
label, a mask of the times that follow, those times, and the call's arguments.

A rank computes in CODES where a call starts later than the previous one ended, so all calls after a computation are
shifted.

References
----------
Sandia National Laboratories: SST DUMPI trace library, format of version 0.6.7 and later.
"""

import struct
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from fabricstudy.core.arrays import Integers, Ints
from fabricstudy.workload.messages import Computing, Messages, WorkloadError
from fabricstudy.workload.operations import CALC, RECEIVE, SEND, Operations
from fabricstudy.workload.sequences import exact_sequences

from ..traffic_files import whole_times

ISEND, IRECV, WAITALL, INIT, FINALIZE = 8, 12, 18, 124, 125

MIN_DELAY_NS = 101
"""CODES interprets pauses between two calls as computation if they are longer than 100 ns."""

# CODES supports fewer than 2048 requests in one wait.
REQUESTS_OF_A_WAIT = 1000

HEADER, FOOTER, _END_OF_STREAM, _FUNCTIONS = 0xFFAADD44554D5049, 0xF007FEE7, 293, 291
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

    In each phase a rank posts its receives, then its sends in their order, and waits for all of them. The sends of a
    phase are 101 ns apart: CODES adds a random time of up to 1 ns to each, so messages posted at the same time could
    leave in another order. Up to `under_way` sends of a rank are pending at the same time; left out: all of a phase.

    Sizes of messages fit in 31 bits, and ranks compute for whole ns. Raises `WorkloadError` if a rank would compute
    during a phase of which it cannot post all sends at once.
    """
    calls, rank, phase = _transfers(messages)
    starts = np.flatnonzero(np.diff(rank, prepend=-1) | np.diff(phase, prepend=-1))
    ends = np.append(starts[1:], len(calls))[: len(starts)]
    times = _times(calls, rank, starts)
    apart_ns = times[ends - 1] - times[starts]
    late_ns, overlapped_ns, after_ns = _pauses(rank[starts], phase[starts], apart_ns, computing, ranks)
    times += np.repeat(late_ns, ends - starts)
    calls["start_s"], calls["start_ns"] = calls["stop_s"], calls["stop_ns"] = np.divmod(times, 10**9)
    calls["request"] = np.arange(len(calls)) - np.repeat(starts, ends - starts)
    data, size = memoryview(calls.tobytes()), TRANSFER_DTYPE.itemsize
    groups = np.searchsorted(rank[starts], np.arange(ranks + 1))
    for of_rank, (first, last) in enumerate(pairwise(groups)):
        stream: list[bytes | memoryview] = [_call(INIT, 0), struct.pack(">I", 0)]
        now_ns = 0
        parts = (part[first:last].tolist() for part in (starts, ends, overlapped_ns))
        for start, end, computes_ns in zip(*parts, strict=True):
            # Pauses between the sends are part of the computation.
            now_ns = int(max(times[end - 1], times[start] + computes_ns))
            requests, receives = np.arange(end - start), int(np.count_nonzero(calls["label"][start:end] == IRECV))
            at_once = min(receives + (under_way or end), end - start)
            if computes_ns and at_once < end - start:
                raise WorkloadError(
                    "a rank computes during more messages than it has under way in CODES; raise network.injection, "
                    "leave overlap out, or use the engine packet"
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


def traces_of_operations(operations: Operations, pieces: Messages) -> Iterator[bytes]:
    """Return the trace of each rank of a job of operations, in order.

    The phase of a piece of a message is the number of its send among all sends, and its tag. As in `traces` sends are
    at least 101 ns apart; a computation after them is shorter by this time. Computations of up to 100 ns are added to
    the next one.
    """
    sends = operations.sends
    number = np.empty(len(operations), dtype=np.int64)
    number[sends] = number[operations.partner[sends]] = np.arange(len(sends))
    first = np.searchsorted(pieces.phase, np.arange(len(sends) + 1)).tolist()
    computes_ns = whole_times(operations.duration_ns).tolist()
    rows: dict[int, npt.NDArray[np.void]] = {}
    for kind, label, peer in ((SEND, ISEND, pieces.destination), (RECEIVE, IRECV, pieces.source)):
        rows[kind] = _rows(label, pieces.size_bytes, peer, pieces.phase)
    for steps in exact_sequences(operations):
        stream: list[bytes] = [_call(INIT, 0), struct.pack(">I", 0)]
        now_ns, pause_ns, posted = 0, 0, 0
        requests: dict[int, range] = {}
        after_send = False
        for waits, operation in steps:
            waited = [request for one in waits for request in requests.pop(one)]
            kind = int(operations.kind[operation]) if operation >= 0 else -1
            if waited or kind < 0:
                passed_ns = _passing(pause_ns)
                now_ns, pause_ns = now_ns + passed_ns, max(0, pause_ns - passed_ns)
                stream += _waits(now_ns, np.array(waited, dtype=np.int64))
                after_send = False
            if kind == CALC:
                pause_ns += computes_ns[operation]
            if kind not in rows:
                continue
            of_message = range(first[number[operation]], first[number[operation] + 1])
            requests[operation] = range(posted, posted + len(of_message))
            for piece in of_message:
                passed_ns = _passing(max(pause_ns, MIN_DELAY_NS) if after_send and kind == SEND else pause_ns)
                now_ns, pause_ns = now_ns + passed_ns, pause_ns - passed_ns
                call = rows[kind][piece]
                call["start_s"], call["start_ns"] = call["stop_s"], call["stop_ns"] = divmod(now_ns, 10**9)
                call["request"] = posted
                stream.append(call.tobytes())
                posted += 1
                after_send = kind == SEND
        yield _file(b"".join([*stream, _call(FINALIZE, now_ns)]))


def _passing(pause_ns: int) -> int:
    """Return the time before the next call: a pause, unless CODES would ignore it."""
    return pause_ns if pause_ns >= MIN_DELAY_NS else 0


def sends(time_ns: Ints, destination: Ints, size_bytes: int) -> bytes:
    """Return the trace of a rank that sends messages at given times, ascending, and waits for none of them."""
    calls = _rows(ISEND, np.full(len(time_ns), size_bytes), destination, 0)
    calls["start_s"], calls["start_ns"] = calls["stop_s"], calls["stop_ns"] = np.divmod(time_ns, 10**9)
    end = _call(FINALIZE, int(time_ns.max(initial=0)))
    return _file(b"".join([_call(INIT, 0), struct.pack(">I", 0), calls.tobytes(), end]))


def _rows(label: Ints | int, size_bytes: Ints, peer: Integers, tag: Integers | int) -> npt.NDArray[np.void]:
    calls = np.zeros(len(size_bytes), dtype=TRANSFER_DTYPE)
    calls["label"], calls["mask"], calls["count"], calls["peer"] = label, _WALL_TIME, size_bytes, peer
    calls["type"], calls["tag"], calls["comm"] = _BYTE, tag, _WORLD
    return calls


def _transfers(messages: Messages) -> tuple[npt.NDArray[np.void], Ints, Ints]:
    """Return receives and sends in the order of posting, and the rank and phase of each."""
    sent = np.repeat([False, True], len(messages))
    rank = np.concatenate([messages.destination, messages.source]).astype(np.int64)
    phase = np.tile(messages.phase, 2).astype(np.int64)
    order = np.lexsort((sent, phase, rank))
    peer = np.concatenate([messages.source, messages.destination])[order]
    label, size_bytes = np.where(sent, ISEND, IRECV)[order], np.tile(messages.size_bytes, 2)[order]
    calls = _rows(label, size_bytes, peer, phase[order])
    return calls, rank[order], phase[order]


def _times(calls: npt.NDArray[np.void], rank: Ints, starts: Ints) -> Ints:
    """Return the time of each call: a send is later than the previous one of its phase."""
    send = calls["label"] == ISEND
    pause = send & np.append(False, send[:-1])
    pause[starts] = False
    pauses = np.cumsum(pause)
    first_of_rank = np.flatnonzero(np.diff(rank, prepend=-1))
    before = np.repeat(pauses[first_of_rank], np.diff(np.append(first_of_rank, len(calls))))
    times: Ints = MIN_DELAY_NS * (pauses - before)
    return times


def _pauses(
    rank: Ints, phase: Ints, apart_ns: Ints, computing: Computing | None, ranks: int
) -> tuple[Ints, Ints, Ints]:
    """Return shift and overlapped computation of each group [groups], and computation after the last one [ranks].

    A group is the calls of a rank and phase; `apart_ns` is the time from its first to its last call.
    """
    late_ns, overlapped_ns, after_ns = np.zeros_like(rank), np.zeros_like(rank), np.zeros(ranks, dtype=np.int64)
    if computing is None:
        return late_ns, overlapped_ns, after_ns
    group_of = {pair: group for group, pair in enumerate(zip(rank.tolist(), phase.tolist(), strict=True))}
    parts_ns = (whole_times(part).tolist() for part in (computing.before_ns, computing.overlapped_ns))
    pairs = zip(computing.rank.tolist(), computing.phase.tolist(), strict=True)
    pause_of = dict(zip(pairs, zip(*parts_ns, strict=True), strict=True))
    late_of = [0] * ranks
    for pair in sorted(group_of.keys() | pause_of.keys()):
        of_rank, group = pair[0], group_of.get(pair)
        before, overlapped = pause_of.get(pair, (0, 0))
        late_of[of_rank] += before
        if group is None:  # all its messages are within nodes
            late_of[of_rank] += overlapped
            after_ns[of_rank] += before + overlapped
        else:
            late_ns[group], overlapped_ns[group] = late_of[of_rank], overlapped
            late_of[of_rank] += max(0, overlapped - int(apart_ns[group]))
            after_ns[of_rank] = 0
    return late_ns, overlapped_ns, after_ns


def _call(label: int, now_ns: int) -> bytes:
    return struct.pack(">HBHIHI", label, _WALL_TIME, *divmod(now_ns, 10**9), *divmod(now_ns, 10**9))


def _waits(now_ns: int, requests: Ints) -> Iterator[bytes]:
    for first in range(0, len(requests), REQUESTS_OF_A_WAIT):
        numbers = requests[first : first + REQUESTS_OF_A_WAIT].astype(">u4")
        yield _call(WAITALL, now_ns) + struct.pack(">II", len(numbers), len(numbers)) + numbers.tobytes()


def _file(stream: bytes) -> bytes:
    body = struct.pack(">Q", HEADER) + struct.pack(">II", 0, 0) + stream + struct.pack(">H", _END_OF_STREAM)
    header = bytes(_VERSION) + struct.pack(">QHHII", 0, 0, 0, 0, 0)
    footer = struct.pack(">Q", FOOTER) + bytes(2 * 4 * _FUNCTIONS)
    index = struct.pack(">8Q", HEADER, 0, 0, 0, len(body), 8, len(body) + len(header), 0)
    return body + header + footer + index
