"""Native fat tree: ports down, then ports up; routers have the numbers of the machine."""

import numpy as np

from fabricstudy.machine.base import Topology
from fabricstudy.machine.fat_tree import FatTreeConfig
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.adaptive import Adaptive
from fabricstudy.routing.base import Routing
from fabricstudy.routing.d_mod_k import DModK

from ...contract import Unsupported
from ...detours import check_routing
from .base import Wiring, cable_ends

ALGORITHMS: dict[type[Routing], str] = {DModK: "deterministic", Adaptive: "adaptive"}
"""Merlin's names of routings."""


def wire(config: Topology, routing: Routing, machine: Machine) -> Wiring:
    """Wire a fat tree whose core routers reach each pod by one cable."""
    assert isinstance(config, FatTreeConfig) and machine.level is not None
    check_routing(routing, ALGORITHMS, "SST's fat tree")
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
        parameters={"shape": f"{half},{half}:{half},{half}:{pods}", "routing_alg": ALGORITHMS[type(routing)]},
        ports=np.where(machine.level == 2, pods, 2 * half).astype(np.int64),
        cable_ports=np.stack([up, np.where(to_core, pod, lower)], axis=1).astype(np.int64),
        host_ports=np.arange(machine.nodes) % half,
    )
