"""The rendezvous protocol as operations: a long message is sent when its receiver has answered a question."""

from dataclasses import replace

import numpy as np

from .critical_path import circle
from .messages import WorkloadError
from .operations import ENDED, RECEIVE, SEND, STARTED, Operations

CONTROL_BYTES = 64
"""Size of a question, and of an answer."""


def with_rendezvous(operations: Operations, above_bytes: int) -> Operations:
    """Return operations in which a question and an answer precede each message of more than `above_bytes`.

    A send asks when it could start, and its receiver answers when it could receive and has been asked; both go on at
    once. What needs the start of the send or of the receive needs that of the question at this end.

    Raises WorkloadError if ranks then wait for each other, as ranks do that send to each other before they receive.
    """
    long = operations.sends[operations.size_bytes[operations.sends] > above_bytes]
    received, count, first = operations.partner[long], len(long), len(operations)
    if not count:
        return operations
    # Question and answer at the source, then at the destination.
    added = np.concatenate([long, long, received, received])
    asks, answered, asked, answers = np.split(np.arange(first, first + 4 * count), 4)
    early = np.arange(first)
    early[long], early[received] = asks, asked
    needs = np.where(operations.when == STARTED, early[operations.needs], operations.needs)
    moved = early[operations.dependent] != operations.dependent
    rows = [
        (operations.dependent, needs, operations.when),
        # Questions are sent and received when their messages could be.
        (early[operations.dependent][moved], needs[moved], operations.when[moved]),
    ]
    rows += [
        (dependent, needed, np.full(count, when, dtype=np.int8))
        for dependent, needed, when in (
            (answered, asks, STARTED), (long, answered, ENDED), (answers, asked, ENDED), (received, answers, STARTED)
        )
    ]  # fmt: skip
    dependent, needs, when = (np.concatenate(columns) for columns in zip(*rows, strict=True))
    mark = operations.mark
    kinds = np.repeat(np.array([SEND, RECEIVE, RECEIVE, SEND], dtype=operations.kind.dtype), count)
    asked_first = replace(
        operations,
        rank=np.concatenate([operations.rank, operations.rank[added]]),
        stream=np.concatenate([operations.stream, operations.stream[added]]),
        kind=np.concatenate([operations.kind, kinds]),
        duration_ns=np.concatenate([operations.duration_ns, np.zeros(4 * count)]),
        size_bytes=np.concatenate([operations.size_bytes, np.full(4 * count, CONTROL_BYTES)]),
        partner=np.concatenate([operations.partner, asked, answers, asks, answered]),
        dependent=dependent,
        needs=needs,
        when=when,
        mark=None if mark is None else np.concatenate([mark, mark[added]]),
    )
    # Sorted by rank; what was added stands before the message.
    place = np.concatenate([np.arange(first), added])
    sequence = np.concatenate([np.full(first, 4 * count), np.arange(4 * count)])
    asked_first = asked_first.in_order(np.lexsort((sequence, place)))
    if found := circle(asked_first):
        ranks = ", ".join(map(str, sorted({int(asked_first.rank[operation]) for operation in found})[:10]))
        raise WorkloadError(f"with rendezvous: {above_bytes} B ranks {ranks} wait for each other; set a larger size")
    return asked_first
