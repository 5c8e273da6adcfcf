"""Partitions by their shapes."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from fabricstudy.core.kinds import register
from fabricstudy.core.model import ConfigError, Model, Whole
from fabricstudy.machine.base import Topology
from fabricstudy.machine.grid import Wrap, spread
from fabricstudy.structure.partitions import PartitionSpace, partition_space
from fabricstudy.structure.production import Sides

from ..cables import Lines, Partition, lines_of
from ..partitions import Partitions, build_partitions
from .base import Loops, PartitionList, grid_of

Place = Annotated[Whole, Field(ge=0, le=100_000)]
Corner = Annotated[tuple[Place, ...], Field(min_length=1, max_length=26)]


class Shape(Model):
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


@register
class Shapes(PartitionList):
    """Partitions by their shapes, in the order of the list.

    Building blocks are midplanes of a Blue Gene, else routers. Where a machine's cables do not lead past other
    partitions, a ring is possible only in a dimension that the partition spans.
    """

    kind: Literal["shapes"] = "shapes"
    shapes: tuple[Shape, ...] = Field(min_length=1, max_length=100_000, description="the shapes")
    loops: Loops = Field(
        default_factory=dict,
        description="for a dimension, which positions of its lines can be closed by themselves, such as "
        "`{x: [[0, 1], [2, 3, 4]]}`; the whole line always can",
    )

    def partitions(self, machine: Topology) -> Partitions:
        grid = grid_of(machine)
        space = partition_space(grid)
        try:
            lines = lines_of(space, self.loops, grid.axis_names)
        except ConfigError as error:
            raise error.below("loops") from None
        listed: list[Partition] = []
        for place, shape in enumerate(self.shapes):
            try:
                listed += _placed(space, lines, shape)
            except ConfigError as error:
                raise error.below("shapes", str(place)) from None
        try:
            return build_partitions(space, lines, listed)
        except ConfigError as error:
            raise error.below("shapes") from None


def _placed(space: PartitionSpace, lines: Lines, shape: Shape) -> Iterator[Partition]:
    blocks = "x".join(map(str, lines.lengths))
    if len(shape.shape) != len(lines.lengths):
        problem, remedy = (
            f"{len(shape.shape)} sides for {len(lines.lengths)} dimensions",
            f"give one side a dimension of {blocks}",
        )
        raise ConfigError(problem, remedy, ("shape",), list(shape.shape), "out-of-range")
    if any(side > length for side, length in zip(shape.shape, lines.lengths, strict=True)):
        problem = f"it does not fit into the {blocks} blocks of the machine"
        raise ConfigError(problem, "take sides that do", ("shape",), list(shape.shape), "unsupported")
    wrap = _wrap(lines, shape)
    if isinstance(shape.at, str):
        yield from (
            Partition(corner, shape.shape, wrap) for corner in lines.corners(shape.shape, shape.at == "aligned")
        )
        return
    firsts = lines.firsts(shape.shape, aligned=False)
    for place, corner in enumerate(shape.at):
        if len(corner) != len(firsts) or any(first not in of for first, of in zip(corner, firsts, strict=True)):
            problem = f"a partition of this shape cannot begin there in {blocks} blocks"
            raise ConfigError(problem, "take another corner", ("at", str(place)), list(corner), "unsupported")
        yield Partition(corner, shape.shape, wrap)


def _wrap(lines: Lines, shape: Shape) -> tuple[bool, ...]:
    rings = lines.rings(shape.shape)
    if shape.wrap is None:
        return rings
    if len(shape.wrap) not in (1, len(rings)):
        problem = f"{len(shape.wrap)} values for {len(rings)} dimensions"
        raise ConfigError(problem, "give one for all, or one a dimension", ("wrap",), list(shape.wrap), "out-of-range")
    asked = spread(shape.wrap, len(rings))
    for number, (wanted, possible) in enumerate(zip(asked, rings, strict=True)):
        if wanted and not possible:
            problem = f"the machine cannot close a ring of {shape.shape[number]} blocks in dimension {number}"
            remedy = "leave `wrap` out, or say false there"
            raise ConfigError(problem, remedy, ("wrap",), list(shape.wrap), code="does-not-fit")
    return tuple(wanted or side == 1 for wanted, side in zip(asked, shape.shape, strict=True))
