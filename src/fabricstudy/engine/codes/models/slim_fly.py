"""Slim Fly: CODES' slimfly, with the generator sets of the machine.

CODES computes with residues, so q must be prime. Its minimal routing always uses the same one of several shortest
paths; Valiant leads through a random router; UGAL compares several such detours with the minimal path.
"""

import numpy as np

from fabricstudy.core.arrays import Integers
from fabricstudy.machine import slim_fly
from fabricstudy.machine.finite_field import galois_field, prime_of
from fabricstudy.machine.graph import Machine
from fabricstudy.machine.slim_fly import SlimFlyConfig
from fabricstudy.routing.base import Routing
from fabricstudy.routing.minimal import Minimal
from fabricstudy.routing.ugal import Ugal
from fabricstudy.routing.valiant import Valiant

from ...detours import check_via, routing_name
from ...failures import Unsupported
from ...point import Point
from ..network import UNLINKED, CodesModel, CodesNetwork, PortCounters, bandwidths, buffers, links_to, one_of

ROUTINGS: dict[type[Routing], str] = {Minimal: "minimal", Valiant: "nonminimal", Ugal: "adaptive"}

CHANNELS = 4


def network(point: Point, machine: Machine) -> CodesNetwork:
    """Translate a Slim Fly of a prime number."""
    config = point.machine
    assert isinstance(config, SlimFlyConfig)
    q = config.q
    if prime_of(q) != q:
        raise Unsupported(f"CODES' Slim Fly needs a prime q, not {q}; use a prime, or another engine")
    check_via(point.routing, "router", "on CODES' Slim Fly")
    sets = slim_fly.generator_sets(galois_field(q, 1), config.delta)
    within, across = len(sets[0]), q
    local, between = machine.classes
    latency_ns = one_of([local.latency_ns, between.latency_ns], "latency", "Slim Fly")
    return CodesNetwork(
        terminal="modelnet_slimfly",
        others={"modelnet_slimfly_router": 1},
        repetitions=machine.routers,
        terminals=config.nodes_per_router,
        methods=("slimfly", "slimfly_router"),
        packet=int(point.network.packet_bytes),
        parameters={
            "sf_type": 0,
            "num_rails": 1,
            "num_routers": q,
            "num_terminals": config.nodes_per_router,
            "local_channels": within,
            "global_channels": across,
            "num_vcs": CHANNELS,
            "generator_set_X": sorted(sets[0].tolist()),
            "generator_set_X_prime": sorted(sets[1].tolist()),
            "csf_ratio": 1,
            "routing": routing_name(point.routing, ROUTINGS, "CODES' Slim Fly"),
            **bandwidths(machine, local.bandwidth_Bps),
            "router_delay": latency_ns + point.network.router_latency_ns,
            **buffers(point),
        },
        traffic=PortCounters("slimfly-router-traffic", 2, 3, _ports(machine, q, within, across)),
        fixed_routes=isinstance(point.routing, Minimal),
    )


def _ports(machine: Machine, q: int, within: int, across: int) -> Integers:
    """Return the link of each port: those of the group, then the others, by neighbour, descending on side 1."""
    link = np.full((machine.routers, within + across + machine.nodes // machine.routers), UNLINKED)
    for kind, first, ports in ((slim_fly.LOCAL, 0, within), (slim_fly.GLOBAL, within, across)):
        links = np.flatnonzero(machine.link_class == kind)
        tail, head = machine.link_tail[links].astype(np.int64), machine.link_head[links]
        neighbours = head[np.lexsort((np.where(tail < q * q, head, -head), tail))].reshape(machine.routers, ports)
        link[:, first : first + ports] = links_to(machine, np.arange(machine.routers)[:, None], neighbours)
    return link


MODEL = CodesModel(
    "slim-fly",
    network,
    burst_bytes=lambda point: float(point.network.buffer_bytes),
    one_process=frozenset(ROUTINGS),
)
