"""Dragonfly, natively: Merlin's ports are those of the nodes, then of the other routers of the group, then global ones.

A group's global ports are told by a list with one number for each: copy * (g - 1) + the group to which it leads, as
Merlin counts groups. Absolute: in their order, without the own. Relative: by the distance upwards, less 1. Circulant is
relative with a list in which the distances go up and down in turn.
"""

import numpy as np

from fabricstudy.core.kinds import kind_of
from fabricstudy.machine.arrangement import group_pairs
from fabricstudy.machine.base import Topology
from fabricstudy.machine.dragonfly import DragonflyConfig
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.adaptive import Adaptive
from fabricstudy.routing.base import Routing
from fabricstudy.routing.minimal import Minimal
from fabricstudy.routing.ugal import Ugal
from fabricstudy.routing.valiant import Valiant

from ...contract import Unsupported
from .base import Ints, Wiring, cable_ends

COMPONENT = "merlin.dragonfly"

ALGORITHMS: dict[type[Routing], str] = {Minimal: "minimal", Valiant: "valiant", Ugal: "ugal", Adaptive: "min-a"}
"""Merlin's names of our routings."""

MODES = {"absolute": "absolute", "relative": "relative", "circulant": "relative"}


def wire(config: Topology, routing: Routing, machine: Machine) -> Wiring:
    """Wire a dragonfly of any arrangement."""
    assert isinstance(config, DragonflyConfig)
    if type(routing) not in ALGORITHMS:
        names = ", ".join(map(kind_of, ALGORITHMS))
        raise Unsupported(f"SST's dragonfly has no {routing.kind} routing; take {names}")
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
    """Where each global port of a group leads, router by router; -1 where nothing is connected.

    Examples
    --------
    >>> global_link_map(DragonflyConfig.model_validate({"groups": 9, "routers_per_group": 4, "nodes_per_router": 2,
    ...     "arrangement": "circulant", "bandwidth": "1 GB/s"}))
    [0, 7, 1, 6, 2, 5, 3, 4]
    """
    ports = config.groups - 1
    port = np.arange(ports)
    leads = port
    if config.arrangement == "circulant":
        leads = np.where(port % 2 == 0, port // 2, ports - 1 - port // 2)
    wired = (np.arange(config.links_per_group_pair)[:, None] * ports + leads).reshape(-1)
    padded = np.full(config.routers_per_group * config.global_ports_per_router, -1)
    padded[: len(wired)] = wired
    return [int(place) for place in padded]


def _local_ports(config: DragonflyConfig, machine: Machine) -> Ints:
    """Ports of the cables within groups, which come first."""
    tail, head = cable_ends(machine)
    local = machine.group[tail] == machine.group[head] if machine.group is not None else np.ones(len(tail), dtype=bool)
    at, other = tail[local] % config.routers_per_group, head[local] % config.routers_per_group
    first = config.nodes_per_router
    return np.stack([first + other - (other > at), first + at - (at > other)], axis=1)


def _global_ports(config: DragonflyConfig) -> Ints:
    """Global ports of the cables between groups, in the order of the machine's rows."""
    each, copy = config.global_ports_per_router, np.arange(config.links_per_group_pair)[:, None] * (config.groups - 1)
    group, port, peer, peer_port = group_pairs(config.arrangement, config.groups)
    router, place = _router_and_place(group, copy + port, config, each)
    peer_router, peer_place = _router_and_place(peer, copy + peer_port, config, each)
    order = np.lexsort((peer_router, router))
    return np.stack([place[order], peer_place[order]], axis=1)


def _router_and_place(group: Ints, port: Ints, config: DragonflyConfig, each: int) -> tuple[Ints, Ints]:
    """Router of a group's global port, and the port's number there."""
    return (group * config.routers_per_group + port // each).reshape(-1), (port % each).reshape(-1)
