"""Convex cuboids of entire blocks."""

from typing import Literal

from pydantic import Field

from fabricstudy.core.kinds import register
from fabricstudy.core.model import ConfigError
from fabricstudy.machine.base import Topology

from .boxes import convex_boxes
from .grid import Box, BoxSide, check_sides, dimensions_of, first_free_cuboid, nodes_of_box, routers_needed, shape_of
from .request import Grant, Request


@register
class BuildingBlocks(Box):
    """A convex cuboid of blocks of one shape, into which the grid is divided (Jain et al., IPDPS 2017)."""

    kind: Literal["building-blocks"] = "building-blocks"
    block: tuple[BoxSide, ...] = Field(
        min_length=1, description="routers of a block along each dimension, a divisor of the dimension's length"
    )

    def reserved_nodes(self, machine: Topology, nodes: int) -> int:
        check_sides(self.block, machine, "block")
        lines = dimensions_of(machine)
        if any(line.length % side for side, line in zip(self.block, lines, strict=True)):
            problem = f"the block does not divide {shape_of(machine)}"
            remedy = "use a divisor of each dimension's length"
            raise ConfigError(problem, remedy, ("block",), list(self.block), "does-not-fit")
        boxes = convex_boxes(routers_needed(machine, nodes), lines, self.block)
        return nodes_of_box(machine, boxes[0]) if boxes else nodes

    def allocate(self, request: Request) -> Grant:
        """Allocate the smallest free convex cuboid of blocks that holds the job, the preferred ones first."""
        routers = routers_needed(request.machine, request.wanted)
        boxes = convex_boxes(routers, request.machine.dimensions, self.block, self.prefer)
        return first_free_cuboid(request, boxes, f"cuboid of blocks with {routers} routers or more", self.block)
