"""The order in which each rank sends."""

import numpy as np

from fabricstudy.core.arrays import Integers

from ..messages import Messages, WorkloadError
from .base import MessagePattern, Pattern
from .sends import Sends


def in_send_order(sends: Sends, pattern: Pattern, ranks: int, rng: np.random.Generator) -> Messages:
    """Sort sends by phase and source, and within those by the pattern's `order`, if it has one.

    ``shift`` sorts by (destination - source) mod ranks, ``ascending`` by destination, ``random`` shuffles
    each rank's sends in each phase.

    Raises WorkloadError if neither the pattern nor its sends define message sizes.

    Examples
    --------
    >>> from fabricstudy.workload.pattern.sends import one_phase
    >>> from fabricstudy.workload.pattern.all_to_all import AllToAll
    >>> sends = one_phase(np.array([1, 1, 1, 1]), np.array([0, 2, 3, 4]), 1)
    >>> pattern = AllToAll.model_validate({"message": "1 kB", "order": "shift"})
    >>> in_send_order(sends, pattern, 5, np.random.default_rng(0)).destination.tolist()
    [2, 3, 4, 0]
    """
    # A stable sort gives the same order on every processor even where two random numbers are equal. A combined key
    # would overflow where there are many phases.
    keys: tuple[Integers, ...] = (sends.source, sends.phase)
    size_bytes = 0
    if isinstance(pattern, MessagePattern):
        size_bytes = pattern.message_bytes
        if pattern.order == "shift":
            key: Integers = (sends.destination - sends.source) % ranks
        elif pattern.order == "ascending":
            key = sends.destination
        else:
            key = rng.integers(2**32, size=len(sends.source), dtype=np.uint32)
        keys = (key, *keys)
    elif len(sends.source) and sends.size_bytes is None:
        raise WorkloadError(f"the sends of the pattern {pattern.kind} have no sizes; set Sends.size_bytes")
    order = np.lexsort(keys)
    size = np.full(len(order), size_bytes, dtype=np.int64) if sends.size_bytes is None else sends.size_bytes[order]
    return Messages(
        phase=sends.phase[order].astype(np.int32, copy=False),
        source=sends.source[order].astype(np.int32, copy=False),
        destination=sends.destination[order].astype(np.int32, copy=False),
        size_bytes=size.astype(np.int64, copy=False),
    )
