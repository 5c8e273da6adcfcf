"""Cuboids of a given size or shape."""

from __future__ import annotations

from fabricstudy.study import Cuboid
from fabricstudy.study.workloads.boxes import exact_boxes
from fabricstudy.workload.placed import WorkloadError

from .grid import first_free_cuboid, routers_needed
from .request import Grant, Request


def allocate(config: Cuboid, request: Request) -> Grant:
    """Take the cuboid of the study's shape, else one of exactly the routers needed, the preferred ones first.

    Raises
    ------
    WorkloadError
        If none is free.
    """
    lines, routers = request.machine.dimensions, routers_needed(request)
    boxes = [config.shape] if config.shape else exact_boxes(routers, lines, config.prefer)
    grant = first_free_cuboid(request, boxes)
    if grant is None:
        shape = " x ".join(map(str, config.shape)) if config.shape else f"exactly {routers}"
        raise WorkloadError(f"no cuboid of {shape} routers is free; place the job earlier, or change its size or shape")
    return grant
