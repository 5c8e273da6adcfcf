"""Partitions by shape."""

from typing import Annotated, Literal

from pydantic import Field

from fabricstudy.core.model import ConfigError, Model, Whole, at_path
from fabricstudy.machine.base import Topology
from fabricstudy.machine.grid import Wrap, spread
from fabricstudy.structure.partitions import partition_space
from fabricstudy.structure.production import Sides

from ..cables import Lines, Partition, lines_of
from ..partitions import Partitions, build_partitions
from .base import Loops, PartitionList, grid_of

Coordinate = Annotated[Whole, Field(ge=0, le=100_000)]
Corner = Annotated[tuple[Coordinate, ...], Field(min_length=1, max_length=26)]


class PartitionShape(Model):
    """Partitions of one shape."""

    shape: Sides = Field(description="building blocks along each dimension")
    wrap: Wrap | None = Field(
        None,
        description="whether it is a torus in each dimension, otherwise a mesh; left out: wherever the machine can "
        "close a ring",
    )
    at: Literal["aligned", "any"] | tuple[Corner, ...] = Field(
        "aligned", description="corners: multiples of the sides, everywhere, or these"
    )


class Shapes(PartitionList, kind="shapes"):
    """Partitions by shape, in the order of the list.

    Building blocks are midplanes of a Blue Gene, else routers. Where a machine's cables do not lead past other
    partitions, a ring is possible only in a dimension that the partition spans.
    """

    shapes: tuple[PartitionShape, ...] = Field(min_length=1, max_length=100_000, description="the shapes")
    loops: Loops = Field(
        default_factory=dict,
        description="for a dimension, which positions of its lines can be closed by themselves, such as "
        "`{x: [[0, 1], [2, 3, 4]]}`; the whole line always can",
    )

    def partitions(self, machine: Topology) -> Partitions:
        grid = grid_of(machine)
        space = partition_space(grid)
        lines = lines_of(space, self.loops, grid.axis_names)
        listed: list[Partition] = []
        for number, shape in enumerate(self.shapes):
            with at_path("shapes", str(number)):
                listed += _placed(lines, shape)
        with at_path("shapes"):
            partitions = build_partitions(space, lines, listed)
        return partitions


def _placed(lines: Lines, shape: PartitionShape) -> list[Partition]:
    """Return the partitions of a shape."""
    blocks = "x".join(map(str, lines.lengths))
    if len(shape.shape) != len(lines.lengths):
        problem = f"{len(shape.shape)} sides for {len(lines.lengths)} dimensions"
        remedy = f"write one side for each dimension of {blocks}"
        raise ConfigError(problem, remedy, ("shape",), list(shape.shape), "out-of-range")
    if any(side > length for side, length in zip(shape.shape, lines.lengths, strict=True)):
        problem = f"it does not fit into the {blocks} blocks of the machine"
        raise ConfigError(problem, "use smaller sides", ("shape",), list(shape.shape), "unsupported")
    wrap = _wrap(lines, shape)
    if isinstance(shape.at, str):
        corners = lines.corners(shape.shape, shape.at == "aligned")
        return [Partition(corner, shape.shape, wrap) for corner in corners]
    ranges = lines.firsts(shape.shape, aligned=False)
    for number, corner in enumerate(shape.at):
        if len(corner) != len(ranges) or any(first not in firsts for first, firsts in zip(corner, ranges, strict=True)):
            problem = f"a partition of this shape cannot begin there in {blocks} blocks"
            raise ConfigError(problem, "use another corner", ("at", str(number)), list(corner), "unsupported")
    return [Partition(corner, shape.shape, wrap) for corner in shape.at]


def _wrap(lines: Lines, shape: PartitionShape) -> tuple[bool, ...]:
    rings = lines.rings(shape.shape)
    if shape.wrap is None:
        return rings
    if len(shape.wrap) not in (1, len(rings)):
        problem = f"{len(shape.wrap)} values for {len(rings)} dimensions"
        remedy = "write one for all, or one for each dimension"
        raise ConfigError(problem, remedy, ("wrap",), list(shape.wrap), "out-of-range")
    wraps = spread(shape.wrap, len(rings))
    for number, (wrap, possible) in enumerate(zip(wraps, rings, strict=True)):
        if wrap and not possible:
            problem = f"the machine cannot close a ring of {shape.shape[number]} blocks in dimension {number}"
            remedy = "leave `wrap` out, or write false for this dimension"
            raise ConfigError(problem, remedy, ("wrap",), list(shape.wrap), code="does-not-fit")
    return tuple(wrap or side == 1 for wrap, side in zip(wraps, shape.shape, strict=True))
