"""The smallest free cuboids that internal routes do not leave."""

from pydantic import Field

from fabricstudy.core.model import Number
from fabricstudy.machine.base import Topology

from .base import Grant, Request
from .boxes import Box, convex_boxes, dimensions_of


class ConvexBlock(Box, kind="convex-block"):
    """The smallest free cuboid of routers in a grid that holds the job.

    Dimension-order and adaptive routes do not leave it, so such jobs share no links (variable-sized blocks of Jain et
    al., IPDPS 2017, as on Blue Waters): on a ring its side is the full ring or at most half. The job reserves the
    entire cuboid.
    """

    spare: Number = Field(
        0.0,
        ge=0,
        le=1,
        description="share of routers beyond the job's need that a cuboid may have and still count as equally large; "
        "`prefer` then selects compact cuboids instead of the smallest ones",
    )

    def reserved_nodes(self, machine: Topology, nodes: int) -> int:
        routers = self.routers_needed(machine, nodes)
        if routers > machine.routers:
            return nodes
        return self.nodes_of_box(machine, convex_boxes(routers, dimensions_of(machine))[0])

    def allocate(self, request: Request) -> Grant:
        routers = self.routers_needed(request.machine, request.wanted)
        boxes = convex_boxes(routers, request.machine.dimensions, prefer=self.prefer, spare=self.spare)
        return self.first_free(request, boxes, f"convex block of at least {routers} routers")
