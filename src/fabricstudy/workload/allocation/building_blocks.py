"""Convex cuboids of entire blocks."""

from pydantic import Field

from fabricstudy.core.model import ConfigError
from fabricstudy.machine.base import Topology

from .base import Grant, Request
from .boxes import Box, BoxSide, convex_boxes, dimensions_of, shape_of


class BuildingBlocks(Box, kind="building-blocks"):
    """A convex cuboid of blocks of one shape, into which the grid is divided (Jain et al., IPDPS 2017)."""

    block: tuple[BoxSide, ...] = Field(
        min_length=1, description="routers of a block along each dimension, a divisor of the dimension's length"
    )

    def reserved_nodes(self, machine: Topology, nodes: int) -> int:
        self.check_sides(machine, "block")
        lines = dimensions_of(machine)
        if any(line.length % side for side, line in zip(self.block, lines, strict=True)):
            problem = f"the block does not divide {shape_of(machine)}"
            remedy = "use a divisor of each dimension's length"
            raise ConfigError(problem, remedy, ("block",), list(self.block), "does-not-fit")
        boxes = convex_boxes(self.routers_needed(machine, nodes), lines, self.block)
        return self.nodes_of_box(machine, boxes[0]) if boxes else nodes

    def allocate(self, request: Request) -> Grant:
        """Allocate the smallest free convex cuboid of blocks that holds the job, the preferred ones first."""
        routers = self.routers_needed(request.machine, request.wanted)
        boxes = convex_boxes(routers, request.machine.dimensions, self.block, self.prefer)
        return self.first_free(request, boxes, f"cuboid of blocks with {routers} routers or more", self.block)
