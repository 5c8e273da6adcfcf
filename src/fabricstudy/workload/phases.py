"""Jobs of phases as operations with dependencies."""

from dataclasses import replace
from typing import Any

import numpy as np

from .messages import Computing, Messages, PlacedJob
from .operations import CALC, ENDED, RECEIVE, SEND, Operations


def operations_of(job: PlacedJob) -> Operations:
    """Return what the ranks of a job do: its operations, or those of its phases.

    A job with a load has all of its messages between nodes in one phase.
    """
    if job.load is not None:
        phase, *others = (column[job.is_inter_node] for column in vars(job.messages).values())
        return from_phases(Messages(0 * phase, *others), None, job.ranks)
    return job.operations or from_phases(job.messages, job.computing, job.ranks)


def started_at(operations: Operations, start_ns: float) -> Operations:
    """Return operations that begin at a time: a calc of this duration is the first operation of each rank.

    Examples
    --------
    >>> of_pair = Messages(*np.array([[0], [0], [1]], dtype=np.int32), np.array([8]))
    >>> started_at(from_phases(of_pair, None, 2), 50.0).duration_ns.tolist()
    [50.0, 0.0, 0.0, 50.0, 0.0, 0.0]
    """
    if start_ns == 0:
        return operations
    ranks, mark = np.arange(operations.ranks, dtype=np.int32), operations.mark
    roots = np.setdiff1d(np.arange(len(operations)), operations.dependent)
    zeros, roots_ended = np.zeros(len(ranks), dtype=np.int8), np.full(len(roots), ENDED, dtype=np.int8)
    calcs = {"rank": ranks, "stream": zeros, "kind": zeros + CALC, "duration_ns": zeros + start_ns, "size_bytes": zeros}
    columns: dict[str, Any] = {
        name: np.concatenate([column, getattr(operations, name)]) for name, column in calcs.items()
    }
    joined = replace(
        operations,
        **columns,
        partner=np.concatenate([zeros - 1, np.where(operations.partner < 0, -1, operations.partner + len(ranks))]),
        dependent=np.concatenate([roots, operations.dependent]) + len(ranks),
        needs=np.concatenate([operations.rank[roots], operations.needs + len(ranks)]),
        when=np.concatenate([roots_ended, operations.when]),
        mark=None if mark is None else np.concatenate([zeros - 1, mark]),
    )
    return joined.in_order(np.argsort(joined.rank, kind="stable"))


def from_phases(messages: Messages, computing: Computing | None, ranks: int) -> Operations:
    """Return the operations of a job of phases; their sends are synchronous.

    Each phase of a rank begins with a calc, of what the rank computes before it posts its messages, that needs all
    operations of its previous phase; all others of the phase need this calc.
    """
    rows = Computing(*(np.zeros(0, dtype=np.int32),) * 2, *(np.zeros(0),) * 2) if computing is None else computing
    beside = np.flatnonzero(rows.overlapped_ns > 0)
    phases = 1 + max(int(phase.max(initial=0)) for phase in (messages.phase, rows.phase))
    sent, received, row = (
        rank.astype(np.int64) * phases + phase
        for rank, phase in (
            (messages.source, messages.phase), (messages.destination, messages.phase), (rows.rank, rows.phase)
        )
    )  # fmt: skip
    steps = np.unique(np.concatenate([sent, received, row]))
    counts = len(steps), len(sent), len(received), len(beside)
    # First calcs, sends, receives, calcs beside these; sorted by rank, phase and this sequence.
    key = np.concatenate([steps, sent, received, row[beside]])
    order = np.argsort(key * 4 + np.repeat(np.arange(4), counts), kind="stable")
    number = np.empty_like(order)
    number[order] = np.arange(len(order))
    first, sends, receives, calcs = np.split(number, np.cumsum(counts)[:-1])
    duration_ns, size_bytes, partner = np.zeros(len(key)), np.zeros(len(key), dtype=np.int64), np.full(len(key), -1)
    duration_ns[first[np.searchsorted(steps, row)]] = rows.before_ns
    duration_ns[calcs] = rows.overlapped_ns[beside]
    size_bytes[sends] = size_bytes[receives] = messages.size_bytes
    partner[sends], partner[receives] = receives, sends
    # What an operation needs stands side by side: a first calc all of the step before it but the first calc there, or
    # this if it is alone; the others the first calc of their step.
    begins, ends = first[:-1], first[1:]
    follows = steps[:-1] // phases == steps[1:] // phases
    needed, count = np.empty_like(order), np.ones_like(order)
    needed[first[:1]], count[first[:1]] = 0, 0
    needed[ends] = np.minimum(begins + 1, ends - 1)
    count[ends] = np.where(follows, np.maximum(ends - begins - 1, 1), 0)
    rest = np.concatenate([sends, receives, calcs])
    needed[rest] = first[np.searchsorted(first, rest) - 1]
    dependent = np.repeat(np.arange(len(order)), count)
    needs = needed[dependent] + np.arange(len(dependent)) - np.repeat(np.cumsum(count) - count, count)
    return Operations(
        ranks,
        (key[order] // phases).astype(np.int32),
        np.zeros(len(key), dtype=np.int32),
        np.repeat(np.array([CALC, SEND, RECEIVE, CALC], dtype=np.int8), counts)[order],
        duration_ns,
        size_bytes,
        partner,
        dependent,
        needs,
        np.full(len(needs), ENDED, dtype=np.int8),
        eager=False,
    )
