"""The sends of a pattern."""

from dataclasses import dataclass

import numpy as np

from fabricstudy.core.arrays import Integers


@dataclass(frozen=True, eq=False)
class Sends:
    """Phase, source and destination of each message: integer arrays [messages], rows in any order.

    `size_bytes` (integers [messages]) is for patterns whose messages differ in size.
    """

    phase: Integers
    source: Integers
    destination: Integers
    size_bytes: Integers | None = None


def without_empty(sends: Sends) -> Sends:
    """Leave out messages of 0 bytes."""
    if sends.size_bytes is None or sends.size_bytes.all():
        return sends
    sent = sends.size_bytes > 0
    return Sends(sends.phase[sent], sends.source[sent], sends.destination[sent], sends.size_bytes[sent])


def repeat(sends: Sends, iterations: int) -> Sends:
    """Repeat all phases `iterations` times, with ascending phase numbers."""
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
    """Concatenate sends, the phases of each part after those of the previous part, and repeat the sequence."""
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


def one_phase(
    source: Integers, destination: Integers, iterations: int = 1, size_bytes: Integers | int | None = None
) -> Sends:
    """Return sends of one phase per iteration."""
    size = None if size_bytes is None else np.full(len(source), size_bytes, dtype=np.int64)
    return repeat(Sends(np.zeros(len(source), dtype=np.int32), source, destination, size), iterations)


def both_ways(first: Integers, second: Integers, iterations: int) -> Sends:
    """Send from each of `first` to its partner in `second` and back, all in one phase."""
    return one_phase(np.concatenate([first, second]), np.concatenate([second, first]), iterations)


def request_and_reply(lower: Integers, higher: Integers, iterations: int) -> Sends:
    """Send from the lower ranks in one phase, and back in the next.

    Examples
    --------
    >>> sends = request_and_reply(np.array([0]), np.array([1]), 2)
    >>> sends.phase.tolist(), sends.source.tolist()
    ([0, 1, 2, 3], [0, 1, 0, 1])
    """
    return concatenate_phases([one_phase(lower, higher), one_phase(higher, lower)], iterations)


def all_to_all_along(grid: Integers, axis: int, size_bytes: int | None = None) -> Sends:
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


def between_ranks(source: Integers, destination: Integers, size_bytes: int, ranks: int) -> Sends:
    """Sum up, in one phase, the messages of `size_bytes` from each rank to each other rank.

    Examples
    --------
    >>> sends = between_ranks(np.array([0, 0, 1, 2]), np.array([1, 1, 1, 0]), 10, 3)
    >>> list(zip(sends.source.tolist(), sends.destination.tolist(), sends.size_bytes.tolist()))
    [(0, 1, 20), (2, 0, 10)]
    """
    apart = source != destination
    key = source[apart].astype(np.int64) * ranks + destination[apart]
    pairs, count = np.unique(key, return_counts=True)
    return one_phase((pairs // ranks).astype(np.int32), (pairs % ranks).astype(np.int32), size_bytes=count * size_bytes)
