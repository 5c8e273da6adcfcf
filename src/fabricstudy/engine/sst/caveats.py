"""Reasons why SST's times differ."""

from fabricstudy.machine.dragonfly import DragonflyConfig
from fabricstudy.machine.percs import PercsConfig

from ..caveats import Caveat, has_jobs, has_offered_traffic, has_parallel_global_links, has_ring_ties, uses_ugal
from ..detours import via
from ..point import Point
from .system import settings_of


def _detours_through_groups(point: Point) -> bool:
    return isinstance(point.machine, DragonflyConfig | PercsConfig) and via(point.routing) == "group"


CAVEATS: tuple[Caveat, ...] = (
    Caveat(
        "`network.injection` does not apply: Firefly, SST's network interface, schedules the messages of a node.",
        has_jobs,
    ),
    Caveat(
        "Each message carries a header of 45 bytes, and a job ends with a barrier; both are in the link loads.",
        has_jobs,
    ),
    Caveat(
        "Sources of offered traffic are periodic and all in step, and draw the same destinations with each seed. A "
        "batch has the messages that arrive in it. Under saturation a source drops its queue at the end of each batch.",
        has_offered_traffic,
    ),
    Caveat("The seed sets allocations, mappings and send orders only; SST's routers draw the same numbers each time."),
    Caveat(
        "A send is complete when it is in the queue of the node's interface; the messages of a phase wait there in "
        "send order. In traces it is complete after the time that its bytes need on the link of the node.",
        lambda point: has_jobs(point) and settings_of(point).mpi == "none",
    ),
    Caveat(
        "Firefly's costs of MPI and of the network interface are included. Messages above 12 kB use the rendezvous "
        "protocol, and their senders wait until they have arrived.",
        lambda point: has_jobs(point) and settings_of(point).mpi == "default",
    ),
    Caveat(
        "Ember's native motifs have a fixed send order and wait for each message: Alltoall sends to one rank after the "
        "other, and Halo3D finishes one dimension before the next.",
        lambda point: settings_of(point).motifs == "native",
    ),
    Caveat(
        "On a dragonfly a detour leads through a group drawn at random, neither the first nor the last one, and "
        "between two routers of a group through a router of it. Expected loads are those of detours through any "
        "router.",
        _detours_through_groups,
    ),
    Caveat(
        "Between two groups with several cables packets draw one of them, even if another one makes a shorter path.",
        has_parallel_global_links,
        other_paths=True,
    ),
    Caveat(
        "UGAL compares the queues of two ports, that of the detour doubled plus 50 flits, instead of queues times "
        "hops; it considers the queues of one virtual channel only.",
        lambda point: uses_ugal(point) and _detours_through_groups(point),
    ),
    Caveat(
        "UGAL compares the shortest paths with three detours: queue times hops, for a detour twice the hops to its "
        "middle. If all these queues are empty it draws one of all candidates, so under light traffic most packets "
        "make a detour.",
        lambda point: uses_ugal(point) and not _detours_through_groups(point),
    ),
    Caveat(
        "Half-way round a ring the source of a packet draws one of both directions (SST's native torus, used for "
        "`tie: positive`, always goes up); on CAMINOS each packet uses the one that has room.",
        has_ring_ties,
    ),
)
"""In the order of the report."""
