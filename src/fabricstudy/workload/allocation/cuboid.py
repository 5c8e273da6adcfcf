"""Cuboids of a given size or shape."""

import math
from typing import Literal

from pydantic import Field

from fabricstudy.core.kinds import register
from fabricstudy.core.model import ConfigError
from fabricstudy.machine.base import Topology

from .boxes import exact_boxes
from .grid import Box, BoxSide, check_sides, dimensions_of, first_free_cuboid, nodes_of_box, routers_needed, shape_of
from .request import Grant, Request


@register
class Cuboid(Box):
    """A free cuboid of exactly the routers needed, which may lie across the end of a ring; all of it is reserved."""

    kind: Literal["cuboid"] = "cuboid"
    shape: tuple[BoxSide, ...] | None = Field(
        None, min_length=1, description="routers along each dimension, at least what the job needs; left out: chosen"
    )

    def reserved_nodes(self, machine: Topology, nodes: int) -> int:
        """Nodes of the cuboid: of the study's shape, or else of exactly the routers needed."""
        routers = routers_needed(machine, nodes)
        if self.shape is None:
            boxes = exact_boxes(routers, dimensions_of(machine))
            if not boxes:
                problem = f"no cuboid of exactly {routers} routers fits in {shape_of(machine)}"
                remedy = "change the job's size, give a shape, or take convex-block"
                raise ConfigError(problem, remedy, code="does-not-fit")
            return nodes_of_box(machine, boxes[0])
        check_sides(self.shape, machine, "shape")
        cells = math.prod(self.shape)
        if cells < routers:
            problem = f"the cuboid has {cells} routers, and the job's {nodes} nodes need {routers}"
            raise ConfigError(problem, "make it larger", ("shape",), list(self.shape), "does-not-fit")
        return nodes_of_box(machine, self.shape)

    def allocate(self, request: Request) -> Grant:
        """Take the cuboid of the study's shape, else one of exactly the routers needed, the preferred ones first."""
        lines, routers = request.machine.dimensions, routers_needed(request.machine, request.wanted)
        boxes = [self.shape] if self.shape else exact_boxes(routers, lines, self.prefer)
        shape = " x ".join(map(str, self.shape)) if self.shape else f"exactly {routers}"
        return first_free_cuboid(request, boxes, f"cuboid of {shape} routers")
