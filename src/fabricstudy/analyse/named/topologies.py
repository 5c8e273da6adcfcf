"""What machines are made of: rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...machine import Machine, build
from ...study import Valiant
from ...study.analyses import Topologies
from ..load import router_link_loads
from ..structure import structure


def rows(config: Topologies) -> list[dict[str, Any]]:
    """Give one row for each machine."""
    return [
        {"family": label, **_facts(build(machine), config.valiant)}
        for label, sizes in config.families.items()
        for machine in sizes
    ]


def _facts(machine: Machine, with_valiant: bool) -> dict[str, Any]:
    found = structure(machine)
    ports, valiant = found.routers * found.radix, _valiant_hops(machine) if with_valiant else None
    facts = {name: getattr(found, name) for name in ("nodes", "routers", "cables", "radix", "diameter", "mean_hops")}
    return facts | {
        "router_ports": ports,
        "ports_per_node": ports / found.nodes,
        "cables_per_node": found.cables / found.nodes,
        "valiant_hops": valiant,
        "detour": None if valiant is None else valiant / found.mean_hops,
        "bisection_lower_Bps": found.bisection.lower_Bps,
        "bisection_upper_Bps": found.bisection.upper_Bps,
        "bisection_per_node_Bps": found.bisection.upper_Bps / found.nodes,
    }


def _valiant_hops(machine: Machine) -> float | None:
    """Links that a packet uses on average when all routers with nodes send to all others; None if there is one."""
    nodes = machine.nodes_of_router > 0
    traffic = np.outer(nodes, nodes).astype(np.float64)
    np.fill_diagonal(traffic, 0.0)
    if not traffic.any():
        return None
    return float(router_link_loads(machine, traffic, Valiant()).sum() / traffic.sum())
