"""Cuboids of a given size or shape."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from fabricstudy.kinds import register

from ..messages import WorkloadError
from .boxes import exact_boxes
from .grid import Box, Side, first_free_cuboid, routers_needed
from .request import Grant, Request


@register
class Cuboid(Box):
    """A free cuboid of exactly the routers needed, which may lie across the end of a ring; the job holds all of it."""

    kind: Literal["cuboid"] = "cuboid"
    shape: tuple[Side, ...] | None = Field(
        None, min_length=1, description="routers along each dimension, at least what the job needs; left out: chosen"
    )

    def allocate(self, request: Request) -> Grant:
        """Take the cuboid of the study's shape, else one of exactly the routers needed, the preferred ones first.

        Raises
        ------
        WorkloadError
            If none is free.
        """
        lines, routers = request.machine.dimensions, routers_needed(request)
        boxes = [self.shape] if self.shape else exact_boxes(routers, lines, self.prefer)
        grant = first_free_cuboid(request, boxes)
        if grant is None:
            shape = " x ".join(map(str, self.shape)) if self.shape else f"exactly {routers}"
            raise WorkloadError(
                f"no cuboid of {shape} routers is free; place the job earlier, or change its size or shape"
            )
        return grant
