"""CODES' names of routings, checked by us: it takes a name that it does not know for its default."""

from __future__ import annotations

from ...contract import Unsupported
from ...point import Point


def routing_name(point: Point, names: dict[str, str], model: str) -> str:
    """Give CODES' name of the point's routing.

    Raises
    ------
    Unsupported
        If the model has none like it.
    """
    kind = point.routing.kind
    if kind not in names:
        has = ", ".join(names)
        raise Unsupported(f"CODES' {model} has no routing like {kind}; take {has}, or another engine")
    return names[kind]
