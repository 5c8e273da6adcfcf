"""Where packets may go: one module a routing.

In: a `Machine`, the routing of a study, and flows between routers (or from routers to nodes, where a routing
tells destination nodes apart). Out: `Routes`, with the bytes on each directed link for oblivious routings, the
links that packets may take for all, and where the next hop depends on place and goal alone, that hop.
The front end of an engine goes by the same rules. Adding a routing: one module, one line below, one entry in the
config union of `fabricstudy.study.routings`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from ...machine import Machine
from ...study import RoutingConfig
from .adaptive import adaptive_routes
from .base import Flows, Hops, Routes, Stepwise, added_up
from .d_mod_k import DModKRoutes
from .dimension_order import DimensionOrderRoutes
from .minimal import MinimalRoutes
from .ugal import UgalRoutes
from .valiant import ValiantRoutes

# One line a routing, by the `kind` of its config.
ROUTINGS: dict[str, Callable[[Machine, Any], Routes]] = {
    "minimal": MinimalRoutes,
    "dimension-order": DimensionOrderRoutes,
    "d-mod-k": DModKRoutes,
    "adaptive": adaptive_routes,
    "valiant": ValiantRoutes,
    "ugal": UgalRoutes,
}


@lru_cache(maxsize=8)
def routes(machine: Machine, routing: RoutingConfig) -> Routes:
    """Give the routes of a routing on a machine; the last ones are kept.

    Raises
    ------
    ValueError
        If the machine lacks what the routing needs.
    """
    return ROUTINGS[routing.kind](machine, routing)


__all__ = ["ROUTINGS", "Flows", "Hops", "Routes", "Stepwise", "added_up", "routes"]
