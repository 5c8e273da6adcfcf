"""Divide items with ids into chunks of about equal cost, stable under addition.

The hexadecimal digits of an id are a path in a binary tree, which is cut where the cost of a subtree is small enough. A
new item so changes only its own chunk.
"""

import math
from collections.abc import Sequence
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
    bits = {key: f"{int(key, 16):0{4 * len(key)}b}" for key in keys}
    ordered = sorted(zip(keys, costs, strict=True))
    return list(_split("", ordered, 0, bits, most)) if ordered else []


def _split(name: str, items: list[tuple[str, float]], depth: int, bits: dict[str, str], most: float) -> list[Chunk]:
    if len(items) == 1 or sum(cost for _, cost in items) <= most:
        return [Chunk(name or "all", tuple(key for key, _ in items))]
    # Items are sorted, so all share the digits that the first and the last share.
    first, last = bits[items[0][0]], bits[items[-1][0]]
    while first[depth] == last[depth]:
        depth += 1
    middle = next(i for i, (key, _) in enumerate(items) if bits[key][depth] == "1")
    return _split(name + "0", items[:middle], depth + 1, bits, most) + _split(
        name + "1", items[middle:], depth + 1, bits, most
    )


def divide_in_at_most(keys: Sequence[str], costs: Sequence[float], target: float, chunks: int) -> list[Chunk]:
    """Divide by cost `target`, above 0, or by a larger one where that results in more than `chunks` chunks."""
    if not 0 < target < math.inf:
        raise ValueError(f"no chunk can have a cost of {target}")
    while len(divided := divide(keys, costs, target)) > chunks:
        target *= 1.5
    return divided
