"""Simulators on machines with faults: bounds hold, and closed forms are met."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fabricstudy.engine.registry import engine_named

from ..machines import point_on
from .test_bounds import FAMILIES, OURS, bounded, engines, record_of

FAULTS: list[dict[str, Any]] = [{"cables": 2}, {"nodes": 1, "degraded": {"cables": 3, "to": 0.5}}]
ALL_TO_ALL = {"kind": "all-to-all", "message": "100 kB"}
RING: dict[str, Any] = {"kind": "torus", "shape": [4], "bandwidth": "1 GB/s"}
LINE = {"kind": "mesh", "shape": [4], "bandwidth": "1 GB/s"}
SLIM_FLY = {"kind": "slim-fly", "q": 5, "nodes_per_router": 2, "bandwidth": "1 GB/s"}


@pytest.mark.parametrize("faults", FAULTS, ids=["failed", "degraded"])
@pytest.mark.parametrize("family", ["dragonfly", "fat-tree", "torus", "hyperx", "jellyfish", "slim-fly", "xgft"])
@pytest.mark.parametrize("engine", OURS)
def test_no_time_is_below_its_bound(engine: str, family: str, faults: dict[str, Any], tmp_path: Path) -> None:
    machine = {"kind": family, "bandwidth": "1 GB/s", "faults": faults} | FAMILIES[family]
    for number, routing in enumerate(("minimal", "adaptive", "valiant", "ugal")):
        record = record_of(machine, routing, engine, tmp_path / str(number), nodes=8)
        if record["status"] == "unsupported":
            assert engine == "flow"
            continue
        bounded(record)


@pytest.mark.parametrize("engine", engines("caminos", "flow", "packet", "sst"))
def test_a_ring_without_a_cable_takes_the_time_of_a_mesh(engine: str, tmp_path: Path) -> None:
    machines: dict[str, dict[str, Any]] = {"ring": RING | {"faults": {"cables": [[0, 3]]}}, "line": LINE}
    times = []
    for name, machine in machines.items():
        record = record_of(machine, "minimal", engine, tmp_path / name, nodes=4, pattern=ALL_TO_ALL)
        times.append(bounded(record)["runtime_ns"])
    assert times[0] == pytest.approx(times[1], rel=1e-6)


@pytest.mark.parametrize("engine", engines("sst"))
@pytest.mark.parametrize("routing", ["minimal", "valiant", "ugal"])
def test_sst_takes_routes_on_what_is_left(engine: str, routing: str, tmp_path: Path) -> None:
    bounded(record_of(SLIM_FLY | {"faults": {"cables": "5 %"}}, routing, engine, tmp_path))


def test_codes_refuses_faults() -> None:
    point = point_on(SLIM_FLY | {"faults": {"cables": 1}}, engine="codes")
    reason = engine_named("codes").unsupported(point, point.machine.build())
    assert reason is not None and "faults" in reason
