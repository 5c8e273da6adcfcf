"""Cray XC: CODES' dragonfly-custom, wired by our machine.

Minimal routing draws one of the pairs of routers that join two groups, and in a group one of the ways by row and
column. Valiant goes through a random router outside the sender's group, or in it if the destination is. UGAL compares
two minimal paths with two such detours at the source by what waits for their first links, twice for a detour.

A router of the sender's group that is drawn is replaced by that of the next group. A packet that is shorter than others
may be counted, and take the time, as one of full size, so messages are cut into whole packets.
"""

from itertools import count
from math import gcd

import numpy as np

from fabricstudy.core.arrays import Integers, number_within
from fabricstudy.machine.aries import AriesConfig
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.base import Routing
from fabricstudy.routing.minimal import Minimal
from fabricstudy.routing.ugal import Ugal
from fabricstudy.routing.valiant import Valiant

from ...detours import check_via, routing_name
from ...failures import Unsupported
from ...job_traffic import traffic_classes
from ...point import Point
from ..network import UNLINKED, CodesModel, CodesNetwork, bandwidths, buffers, links_to, one_of
from .dragonfly import COUNTERS, INTER, INTRA, dragonfly_counters

ROUTINGS: dict[type[Routing], str] = {Minimal: "minimal", Valiant: "nonminimal", Ugal: "adaptive"}

THRESHOLD_BYTES = 1024
"""Bytes at a port up to which UGAL stays minimal, CODES' own default."""


def network(point: Point, machine: Machine) -> CodesNetwork:
    """Translate a Cray XC; its links are in wiring files."""
    config = point.machine
    assert isinstance(config, AriesConfig)
    check_via(point.routing, "router", "on CODES' Cray XC")
    if config.groups == 1:
        raise Unsupported("CODES' Cray XC needs two groups or more; use another engine")
    row, column, between = machine.classes
    local_Bps = one_of([row.bandwidth_Bps, column.bandwidth_Bps], "bandwidth", "Cray XC", "links of a group")
    latency_ns = one_of([link.latency_ns for link in machine.classes], "latency", "Cray XC")
    packet = whole_packet(point)
    if packet is None:
        problem = "CODES' Cray XC needs messages of whole packets, and these sizes have no common packet"
        raise Unsupported(f"{problem}; use multiples of network.packet, or another engine")
    pairs = config.global_links()
    # CODES takes the n-th router of one group to be joined to the n-th router of the other one, in this order.
    between_groups = np.concatenate([pairs, pairs[:, ::-1]])
    ports = int(np.bincount(between_groups[:, 0]).max())
    return CodesNetwork(
        terminal="modelnet_dragonfly_custom",
        others={"modelnet_dragonfly_custom_router": 1},
        repetitions=machine.routers,
        terminals=config.nodes_per_router,
        methods=("dragonfly_custom", "dragonfly_custom_router"),
        packet=packet,
        parameters={
            "num_groups": config.groups,
            "num_router_rows": config.chassis_per_group,
            "num_router_cols": config.blades_per_chassis,
            "num_row_chans": 1,
            "num_col_chans": config.links_per_column_pair,
            "num_cns_per_router": config.nodes_per_router,
            "num_global_channels": ports,
            "intra-group-connections": INTRA,
            "inter-group-connections": INTER,
            "routing": routing_name(point.routing, ROUTINGS, "CODES' Cray XC"),
            "adaptive_threshold": THRESHOLD_BYTES,
            **bandwidths(machine, local_Bps),
            # Delays are transfer times of a packet here; the delay of routers includes the latency of links.
            "local_delay": packet / local_Bps * 1e9,
            "global_delay": packet / between.bandwidth_Bps * 1e9,
            "cn_delay": packet / machine.host.bandwidth_Bps * 1e9,
            "router_delay": latency_ns + point.network.router_latency_ns,
            **buffers(point),
            **COUNTERS,
        },
        files={
            INTRA: _local_links(config, machine).astype("<i4").tobytes(),
            INTER: between_groups.astype("<i4").tobytes(),
        },
        traffic=dragonfly_counters(_ports(config, machine, between_groups, ports)),
        whole_packets=True,
    )


def whole_packet(point: Point) -> int | None:
    """Return the largest packet of at most network.packet, and at least half of it, that divides all messages."""
    sizes = [load.message_bytes for load in traffic_classes(point)]
    largest = min([int(point.network.packet_bytes), *sizes])
    common = gcd(*sizes) or largest
    packet = next(common // pieces for pieces in count(-(-common // largest)) if common % pieces == 0)
    return packet if 2 * packet >= largest else None


def _local_links(config: AriesConfig, machine: Machine) -> Integers:
    """Return the links of the first group by router: tail, head, and 0 in rows, 1 in columns, [links, 3]."""
    first = np.flatnonzero((machine.link_class < 2) & (machine.link_tail < config.routers_per_group))
    links = np.stack([machine.link_tail[first], machine.link_head[first], machine.link_class[first]], axis=1)
    return np.repeat(links, machine.cable_count[first // 2], axis=0)


def _ports(config: AriesConfig, machine: Machine, between: Integers, inter: int) -> Integers:
    """Return the link of each port: those of the row by slot, of the column by chassis, global ones, and nodes."""
    router = np.arange(machine.routers)
    slots, rows = np.arange(config.blades_per_chassis), np.arange(config.chassis_per_group)
    slot, row = router % len(slots), router // len(slots)
    first_row = row // len(rows) * len(rows)
    in_row = row[:, None] * len(slots) + slots
    in_column = (first_row[:, None] + rows) * len(slots) + slot[:, None]
    columns = config.links_per_column_pair if len(rows) > 1 else 0
    neighbours = np.concatenate([in_row, np.repeat(in_column, columns, axis=1)], axis=1)
    local = links_to(machine, router[:, None], neighbours)
    link = np.full((machine.routers, inter + config.nodes_per_router), UNLINKED)
    tail, head = between.T
    link[tail, number_within(tail)] = links_to(machine, tail, head)
    return np.concatenate([local, link], axis=1)


MODEL = CodesModel(
    "aries",
    network,
    burst_bytes=lambda point: float(point.network.buffer_bytes),
    packet_bytes=lambda point: whole_packet(point) or int(point.network.packet_bytes),
    one_process=frozenset(ROUTINGS),
)
