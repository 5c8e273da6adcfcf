"""Latency of a packet on an idle network, against the closed form to the cycle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fabricstudy.engine.caminos.adapter import Caminos
from fabricstudy.engine.caminos.clock import clock
from fabricstudy.engine.engine import Engine
from fabricstudy.machine.distances import hop_distances

from ..machines import DRAGONFLY, job_of, point_on
from .run_caminos import simulate

PROBE = Engine(Caminos).probe()
pytestmark = pytest.mark.skipif(not PROBE.found, reason=str(PROBE.reason))

FAST = "25 GB/s"
MACHINES: dict[str, dict[str, Any]] = {
    "dragonfly": DRAGONFLY | {"bandwidth": FAST},
    "torus": {"kind": "torus", "shape": [4, 4, 3], "bandwidth": FAST},
    "mesh": {"kind": "mesh", "shape": [5, 4], "bandwidth": FAST},
    "tree": {"kind": "xgft", "down": [3, 3, 2], "up": [2, 2], "bandwidth": FAST},
    "hyperx": {"kind": "hyperx", "shape": [4, 3], "nodes_per_router": 2, "bandwidth": FAST},
    "megafly": {
        "kind": "megafly", "groups": 3, "leaves_per_group": 2, "spines_per_group": 2, "nodes_per_leaf": 2,
        "bandwidth": FAST,
    },
    "aries": {"kind": "aries", "groups": 2, "chassis_per_group": 2, "blades_per_chassis": 6, "bandwidth": FAST},
    "percs": {"kind": "percs", "supernodes": 3, "hubs_per_drawer": 2, "bandwidth": FAST},
}  # fmt: skip
PHIT = 256


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("packet", [256, 1024])
def test_a_packet_over_h_cables_pays_h_plus_one_routers(name: str, packet: int, tmp_path: Path) -> None:
    """L = sum of the cables' latencies + (h + 1) r + P/b + (h + 1) p/b, for a pair at each distance."""
    network = {"packet": f"{packet} B", "router_latency": "100 ns"}
    this = point_on(MACHINES[name], "minimal", network=network, engine={"kind": "caminos", "phit": f"{PHIT} B"})
    machine = this.machine.build()
    units = clock(this, machine)
    far = hop_distances(machine).between(
        np.repeat(machine.node_router, machine.nodes), np.tile(machine.node_router, machine.nodes)
    )
    node = np.arange(machine.nodes**2)
    apart = node // machine.nodes != node % machine.nodes
    for distance in np.unique(far[apart]):
        source, destination = divmod(int(np.flatnonzero(apart & (far == distance))[0]), machine.nodes)
        jobs = [job_of([source, destination], [(0, 0, 1, packet)])]
        result, _ = simulate(tmp_path / str(distance), this, jobs, machine)
        cable_ns = machine.classes[0].latency_ns
        ns = (
            2 * machine.host.latency_ns
            + distance * cable_ns
            + (distance + 1) * 100
            + (packet + (distance + 1) * PHIT) / 25
        )
        # Delays are whole cycles: each cable is off by half a cycle at most, and so is each of the two links to nodes.
        assert abs(result.job_runtime_ns[0] - ns) <= (distance + 2) * units.cycle_ns / 2 + 1e-6
        of_cable, of_node = units.delays[0], units.delays[-1]
        cycles = 2 * of_node + distance * of_cable + packet // PHIT - 1
        assert result.job_runtime_ns[0] == pytest.approx(cycles * units.cycle_ns)
