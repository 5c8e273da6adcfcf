"""Largest machines that routers of a given radix allow: rows."""

from __future__ import annotations

from typing import Any

from ...study.analyses import Design
from ..designs import largest_system


def rows(config: Design) -> list[dict[str, Any]]:
    """Give one row for each family and number of ports with which there is a machine."""
    found = []
    for label, family in config.families.items():
        for ports in range(config.ports[0], config.ports[1] + 1):
            system = largest_system(family, ports, config.concentration == "balanced")
            if system is not None:
                names = ("shape", "nodes", "routers", "nodes_per_router", "radix", "node_share", "mean_hops", "balance")
                found.append({"family": label, "ports": ports, **{name: getattr(system, name) for name in names}})
    return found
