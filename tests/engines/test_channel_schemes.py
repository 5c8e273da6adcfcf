"""Schemes of virtual channels under full load on the packet engine, with the least channels and buffers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fabricstudy.engine import virtual_channels
from fabricstudy.engine.built_point import BuiltPoint
from fabricstudy.engine.engine import Engine
from fabricstudy.engine.failures import EngineFailure
from fabricstudy.engine.outcome import EngineResult
from fabricstudy.engine.packet.adapter import Packet
from fabricstudy.engine.point import Point
from fabricstudy.engine.settings import StudyScheme

from ..machines import job_of, point_on
from .run_caminos import run

pytestmark = pytest.mark.skipif(not Engine(Packet).probe().found, reason=str(Engine(Packet).probe().reason))

DRAGONFLY = {"kind": "dragonfly", "groups": 5, "routers_per_group": 2, "nodes_per_router": 4}
CASES: list[tuple[dict[str, Any], Any, StudyScheme]] = [
    *(
        (DRAGONFLY, {"kind": kind, "via": via}, "global-hops")
        for kind in ("valiant", "ugal")
        for via in ("router", "group")
    ),
    (DRAGONFLY, {"kind": "ugal", "progressive": False, "threshold": "1 B"}, "global-hops"),
    (DRAGONFLY, "minimal", "hops"),
    (DRAGONFLY, "minimal", "global-hops"),
    (DRAGONFLY, "adaptive", "global-hops"),
    ({"kind": "torus", "shape": [5, 3], "nodes_per_router": 2}, "dimension-order", "dateline"),
    ({"kind": "mesh", "shape": [4, 3], "nodes_per_router": 2}, "dimension-order", "one"),
    ({"kind": "xgft", "down": [4, 4], "up": [2]}, "minimal", "one"),
    ({"kind": "xgft", "down": [4, 4], "up": [2]}, "adaptive", "one"),
]


def point_of(machine: dict[str, Any], routing: Any, scheme: str, classes: int, seed: int = 1) -> Point:
    """Return a point with one channel a class, and room for as few packets as there may be."""
    network = {
        "channel_scheme": scheme, "virtual_channels": classes, "port_buffer": f"{2 * max(4, classes + 1)} kB",
        "injection": 64, "router_latency": "0 ns",
    }  # fmt: skip
    links = {"bandwidth": "1 GB/s", "latency": "0 ns"}
    return point_on(machine | links, routing, seed=seed, engine="packet", network=network)


def run_shifts(point: Point, folder: Path, sent_bytes: int) -> EngineResult:
    """Let each node send to one three routers further on, so that links of a ring wait for each other."""
    machine = point.machine.build()
    nodes, of_router = machine.nodes, machine.nodes // machine.routers or 1
    messages = [(0, node, (node + 3 * of_router) % nodes, sent_bytes) for node in range(nodes)]
    jobs = [job_of(list(range(nodes)), messages)]
    folder.mkdir()
    exit_code = run(Engine(Packet).write(BuiltPoint(point, machine, jobs), folder), folder)
    return Engine(Packet).result(BuiltPoint(point, machine, jobs), folder, exit_code)


@pytest.mark.parametrize(("machine", "routing", "scheme"), CASES)
def test_a_full_network_never_stops(tmp_path: Path, machine: dict[str, Any], routing: Any, scheme: StudyScheme) -> None:
    config = point_of(machine, routing, scheme, 64).machine
    point = point_of(machine, routing, scheme, 64)
    routed = virtual_channels.with_scheme(point, config.build())
    classes = virtual_channels.channel_classes(routed.routing, config.build(), scheme)
    for seed in range(3):
        result = run_shifts(point_of(machine, routing, scheme, classes, seed), tmp_path / str(seed), 1_000_000)
        assert result.job_runtime_ns[0]


def test_the_same_load_stops_where_a_scheme_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the test above can fail."""
    monkeypatch.setitem(virtual_channels._REFUSALS, "one", lambda routing, machine: None)
    ring = {"kind": "torus", "shape": [8], "nodes_per_router": 1}
    for name, machine, routing in (("ring", ring, "minimal"), ("detours", DRAGONFLY, "valiant")):
        with pytest.raises(EngineFailure, match="deadlock"):
            run_shifts(point_of(machine, routing, "one", 1), tmp_path / name, 1_000_000)
