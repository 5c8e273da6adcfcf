"""No simulated time is below a bound, on random machines with faults, under random routings and jobs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fabricstudy.core.store import Record
from fabricstudy.engine.packet.adapter import Packet
from fabricstudy.engine.point import PlannedPoint, Point, machine_id, point_id
from fabricstudy.engine.settings import Limits
from fabricstudy.engine.single_point import simulate_in_folder
from fabricstudy.machine.base import Topology
from fabricstudy.routing.base import Routing

from .test_bounds import FAMILIES, ROUTINGS

pytestmark = pytest.mark.skipif(not Packet().probe().found, reason="the packet engine is not built")
EXTENSIONS = ["twisted_torus"]

SEEDS = 40
PATTERNS: tuple[dict[str, Any], ...] = (
    {"kind": "all-to-all", "message": "4 kB"},
    {"kind": "stencil", "message": "20 kB", "iterations": 2},
    {"kind": "all-reduce", "message": "32 kB", "algorithm": "ring"},
    {"kind": "permutation", "message": "50 kB"},
    {"kind": "incast", "message": "9 kB"},
)


def random_machine(rng: np.random.Generator) -> Topology | None:
    """Return a small machine with a slow host or slow cables, failed and degraded ones; None if faults cut it apart."""
    kind = str(rng.choice(sorted(FAMILIES)))
    written: dict[str, Any] = {"kind": kind, "cores_per_node": 1} | FAMILIES[kind]
    classes = {link.name for link in Topology.model_validate(written | {"bandwidth": "1 GB/s"}).build().classes}
    for names in ({*classes, "host"}, {"links", "host"}, set[str]()):  # as the family divides its links
        speeds = {name: f"{rng.choice([1, 2, 3, 10])} GB/s" for name in sorted(names)}
        times = {name: f"{rng.choice([0, 30, 500])} ns" for name in sorted(names)}
        unequal = written | ({"bandwidth": speeds, "latency": times} if names else {"bandwidth": "2 GB/s"})
        try:
            Topology.model_validate(unequal)
            break
        except ValueError:
            continue
    slow = {"cables": int(rng.integers(0, 4)), "to": float(rng.choice([0.1, 0.5]))}
    faults = {"cables": int(rng.integers(0, 4)), "degraded": slow, "seed": int(rng.integers(1, 1000))}
    try:
        faulty = Topology.model_validate(unequal | {"faults": faults})
        return faulty if faulty.build().nodes >= 4 else None
    except ValueError:
        return None


def record_of(seed: int, folder: Path) -> Record | None:
    """Return the record of a random point; None if the engine refuses it."""
    rng = np.random.default_rng(seed)
    machine = random_machine(rng)
    if machine is None:
        return None
    fitting = [
        routing for routing in ROUTINGS if Routing.model_validate({"kind": routing}).needs in (None, *machine.traits)
    ]
    job = {
        "nodes": min(machine.build().nodes, int(rng.integers(4, 13))), "pattern": PATTERNS[rng.integers(len(PATTERNS))],
        "allocation": "random", "mapping": "random",
    }  # fmt: skip
    sections = {
        "machine": machine, "routing": {"kind": str(rng.choice(fitting))}, "jobs": [job], "seed": seed,
        "engine": str(rng.choice(["packet", "packet", "flow"])),
    }  # fmt: skip
    point = Point.model_validate(sections)
    planned = PlannedPoint(point_id(point), machine_id(point.machine), point)
    record: Record = simulate_in_folder(planned, folder, Limits())["record"]
    return None if record["status"] == "unsupported" else record


def check(seed: int, folder: Path) -> bool:
    """Check the bounds of a random point; return whether it was simulated."""
    record = record_of(seed, folder)
    if record is None:
        return False
    assert record["status"] == "done", record["reason"]
    (job,) = record["jobs"]
    most_ns = job["runtime_ns"] * (1 + 1e-9) + 0.1
    for name in ("bound_ns", "phase_bound_ns", "critical_path_ns"):
        assert 0 <= (job[name] or 0) <= most_ns, (seed, name, job)
    assert job["bound_ns"] > 0
    return True


def test_no_random_machine_is_faster_than_its_bounds(tmp_path: Path) -> None:
    simulated = sum(check(seed, tmp_path / str(seed)) for seed in range(SEEDS))
    assert simulated >= SEEDS // 2
