"""How a node sends: `network.injection` messages under way at once, on the real program."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fabricstudy.engine.caminos.adapter import Caminos
from fabricstudy.engine.caminos.clock import clock
from fabricstudy.engine.engine import Engine
from fabricstudy.engine.point import Point
from fabricstudy.machine.graph import Machine
from fabricstudy.structure.bound import load_time_ns
from fabricstudy.structure.load import link_loads
from fabricstudy.workload.messages import PlacedJob

from ..machines import DRAGONFLY, job_of, line, point_on
from .run_caminos import ends, simulate

PROBE = Engine(Caminos).probe()
pytestmark = pytest.mark.skipif(not PROBE.found, reason=str(PROBE.reason))

PACKET = 2000
STAGE_NS = 200.0
"""Latency of a cable and of the router before it."""

Pairs = list[tuple[int, int]]


def grid(kind: str, shape: list[int], host: str) -> dict[str, Any]:
    return {"kind": kind, "shape": shape, "bandwidth": {"links": "1 GB/s", "host": host}, "latency": "100 ns"}


def neighbours(shape: tuple[int, ...], wrap: bool) -> Pairs:
    """Each node and its neighbours along each dimension."""
    pairs = []
    for node, at in enumerate(np.ndindex(shape[::-1])):
        for along in range(len(shape)):
            for step in (1, -1):
                to = list(at)
                to[along] += step
                if wrap or 0 <= to[along] < shape[::-1][along]:
                    pairs.append((node, int(np.ravel_multi_index(to, shape[::-1], mode="wrap"))))
    return pairs


def within_groups(routers: int, shifts: Iterable[int]) -> Pairs:
    """Each router of a dragonfly of one node per router, and others of its group."""
    return [(i, i // 4 * 4 + (i % 4 + shift) % 4) for i in range(routers) for shift in shifts]


def shifted(nodes: int, by: int) -> Pairs:
    return [(i, (i + by) % nodes) for i in range(nodes)]


_LOCAL = DRAGONFLY | {
    "nodes_per_router": 1,
    "cores_per_node": 1,
    "latency": "100 ns",
    "bandwidth": {"local": "1 GB/s", "global": "1 GB/s", "host": "6 GB/s"},
}
_TREE = {"kind": "fat-tree", "radix": 4, "bandwidth": "1 GB/s", "latency": "100 ns"}

# Machine, routing, pairs, cables between routers on each way. No two messages share a link between routers.
FREE: dict[str, tuple[dict[str, Any], str, Pairs, int]] = {
    "torus halo": (grid("torus", [4, 4, 4], "6 GB/s"), "dimension-order", neighbours((4, 4, 4), wrap=True), 1),
    "mesh halo": (grid("mesh", [4, 4], "4 GB/s"), "dimension-order", neighbours((4, 4), wrap=False), 1),
    "ring exchange": (grid("torus", [8], "10 GB/s"), "dimension-order", neighbours((8,), wrap=True), 1),
    "ring exchange, slow hosts": (grid("torus", [8], "1 GB/s"), "dimension-order", neighbours((8,), wrap=True), 1),
    "ring exchange, minimal": (grid("torus", [8], "2 GB/s"), "minimal", neighbours((8,), wrap=True), 1),
    "tree permutation": (_TREE, "d-mod-k", shifted(16, 4), 4),
    "tree exchange": (_TREE, "d-mod-k", shifted(16, 4) + shifted(16, 12), 4),
    "dragonfly permutation": (_LOCAL, "minimal", within_groups(36, [1]), 1),
    "dragonfly groups": (_LOCAL, "minimal", within_groups(36, [1, 2, 3]), 1),
}


def free(name: str, size: int, injection: int = 16) -> tuple[Point, list[PlacedJob], Machine]:
    """Point, job and machine of a case."""
    machine_config, routing, pairs, _ = FREE[name]
    phit = 250 if size < 100_000 else PACKET
    network = {"packet": f"{PACKET} B", "router_latency": "100 ns", "injection": injection}
    engine = {"kind": "caminos", "phit": f"{phit} B"}
    point = point_on(machine_config, routing, network=network, engine=engine)
    machine = point.machine.build()
    messages = [(0, source, destination, size) for source, destination in pairs]
    return point, [job_of(list(range(machine.nodes)), messages)], machine


def closed_form_ns(name: str, size: int, point: Point, jobs: list[PlacedJob], machine: Machine) -> float:
    """Bound and latency: the first packet of a node's last message waits for those of the others, then goes through.

    Where the host link is the slowest, the bound has that wait in it.
    """
    _, _, pairs, cables = FREE[name]
    bound = load_time_ns(machine, link_loads(machine, *ends(jobs), point.routing))
    messages = max(np.bincount([source for source, _ in pairs]))
    packet_ns = min(size, PACKET) / machine.host.bandwidth_Bps * 1e9
    waits = messages if messages * 1e9 <= machine.host.bandwidth_Bps else 1
    phit_ns = float(clock(point, machine).phit_bytes)  # at 1 GB/s
    return bound + waits * packet_ns + (cables + 2) * STAGE_NS + (cables + 1) * phit_ns


class TestWithoutContention:
    # 4 MB take long on the torus, and say nothing that they do not say on the mesh.
    @pytest.mark.parametrize(
        ("name", "size"),
        [
            (name, size)
            for name in FREE
            for size in (2_000, 20_000, 100_000, 1_000_000, 4_000_000)
            if (name, size) != ("torus halo", 4_000_000)
        ],
    )
    def test_time_is_bound_and_latency(self, tmp_path: Path, name: str, size: int) -> None:
        point, jobs, machine = free(name, size)
        result, _ = simulate(tmp_path, point, jobs, machine)
        closed = closed_form_ns(name, size, point, jobs, machine)
        bound = load_time_ns(machine, link_loads(machine, *ends(jobs), point.routing))
        assert result.job_runtime_ns[0] is not None
        assert bound <= result.job_runtime_ns[0] <= 1.10 * closed

    def test_one_message_at_a_time_leaves_most_links_idle(self, tmp_path: Path) -> None:
        # Beyond what the buffers hold a node serves one of its six links at a time.
        point, jobs, machine = free("torus halo", 1_000_000, injection=1)
        result, _ = simulate(tmp_path, point, jobs, machine)
        assert result.job_runtime_ns[0] is not None
        assert result.job_runtime_ns[0] > 5 * 1e6


class TestByHand:
    """The middle of three routers has a node with a rank of each of two jobs; each sends 2 kB, one to either side."""

    @pytest.mark.parametrize(
        ("injection", "expected_ns"),
        [
            # Eight phits of 500 ns leave the node; two more stages follow the last of a message.
            (1, (4 * 500 + 1000, 8 * 500 + 1000)),
            # Packets of two phits alternate: the first message has left after its second packet, the sixth phit.
            (2, (6 * 500 + 1000, 8 * 500 + 1000)),
            (16, (6 * 500 + 1000, 8 * 500 + 1000)),
        ],
    )
    def test_two_messages_of_a_node(self, tmp_path: Path, injection: int, expected_ns: tuple[float, float]) -> None:
        machine = line([1e9, 1e9])
        network = {"packet": "1000 B", "buffer": "8 kB", "router_latency": "0 ns", "injection": injection}
        engine = {"kind": "caminos", "phit": "500 B"}
        point = point_on({"kind": "mesh", "shape": [3], "bandwidth": "1 GB/s"}, network=network, engine=engine)
        jobs = [job_of([1, 0], [(0, 0, 1, 2000)]), job_of([1, 2], [(0, 0, 1, 2000)])]
        result, _ = simulate(tmp_path, point, jobs, machine)
        assert result.job_runtime_ns == expected_ns

    def test_a_phase_that_follows_has_the_link_alone(self, tmp_path: Path) -> None:
        # The first job's rank sends to the left in two phases, the second's to the right: packets A B A B, later C C.
        machine = line([1e9, 1e9])
        network = {"packet": "1000 B", "buffer": "8 kB", "router_latency": "0 ns", "injection": 2}
        engine = {"kind": "caminos", "phit": "500 B"}
        point = point_on({"kind": "mesh", "shape": [3], "bandwidth": "1 GB/s"}, network=network, engine=engine)
        jobs = [job_of([1, 0], [(0, 0, 1, 2000), (1, 0, 1, 2000)]), job_of([1, 2], [(0, 0, 1, 2000)])]
        result, _ = simulate(tmp_path, point, jobs, machine)
        # The first message's last phit arrives at 4000 ns, when the other has left; 2000 ns and two stages follow.
        assert result.job_runtime_ns == (4000 + 2000 + 1000, 5000)
