"""The order in which each rank sends."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..messages import Indices, Messages, WorkloadError
from .base import MessagePattern, Pattern, SendOrder
from .sends import Sends


def in_send_order(sends: Sends, pattern: Pattern, ranks: int, rng: np.random.Generator) -> Messages:
    """Sort sends by phase and source, and within those by the order that the pattern states, or as they come.

    ``shift`` sorts by (destination - source) mod ranks, ``ascending`` by destination, ``random`` shuffles
    each rank's sends in each phase anew.

    Parameters
    ----------
    sends : Sends
        What is sent, in any order.
    pattern : Pattern
        Says message size and order.
    ranks : int
        Ranks of the job.
    rng : numpy.random.Generator
        Stream for the random order.

    Raises
    ------
    WorkloadError
        If a pattern that is no `MessagePattern`, and so has no message size, gives its sends no sizes either.

    Examples
    --------
    >>> from fabricstudy.workload.pattern.sends import one_phase
    >>> from fabricstudy.workload.pattern.all_to_all import AllToAll
    >>> sends = one_phase(np.array([1, 1, 1, 1]), np.array([0, 2, 3, 4]), 1)
    >>> pattern = AllToAll.model_validate({"message": "1 kB", "order": "shift"})
    >>> in_send_order(sends, pattern, 5, np.random.default_rng(0)).destination.tolist()
    [2, 3, 4, 0]
    """
    if not isinstance(pattern, MessagePattern):
        if len(sends.source) and sends.size_bytes is None:
            raise WorkloadError(
                f"the pattern {pattern.kind} gives its sends no sizes; give each one in Sends.size_bytes"
            )
        return _messages(sends, np.lexsort((sends.source, sends.phase)), 0)
    # A stable sort gives the same order on every processor even where two random numbers are equal. One key for all
    # would overflow where there are many phases.
    place = _place_in_turn(sends, pattern.order, ranks, rng)
    return _messages(sends, np.lexsort((place, sends.source, sends.phase)), pattern.message_bytes)


def _place_in_turn(sends: Sends, order: SendOrder, ranks: int, rng: np.random.Generator) -> Indices:
    """Key below 2**32 by which the sends of one rank in one phase are sorted."""
    if order == "shift":
        return (sends.destination - sends.source) % ranks
    if order == "ascending":
        return sends.destination
    return rng.integers(2**32, size=len(sends.source), dtype=np.uint32)


def _messages(sends: Sends, order: npt.NDArray[np.int64], size_bytes: int) -> Messages:
    size = np.full(len(order), size_bytes, dtype=np.int64) if sends.size_bytes is None else sends.size_bytes[order]
    return Messages(
        phase=sends.phase[order].astype(np.int32, copy=False),
        source=sends.source[order].astype(np.int32, copy=False),
        destination=sends.destination[order].astype(np.int32, copy=False),
        size_bytes=size.astype(np.int64, copy=False),
    )
