"""Tables of a planned study without any simulation: numbers drawn by chance, the same for the same point."""

from __future__ import annotations

import random
from typing import Any

import pandas as pd

from fabricstudy.engine.point import PlannedPoint
from fabricstudy.study.model import Study
from fabricstudy.study.plan import plan
from fabricstudy.table.collect import collect
from fabricstudy.table.files import Tables

CLASSES = ("local", "global", "pod", "core", "links", "a", "dim0")


def chance(*of: object) -> random.Random:
    """Numbers that depend on nothing but `of`."""
    return random.Random(repr(of))


def record(planned: PlannedPoint) -> dict[str, Any]:
    """What a simulation might have said of a point."""
    point = planned.point
    busy = [job.pattern.kind != "idle" for job in point.jobs]
    jobs = [_job(planned.point_id, number, works) for number, works in enumerate(busy)]
    links = [
        {"class": name, "links": 10, "used": 5, "load_mean_bytes": 1.0, "load_max_bytes": draw.uniform(2, 3),
         "busy_max_ns": draw.uniform(1, 5)}
        for name in CLASSES for draw in [chance(planned.point_id, name)]
    ]  # fmt: skip
    draw = chance(planned.point_id, "sharing")
    shares = {"mls": draw.random(), "tls": draw.random(), "shared": [draw.randint(0, 5) for _ in jobs],
              "used": [9] * len(jobs)}  # fmt: skip
    return {
        "point_id": planned.point_id, "engine": point.engine.kind, "version": "1", "status": "done", "reason": None,
        "cpu_s": 1.0, "wall_s": 1.0, "memory_bytes": 10, "overhead_cpu_s": 0.1, "host": "here", "started": "2026",
        "fingerprint": "f", "seed": point.seed, "jobs": jobs, "links": links,
        "sharing": {"simulated": shares, "routes": shares} if sum(busy) > 1 else {},
    }  # fmt: skip


def _job(point_id: str, number: int, works: bool) -> dict[str, Any]:
    draw = chance(point_id, number)
    return {
        "job": number, "ranks": 4, "nodes": 4, "messages": 10 * works, "bytes": 1000 * works,
        "runtime_ns": draw.uniform(1e3, 1e4) * works, "bound_ns": draw.uniform(100, 1000) * works,
        "bound_method": "paths", "phase_bound_ns": 50.0 * works, "hop_bytes": draw.uniform(1e3, 3e3) * works,
        "rank_mean_ns": draw.uniform(500, 1000) * works,
    }  # fmt: skip


def structure(machine_id: str) -> dict[str, Any]:
    """What might have been said of a machine."""
    draw = chance(machine_id)
    width_Bps = draw.uniform(1e9, 1e10)
    bisection = {"lower_Bps": width_Bps, "upper_Bps": width_Bps, "exact": True, "method": "by chance"}
    return {
        "machine_id": machine_id, "kind": "some", "nodes": draw.randint(9, 99), "routers": 9,
        "cables": draw.randint(9, 99), "radix": draw.randint(3, 9), "diameter": draw.randint(2, 30),
        "mean_hops": draw.uniform(1, 5), "bisection": bisection,
    }  # fmt: skip


def synthetic(study: Study) -> Tables:
    """All tables of a study; its analyses are left empty."""
    planned = plan(study)
    records = [record(point) for point in planned.points.values()]
    return collect(
        planned, records, map(structure, planned.machines), {name: pd.DataFrame() for name in study.analyses}
    )
