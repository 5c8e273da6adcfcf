"""Sends of a pattern."""

from dataclasses import dataclass

import numpy as np

from ..messages import Indices, IntArray


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


def concatenate_phases(parts: list[Sends], iterations: int) -> Sends:
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


def all_to_all_along(grid: IntArray, axis: int, size_bytes: int | None = None) -> Sends:
    """Send once, in one phase, from each rank to each other rank on its line along `axis`.

    Examples
    --------
    >>> sends = all_to_all_along(np.arange(6, dtype=np.int32).reshape(2, 3), axis=1)
    >>> sends.source.tolist()
    [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    >>> sends.destination.tolist()
    [1, 2, 2, 0, 0, 1, 4, 5, 5, 3, 3, 4]
    """
    length = grid.shape[axis]
    lines = np.moveaxis(grid, axis, -1).reshape(-1, length)
    partner = (np.arange(length)[:, None] + np.arange(1, length)) % length
    source = np.repeat(lines.reshape(-1), length - 1)
    return one_phase(source, lines[:, partner].reshape(-1), size_bytes=size_bytes)


def between_ranks(source: Indices, destination: Indices, size_bytes: int, ranks: int, once: bool = False) -> Sends:
    """Add up, in one phase, what each two ranks exchange; with `once` each pair of ranks has one message of this size.

    Examples
    --------
    >>> sends = between_ranks(np.array([0, 0, 1, 2]), np.array([1, 1, 1, 0]), 10, 3)
    >>> list(zip(sends.source.tolist(), sends.destination.tolist(), sends.size_bytes.tolist()))
    [(0, 1, 20), (2, 0, 10)]
    """
    apart = source != destination
    key = source[apart].astype(np.int64) * ranks + destination[apart]
    pairs, count = np.unique(key, return_counts=True)
    size = np.full(len(pairs), size_bytes) if once else count * size_bytes
    return Sends(
        np.zeros(len(pairs), dtype=np.int32),
        (pairs // ranks).astype(np.int32),
        (pairs % ranks).astype(np.int32),
        size.astype(np.int64),
    )
