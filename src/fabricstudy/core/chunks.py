"""Divide items with ids into chunks of about equal cost, stable under addition.

The hexadecimal digits of an id are a path in a binary tree, which is cut where the cost of a subtree is small enough. A
new item so changes only its own chunk.
"""

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Chunk:
    """Ids that one job processes; `name` is its path in the tree."""

    name: str
    keys: tuple[str, ...]


def divide(keys: Sequence[str], costs: Sequence[float], most: float) -> list[Chunk]:
    """Divide distinct hexadecimal ids of one length so that no chunk of several ids costs more than `most`.

    Ids that share leading digits tend to stay together.

    Examples
    --------
    >>> [(chunk.name, chunk.keys) for chunk in divide(["0a", "0b", "f0"], [1, 1, 1], most=2)]
    [('0', ('0a', '0b')), ('1', ('f0',))]
    """
    ordered = dict(sorted(zip(keys, costs, strict=True)))
    keys, costs = list(ordered), list(ordered.values())

    def split(name: str, start: int, end: int) -> Iterator[Chunk]:
        if end - start == 1 or sum(costs[start:end]) <= most:
            yield Chunk(name or "all", tuple(keys[start:end]))
            return
        # Keys are sorted, so all share the digits before the first one in which the first and the last key differ.
        first, last = int(keys[start], 16), int(keys[end - 1], 16)
        digit = (first ^ last).bit_length() - 1
        middle = bisect_left(keys, f"{last >> digit << digit:0{len(keys[start])}x}", start, end)
        yield from split(name + "0", start, middle)
        yield from split(name + "1", middle, end)

    return list(split("", 0, len(keys))) if keys else []


def divide_in_at_most(keys: Sequence[str], costs: Sequence[float], target: float, chunks: int) -> list[Chunk]:
    """Divide by cost `target`, above 0, or by a larger one where that results in more than `chunks` chunks."""
    if not 0 < target < math.inf:
        raise ValueError(f"no chunk can have a cost of {target}")
    while len(divided := divide(keys, costs, target)) > chunks:
        target *= 1.5
    return divided
