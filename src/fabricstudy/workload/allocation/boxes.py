"""Cuboids of routers in a grid: which there are of a size, and how well each is connected within."""

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Literal

from fabricstudy.machine.dimension import Dimension

from ..shapes import divisors

Sides = tuple[int, ...]
Prefer = Literal["best-bisection", "worst-bisection", "planes"]


def exact_boxes(routers: int, lines: Sequence[Dimension], prefer: Prefer = "best-bisection") -> tuple[Sides, ...]:
    """Return the sides of all cuboids of exactly `routers` routers, the preferred ones first.

    Of equal bisection, the one with the shorter longest side comes first; "planes" puts the longest first sides first.

    Examples
    --------
    >>> exact_boxes(8, (Dimension(8, wrap=True), Dimension(4)))
    ((2, 4), (4, 2), (8, 1))
    >>> exact_boxes(8, (Dimension(8, wrap=True), Dimension(4)), "planes")
    ((8, 1), (4, 2), (2, 4))
    """
    return _sorted(_of(routers, lines), lines, prefer)


def _of(routers: int, lines: Sequence[Dimension]) -> list[Sides]:
    if not lines:
        return [()] if routers == 1 else []
    return [
        (side, *rest)
        for side in divisors(routers)
        if side <= lines[0].length
        for rest in _of(routers // side, lines[1:])
    ]


@lru_cache(maxsize=1024)
def convex_boxes(
    routers: int, lines: tuple[Dimension, ...], block: Sides | None = None, prefer: Prefer = "best-bisection"
) -> tuple[Sides, ...]:
    """Return the sides of cuboids of at least `routers` routers that routes within never leave.

    `Dimension.keeps_routes` tells which. Of none could a side be shorter; the smallest come
    first, of these as `exact_boxes` sorts them. Each side is a multiple of that of `block`, if there is one.

    Examples
    --------
    >>> convex_boxes(5, (Dimension(4), Dimension(4)))
    ((2, 3), (3, 2))
    >>> convex_boxes(5, (Dimension(4), Dimension(4)), (2, 4))
    ((2, 4),)
    """
    steps = block or (1,) * len(lines)
    sides = [
        [side for side in range(step, line.length + 1, step) if line.is_convex(side)]
        for step, line in zip(steps, lines, strict=True)
    ]
    boxes = set(_holding(routers, sides))
    least = [box for box in boxes if not any(_shorter(box, axis, sides[axis], routers) for axis in range(len(box)))]
    return _sorted(least, lines, prefer)


def _holding(routers: int, sides: list[list[int]]) -> Iterator[Sides]:
    """Sides of cuboids of at least `routers` routers, the last as short as can be."""
    for side in sides[0]:
        if len(sides) > 1:
            yield from ((side, *rest) for rest in _holding(-(-routers // side), sides[1:]))
        elif side >= routers:
            yield (side,)
        if side >= routers:
            return


def _shorter(box: Sides, axis: int, sides: list[int], routers: int) -> bool:
    """Return whether the next shorter side along `axis` would do."""
    index = sides.index(box[axis])
    return index > 0 and math.prod(box) // box[axis] * sides[index - 1] >= routers


def box_bisection_cables(box: Sides, lines: Sequence[Dimension]) -> int:
    """Cables across the middle of a cuboid, for the dimension in which they are fewest; 0 for a single router.

    Only cables between routers of the cuboid count, so a ring counts twice only where the cuboid covers it.

    Examples
    --------
    >>> lines = [Dimension(8, wrap=True), Dimension(4)]
    >>> box_bisection_cables((8, 4), lines), box_bisection_cables((4, 4), lines), box_bisection_cables((2, 4), lines)
    (8, 4, 2)
    """
    routers = math.prod(box)
    cuts = [routers // side * line.cut(side) for side, line in zip(box, lines, strict=True) if side > 1]
    return min(cuts, default=0)


def _sorted(boxes: Sequence[Sides], lines: Sequence[Dimension], prefer: Prefer) -> tuple[Sides, ...]:
    sign = 1 if prefer == "worst-bisection" else -1

    def key(box: Sides) -> tuple[object, ...]:
        if prefer == "planes":
            return math.prod(box), tuple(-side for side in box)
        return math.prod(box), sign * box_bisection_cables(box, lines), max(box), box

    return tuple(sorted(boxes, key=key))
