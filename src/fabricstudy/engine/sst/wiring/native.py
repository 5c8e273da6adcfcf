"""Machines with a native element of Merlin: dragonfly, fat tree, torus, mesh and HyperX.

Routers have the numbers of the machine, in a grid with the first dimension fastest.
"""

from typing import Any

import numpy as np

from fabricstudy.core.arrays import Ints
from fabricstudy.machine.arrangement import group_pairs
from fabricstudy.machine.base import Topology
from fabricstudy.machine.dragonfly import DragonflyConfig
from fabricstudy.machine.fat_tree import FatTreeConfig
from fabricstudy.machine.graph import Machine
from fabricstudy.machine.percs import PercsConfig
from fabricstudy.routing.adaptive import Adaptive
from fabricstudy.routing.base import Routing
from fabricstudy.routing.d_mod_k import DModK
from fabricstudy.routing.dimension_order import DimensionOrder
from fabricstudy.routing.minimal import Minimal
from fabricstudy.routing.ugal import Ugal
from fabricstudy.routing.valiant import Valiant

from ...detours import routing_name
from ...failures import Unsupported
from .base import Wiring, cable_ends, is_built_by, nodes_on_each_router

DRAGONFLY = "merlin.dragonfly"
DRAGONFLY_ROUTINGS: dict[type[Routing], str] = {Minimal: "minimal", Valiant: "valiant", Ugal: "ugal", Adaptive: "min-a"}
FAT_TREE_ROUTINGS: dict[type[Routing], str] = {DModK: "deterministic", Adaptive: "adaptive"}
HYPERX_ROUTINGS: dict[type[Routing], str] = {DimensionOrder: "DOR", Valiant: "valiant", Adaptive: "MIN-A"}
"""Merlin's names of routings."""

MODES = {"absolute": "absolute", "relative": "relative", "circulant": "relative"}


def as_dragonfly(config: Topology) -> DragonflyConfig | None:
    """Return the dragonfly with the routers and cables of a machine; None if Merlin has none with its links.

    A PERCS machine whose L-local and L-remote links have the same bandwidth is a dragonfly.
    """
    if is_built_by(config, DragonflyConfig):
        return config if config.links_per_local_pair == 1 else None
    if not is_built_by(config, PercsConfig) or config.supernodes == 1:
        return None
    if config.bandwidth.local_Bps != config.bandwidth.remote_Bps:
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


