"""A small study with made-up results and every kind of figure."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from fabricstudy.study.file import load_study
from fabricstudy.study.model import Study
from fabricstudy.study.plan import Plan, plan
from fabricstudy.table.collect import collect
from fabricstudy.table.files import Tables

HOSTILE = "<script>alert('x')</script> $(touch x) $\\alpha$ \"quoted\" & _end"

FIGURES: list[dict[str, Any]] = [
    {"id": "lines", "kind": "line", "title": "Time", "x": "alpha", "y": "runtime_ns", "unit": "ms", "hue": "message",
     "style": "routing", "columns": "routing", "show_bound": True},
    {"id": "bars", "kind": "bar", "title": "Relative", "x": "alpha", "y": "runtime_ns", "hue": ["routing", "message"],
     "normalise_to": {"routing": "minimal"}},
    {"id": "boxes", "kind": "box", "title": "Spread", "x": "message", "y": "runtime_ns", "unit": "us"},
    {"id": "cuts", "kind": "line", "title": "Bisection", "table": "machines", "x": "alpha", "y": "bisection_upper_Bps",
     "unit": "GB/s", "interval": ["bisection_lower_Bps", "bisection_upper_Bps"]},
    {"id": "marks", "kind": "scatter", "title": "Hops or time", "x": "hop_bytes", "y": "runtime_ns", "unit": "ms",
     "hue": ["routing", "alpha"], "style": "message", "columns": "message"},
    {"id": "cells", "kind": "heatmap", "title": "Field", "x": "alpha", "y": "routing", "value": "runtime_ns",
     "unit": "ms", "rows": "message"},
    {"id": "nothing", "kind": "box", "title": "Agreement", "table": "agreement", "x": "pair", "y": "ratio"},
]  # fmt: skip

STUDY: dict[str, Any] = {
    "study": "hostile",
    "title": f"Title {HOSTILE}",
    "description": f"Asked {HOSTILE}\n\nand more",
    "machine": {
        "kind": "dragonfly", "groups": 9, "routers_per_group": 4, "nodes_per_router": 2, "bandwidth": "1 GB/s",
    },
    "routing": {"kind": "minimal"},
    "jobs": [{"share": 1.0, "pattern": {"kind": "ring", "message": "1 kB"}}],
    "engine": "caminos",
    "sweep": {
        "alpha": {"of": "machine.bandwidth.global", "values": {0.5: "0.5 GB/s", 2: "2 GB/s"}},
        "routing": {"of": "routing.kind", "values": ["minimal", "valiant"]},
        "message": {"of": "jobs.0.pattern.message", "values": {HOSTILE: "1 kB", "large": "1 MB"}},
    },
    "seeds": 3,
    "figures": FIGURES,
    "claims": [
        {"id": "2.1", "statement": f"S {HOSTILE}", "source": f"Source {HOSTILE}", "note": f"Note {HOSTILE}", "parts": [
            {"statement": f"Part {HOSTILE}", "source_range": [1.5, 2.5], "measure": {
                "kind": "contrast", "metric": "runtime_ns", "of": {"routing": "valiant"},
                "against": {"routing": "minimal"}}}]},
        {"id": "2.2", "statement": "Real machines do so, too.", "source": "somebody", "note": "needs a real machine"},
    ],
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A study file with its study, plan and tables."""

    file: Path
    study: Study
    plan: Plan
    tables: Tables


def record(point_id: str, point: Any, number: int) -> dict[str, Any]:
    """A made-up result; Valiant takes twice as long."""
    time_ns = (1e6 + 1e4 * number) * (2 if point.routing.kind == "valiant" else 1)
    job = {"job": 0, "ranks": 72, "nodes": 72, "messages": 144, "bytes": 144_000, "runtime_ns": time_ns,
           "bound_ns": 9e5, "bound_method": "paths", "phase_bound_ns": 8e5, "hop_bytes": 3e5}  # fmt: skip
    return {"point_id": point_id, "engine": "caminos", "version": "1 <b>", "status": "done", "reason": None,
            "cpu_s": 1.0, "wall_s": 1.0, "memory_bytes": 10, "overhead_cpu_s": 0.1, "host": "h <i>",
            "started": "2026-01-01T00:00:00", "fingerprint": "f", "seed": point.seed, "jobs": [job],
            "links": []}  # fmt: skip


def structure(machine_id: str, exact: bool) -> dict[str, Any]:
    """A made-up structure."""
    bisection = {"lower_Bps": 1e10, "upper_Bps": 1e10 if exact else 2e10, "exact": exact, "method": "by <u>hand</u>"}
    facts = {"kind": "dragonfly", "nodes": 72, "routers": 36, "cables": 90, "radix": 7, "diameter": 3, "mean_hops": 2.4}
    return {"machine_id": machine_id, **facts, "bisection": bisection}


def case_of(file: Path, lost: int) -> Case:
    """Read the study of a file and collect its made-up tables."""
    study = load_study(file)
    planned = plan(study)
    records = [record(name, one.point, number) for number, (name, one) in enumerate(planned.points.items())]
    for failed in itertools.islice(records, lost):
        failed |= {"status": "failed", "reason": f"crashed {HOSTILE}", "jobs": []}
    machines = [structure(name, exact=number > 0) for number, name in enumerate(planned.machines)]
    return Case(file, study, planned, collect(planned, records, machines))


@pytest.fixture(scope="session")
def made() -> dict[tuple[str, int], Case]:
    """Cases that were made before; most tests ask for one of a few."""
    return {}


@pytest.fixture
def make(tmp_path: Path, made: dict[tuple[str, int], Case]) -> Callable[..., Case]:
    """Return a function that makes a case; `lost` points have failed, and keys of the study may be replaced."""

    def make(lost: int = 0, **changes: Any) -> Case:
        file = tmp_path / "a study's $(touch file).yaml"
        text = yaml.safe_dump({**STUDY, **changes}, sort_keys=False)
        file.write_text(text)
        if "extensions" in changes:  # they stand beside the file
            return case_of(file, lost)
        if (text, lost) not in made:
            made[text, lost] = case_of(file, lost)
        return replace(made[text, lost], file=file, tables=deepcopy(made[text, lost].tables))

    return make
