"""The smallest free cuboids that routes within do not leave."""

from __future__ import annotations

from fabricstudy.study import ConvexBlock
from fabricstudy.study.workloads.boxes import convex_boxes
from fabricstudy.workload.placed import WorkloadError

from .grid import first_free_cuboid, routers_needed
from .request import Grant, Request


def allocate(config: ConvexBlock, request: Request) -> Grant:
    """Take the smallest convex cuboid that holds the job and is free, the preferred ones first.

    Raises
    ------
    WorkloadError
        If none is free.
    """
    routers = routers_needed(request)
    grant = first_free_cuboid(request, convex_boxes(routers, request.machine.dimensions, prefer=config.prefer))
    if grant is None:
        raise WorkloadError(f"no convex block of at least {routers} routers is free; place large jobs first")
    return grant
