"""CODES' names of routings, checked by us: it takes a name that it does not know for its default."""

from collections.abc import Mapping

from fabricstudy.core.kinds import kind_of
from fabricstudy.routing.base import Routing

from ...contract import Unsupported
from ...point import Point


def routing_name(point: Point, names: Mapping[type[Routing], str], model: str) -> str:
    """Return CODES' name of the point's routing.

    Raises
    ------
    Unsupported
        If the model has none like it.
    """
    name = names.get(type(point.routing))
    if name is None:
        has = ", ".join(map(kind_of, names))
        raise Unsupported(f"CODES' {model} has no routing like {point.routing.kind}; take {has}, or another engine")
    return name
