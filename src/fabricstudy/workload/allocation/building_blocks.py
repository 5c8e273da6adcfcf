"""Convex cuboids made of whole blocks."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from fabricstudy.kinds import register

from ..messages import WorkloadError
from .boxes import convex_boxes
from .grid import Box, Side, first_free_cuboid, routers_needed
from .request import Grant, Request


@register
class BuildingBlocks(Box):
    """A convex block made of whole blocks of one shape, into which the grid is divided (Jain et al., IPDPS 2017)."""

    kind: Literal["building-blocks"] = "building-blocks"
    block: tuple[Side, ...] = Field(
        min_length=1, description="routers of a block along each dimension, a divisor of the dimension's length"
    )

    def allocate(self, request: Request) -> Grant:
        """Take the smallest convex cuboid of blocks that holds the job and is free, the preferred ones first.

        Raises
        ------
        WorkloadError
            If none is free.
        """
        routers = routers_needed(request)
        boxes = convex_boxes(routers, request.machine.dimensions, self.block, self.prefer)
        grant = first_free_cuboid(request, boxes, self.block)
        if grant is None:
            raise WorkloadError(f"no cuboid of blocks with {routers} routers or more is free; place large jobs first")
        return grant
