"""Convex cuboids made of whole blocks."""

from __future__ import annotations

from fabricstudy.study import BuildingBlocks
from fabricstudy.study.workloads.boxes import convex_boxes
from fabricstudy.workload.placed import WorkloadError

from .grid import first_free_cuboid, routers_needed
from .request import Grant, Request


def allocate(config: BuildingBlocks, request: Request) -> Grant:
    """Take the smallest convex cuboid of blocks that holds the job and is free, the preferred ones first.

    Raises
    ------
    WorkloadError
        If none is free.
    """
    routers = routers_needed(request)
    boxes = convex_boxes(routers, request.machine.dimensions, config.block, config.prefer)
    grant = first_free_cuboid(request, boxes, config.block)
    if grant is None:
        raise WorkloadError(f"no cuboid of blocks with {routers} routers or more is free; place large jobs first")
    return grant
