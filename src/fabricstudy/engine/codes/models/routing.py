"""CODES' names of routings, checked here: CODES replaces an unknown name by its default."""

from collections.abc import Mapping

from fabricstudy.routing.base import Routing

from ...detours import check_routing
from ...point import Point


def routing_name(point: Point, names: Mapping[type[Routing], str], model: str) -> str:
    """Return CODES' name of the point's routing; raise `Unsupported` if the model does not have it."""
    check_routing(point.routing, names, f"CODES' {model}")
    return names[type(point.routing)]
