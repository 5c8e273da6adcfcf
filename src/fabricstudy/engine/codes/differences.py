"""What sets CODES' times apart."""

from __future__ import annotations

from fabricstudy.machine.grid import GridConfig

from ..differences import Difference, under_ugal, with_ties
from ..point import Point


def _valiant_on_dragonfly(point: Point) -> bool:
    return point.machine.kind == "dragonfly" and point.routing.kind == "valiant"


def _over_long_links(point: Point) -> bool:
    grid = point.machine.grid if isinstance(point.machine, GridConfig) else ()
    return any((dimension.gap or 0) > 1 for dimension in grid) and point.routing.kind == "dimension-order"


def _on_slim_fly(point: Point) -> bool:
    return point.machine.kind == "slim-fly"


DIFFERENCES: tuple[Difference, ...] = (
    Difference("A send is complete when its last packet has left the node."),
    Difference("What CODES adds to a message is taken away again, but for the copy of more than the shortest takes."),
    Difference(
        "Tori, fat trees and grids under dimension order have one virtual channel, where CAMINOS has several; packets "
        "wait at routers sorted by output, without a crossbar."
    ),
    Difference(
        "On a dragonfly Valiant goes through a group drawn at random, on CAMINOS through any router. Bounds are those "
        "of the latter, so times of the former may lie below them.",
        _valiant_on_dragonfly,
    ),
    Difference(
        "UGAL on a dragonfly may still leave the minimal path at other routers of the first group, and counts the "
        "queue of a detour twice; on a Slim Fly it compares several detours.",
        under_ugal,
    ),
    Difference(
        "Half-way round a ring all packets take the same of both ways, so that the links there carry up to twice as "
        "much as where ties are split.",
        with_ties,
    ),
    Difference("A packet takes the long link or the short one first, by what waits for them.", _over_long_links),
    Difference("Minimal routing on a Slim Fly takes always the same of several shortest paths.", _on_slim_fly),
)
"""In the order in which they are told."""
