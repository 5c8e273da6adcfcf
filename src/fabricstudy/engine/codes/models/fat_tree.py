"""Fat tree: CODES' fattree of three levels, fully populated.

Adaptive routing is native; D-mod-k is static routing by the forwarding tables written here.
"""

import numpy as np

from fabricstudy.core.arrays import Integers
from fabricstudy.machine.fat_tree import FatTreeConfig
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.adaptive import Adaptive
from fabricstudy.routing.base import Routing
from fabricstudy.routing.d_mod_k import DModK

from ...detours import routing_name
from ...failures import Unsupported
from ...point import Point
from ..network import UNLINKED, CodesModel, CodesNetwork, PortCounters, links_to, one_of

ROUTINGS: dict[type[Routing], str] = {Adaptive: "adaptive", DModK: "static"}

TABLES_FOLDER = "tables"


def network(point: Point, machine: Machine) -> CodesNetwork:
    """Translate a fat tree."""
    config = point.machine
    assert isinstance(config, FatTreeConfig)
    name = routing_name(point.routing, ROUTINGS, "CODES' fat tree")
    copies = config.radix // config.pod_count
    while config.half_radix % copies:
        copies -= 1
    # CODES has no room for more core routers than leaves.
    if config.core_cables > 1 or copies > 1 or config.half_radix > config.pod_count:
        raise Unsupported(
            "CODES' fat tree with half the pods or fewer has another core than this machine; use more than half as "
            "many pods as ports, and core_cables: 1"
        )
    links = [*machine.classes, machine.host]
    if len({link.bandwidth_Bps for link in links}) > 1:
        raise Unsupported("CODES' fat tree has one bandwidth for all links; give the same for pod, core and host")
    latency_ns = one_of([link.latency_ns for link in machine.classes], "latency", "fat tree")
    half, buffer = config.half_radix, int(point.network.buffer_bytes)
    neighbour = _neighbours(config)
    static = name == "static"
    bandwidth = machine.host.bandwidth_Bps / 1e9
    return CodesNetwork(
        terminal="modelnet_fattree",
        others={"fattree_switch": 3},
        repetitions=config.pod_count * half,
        terminals=half,
        methods=("fattree",),
        packet=int(point.network.packet_bytes),
        parameters={
            "ft_type": 0,
            "num_levels": 3,
            "switch_count": config.pod_count * half,
            "switch_radix": config.radix,
            "routing": name,
            "link_bandwidth": bandwidth,
            "cn_bandwidth": bandwidth,
            "router_delay": latency_ns + point.network.router_latency_ns,
            "soft_delay": 0,
            "vc_size": buffer,
            "cn_vc_size": buffer,
            "num_rails": 1,
        }
        | ({"routing_folder": TABLES_FOLDER} if static else {}),
        files=_tables(config) if static else {},
        traffic=PortCounters(
            "fattree-switch-traffic",
            router=3,
            columns=4,
            link_of_port=links_to(machine, np.arange(machine.routers)[:, None], neighbour),
        ),
        fixed_routes=static,
    )


def _neighbours(config: FatTreeConfig) -> Integers:
    """Return the router at the other end of each port, ports down first; `UNLINKED` for nodes and unused ports."""
    half, pods = config.half_radix, config.pod_count
    ports = np.arange(half)
    leaf = np.arange(pods * half)
    first_of_pod = leaf // half * half
    up_from_leaf = pods * half + first_of_pod[:, None] + ports
    down_to_leaf = first_of_pod[:, None] + ports
    core = 2 * pods * half
    up_from_aggregation = core + leaf[:, None] % half * half + ports
    neighbour = np.full((config.routers, config.radix), UNLINKED)
    neighbour[: len(leaf), half:] = up_from_leaf
    neighbour[len(leaf) : core] = np.hstack([down_to_leaf, up_from_aggregation])
    below = np.arange(config.core_routers) // half
    neighbour[core:, :pods] = pods * half + np.arange(pods) * half + below[:, None]
    return neighbour


def _tables(config: FatTreeConfig) -> dict[str, bytes]:
    """Return the D-mod-k forwarding table of each router: up by the digits of the destination to the base k/2."""
    half, pods = config.half_radix, config.pod_count
    node = np.arange(config.nodes)
    leaf, pod = node // half, node // half**2
    up = [half + node % half, half + node // half % half]
    files = {}
    for router in range(config.routers):
        if router < pods * half:
            level, port = 0, np.where(leaf == router, node % half, up[0])
        elif router < 2 * pods * half:
            level, port = 1, np.where(pod == (router - pods * half) // half, leaf % half, up[1])
        else:
            level, port = 2, pod
        # Nodes count from this identifier, and ports from 1.
        rows = zip(((64 << 32) + node).tolist(), (port + 1).tolist(), strict=True)
        table = "".join(f"0x{identifier:016x} {number}\n" for identifier, number in rows)
        files[f"{TABLES_FOLDER}/0x{((level + 1) << 32) + router:016x}.lft"] = table.encode()
    return files


MODEL = CodesModel(
    "fat-tree",
    network,
    burst_bytes=lambda point: float(point.network.buffer_bytes),
    one_process=frozenset({Adaptive}),
)
