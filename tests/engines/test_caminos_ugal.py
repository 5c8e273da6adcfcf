"""UGAL on every family, under benign and adversarial traffic: never much worse than the better of its two choices."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fabricstudy.engine.caminos.adapter import Caminos
from fabricstudy.engine.caminos.channels import channels_of
from fabricstudy.engine.engine import Engine
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.ugal import Ugal
from fabricstudy.workload.messages import PlacedJob

from ..machines import DRAGONFLY, job_of, point_on
from .run_caminos import simulate

PROBE = Engine(Caminos).probe()
pytestmark = pytest.mark.skipif(not PROBE.found, reason=str(PROBE.reason))

FAST = "25 GB/s"
MACHINES: dict[str, dict[str, Any]] = {
    "dragonfly": DRAGONFLY | {"bandwidth": FAST},
    "dragonfly-plus": {
        "kind": "megafly", "groups": 5, "leaves_per_group": 4, "spines_per_group": 4, "nodes_per_leaf": 4,
        "links_per_group_pair": 4, "bandwidth": FAST,
    },
    "express-mesh": {"kind": "express-mesh", "shape": [8, 8], "gap": 3, "bandwidth": FAST},
    "hypercube": {"kind": "hypercube", "dimensions": 6, "bandwidth": FAST},
    "hyperx": {"kind": "hyperx", "shape": [5, 5], "nodes_per_router": 3, "bandwidth": FAST},
    "jellyfish": {"kind": "jellyfish", "routers": 24, "degree": 6, "nodes_per_router": 3, "bandwidth": FAST},
    "leaf-spine": {"kind": "xgft", "down": [6, 8], "up": [3], "bandwidth": FAST},
    "mesh": {"kind": "mesh", "shape": [6, 6], "bandwidth": FAST},
    "polarfly": {"kind": "polarfly", "q": 5, "nodes_per_router": 3, "bandwidth": FAST},
    "slim-fly": {"kind": "slim-fly", "q": 5, "nodes_per_router": 4, "bandwidth": FAST},
    "torus": {"kind": "torus", "shape": [8, 8], "bandwidth": FAST},
    "tree": {"kind": "xgft", "down": [4, 4, 2], "up": [2, 2], "bandwidth": FAST},
}  # fmt: skip
SIZE = 400_000


def uniform(machine: Machine) -> PlacedJob:
    """Each node sends 16 messages to nodes drawn at random."""
    random, nodes = np.random.default_rng(1), machine.nodes
    drawn = [(i, int(j)) for i in range(nodes) for j in random.permutation(nodes)[:16] if i != j]
    return job_of(list(range(nodes)), [(0, i, j, SIZE // 16) for i, j in drawn])


def shifted(machine: Machine, nodes: int) -> PlacedJob:
    """Each node sends to the one so many nodes on."""
    return job_of(list(range(machine.nodes)), [(0, i, (i + nodes) % machine.nodes, SIZE) for i in range(machine.nodes)])


def next_router(machine: Machine) -> PlacedJob:
    """All nodes of a router send to those of the next one."""
    return shifted(machine, int(np.bincount(machine.node_router).max()))


def next_group(machine: Machine) -> PlacedJob:
    """All nodes of a group send to those of the next one (Kim et al. 2008), or else half-way through the machine."""
    if machine.group is None:
        return shifted(machine, machine.nodes // 2 - 1)
    group = machine.group[machine.node_router]
    return shifted(machine, int((group == group[0]).sum()))


@pytest.mark.parametrize("traffic", [uniform, next_router, next_group])
@pytest.mark.parametrize("name", MACHINES)
def test_it_comes_near_the_better_of_minimal_and_valiant(
    name: str, traffic: Callable[[Machine], PlacedJob], tmp_path: Path
) -> None:
    """With the same virtual channels, as a study has them that compares the three."""
    config, times = MACHINES[name] | {"cores_per_node": 1}, {}
    machine = point_on(config).machine.build()
    for kind in ("minimal", "valiant", "ugal"):
        network = {"virtual_channels": channels_of(Ugal(), machine)}
        this = point_on(config, kind, network=network, engine={"kind": "caminos", "phit": "1 kB"})
        result, _ = simulate(tmp_path / kind, this, [traffic(machine)], machine)
        assert result.job_runtime_ns[0] is not None
        times[kind] = result.job_runtime_ns[0]
    better = min(times["minimal"], times["valiant"])
    print(f"{name}, {traffic.__name__}: UGAL over the better one {times['ugal'] / better:.3f}")
    assert times["ugal"] <= 1.1 * better
