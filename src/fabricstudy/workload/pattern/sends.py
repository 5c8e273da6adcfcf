"""Sends of a pattern."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..messages import Indices


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
    """Return sends that all belong to one phase an iteration."""
    size = None if size_bytes is None else np.full(len(source), size_bytes, dtype=np.int64)
    return repeat(Sends(np.zeros(len(source), dtype=np.int32), source, destination, size), iterations)
