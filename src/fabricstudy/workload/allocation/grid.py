"""Allocation of cuboids of routers in a grid."""

import math
from collections.abc import Iterable
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from fabricstudy.core.arrays import Bools, Integers
from fabricstudy.core.model import ConfigError, Whole
from fabricstudy.machine.base import Topology
from fabricstudy.machine.dimension import Dimension
from fabricstudy.machine.graph import Machine
from fabricstudy.machine.grid import GridConfig

from ..messages import WorkloadError
from .base import Allocation
from .boxes import BoxSides, Prefer
from .request import Grant, Request

BoxSide = Annotated[Whole, Field(ge=1)]


class Box(Allocation):
    """Base of the policies that allocate a free cuboid of routers in a grid."""

    needs: ClassVar[str | None] = "dimensions"

    prefer: Prefer = Field(
        "best-bisection",
        description="which of equally large cuboids are tried first: by their bisection, those with the smallest "
        "surface, or those longest in the first dimensions (planes), which leaves entire planes to other jobs",
    )


def routers_needed(machine: Machine | Topology, nodes: int) -> int:
    """Return the number of routers that have `nodes` nodes; all routers of a grid have equally many."""
    return -(-nodes // (machine.nodes // machine.routers))


def dimensions_of(machine: Topology) -> tuple[Dimension, ...]:
    assert isinstance(machine, GridConfig)  # callers need dimensions
    return machine.grid


def nodes_of_box(machine: Topology, box: BoxSides) -> int:
    return math.prod(box) * (machine.nodes // machine.routers)


def check_sides(sides: BoxSides, machine: Topology, key: str) -> None:
    """Raise ConfigError, with the path `key`, if a cuboid does not fit in a machine."""
    lines = dimensions_of(machine)
    if len(sides) != len(lines):
        problem = f"{len(sides)} sides for a machine of {len(lines)} dimensions"
        raise ConfigError(problem, "write one side per dimension", (key,), list(sides), "out-of-range")
    if any(side > line.length for side, line in zip(sides, lines, strict=True)):
        problem = f"the cuboid does not fit in {shape_of(machine)}"
        raise ConfigError(problem, "shorten it", (key,), list(sides), "does-not-fit")


def shape_of(machine: Topology) -> str:
    """Return the shape of a grid as text, such as ``4 x 4 x 2``."""
    return " x ".join(str(line.length) for line in dimensions_of(machine))


def first_free_cuboid(request: Request, boxes: Iterable[BoxSides], what: str, step: BoxSides | None = None) -> Grant:
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
