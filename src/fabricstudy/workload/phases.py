"""Jobs of phases as operations with dependencies."""

import numpy as np

from fabricstudy.core.arrays import Integers, Ints

from .messages import Computing, Messages
from .operations import CALC, ENDED, RECEIVE, SEND, Operations


def from_phases(messages: Messages, computing: Computing | None, ranks: int) -> Operations:
    """Return the operations of a job of phases; their sends are synchronous.

    Each phase of a rank begins with a calc, of what the rank computes before it posts its messages, that needs all
    operations of its previous phase; all others of the phase need this calc.
    """
    rows = Computing(*(np.zeros(0, dtype=np.int32),) * 2, *(np.zeros(0),) * 2) if computing is None else computing
    beside = np.flatnonzero(rows.overlapped_ns > 0)
    phases = 1 + max(int(phase.max(initial=0)) for phase in (messages.phase, rows.phase))

    def step_key(rank: Integers, phase: Integers) -> Ints:
        return rank.astype(np.int64) * phases + phase

    sent, received, row = (
        step_key(rank, phase)
        for rank, phase in (
            (messages.source, messages.phase), (messages.destination, messages.phase), (rows.rank, rows.phase)
        )
    )  # fmt: skip
    steps = np.unique(np.concatenate([sent, received, row]))
    counts = len(steps), len(sent), len(received), len(beside)
    before_ns, nothing = np.zeros(len(steps)), np.zeros(counts[1] + counts[2])
    before_ns[np.searchsorted(steps, row)] = rows.before_ns
    # First calcs, sends, receives, calcs beside these; sorted by rank, phase and this sequence at the end.
    key = np.concatenate([steps, sent, received, row[beside]])
    first, sends, receives, _ = np.split(np.arange(len(key)), np.cumsum(counts)[:-1])
    partner = np.full(len(key), -1, dtype=np.int64)
    partner[sends], partner[receives] = receives, sends
    none = np.zeros(counts[3], dtype=np.int64)
    rest = np.arange(counts[0], len(key))
    step = np.searchsorted(steps, key[rest])
    # What ends a step: all but its first calc, or this if it is alone.
    alone = np.setdiff1d(first, step)
    ends, step_of_end = np.append(rest, alone), np.append(step, alone)
    following = np.minimum(step_of_end + 1, len(steps) - 1)
    followed = np.flatnonzero((following > step_of_end) & (steps[following] // phases == key[ends] // phases))
    needs = np.concatenate([first[step], ends[followed]])
    operations = Operations(
        ranks,
        (key // phases).astype(np.int32),
        np.zeros(len(key), dtype=np.int32),
        np.repeat(np.array([CALC, SEND, RECEIVE, CALC], dtype=np.int8), counts),
        np.concatenate([before_ns, nothing, rows.overlapped_ns[beside]]),
        np.concatenate([np.zeros_like(steps), messages.size_bytes, messages.size_bytes, none]),
        partner,
        np.concatenate([rest, first[following[followed]]]),
        needs,
        np.full(len(needs), ENDED, dtype=np.int8),
        eager=False,
    )
    return operations.in_order(np.lexsort((np.repeat(np.arange(4), counts), key)))