def wire_dragonfly(config: DragonflyConfig, routing: Routing, machine: Machine) -> Wiring:
    """Wire a dragonfly of any arrangement: ports to nodes, then to the other routers of the group, then global ones.

    The element has one bandwidth for all links of a group.
    """
    algorithm = routing_name(routing, DRAGONFLY_ROUTINGS, "SST's dragonfly")
    nodes, others, globals_ = config.nodes_per_router, config.routers_per_group - 1, config.global_ports_per_router
    return Wiring(
        component=DRAGONFLY,
        parameters={
            "hosts_per_router": nodes,
            "routers_per_group": config.routers_per_group,
            "intergroup_per_router": globals_,
            "intergroup_links": config.links_per_group_pair,
            "num_groups": config.groups,
            "algorithm": algorithm,
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
    """Return Merlin's list for the global ports of a group, router by router; -1 for unused ports.

    It has one number for each port: copy * (g - 1) + number of the peer group. Absolute numbers skip the group itself;
    relative ones are the distance upwards, less 1. Circulant is relative with distances alternately up and down.

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


def wire_fat_tree(config: FatTreeConfig, routing: Routing, machine: Machine) -> Wiring:
    """Wire a fat tree whose core routers reach each pod by one cable: ports down, then ports up."""
    assert machine.level is not None
    algorithm = routing_name(routing, FAT_TREE_ROUTINGS, "SST's fat tree")
    if config.core_cables > 1:
        raise Unsupported("SST's fat tree has one cable between a core router and a pod; set core_cables to 1")
    half, pods = config.half_radix, config.pod_count
    tail, head = cable_ends(machine)
    leaves = pods * half
    pod, lower = tail // half % pods, tail % half
    to_core = machine.level[tail] == 1
    core = head - 2 * leaves
    up = half + np.where(to_core, core % half, (head - leaves) % half)
    return Wiring(
        component="merlin.fattree",
        parameters={"shape": f"{half},{half}:{half},{half}:{pods}", "routing_alg": algorithm},
        ports=np.where(machine.level == 2, pods, 2 * half).astype(np.int64),
        cable_ports=np.stack([up, np.where(to_core, pod, lower)], axis=1).astype(np.int64),
        host_ports=np.arange(machine.nodes) % half,
    )


def is_torus(machine: Machine) -> bool:
    """Return whether the machine is a torus of Merlin: a ring in each dimension."""
    return _has_lines(machine) and all(dimension.wrap and dimension.gap is None for dimension in machine.dimensions)


def is_mesh(machine: Machine) -> bool:
    """Return whether the machine is a mesh of Merlin: a line in each dimension."""
    return _has_lines(machine) and not any(
        dimension.wrap or dimension.gap is not None for dimension in machine.dimensions
    )


def is_hyperx(machine: Machine) -> bool:
    """Return whether the machine is a HyperX of Merlin: all routers along a line are connected."""
    return _has_lines(machine) and all(dimension.gap == 1 for dimension in machine.dimensions)


def _has_lines(machine: Machine) -> bool:
    """Return whether the machine is a grid without parallel cables, which Merlin's grids of width 1 lack."""
    return bool(machine.dimensions) and bool(np.all(machine.cable_count == 1))


def breaks_ties_alike(routing: Routing, machine: Machine) -> bool:
    """Return whether the routing breaks ties half-way round a ring as Merlin's torus does: always up."""
    ties = any(dimension.length % 2 == 0 and dimension.length > 2 for dimension in machine.dimensions)
    return isinstance(routing, DimensionOrder) and (not ties or routing.tie == "positive")


def wire_rings_or_lines(component: str, machine: Machine) -> Wiring:
    """Wire a torus or a mesh: two ports per dimension, up then down, and then those of the nodes."""
    nodes = nodes_on_each_router(machine)
    along, low, high = _along(machine)
    length, ring = np.array([(dimension.length, dimension.wrap) for dimension in machine.dimensions])[along].T
    wraps = (high - low == length - 1) & (length > 2) & (ring == 1)
    # In a ring of two routers both ends of a cable are ports up.
    pair = (length == 2) & (ring == 1)
    up, down = 2 * along, 2 * along + 1
    first = 2 * len(machine.dimensions)
    return Wiring(
        component=component,
        parameters=_shape(machine, nodes),
        ports=np.full(machine.routers, first + nodes),
        cable_ports=np.stack([np.where(wraps, down, up), np.where(wraps | pair, up, down)], axis=1),
        host_ports=first + np.arange(machine.nodes) % nodes,
        # Merlin's mesh uses a channel of a second virtual network.
        virtual_networks=2 if component == "merlin.mesh" else 1,
    )


def wire_hyperx(routing: Routing, machine: Machine) -> Wiring:
    """Wire a HyperX: a port for each other coordinate of a dimension, and then those of the nodes."""
    nodes = nodes_on_each_router(machine)
    along, low, high = _along(machine)
    others = np.array([dimension.length - 1 for dimension in machine.dimensions])
    start = (np.cumsum(others) - others)[along]
    first = int(others.sum())
    return Wiring(
        component="merlin.hyperx",
        parameters=_shape(machine, nodes) | {"algorithm": HYPERX_ROUTINGS[type(routing)]},
        ports=np.full(machine.routers, first + nodes),
        cable_ports=np.stack([start + high - 1, start + low], axis=1),
        host_ports=first + np.arange(machine.nodes) % nodes,
    )


def _shape(machine: Machine, nodes: int) -> dict[str, str | int]:
    lengths = [str(dimension.length) for dimension in machine.dimensions]
    return {"shape": "x".join(lengths), "width": "x".join("1" for _ in lengths), "local_ports": nodes}


def _along(machine: Machine) -> tuple[Ints, Ints, Ints]:
    """Return the dimension of each cable, and the coordinates of its tail (the lower one) and head there."""
    assert machine.coordinates is not None
    tail, head = cable_ends(machine)
    along = machine.cable_class.astype(np.int64)
    cable = np.arange(len(tail))
    coordinates = machine.coordinates.astype(np.int64)
    return along, coordinates[tail][cable, along], coordinates[head][cable, along]
