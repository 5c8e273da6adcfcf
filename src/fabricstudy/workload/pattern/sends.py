"""Sends of a pattern, and the order in which each rank makes them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fabricstudy.workload.pattern.base import MessagePattern, Pattern

from ..messages import Indices, Messages
from .base import SendOrder


@dataclass(frozen=True, eq=False)
class Sends:
    """Who sends to whom in which phase: integer arrays [messages], rows in any order.

    `size_bytes` (integers [messages]) is for patterns whose messages are not all of the size that the study gives.
    """

    phase: Indices
    source: Indices
    destination: Indices
    size_bytes: Indices | None = None


def repeat(sends: Sends, iterations: int) -> Sends:
    """Repeat all phases `iterations` times, with phase numbers that go on rising."""
    if iterations == 1:
        return sends
    phases = int(sends.phase.max(initial=-1)) + 1
    first_phase = np.arange(iterations)[:, None] * phases
    return Sends(
        (first_phase + sends.phase).reshape(-1),
        np.tile(sends.source, iterations),
        np.tile(sends.destination, iterations),
        None if sends.size_bytes is None else np.tile(sends.size_bytes, iterations),
    )


def in_phases(parts: list[Sends], iterations: int) -> Sends:
    """Put sends after each other, the phases of each part after those of the part before it, and repeat all."""
    first = np.cumsum([0, *(int(part.phase.max(initial=-1)) + 1 for part in parts)])
    sized = [part.size_bytes for part in parts if part.size_bytes is not None]
    return repeat(
        Sends(
            np.concatenate([part.phase + start for part, start in zip(parts, first, strict=False)]).astype(np.int32),
            np.concatenate([part.source for part in parts]),
            np.concatenate([part.destination for part in parts]),
            np.concatenate(sized) if sized else None,
        ),
        iterations,
    )


def one_phase(source: Indices, destination: Indices, iterations: int = 1, size_bytes: int | None = None) -> Sends:
    """Give sends that all belong to one phase an iteration."""
    size = None if size_bytes is None else np.full(len(source), size_bytes, dtype=np.int64)
    return repeat(Sends(np.zeros(len(source), dtype=np.int32), source, destination, size), iterations)


def in_send_order(sends: Sends, pattern: Pattern, ranks: int, rng: np.random.Generator) -> Messages:
    """Sort sends by phase and source, and within those by the order that the pattern states.

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

    Examples
    --------
    >>> from fabricstudy.workload.pattern.all_to_all import AllToAll
    >>> sends = one_phase(np.array([1, 1, 1, 1]), np.array([0, 2, 3, 4]), 1)
    >>> pattern = AllToAll.model_validate({"message": "1 kB", "order": "shift"})
    >>> in_send_order(sends, pattern, 5, np.random.default_rng(0)).destination.tolist()
    [2, 3, 4, 0]
    """
    if not isinstance(pattern, MessagePattern):
        return _messages(sends, np.arange(0), 0)
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
