"""Where packets may go: one module a routing.

In: a `Machine`, the `Routing` of a study, and flows between routers (or from routers to nodes, where a routing tells
destination nodes apart).
Out: `Routes`, with the bytes on each directed link for oblivious routings, the links that packets may take for all,
and, where the next hop depends on place and goal alone, that hop. The front end of an engine goes by the same rules.
"""

from .base import Flows, MemorylessRoutes, NextHops, Routes, Routing, cached_routes

__all__ = ["Flows", "MemorylessRoutes", "NextHops", "Routes", "Routing", "cached_routes"]
