"""The rendezvous protocol as operations: a request to send and a clear to send precede each long message (RTS, CTS)."""

import numpy as np

from .messages import WorkloadError
from .operations import ENDED, RECEIVE, SEND, STARTED, Operations

CONTROL_BYTES = 64
"""Size of a request to send, and of a clear to send."""


def with_rendezvous(operations: Operations, above_bytes: int) -> Operations:
    """Return operations in which each message of more than `above_bytes` waits for a request and a clear to send.

    A request to send leaves when the message could have left. The receiver clears it once the request has arrived and
    the receive has been posted. What needs the start of the send or of the receive needs that of the request's end.

    Raises WorkloadError if ranks then wait for each other, as ranks do that send to each other before they receive.
    """
    long = operations.sends[operations.size_bytes[operations.sends] > above_bytes]
    received, count, first = operations.partner[long], len(long), len(operations)
    if not count:
        return operations
    # At the source the request is sent and the clear is received, at the destination the reverse.
    added = np.concatenate([long, long, received, received])
    rts_sent, cts_received, rts_received, cts_sent = np.split(np.arange(first, first + 4 * count), 4)
    early = np.arange(first)
    early[long], early[received] = rts_sent, rts_received
    needs = np.where(operations.when == STARTED, early[operations.needs], operations.needs)
    moved = early[operations.dependent] != operations.dependent
    rows = [
        (operations.dependent, needs, operations.when),
        # Requests are sent and received when their messages could be.
        (early[operations.dependent][moved], needs[moved], operations.when[moved]),
    ]
    rows += [
        (dependent, needed, np.full(count, when, dtype=np.int8))
        for dependent, needed, when in (
            (cts_received, rts_sent, STARTED), (long, cts_received, ENDED),
            (cts_sent, rts_received, ENDED), (received, cts_sent, STARTED),
        )
    ]  # fmt: skip
    dependent, needs, when = (np.concatenate(columns) for columns in zip(*rows, strict=True))
    kinds = np.repeat(np.array([SEND, RECEIVE, RECEIVE, SEND], dtype=operations.kind.dtype), count)
    extended = operations.extended(
        added, kinds, np.zeros(4 * count), np.full(4 * count, CONTROL_BYTES),
        np.concatenate([rts_received, cts_sent, rts_sent, cts_received]), dependent, needs, when,
    )  # fmt: skip
    # Sorted by rank; what was added stands before the message.
    position = np.concatenate([np.arange(first), added])
    sequence = np.concatenate([np.full(first, 4 * count), np.arange(4 * count)])
    extended = extended.in_order(np.lexsort((sequence, position)))
    # Imports numba, which planning does not need.
    from .critical_path import find_cycle

    if cycle := find_cycle(extended):
        ranks = ", ".join(map(str, sorted({int(extended.rank[operation]) for operation in cycle})[:10]))
        raise WorkloadError(f"with rendezvous: {above_bytes} B ranks {ranks} wait for each other; set a larger size")
    return extended
