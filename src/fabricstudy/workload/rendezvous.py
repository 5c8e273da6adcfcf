"""The rendezvous protocol as operations: a long message is sent when its receiver has answered a question."""

from dataclasses import replace

import numpy as np

from fabricstudy.core.arrays import Array

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
    partner = np.concatenate([operations.partner, asked, answers, asks, answered])
    # Sorted by rank; what was added stands before the message.
    place = np.concatenate([np.arange(first), added])
    order = np.lexsort((np.concatenate([np.full(first, 4 * count), np.arange(4 * count)]), place))
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.arange(len(order))

    def column(values: Array, of_added: Array) -> Array:
        return np.concatenate([values, of_added])[order]

    mark = operations.mark
    kinds = np.repeat(np.array([SEND, RECEIVE, RECEIVE, SEND], dtype=operations.kind.dtype), count)
    asked_first = replace(
        operations,
        rank=column(operations.rank, operations.rank[added]),
        stream=column(operations.stream, operations.stream[added]),
        kind=column(operations.kind, kinds),
        duration_ns=column(operations.duration_ns, np.zeros(4 * count)),
        size_bytes=column(operations.size_bytes, np.full(4 * count, CONTROL_BYTES)),
        partner=np.where(partner < 0, -1, number[partner])[order],
        dependent=number[dependent],
        needs=number[needs],
        when=when,
        mark=None if mark is None else column(mark, mark[added]),
    )
    if found := circle(asked_first):
        ranks = ", ".join(map(str, sorted({int(asked_first.rank[operation]) for operation in found})[:10]))
        raise WorkloadError(f"with rendezvous: {above_bytes} B ranks {ranks} wait for each other; set a larger size")
    return asked_first
