"""Hops along one dimension of express meshes: rows."""

from __future__ import annotations

from typing import Any

from ...machine import Dimension
from ...study.analyses import ExpressLines
from ..designs import line_ports
from ..routes import line_distances


def rows(config: ExpressLines) -> list[dict[str, Any]]:
    """Give one row for each gap and length; gaps that add no link to a line are left out."""
    return [
        _facts(length, gap)
        for gap in range(config.gaps[0], config.gaps[1] + 1)
        for length in range(config.lengths[0], config.lengths[1] + 1)
        if gap <= length - 2
    ]


def _facts(length: int, gap: int) -> dict[str, Any]:
    hops = line_distances(Dimension(length, gap=gap))
    diameter, links = int(hops.max()), line_ports(length, gap)
    return {
        "length": length,
        "gap": gap,
        "diameter": diameter,
        "over_gap": diameter - gap,
        "mean_hops": float(hops.sum() / (length * (length - 1))),
        "links": links,
        "over_rule": links - (2 + (length - 3) // gap),
    }
