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


def divide(keys: Sequence[str], costs: Sequence[float], most: float, least: float = math.inf) -> list[Chunk]:
    """Divide distinct hexadecimal ids of one length so that no chunk of several ids costs more than `most`.

    Ids that share leading digits tend to stay together. Below `most`, `least` is the limit of the last chunks: it
    halves from one half of the ids to half of the rest, and so on, so that processes which take the largest chunks
    first end at about the same time (Polychronopoulos and Kuck: Guided self-scheduling, IEEE TC C-36, 1987).

    Examples
    --------
    >>> [(chunk.name, chunk.keys) for chunk in divide(["0a", "0b", "f0"], [1, 1, 1], most=2)]
    [('0', ('0a', '0b')), ('1', ('f0',))]
    >>> [len(chunk.keys) for chunk in divide([f"{key:x}" for key in range(16)], [1] * 16, most=8, least=2)]
    [8, 4, 2, 2]
    """
    ordered = dict(sorted(zip(keys, costs, strict=True)))
    keys, costs = list(ordered), list(ordered.values())

    def split(name: str, start: int, end: int, most: float, is_rest: bool = False) -> Iterator[Chunk]:
        if end - start == 1 or sum(costs[start:end]) <= most:
            yield Chunk(name or "all", tuple(keys[start:end]))
            return
        # Keys are sorted, so all share the digits before the first one in which the first and the last key differ.
        first, last = int(keys[start], 16), int(keys[end - 1], 16)
        digit = (first ^ last).bit_length() - 1
        middle = bisect_left(keys, f"{last >> digit << digit:0{len(keys[start])}x}", start, end)
        yield from split(name + "0", start, middle, most)
        yield from split(name + "1", middle, end, max(most / 2, min(most, least)) if is_rest else most, is_rest)

    return list(split("", 0, len(keys), most, is_rest=True)) if keys else []


def divide_in_at_most(
    keys: Sequence[str], costs: Sequence[float], target: float, chunks: int, least: float = math.inf
) -> list[Chunk]:
    """Divide by cost `target`, above 0, and `least`, or by larger ones where that results in more than `chunks`."""
    if not 0 < target < math.inf:
        raise ValueError(f"no chunk can have a cost of {target}")
    while len(divided := divide(keys, costs, target, least)) > chunks:
        target, least = 1.5 * target, 1.5 * least
    return divided
