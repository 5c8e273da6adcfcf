"""Routings that an engine does not implement, such as those of extensions: it takes their routes as lists."""

from functools import lru_cache

import numpy as np

from fabricstudy.core.errors import ConfigError
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.adaptive import Adaptive
from fabricstudy.routing.base import MemorylessRoutes, RouteError, Routing, cached_routes
from fabricstudy.routing.d_mod_k import DModK
from fabricstudy.routing.dimension_order import DimensionOrder
from fabricstudy.routing.ecmp import Ecmp
from fabricstudy.routing.listed import HopList, PathList, PathRoutes, hop_list
from fabricstudy.routing.minimal import Minimal
from fabricstudy.routing.table import Table
from fabricstudy.routing.ugal import Ugal
from fabricstudy.routing.valiant import Valiant
from fabricstudy.structure.deadlock import is_deadlock_free

from .detours import via
from .failures import Unsupported

IMPLEMENTED: tuple[type[Routing], ...] = (Minimal, DimensionOrder, DModK, Adaptive, Valiant, Ugal, Ecmp)
"""Routings of the bundled programs, which take others as lists; a routing derived from one of them is another."""


def listed(routing: Routing, machine: Machine) -> HopList | PathList | None:
    """Return the routes that the machine's file lists; None for routings that the bundled programs implement."""
    if type(routing) in IMPLEMENTED:
        return None
    routes = listed_routes(routing, machine)
    if isinstance(routes, HopList) and isinstance(routing, Table):
        one_channel = deadlock_free(machine, routing, one_channel=True)
        return routes._replace(channel=np.zeros_like(routes.link)) if one_channel else routes
    return routes


def routing_word(routing: Routing, machine: Machine) -> str:
    """Return the kind of a routing in the settings of the bundled programs."""
    match listed(routing, machine):
        case None:
            return routing.kind
        case PathList():
            return "paths"
    return "table" if cached_routes(machine, routing).oblivious else "adaptive-table"


def routing_words(routing: Routing, machine: Machine) -> tuple[str, str, str]:
    """Return kind, ties and detours of a routing in the settings of packet and flow."""
    tie = routing.tie if isinstance(routing, DimensionOrder) else "split"
    return routing_word(routing, machine), tie, via(routing) or "router"


def listed_routes(routing: Routing, machine: Machine) -> HopList | PathList:
    """Return the routes as lists; raise `Unsupported` if they are neither next hops nor paths, or do not fit."""
    try:
        match cached_routes(machine, routing):
            case MemorylessRoutes() as routes:
                return hop_list(routes)
            case PathRoutes() as routes:
                assert routes.links_of_hops  # its cables exist
                return routes.all_paths
    except RouteError as error:
        raise Unsupported(f"{routing.kind} routing: {error}; correct its routes") from None
    except (Exception, SystemExit) as error:
        mistake = ConfigError.of_extension(error)
        raise Unsupported(f"{routing.kind} routing: {mistake.problem}; {mistake.remedy}") from None
    raise Unsupported(
        f"no simulator implements {routing.kind} routing, and it states neither next hops nor paths; derive its routes "
        "from MemorylessRoutes, ObliviousMemorylessRoutes or PathRoutes"
    )


deadlock_free = lru_cache(maxsize=4)(is_deadlock_free)
