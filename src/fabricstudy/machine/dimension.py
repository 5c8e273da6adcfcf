"""One dimension of a grid of routers."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from fabricstudy.core.arrays import Bools, Int16s, Int32s, Integers, Ints

from .search import hops_between_all, starts


@dataclass(frozen=True)
class Dimension:
    """One dimension of a grid: which coordinates are joined where all others are equal.

    Examples
    --------
    >>> Dimension(6, gap=2).spans, Dimension(6, gap=2).cables, Dimension(6, gap=2).ports
    ([1, 3, 5], 9, 3)
    """

    length: int
    wrap: bool = False
    """True for a ring, false for a line."""
    gap: int | None = None
    """Express links: coordinate l is joined to l +- 1 and to l +- (1 + m * gap), m >= 1; 1 joins all pairs."""
    parallel: int = 1
    """Parallel cables between joined routers."""

    @property
    def spans(self) -> list[int]:
        """Spans of the cables, ascending, without the wrap-around cable of a ring."""
        return [1] if self.gap is None else [1, *range(1 + self.gap, self.length, self.gap)]

    @property
    def is_closed(self) -> bool:
        """True if it has a wrap-around cable."""
        return self.wrap and self.length > 2

    @property
    def graph(self) -> str | None:
        """ "rings", "lines", "cliques", or None if it is none of these."""
        if self.gap == 1 or self.length == 2:
            return "cliques"
        if self.gap is None:
            return "rings" if self.wrap else "lines"
        return None

    @property
    def cables(self) -> int:
        """Number of cables, counting parallel ones."""
        return (sum(self.length - span for span in self.spans) + self.is_closed) * self.parallel

    @property
    def ports(self) -> int:
        """Maximum number of cables of a router."""
        if self.gap in (None, 1):
            return min(2 if self.gap is None else self.length, self.length - 1) * self.parallel
        return int(np.bincount(np.concatenate(self.pairs())).max(initial=0)) * self.parallel

    @property
    def typical_hops(self) -> float:
        """Mean hops between coordinates, equal ones included; approximate with express links."""
        length = self.length
        line = (length**2 - 1) / (3 * length)
        if self.gap is not None:
            return min((1 - 1 / length) * (1 + self.gap) / 2, line)
        return (length**2 - length % 2) / (4 * length) if self.wrap else line

    def pairs(self) -> tuple[Int32s, Int32s]:
        """Return the lower and the higher coordinate of each joined pair, shortest cables first.

        Examples
        --------
        >>> [coordinate.tolist() for coordinate in Dimension(3, wrap=True).pairs()]
        [[0, 1, 0], [1, 2, 2]]
        """
        low = np.concatenate([np.arange(self.length - span) for span in self.spans])
        high = low + np.repeat(self.spans, [self.length - span for span in self.spans])
        if self.is_closed:
            low, high = np.append(low, 0), np.append(high, self.length - 1)
        return low.astype(np.int32), high.astype(np.int32)

    def joined(self) -> Bools:
        """Return the adjacency matrix, bool [length, length]."""
        low, high = self.pairs()
        joined = np.zeros((self.length, self.length), dtype=np.bool_)
        joined[low, high] = joined[high, low] = True
        return joined

    def hops(self) -> Int16s:
        """Return the hops between all coordinates, int16 [length, length]."""
        if self.graph is None:
            return _searched_hops(self)
        coordinate = np.arange(self.length, dtype=np.int16)
        hops: Int16s = np.abs(coordinate[:, None] - coordinate)
        if self.graph == "cliques":
            return np.minimum(hops, 1)
        return np.minimum(hops, np.int16(self.length) - hops) if self.is_closed else hops

    def cut(self, side: int | None = None) -> int:
        """Return the number of cables across the middle of `side` consecutive routers (default: all).

        Only cables between these routers count, so a ring is cut twice only if `side` is its length. If the halves
        differ, the lower one is smaller.

        Examples
        --------
        >>> Dimension(8).cut(), Dimension(8, gap=1).cut(), Dimension(12, gap=2).cut()
        (1, 16, 18)
        >>> Dimension(8, wrap=True).cut(), Dimension(8, wrap=True).cut(4), Dimension(8, gap=1, parallel=2).cut(4)
        (2, 1, 8)
        """
        side = self.length if side is None else side
        half = side // 2
        crossing = sum(min(span, half, side - span) for span in self.spans if span < side)
        return (crossing + (self.is_closed and side == self.length)) * self.parallel

    def is_convex(self, side: int) -> bool:
        """Return True if shortest routes between `side` consecutive routers never leave them.

        On a ring of k routers this holds for k, and up to (k + 1) / 2.

        Examples
        --------
        >>> [side for side in range(1, 9) if Dimension(8, wrap=True).is_convex(side)]
        [1, 2, 3, 4, 8]
        """
        return not self.wrap or side == self.length or side <= (self.length + 1) // 2

    def longest_span(self, distance: Integers) -> Ints:
        """Return the longest span of at most `distance` coordinates, and at least 1.

        Examples
        --------
        >>> Dimension(7, gap=2).longest_span(np.arange(1, 7))
        array([1, 1, 3, 3, 5, 5])
        """
        spans = np.array(self.spans)
        longest: Ints = spans[np.searchsorted(spans, np.maximum(distance, 1), side="right") - 1]
        return longest


@lru_cache(maxsize=64)
def _searched_hops(dimension: Dimension) -> Int16s:
    tail, head = np.nonzero(dimension.joined())
    hops = hops_between_all(starts(tail, dimension.length), head)
    hops.flags.writeable = False
    return hops
