"""Cuboids of routers in a grid and their internal bisection."""

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Literal

from fabricstudy.machine.dimension import Dimension

from ..shapes import divisors

BoxSides = tuple[int, ...]
Prefer = Literal["best-bisection", "worst-bisection", "surface", "planes"]


def exact_boxes(routers: int, lines: Sequence[Dimension], prefer: Prefer = "best-bisection") -> tuple[BoxSides, ...]:
    """Return the sides of all cuboids of exactly `routers` routers, the preferred ones first.

    Ties in bisection or surface are broken by the shorter longest side; "planes" sorts by the longest first sides.

    Examples
    --------
    >>> exact_boxes(8, (Dimension(8, wrap=True), Dimension(4)))
    ((2, 4), (4, 2), (8, 1))
    >>> exact_boxes(8, (Dimension(8, wrap=True), Dimension(4)), "planes")
    ((8, 1), (4, 2), (2, 4))
    """
    return _sorted(list(_factorisations(routers, lines)), lines, prefer, routers)


def _factorisations(routers: int, lines: Sequence[Dimension]) -> Iterator[BoxSides]:
    if not lines and routers == 1:
        yield ()
    for side in divisors(routers) if lines else ():
        if side <= lines[0].length:
            yield from ((side, *rest) for rest in _factorisations(routers // side, lines[1:]))


@lru_cache(maxsize=1024)
def convex_boxes(
    routers: int,
    lines: tuple[Dimension, ...],
    block: BoxSides | None = None,
    prefer: Prefer = "best-bisection",
    spare: float = 0.0,
) -> tuple[BoxSides, ...]:
    """Return the sides of the minimal cuboids of at least `routers` routers that internal routes never leave.

    `Dimension.is_convex` defines the allowed sides; no side of a minimal cuboid can be shortened. The smallest come
    first, ties sorted as in `exact_boxes`; cuboids of up to (1 + `spare`) times `routers` count as equally large. Each
    side is a multiple of that of `block`, if given.

    Examples
    --------
    >>> convex_boxes(5, (Dimension(4), Dimension(4)))
    ((2, 3), (3, 2))
    >>> convex_boxes(5, (Dimension(4), Dimension(4)), (2, 4))
    ((2, 4),)
    >>> ring = Dimension(14, wrap=True)
    >>> convex_boxes(7, (ring, ring), prefer="surface")[0], convex_boxes(7, (ring, ring), None, "surface", 0.2)[0]
    ((1, 7), (2, 4))
    """
    sides = [
        [side for side in range(step, line.length + 1, step) if line.is_convex(side)]
        for step, line in zip(block or (1,) * len(lines), lines, strict=True)
    ]

    def shortens(box: BoxSides, axis: int) -> bool:
        index = sides[axis].index(box[axis])
        return index > 0 and math.prod(box) // box[axis] * sides[axis][index - 1] >= routers

    boxes = set(_covering(routers, sides))
    minimal = [box for box in boxes if not any(shortens(box, axis) for axis in range(len(box)))]
    return _sorted(minimal, lines, prefer, math.floor(routers * (1 + spare) + 1e-9))


def _covering(routers: int, sides: list[list[int]]) -> Iterator[BoxSides]:
    """BoxSides of cuboids of at least `routers` routers, the last side as short as possible."""
    for side in sides[0]:
        if len(sides) > 1:
            yield from ((side, *rest) for rest in _covering(-(-routers // side), sides[1:]))
        elif side >= routers:
            yield (side,)
        if side >= routers:
            return


def box_bisection_cables(box: BoxSides, lines: Sequence[Dimension]) -> int:
    """Return the cables across the middle of a cuboid in the dimension with the fewest; 0 for a single router.

    Only cables between routers of the cuboid count, so a ring counts twice only where the cuboid spans it.

    Examples
    --------
    >>> lines = [Dimension(8, wrap=True), Dimension(4)]
    >>> box_bisection_cables((8, 4), lines), box_bisection_cables((4, 4), lines), box_bisection_cables((2, 4), lines)
    (8, 4, 2)
    """
    routers = math.prod(box)
    return min((routers // side * line.cut(side) for side, line in zip(box, lines, strict=True) if side > 1), default=0)


def box_surface(box: BoxSides, lines: Sequence[Dimension]) -> int:
    """Return the faces of routers towards other routers; on rings, the cables that leave the cuboid.

    Examples
    --------
    >>> ring = Dimension(8, wrap=True)
    >>> box_surface((2, 4), [ring, ring]), box_surface((1, 8), [ring, ring])
    (12, 16)
    """
    routers = math.prod(box)
    return sum(2 * routers // side for side, line in zip(box, lines, strict=True) if side < line.length)


def _sorted(boxes: Sequence[BoxSides], lines: Sequence[Dimension], prefer: Prefer, equal: int) -> tuple[BoxSides, ...]:
    """Sort by size, where up to `equal` routers are equally large, then by preference."""

    def key(box: BoxSides) -> tuple[object, ...]:
        routers = math.prod(box)
        larger = max(routers, equal)
        if prefer == "planes":
            return larger, tuple(-side for side in box)
        if prefer == "surface":
            return larger, box_surface(box, lines), routers, max(box), box
        sign = 1 if prefer == "worst-bisection" else -1
        return larger, sign * box_bisection_cables(box, lines), routers, max(box), box

    return tuple(sorted(boxes, key=key))
