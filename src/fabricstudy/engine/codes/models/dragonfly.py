"""Dragonfly: CODES' dragonfly-dally with the links of the machine.

Valiant leads through a random group, not a random router. UGAL is progressive adaptive routing, which may leave the
minimal path at other routers of the source group, too (PAR: Jiang, Kim and Dally, ISCA 2009,
doi:10.1145/1555754.1555783); it compares the bytes queued at ports, doubled for a detour, and is minimal up to 16 kB.
"""

import numpy as np

from fabricstudy.core.arrays import Bools, Integers, number_within
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.base import Routing
from fabricstudy.routing.minimal import Minimal
from fabricstudy.routing.ugal import Ugal
from fabricstudy.routing.valiant import Valiant

from ...detours import check_via, routing_name
from ...failures import Unsupported
from ...point import Point
from ..network import (
    UNLINKED,
    CodesModel,
    CodesNetwork,
    PortCounters,
    bandwidths,
    buffers,
    check_single_cables,
    links_to,
    one_of,
)

ROUTINGS: dict[type[Routing], str] = {Minimal: "minimal", Valiant: "nonminimal", Ugal: "prog-adaptive"}

THRESHOLD_BYTES = 16_384
"""Bytes at a port up to which UGAL is minimal, as in CODES' network dfdally_8k.

Queues include packets that are not yet acknowledged, so the queue of an idle link is not empty.
"""

INTRA, INTER = "intra", "inter"
"""Files of the links within a group, and between groups, of CODES' dragonflies."""

COUNTERS = {
    "credit_size": 8,
    "auto_credit_delay": 1,
    # The window in which bytes are counted: several hours, in microseconds.
    "counting_bool": 1,
    "counting_start": 0,
    "counting_windows": 1,
    "counting_interval": 10**10,
    "num_apps": 2,
}
"""Keys of CODES' dragonflies."""


def network(point: Point, machine: Machine) -> CodesNetwork:
    """Translate a dragonfly; its links are in wiring files."""
    assert machine.group is not None
    groups = int(machine.group.max()) + 1
    if groups < 3:
        raise Unsupported("CODES' dragonfly crashes with two groups; use three or more, or another engine")
    check_via(point.routing, "group", "on CODES' dragonfly")
    routers = machine.routers // groups
    nodes = machine.nodes // machine.routers
    # The last class is the global one; a PERCS machine has two others.
    is_global = machine.cable_class == len(machine.classes) - 1
    check_single_cables(machine.cable_count[~is_global], "dragonfly", "two routers of a group")
    local, between = _pairs(machine, ~is_global), _pairs(machine, is_global)
    first_group = local[local[:, 0] < routers]
    ports = int(np.bincount(between[:, 0], minlength=machine.routers).max())
    *local_classes, global_class = machine.classes
    local_Bps = one_of([link.bandwidth_Bps for link in local_classes], "bandwidth", "dragonfly", "links of a group")
    local_ns = one_of([link.latency_ns for link in local_classes], "latency", "dragonfly", "links of a group")
    latency_ns = point.network.router_latency_ns
    return CodesNetwork(
        terminal="modelnet_dragonfly_dally",
        others={"modelnet_dragonfly_dally_router": 1},
        repetitions=machine.routers,
        terminals=nodes,
        methods=("dragonfly_dally", "dragonfly_dally_router"),
        packet=int(point.network.packet_bytes),
        parameters={
            "num_groups": groups,
            "num_routers": routers,
            "num_cns_per_router": nodes,
            "num_global_channels": ports,
            "intra-group-connections": INTRA,
            "inter-group-connections": INTER,
            "routing": routing_name(point.routing, ROUTINGS, "CODES' dragonfly"),
            "route_scoring_metric": "delta",
            "adaptive_threshold": THRESHOLD_BYTES,
            **bandwidths(machine, local_Bps),
            # The model's router delay would occupy the link, so it is added to the latency of the links.
            "router_delay": 0,
            "local_delay": local_ns + latency_ns,
            "global_delay": global_class.latency_ns + latency_ns,
            "cn_delay": machine.host.latency_ns + latency_ns / 2,
            **buffers(point),
            "num_qos_levels": 1,
            "num_rails": 1,
            "global_k_picks": 2,
            "notification_on_hops_greater_than": 2**31 - 1,
            **({"congestion_control_enabled": 1} if point.network.congestion_management else {}),
            **COUNTERS,
        },
        files={
            INTRA: np.column_stack([first_group, np.zeros(len(first_group))]).astype("<i4").tobytes(),
            INTER: between.astype("<i4").tobytes(),
        },
        traffic=dragonfly_counters(_ports(machine, local, between, routers - 1, ports, nodes)),
        # Packets draw one of several cables between two groups.
        fixed_routes=isinstance(point.routing, Minimal) and len(between) == groups * (groups - 1),
    )


def _pairs(machine: Machine, chosen: Bools) -> Integers:
    """Return the router pairs of all cables of the rows `chosen`, in both directions and sorted, [pairs, 2]."""
    rows = np.flatnonzero(chosen)
    ends = np.stack([machine.cable_tail[rows], machine.cable_head[rows]], axis=1)
    pairs = np.concatenate([ends, ends[:, ::-1]])
    pairs = np.repeat(pairs, np.tile(machine.cable_count[rows], 2), axis=0)
    return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]


def _ports(machine: Machine, local: Integers, between: Integers, intra: int, inter: int, nodes: int) -> Integers:
    """Return the link of each port: in the group by the order of the wiring file, then global ones, then nodes."""
    link = np.full((machine.routers, intra + inter + nodes), UNLINKED)
    for pairs, first in ((local, 0), (between, intra)):
        router, neighbour = pairs.T
        link[router, first + number_within(router)] = links_to(machine, router, neighbour)
    return link


def dragonfly_counters(link_of_port: Integers) -> PortCounters:
    """Return the output of the bytes that left each port of CODES' dragonflies."""
    return PortCounters("dragonfly-router-traffic-sample", 2, 4, link_of_port, bits=32)


MODEL = CodesModel("dragonfly", network, job_links="hops", host_latency=True)
