"""Partitions of machines: rows."""

from __future__ import annotations

from typing import Any

from ...study.analyses import Partitions
from ...study.machines import GridConfig
from ..partitions import Geometry, SizeChoice, Space, choices, space_of


def rows(config: Partitions) -> list[dict[str, Any]]:
    """Give one row for each machine, size and choice of geometry."""
    found = []
    for label, machine in config.machines.items():
        assert isinstance(machine, GridConfig)  # checked by the model
        space = space_of(machine)
        for size in choices(space, config.allowed):
            found += [
                {"machine": label, "choice": choice, **_facts(space, size, geometry, config.message_bytes)}
                for choice, geometry in (("production", size.production), ("best", size.best), ("worst", size.worst))
                if geometry is not None
            ]
    return found


def _facts(space: Space, size: SizeChoice, geometry: Geometry, message_bytes: int | None) -> dict[str, Any]:
    links, capacity_Bps = space.bisection_links(geometry), space.bisection_Bps(geometry)
    whole = links == 0  # a single router has no bisection
    exchange_ns = None
    if message_bytes is not None and not whole:
        exchange_ns = 1e9 * message_bytes * size.nodes / 2 / capacity_Bps
    return {
        "blocks": size.blocks,
        "geometry": "x".join(map(str, geometry)),
        "nodes": size.nodes,
        "longest": space.longest(geometry),
        "bisection_links": links,
        "bisection_Bps": capacity_Bps,
        "links_per_node": links / size.nodes,
        "crossing_per_link": None if whole else size.nodes / 2 / links,
        "exchange_ns": exchange_ns,
        "gain": None if whole else space.bisection_Bps(size.best) / capacity_Bps,
        "geometries": size.geometries,
        "misordered": size.misordered,
    }
