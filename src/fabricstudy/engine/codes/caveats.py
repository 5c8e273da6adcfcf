"""What sets CODES' times apart."""

from collections.abc import Callable

from fabricstudy.machine.grid import GridConfig
from fabricstudy.routing.dimension_order import DimensionOrder
from fabricstudy.routing.valiant import Valiant

from ..caveats import Caveat, has_jobs, has_offered_traffic, has_parallel_global_links, has_ring_ties, uses_ugal
from ..point import Point
from .models import dragonfly, model_of, slim_fly
from .network import CodesModel


def _valiant_on(model: CodesModel) -> Callable[[Point], bool]:
    return lambda point: model_of(point) is model and isinstance(point.routing, Valiant)


def _over_long_links(point: Point) -> bool:
    grid = point.machine.grid if isinstance(point.machine, GridConfig) else ()
    return any((dimension.gap or 0) > 1 for dimension in grid) and isinstance(point.routing, DimensionOrder)


CAVEATS: tuple[Caveat, ...] = (
    Caveat(
        "Of `network.injection` each rank of a node has its share, and pieces of a message count as messages; on a "
        "torus a node has a queue for each link.",
        has_jobs,
    ),
    Caveat("A send is complete when its last packet has left the node.", has_jobs),
    Caveat(
        "Sources of offered traffic are periodic and all in step; under uniform traffic none sends to the node before "
        "it. A batch is a run with its own warm-up, of the messages that arrive in its window, and accepted loads of "
        "nodes are those of receivers.",
        has_offered_traffic,
    ),
    Caveat(
        "CODES' fixed software cost of a message is subtracted; what remains is the time to copy the bytes by which a "
        "message is longer than the shortest one of the run.",
        has_jobs,
    ),
    Caveat(
        "Tori, fat trees and grids under dimension order have one virtual channel, where CAMINOS has several; routers "
        "queue packets at their outputs, without a crossbar."
    ),
    Caveat(
        "On a dragonfly Valiant leads through a group drawn at random, neither the first nor the last one, and packets "
        "that stay in their group make no detour. Expected loads are those of detours through any router.",
        _valiant_on(dragonfly.MODEL),
    ),
    Caveat(
        "On a Slim Fly Valiant leads through a random router outside the sender's own group.",
        _valiant_on(slim_fly.MODEL),
    ),
    Caveat(
        "UGAL on a dragonfly may still leave the minimal path at other routers of the first group, through groups that "
        "they have links to, which fills the links of an empty one; it counts the queue of a detour twice, and stays "
        "minimal with 16 kB or less at the port. On a Slim Fly it compares several detours.",
        uses_ugal,
    ),
    Caveat(
        "Half-way round a ring all packets take the same of both ways, so that the links there carry up to twice as "
        "much as where ties are split.",
        has_ring_ties,
    ),
    Caveat(
        "A packet takes the long link or the short one first, whichever has less waiting for it. Expected loads are "
        "those of the long one first.",
        _over_long_links,
        other_paths=True,
    ),
    Caveat(
        "Between two groups with several cables packets draw one of them, even if another one makes a shorter path.",
        has_parallel_global_links,
        other_paths=True,
    ),
    Caveat(
        "Minimal routing on a Slim Fly always takes the same one of several shortest paths.",
        lambda point: model_of(point) is slim_fly.MODEL,
    ),
)
"""In the order of the report."""
