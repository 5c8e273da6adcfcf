"""Reasons why CODES' times differ."""

from collections.abc import Callable

from fabricstudy.machine.aries import AriesConfig
from fabricstudy.machine.grid import GridConfig
from fabricstudy.routing.dimension_order import DimensionOrder
from fabricstudy.routing.valiant import Valiant

from ..caveats import Caveat, has_jobs, has_parallel_global_links, has_ring_ties, uses_ugal
from ..point import Point
from .models import aries, codes_model, dragonfly, express_mesh, fat_tree, slim_fly
from .network import CodesModel
from .offered import may_have_sources


def _valiant_on(model: CodesModel) -> Callable[[Point], bool]:
    return lambda point: codes_model(point) is model and isinstance(point.routing, Valiant)


def _over_long_links(point: Point) -> bool:
    grid = point.machine.grid if isinstance(point.machine, GridConfig) else ()
    return any((dimension.gap or 0) > 1 for dimension in grid) and isinstance(point.routing, DimensionOrder)


_WITHOUT_HOST_LATENCY = (express_mesh.MODEL, fat_tree.MODEL, slim_fly.MODEL)

CAVEATS: tuple[Caveat, ...] = (
    Caveat(
        "Of `network.injection` each rank of a node has its share, and pieces of a message count as messages; on a "
        "torus a node has a queue for each link. It does not limit the messages of traces.",
        has_jobs,
    ),
    Caveat("A send is complete when its last packet has left the node.", has_jobs),
    Caveat(
        "Sources of offered traffic are periodic and synchronised; under uniform traffic, no node sends to its "
        "predecessor. A batch is a run with its own warm-up and the messages that arrive in its window; the accepted "
        "loads of nodes are those of receivers.",
        lambda point: point.offered is not None and may_have_sources(point),
    ),
    Caveat(
        "On express meshes, fat trees and Slim Flies, host links have no latency, and the last router has the latency "
        "of a cable; so the latency under load is lower by the latency of one cable.",
        lambda point: point.offered is not None and codes_model(point) in _WITHOUT_HOST_LATENCY,
    ),
    Caveat(
        "CODES' fixed software cost of a message is subtracted; the copy of bytes beyond the shortest message of the "
        "run remains.",
        has_jobs,
    ),
    Caveat(
        "Tori, fat trees and grids under dimension order have one virtual channel, where CAMINOS has several; routers "
        "queue packets at their outputs, without a crossbar."
    ),
    Caveat(
        "On a dragonfly, Valiant routing uses an intermediate group drawn at random, other than those of source and "
        "destination; packets within a group make no detour. Expected loads are those of detours through any router.",
        _valiant_on(dragonfly.MODEL),
    ),
    Caveat(
        "On a Slim Fly Valiant leads through a random router outside the sender's own group.",
        _valiant_on(slim_fly.MODEL),
    ),
    Caveat(
        "On a Cray XC Valiant leads through a random router outside the sender's group, between routers of a group "
        "through one of it.",
        _valiant_on(aries.MODEL),
    ),
    Caveat(
        "UGAL on a dragonfly may also leave the minimal path at other routers of the first group, through groups to "
        "which they have links; it doubles the queue of a detour, and is minimal with 16 kB or less at the port. On a "
        "Slim Fly it compares several detours, on a Cray XC two minimal paths with two detours, whose queues count "
        "twice.",
        uses_ugal,
    ),
    Caveat(
        "Half-way round a ring all packets use the same direction, so links carry up to twice as much as with split "
        "ties.",
        has_ring_ties,
    ),
    Caveat(
        "A packet takes the express link or the short link first, whichever has the shorter queue. Expected loads are "
        "those of the express link first.",
        _over_long_links,
        other_paths=True,
    ),
    Caveat(
        "Between two groups with several cables packets draw one of them, even if another one makes a shorter path.",
        lambda point: isinstance(point.machine, AriesConfig) or has_parallel_global_links(point),
        other_paths=True,
    ),
    Caveat(
        "Minimal routing on a Slim Fly always uses the same one of several shortest paths.",
        lambda point: codes_model(point) is slim_fly.MODEL,
    ),
)
"""In the order of the report."""
