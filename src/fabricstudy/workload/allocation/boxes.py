"""Cuboids of routers in a grid: their internal bisection and their allocation."""

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from fabricstudy.core.arrays import Bools, Integers
from fabricstudy.core.model import ConfigError, Whole
from fabricstudy.machine.base import Topology
from fabricstudy.machine.dimension import Dimension
from fabricstudy.machine.graph import Machine
from fabricstudy.machine.grid import GridConfig

from ..messages import WorkloadError
from ..shapes import divisors
from .base import Allocation, Grant, Request

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


BoxSide = Annotated[Whole, Field(ge=1)]


class Box(Allocation):
    """Base of the policies that allocate a free cuboid of routers in a grid."""

    needs = "dimensions"

    prefer: Prefer = Field(
        "best-bisection",
        description="which of equally large cuboids are tried first: by their bisection, those with the smallest "
        "surface, or those longest in the first dimensions (planes), which leaves entire planes to other jobs",
    )

    def routers_needed(self, machine: Machine | Topology, nodes: int) -> int:
        """Return the number of routers that have `nodes` nodes; all routers of a grid have equally many."""
        return -(-nodes // (machine.nodes // machine.routers))

    def nodes_of_box(self, machine: Topology, box: BoxSides) -> int:
        return math.prod(box) * (machine.nodes // machine.routers)

    def check_sides(self, machine: Topology, key: str) -> None:
        """Raise ConfigError, with the path `key`, if the cuboid of this key does not fit in a machine."""
        sides, lines = getattr(self, key), dimensions_of(machine)
        if len(sides) != len(lines):
            problem = f"{len(sides)} sides for a machine of {len(lines)} dimensions"
            raise ConfigError(problem, "write one side per dimension", (key,), list(sides), "out-of-range")
        if any(side > line.length for side, line in zip(sides, lines, strict=True)):
            problem = f"the cuboid does not fit in {shape_of(machine)}"
            raise ConfigError(problem, "shorten it", (key,), list(sides), "does-not-fit")

    def first_free(self, request: Request, boxes: Iterable[BoxSides], what: str, step: BoxSides | None = None) -> Grant:
        """Allocate the first of the cuboids that is free, at its lowest free position; the job reserves all of it.

        Ranks fill the nodes in the order of the routers within the cuboid, first dimension fastest. Corners lie at
        multiples of `step`, if given; `what` describes the cuboids in the error message.

        Raises WorkloadError if none is free.
        """
        machine = request.machine
        used = np.bincount(machine.node_router[~request.free], minlength=machine.routers)
        # By router, the last dimension first.
        free = np.equal(used, 0).reshape([line.length for line in reversed(machine.dimensions)])
        for box in boxes:
            corner = _first_corner(free, box, machine.dimensions, step or (1,) * len(box))
            if corner is not None:
                nodes = _nodes_of(machine, corner, box)
                return Grant(nodes[: request.wanted], nodes)
        raise WorkloadError(f"no {what} is free; place large jobs first, or change the job's size")


def dimensions_of(machine: Topology) -> tuple[Dimension, ...]:
    assert isinstance(machine, GridConfig)  # callers need dimensions
    return machine.grid


def shape_of(machine: Topology) -> str:
    """Return the shape of a grid as text, such as ``4 x 4 x 2``."""
    return " x ".join(str(line.length) for line in dimensions_of(machine))


def _first_corner(free: Bools, box: BoxSides, lines: tuple[Dimension, ...], step: BoxSides) -> BoxSides | None:
    """Lowest coordinates of the first free cuboid, first dimension fastest, or None."""
    fits = free
    for axis, (side, line, stride) in enumerate(list(zip(box, lines, step, strict=True))[::-1]):
        if line.wrap and side < line.length:
            fits = np.concatenate([fits, np.take(fits, range(side - 1), axis)], axis)
        windows = np.lib.stride_tricks.sliding_window_view(fits, side, axis)
        fits = np.all(windows, axis=-1)[(slice(None),) * axis + (slice(None, None, stride),)]
    if not fits.any():
        return None
    corner = np.unravel_index(int(np.argmax(fits)), fits.shape)[::-1]
    return tuple(int(index) * stride for index, stride in zip(corner, step, strict=True))


def _nodes_of(machine: Machine, corner: BoxSides, box: BoxSides) -> Integers:
    """Nodes of the routers of a cuboid, first dimension fastest; nodes are numbered in the order of their routers."""
    router, stride = np.zeros(1, dtype=np.int64), 1
    for start, side, line in zip(corner, box, machine.dimensions, strict=True):
        along = (start + np.arange(side)) % line.length * stride
        router = (along[:, None] + router).reshape(-1)
        stride *= line.length
    per_router = machine.nodes // machine.routers
    return (router[:, None] * per_router + np.arange(per_router)).reshape(-1)
