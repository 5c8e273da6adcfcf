"""Cuboids of a given size or shape."""

import math

from pydantic import Field

from fabricstudy.core.model import ConfigError
from fabricstudy.machine.base import Topology

from .base import Grant, Request
from .boxes import Box, BoxSide, dimensions_of, exact_boxes, shape_of


class Cuboid(Box, kind="cuboid"):
    """A free cuboid of exactly the routers needed, which may wrap around a ring; the job reserves all of it."""

    shape: tuple[BoxSide, ...] | None = Field(
        None,
        min_length=1,
        description="routers along each dimension, at least as many as the job needs; default: chosen by `prefer`",
    )

    def reserved_nodes(self, machine: Topology, nodes: int) -> int:
        routers = self.routers_needed(machine, nodes)
        if self.shape is None:
            boxes = exact_boxes(routers, dimensions_of(machine))
            if not boxes:
                problem = f"no cuboid of exactly {routers} routers fits in {shape_of(machine)}"
                remedy = "change the job's size, set a shape, or use convex-block"
                raise ConfigError(problem, remedy, code="does-not-fit")
            return self.nodes_of_box(machine, boxes[0])
        self.check_sides(machine, "shape")
        if math.prod(self.shape) < routers:
            problem = f"the cuboid has {math.prod(self.shape)} routers, but the job's {nodes} nodes need {routers}"
            raise ConfigError(problem, "use a larger cuboid", ("shape",), list(self.shape), "does-not-fit")
        return self.nodes_of_box(machine, self.shape)

    def allocate(self, request: Request) -> Grant:
        """Allocate the cuboid of the given shape, else one of exactly the routers needed, the preferred ones first."""
        routers = self.routers_needed(request.machine, request.wanted)
        if self.shape:
            return self.first_free(request, [self.shape], f"cuboid of {' x '.join(map(str, self.shape))} routers")
        boxes = exact_boxes(routers, request.machine.dimensions, self.prefer)
        return self.first_free(request, boxes, f"cuboid of exactly {routers} routers")
