"""A reader of the DUMPI traces that we write, which a test checks against DUMPI's own."""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np

from fabricstudy.engine.codes.trace import (
    CALL_DTYPE,
    FINALIZE,
    FOOTER,
    HEADER,
    INIT,
    IRECV,
    ISEND,
    TRANSFER_DTYPE,
    WAITALL,
)


class Call(NamedTuple):
    """A call as read: label, time, and for transfers the peer, bytes and tag; for waits the requests."""

    label: int
    time_ns: int
    peer: int = -1
    size_bytes: int = 0
    tag: int = -1
    requests: tuple[int, ...] = ()


def read_trace(data: bytes) -> list[Call]:
    """Read a trace of the calls that `trace` writes.

    Raises
    ------
    ValueError
        If it is something else.
    """
    magic, _, _, _, _, body, footer, _ = struct.unpack(">8Q", data[-64:])
    if struct.unpack(">Q", data[:8])[0] != HEADER or magic != HEADER:
        raise ValueError("not a DUMPI trace")
    if struct.unpack_from(">Q", data, footer)[0] != FOOTER:
        raise ValueError("the trace has no footer where its index says")
    calls, at = [], body + 8
    while True:
        call, at = _read_call(data, at)
        calls.append(call)
        if call.label == FINALIZE:
            return calls


def _read_call(data: bytes, at: int) -> tuple[Call, int]:
    head = np.frombuffer(data, CALL_DTYPE, 1, at)[0]
    label, time_ns = int(head["label"]), int(head["start_s"]) * 10**9 + int(head["start_ns"])
    end = at + CALL_DTYPE.itemsize
    if label in (ISEND, IRECV):
        call = np.frombuffer(data, TRANSFER_DTYPE, 1, at)[0]
        found = Call(label, time_ns, int(call["peer"]), int(call["count"]), int(call["tag"]), (int(call["request"]),))
        return found, at + TRANSFER_DTYPE.itemsize
    if label == WAITALL:
        count = struct.unpack_from(">II", data, end)[0]
        requests = struct.unpack_from(f">{count}I", data, end + 8)
        return Call(label, time_ns, requests=requests), end + 8 + 4 * count
    if label == INIT:
        return Call(label, time_ns), end + 4
    if label == FINALIZE:
        return Call(label, time_ns), end
    raise ValueError(f"a call of kind {label} at byte {at}")
