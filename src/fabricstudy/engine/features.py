"""Optional features of engines, and checks that several of them share."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from fabricstudy.machine.graph import Machine
from fabricstudy.routing.ecmp import Ecmp
from fabricstudy.routing.ugal import Ugal
from fabricstudy.workload.messages import PlacedJob, WorkloadError

from .failures import Unsupported
from .job_traffic import traffic_classes
from .point import Point

PACKETS_OF_A_BUFFER = 4
"""Packets that a buffer holds at least; with fewer a link is idle while credits travel, or the run hangs."""

MANAGED = (
    "congestion management nor traffic classes; leave network.congestion_management, network.classes and the class of "
    "jobs out"
)

COSTS = "software overheads; omit network.send_overhead, receive_overhead and copy_bandwidth, or use jobs on packet"


class Feature(NamedTuple):
    """An optional feature: which points use it, and the refusal of an engine without it, for its title."""

    is_used: Callable[[Point], bool]
    refusal: str


FEATURES: dict[str, Feature] = {
    "routing: ecmp": Feature(
        lambda point: isinstance(point.routing, Ecmp),
        "{} does not support ECMP (paths by flow hash); use the engine packet or flow",
    ),
    "network.ports_per_node": Feature(
        lambda point: point.network.ports_per_node > 1,
        "nodes of {} have one port; leave network.ports_per_node out, or use the engine packet",
    ),
    "network.virtual_channels": Feature(
        lambda point: point.network.virtual_channels is not None,
        "{} sets virtual channels itself; leave network.virtual_channels out, or use packet",
    ),
    "network.channel_scheme": Feature(
        lambda point: point.network.channel_scheme is not None,
        "{} sets no scheme; leave network.channel_scheme out, or use packet",
    ),
    "network.congestion_management": Feature(
        lambda point: bool(point.network.congestion_management or point.network.classes),
        f"{{}} has neither {MANAGED}",
    ),
    "network.send_overhead": Feature(
        lambda point: point.network.software_cost.exists,
        f"{{}} has no {COSTS}",
    ),
    "messages of 0 B": Feature(
        lambda point: any(part.messages and part.message_bytes == 0 for part in traffic_classes(point)),
        "{} has no messages of 0 B; use packet or flow, or write empty: 1 B in a pattern of kind trace",
    ),
    "jobs.start": Feature(
        lambda point: any(job.start_ns for job in point.jobs),
        "on {} all jobs start together; leave jobs.start out, or use packet",
    ),
    "jobs.background": Feature(
        lambda point: any(job.background for job in point.jobs),
        "jobs of {} run once; leave jobs.background out, or use packet",
    ),
    "jobs.load": Feature(
        lambda point: any(job.load is not None for job in point.jobs),
        "on {} background jobs have no load; leave jobs.load out, or use packet",
    ),
    "offered.message": Feature(
        lambda point: point.offered is not None and not isinstance(point.offered.message_bytes, int),
        "on {} offered messages have one size; write a size, or use packet",
    ),
}
"""Optional features by the key of the study that asks for them; an engine lists those that it supports."""

NOT_OFFERED = ("network.send_overhead", "network.congestion_management")
"""Features that no engine has for offered traffic."""


def refusal(point: Point, features: frozenset[str], title: str) -> str | None:
    """Return the refusal of the first feature that a point uses and an engine lacks; None without one."""
    for name, feature in FEATURES.items():
        if feature.is_used(point):
            if name not in features:
                return feature.refusal.format(title)
            if point.offered is not None and name in NOT_OFFERED:
                return feature.refusal.format("offered traffic")
    return None


def check_messages(jobs: Sequence[PlacedJob], title: str) -> None:
    """Raise `WorkloadError` for messages of 0 bytes, and of a rank to itself."""
    for job in jobs:
        if not job.messages.size_bytes.all() or np.any(job.messages.source == job.messages.destination):
            raise WorkloadError(f"{title} has no messages of 0 B or of a rank to itself; use packet or flow")


def check_parts(machine: Machine, title: str) -> None:
    """Raise `Unsupported` for one router, group or side, on which the models of other programs have not been tried."""
    lengths = [dimension.length for dimension in machine.dimensions]
    groups = [] if machine.group is None else [int(machine.group.max()) + 1]
    if min([machine.routers, *lengths, *groups]) < 2:
        raise Unsupported(f"{title} has not been tried on one router, group or side of length 1; use packet or flow")


def check_network(point: Point, packet_bytes: int) -> None:
    """Raise `Unsupported` for parameters that only packet and CAMINOS have, and for buffers of fewer than four packets.

    `packet_bytes` are the bytes of a buffer that a packet occupies.
    """
    if isinstance(point.routing, Ugal) and point.routing.has_parameters:
        raise Unsupported("its UGAL has no parameters; leave detours, bias and threshold out, or use the engine packet")
    least, buffer = PACKETS_OF_A_BUFFER * packet_bytes, int(point.network.buffer_bytes)
    if buffer < least:
        raise Unsupported(
            f"a buffer must hold {PACKETS_OF_A_BUFFER} packets, here {least:,} B, not {buffer:,} B; raise "
            "network.buffer, or lower network.packet"
        )
