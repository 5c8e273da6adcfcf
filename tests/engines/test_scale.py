"""Bandwidths times k and latencies over k give times over k, on each engine: no unit hides in a formula.

CAMINOS counts whole cycles. A cycle is a phit over the bandwidth, so that a latency k times as short is the same number
of them: its times are exact with a power of two, and so are those of flow and of the bounds. SST has clocks of
whole ps and adds 1 ns of its own, CODES some 2 ns a router, whatever the bandwidth is; among packets that come at one
time these decide who goes first, so there the pattern has no two of them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fabricstudy.core.store import Record
from fabricstudy.engine.point import PlannedPoint, machine_id, point_id
from fabricstudy.engine.settings import Limits
from fabricstudy.engine.single_point import simulate_in_folder

from ..machines import point_on
from .test_bounds import engines

K = 2
FIXED_NS = 10.0
"""What SST and CODES add to a time whatever the bandwidth is."""


MACHINES: dict[str, tuple[dict[str, Any], str]] = {
    "torus": ({"kind": "torus", "shape": [4, 4]}, "dimension-order"),
    "adaptive": ({"kind": "torus", "shape": [4, 4]}, "adaptive"),
    "ugal": ({"kind": "dragonfly", "groups": 5, "routers_per_group": 2, "nodes_per_router": 2}, "ugal"),
    "fat-tree": ({"kind": "fat-tree", "radix": 4}, "d-mod-k"),
    "dragonfly": ({"kind": "dragonfly", "groups": 5, "routers_per_group": 2, "nodes_per_router": 2}, "minimal"),
}
TIMES = ("runtime_ns", "rank_mean_ns", "bound_ns", "phase_bound_ns", "expected_load_ns", "compute_ns")


def record_of(name: str, engine: str, folder: Path, k: int = 1, **job: Any) -> Record:
    """Return the record of a point whose network is k times as fast."""
    machine, routing = MACHINES[name]
    speeds = {"bandwidth": f"{k} GB/s", "latency": f"{100 / k} ns"}
    network = {"router_latency": f"{200 / k} ns"}
    # A cycle of 100 ns, of which each latency is a whole number.
    settings = {"kind": engine, "phit": "100 B"} if engine == "caminos" else engine
    this = point_on(machine | speeds, routing, engine=settings, network=network, jobs=[{"share": 1.0} | job])
    planned = PlannedPoint(point_id(this), machine_id(this.machine), this)
    found: Record = simulate_in_folder(planned, folder / str(k), Limits())["record"]
    return found


@pytest.mark.parametrize("engine", engines("caminos", "flow", "packet", "analysis"))
@pytest.mark.parametrize("name", MACHINES)
def test_times_scale_exactly(name: str, engine: str, tmp_path: Path) -> None:
    pattern = {"kind": "all-to-all", "message": "20 kB"}

    def job(k: int) -> dict[str, Any]:
        return {"pattern": pattern, "compute": {"time": f"{8 / k} us", "before": "phase"}}

    slow, fast = (record_of(name, engine, tmp_path, k, **job(k)) for k in (1, K))
    assert slow["status"] == fast["status"] == "done", slow["reason"]
    (before,), (after,) = slow["jobs"], fast["jobs"]
    known = [name for name in TIMES if before.get(name) is not None]
    assert "bound_ns" in known and ("runtime_ns" in known) == (engine != "analysis")
    assert {one: K * after[one] for one in known} == pytest.approx({one: before[one] for one in known}, rel=1e-12)
    loads = [[link["load_max_bytes"] for link in one.get("links", [])] for one in (slow, fast)]
    assert loads[0] == loads[1]


@pytest.mark.parametrize("engine", engines("sst", "codes"))
@pytest.mark.parametrize("name", ["fat-tree", "dragonfly"])
def test_times_scale_but_for_fixed_ones(name: str, engine: str, tmp_path: Path) -> None:
    ring = {"pattern": {"kind": "ring", "message": "2 kB"}}
    slow, fast = (record_of(name, engine, tmp_path, k, **ring) for k in (1, K))
    assert slow["status"] == fast["status"] == "done", slow["reason"]
    (before,), (after,) = slow["jobs"], fast["jobs"]
    assert before["runtime_ns"] > 5000
    assert K * after["runtime_ns"] == pytest.approx(before["runtime_ns"], abs=(K - 1) * FIXED_NS)
