"""Routings that an engine does not implement, such as those of extensions: it takes their routes as lists."""

from fabricstudy.core.errors import ConfigError
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.base import MemorylessRoutes, RouteError, Routing, cached_routes
from fabricstudy.routing.listed import HopList, PathList, PathRoutes, hop_list

from .contract import Unsupported


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
    except Exception as error:
        mistake = ConfigError.of_extension(error)
        raise Unsupported(f"{routing.kind} routing: {mistake.problem}; {mistake.remedy}") from None
    raise Unsupported(
        f"no simulator implements {routing.kind} routing, and it states neither next hops nor paths; derive its routes "
        "from MemorylessRoutes, ObliviousMemorylessRoutes or PathRoutes"
    )
