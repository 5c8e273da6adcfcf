"""Native dragonfly: ports to nodes, then to the other routers of the group, then global ones.

Merlin reads a list with one number for each global port of a group: copy * (g - 1) + number of the peer group. Absolute
numbers skip the group itself; relative ones are the distance upwards, less 1. Circulant is relative with distances
alternately up and down.

The element has one bandwidth for all links of a group. A PERCS machine whose L-local and L-remote links have the same
bandwidth is such a dragonfly.
"""

from typing import Any

import numpy as np

from fabricstudy.core.arrays import Ints
from fabricstudy.machine.arrangement import group_pairs
from fabricstudy.machine.base import Topology
from fabricstudy.machine.dragonfly import DragonflyConfig
from fabricstudy.machine.graph import Machine
from fabricstudy.machine.percs import PercsConfig
from fabricstudy.routing.adaptive import Adaptive
from fabricstudy.routing.base import Routing
from fabricstudy.routing.minimal import Minimal
from fabricstudy.routing.ugal import Ugal
from fabricstudy.routing.valiant import Valiant

from ...detours import check_routing
from .base import Wiring, cable_ends, is_built_by

COMPONENT = "merlin.dragonfly"

ALGORITHMS: dict[type[Routing], str] = {Minimal: "minimal", Valiant: "valiant", Ugal: "ugal", Adaptive: "min-a"}
"""Merlin's names of routings."""

MODES = {"absolute": "absolute", "relative": "relative", "circulant": "relative"}


def as_dragonfly(config: Topology) -> DragonflyConfig | None:
    """Return the dragonfly with the routers and cables of a machine; None if Merlin has none with its bandwidths."""
    if is_built_by(config, DragonflyConfig):
        assert isinstance(config, DragonflyConfig)
        return config
    if not is_built_by(config, PercsConfig):
        return None
    assert isinstance(config, PercsConfig)
    if config.supernodes == 1 or config.bandwidth.local_Bps != config.bandwidth.remote_Bps:
        return None
    sizes: dict[str, Any] = {
        "groups": config.supernodes,
        "routers_per_group": config.hubs_per_supernode,
        "nodes_per_router": config.nodes_per_router,
        "links_per_group_pair": config.links_per_supernode_pair,
        "arrangement": config.arrangement,
    }
    # Without validation: circulant needs an even number of global ports per router of a dragonfly only.
    return DragonflyConfig.model_construct(**sizes)


def wire(config: DragonflyConfig, routing: Routing, machine: Machine) -> Wiring:
    """Wire a dragonfly of any arrangement."""
    check_routing(routing, ALGORITHMS, "SST's dragonfly")
    nodes, others, globals_ = config.nodes_per_router, config.routers_per_group - 1, config.global_ports_per_router
    return Wiring(
        component=COMPONENT,
        parameters={
            "hosts_per_router": nodes,
            "routers_per_group": config.routers_per_group,
            "intergroup_per_router": globals_,
            "intergroup_links": config.links_per_group_pair,
            "num_groups": config.groups,
            "algorithm": ALGORITHMS[type(routing)],
            # SST's own Python class sets "global_routes", which the element does not read.
            "global_route_mode": MODES[config.arrangement],
        },
        of_router={0: {"global_link_map": global_link_map(config)}},
        ports=np.full(machine.routers, nodes + others + globals_),
        cable_ports=np.concatenate([_local_ports(config, machine), _global_ports(config) + nodes + others]),
        host_ports=np.arange(machine.nodes) % nodes,
        class_of_group={"group": "local", "global": "global", "host": "host"},
    )


def global_link_map(config: DragonflyConfig) -> list[int]:
    """Return the list for the global ports of a group, router by router; -1 for unused ports.

    Examples
    --------
    >>> global_link_map(DragonflyConfig.model_validate({"groups": 9, "routers_per_group": 4, "nodes_per_router": 2,
    ...     "arrangement": "circulant", "bandwidth": "1 GB/s"}))
    [0, 7, 1, 6, 2, 5, 3, 4]
    """
    ports = config.groups - 1
    port = np.arange(ports)
    peer = port
    if config.arrangement == "circulant":
        peer = np.where(port % 2 == 0, port // 2, ports - 1 - port // 2)
    wired = (np.arange(config.links_per_group_pair)[:, None] * ports + peer).reshape(-1).tolist()
    return [*wired, *[-1] * (config.routers_per_group * config.global_ports_per_router - len(wired))]


def _local_ports(config: DragonflyConfig, machine: Machine) -> Ints:
    """Return the ports of the cables within groups, which are the machine's first cables."""
    tail, head = cable_ends(machine)
    local = machine.group[tail] == machine.group[head] if machine.group is not None else np.ones(len(tail), dtype=bool)
    tail, head = tail[local] % config.routers_per_group, head[local] % config.routers_per_group
    return config.nodes_per_router + np.stack([head - (head > tail), tail - (tail > head)], axis=1)


def _global_ports(config: DragonflyConfig) -> Ints:
    """Return the global ports of the cables between groups, in the order of the machine's rows."""
    each, copy = config.global_ports_per_router, np.arange(config.links_per_group_pair)[:, None] * (config.groups - 1)
    group, port, peer, peer_port = group_pairs(config.arrangement, config.groups)
    tail_port, head_port = copy + port, copy + peer_port
    tail = group * config.routers_per_group + tail_port // each
    head = peer * config.routers_per_group + head_port // each
    order = np.lexsort((head.reshape(-1), tail.reshape(-1)))
    return np.stack([tail_port.reshape(-1)[order], head_port.reshape(-1)[order]], axis=1) % each
