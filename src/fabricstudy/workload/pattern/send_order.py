"""The order in which each rank sends."""

import numpy as np
import numpy.typing as npt

from ..messages import Indices, Messages, WorkloadError
from .base import MessagePattern, Pattern
from .sends import Sends


def in_send_order(sends: Sends, pattern: Pattern, ranks: int, rng: np.random.Generator) -> Messages:
    """Sort sends by phase and source, and within those by the order that the pattern states, or as they come.

    ``shift`` sorts by (destination - source) mod ranks, ``ascending`` by destination, ``random`` shuffles
    each rank's sends in each phase again.

    Raises WorkloadError if a pattern that has no message size gives its sends no sizes either.

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
            problem = f"the pattern {pattern.kind} gives its sends no sizes; give each one in Sends.size_bytes"
            raise WorkloadError(problem)
        return _messages(sends, np.lexsort((sends.source, sends.phase)), 0)
    # A stable sort gives the same order on every processor even where two random numbers are equal. One key for all
    # would overflow where there are many phases.
    if pattern.order == "shift":
        place: Indices = (sends.destination - sends.source) % ranks
    elif pattern.order == "ascending":
        place = sends.destination
    else:
        place = rng.integers(2**32, size=len(sends.source), dtype=np.uint32)
    return _messages(sends, np.lexsort((place, sends.source, sends.phase)), pattern.message_bytes)


def _messages(sends: Sends, order: npt.NDArray[np.int64], size_bytes: int) -> Messages:
    size = np.full(len(order), size_bytes, dtype=np.int64) if sends.size_bytes is None else sends.size_bytes[order]
    return Messages(
        phase=sends.phase[order].astype(np.int32, copy=False),
        source=sends.source[order].astype(np.int32, copy=False),
        destination=sends.destination[order].astype(np.int32, copy=False),
        size_bytes=size.astype(np.int64, copy=False),
    )
