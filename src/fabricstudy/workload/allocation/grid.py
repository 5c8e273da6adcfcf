"""Cuboids of whole routers of a grid."""

import math
from collections.abc import Iterable
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from fabricstudy.core.model import ConfigError, Whole
from fabricstudy.machine.base import Topology
from fabricstudy.machine.dimension import Dimension
from fabricstudy.machine.graph import Machine
from fabricstudy.machine.grid import GridConfig

from ..messages import Indices, Mask, WorkloadError
from .base import Allocation
from .boxes import Prefer, Sides
from .request import Grant, Request

BoxSide = Annotated[Whole, Field(ge=1)]


class Box(Allocation):
    """What the policies have that give a job a free cuboid of routers in a grid."""

    needs: ClassVar[str | None] = "dimensions"

    prefer: Prefer = Field(
        "best-bisection",
        description="which of equally large cuboids come first: by their bisection, or those longest in the first "
        "dimensions (planes), which leave whole planes to other jobs",
    )


def routers_needed(machine: Machine | Topology, nodes: int) -> int:
    """Routers whose nodes are enough for a job; all routers of a grid have equally many."""
    return -(-nodes // (machine.nodes // machine.routers))


def dimensions_of(machine: Topology) -> tuple[Dimension, ...]:
    """Return the dimensions of a machine that has such."""
    assert isinstance(machine, GridConfig)  # policies that ask need dimensions
    return machine.grid


def nodes_of_box(machine: Topology, box: Sides) -> int:
    """Nodes of a cuboid of whole routers."""
    return math.prod(box) * (machine.nodes // machine.routers)


def check_sides(sides: Sides, machine: Topology, key: str) -> None:
    """Refuse sides of a cuboid that do not fit in a machine; raises ConfigError, with the path below the policy."""
    lines = dimensions_of(machine)
    if len(sides) != len(lines):
        problem = f"{len(sides)} sides, and the machine has {len(lines)} dimensions"
        raise ConfigError(problem, "give one a dimension", (key,), list(sides), "out-of-range")
    if any(side > line.length for side, line in zip(sides, lines, strict=True)):
        problem = f"it does not fit in {shape_of(machine)}"
        raise ConfigError(problem, "shorten it", (key,), list(sides), "does-not-fit")


def shape_of(machine: Topology) -> str:
    """Write the shape of a machine with dimensions."""
    return " x ".join(str(line.length) for line in dimensions_of(machine))


def first_free_cuboid(request: Request, boxes: Iterable[Sides], what: str, step: Sides | None = None) -> Grant:
    """Grant the first of the cuboids that is free somewhere, at the first such place; the job reserves all of it.

    Ranks fill the nodes in the order of the routers within the cuboid, first dimension fastest. Corners lie at
    multiples of `step`, or anywhere; `what` says for the message what the cuboids are.

    Raises WorkloadError if none is free.
    """
    machine = request.machine
    taken = np.bincount(machine.node_router[~request.free], minlength=machine.routers)
    # By router, the last dimension first.
    free = np.equal(taken, 0).reshape([line.length for line in reversed(machine.dimensions)])
    for box in boxes:
        corner = _first_corner(free, box, machine.dimensions, step or (1,) * len(box))
        if corner is not None:
            nodes = _nodes_of(machine, corner, box)
            return Grant(nodes[: request.wanted], nodes)
    raise WorkloadError(f"no {what} is free; place large jobs first, or change the job's size")


def _first_corner(free: Mask, box: Sides, lines: tuple[Dimension, ...], step: Sides) -> Sides | None:
    """Lowest coordinates of the first free cuboid, first dimension fastest, or None."""
    fits = free
    for axis, side in enumerate(reversed(box)):
        line = lines[len(box) - 1 - axis]
        fits = _all_along(fits, axis, side, line.wrap and side < line.length)
        fits = fits[(slice(None),) * axis + (slice(None, None, step[len(box) - 1 - axis]),)]
    if not fits.any():
        return None
    corner = np.unravel_index(int(np.argmax(fits)), fits.shape)[::-1]
    return tuple(int(at) * by for at, by in zip(corner, step, strict=True))


def _all_along(free: Mask, axis: int, side: int, wrap: bool) -> Mask:
    """Mark each place where it and the next `side` - 1 along `axis` are free, also across the end of a ring."""
    if wrap:
        free = np.concatenate([free, np.take(free, range(side - 1), axis)], axis)
    count = np.cumsum(free, axis=axis, dtype=np.int32)
    count = np.concatenate([np.zeros_like(np.take(count, [0], axis)), count], axis)
    places = free.shape[axis] - side + 1
    ahead = np.take(count, range(side, side + places), axis)
    behind = np.take(count, range(places), axis)
    fits: Mask = ahead - behind == side
    return fits


def _nodes_of(machine: Machine, corner: Sides, box: Sides) -> Indices:
    """Nodes of the routers of a cuboid, first dimension fastest; nodes stand in the order of their routers."""
    router, stride = np.zeros(1, dtype=np.int64), 1
    for start, side, line in zip(corner, box, machine.dimensions, strict=True):
        along = (start + np.arange(side)) % line.length * stride
        router = (along[:, None] + router).reshape(-1)
        stride *= line.length
    each = machine.nodes // machine.routers
    return (router[:, None] * each + np.arange(each)).reshape(-1)
