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
    phases = int(messages.phase.max(initial=-1)) + 1

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
    # First calcs, sends, receives, calcs beside these; then sorted by rank, phase and this sequence.
    key = np.concatenate([steps, sent, received, row[beside]])
    order = np.lexsort((np.repeat(np.arange(4), counts), key))
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.arange(len(order))
    first, sends, receives, _ = np.split(number, np.cumsum(counts)[:-1])
    partner = np.full(len(order), -1, dtype=np.int64)
    partner[sends], partner[receives] = receives, sends
    none = np.zeros(counts[3], dtype=np.int64)
    size_bytes = np.concatenate([np.zeros_like(steps), messages.size_bytes, messages.size_bytes, none])
    step = np.searchsorted(steps, key[counts[0] :])
    following = np.minimum(step + 1, len(steps) - 1)
    followed = np.flatnonzero((following > step) & (steps[following] // phases == key[counts[0] :] // phases))
    dependent = np.concatenate([number[counts[0] :], first[following[followed]]])
    needs = np.concatenate([first[step], number[counts[0] :][followed]])
    by_operation = np.lexsort((needs, dependent))
    return Operations(
        ranks,
        (key[order] // max(1, phases)).astype(np.int32),
        np.zeros(len(order), dtype=np.int32),
        np.repeat(np.array([CALC, SEND, RECEIVE, CALC], dtype=np.int8), counts)[order],
        np.concatenate([before_ns, nothing, rows.overlapped_ns[beside]])[order],
        size_bytes[order],
        partner,
        dependent[by_operation],
        needs[by_operation],
        np.full(len(needs), ENDED, dtype=np.int8),
        eager=False,
    )
