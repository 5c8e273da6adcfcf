"""Collective operations with blocks of different sizes, on each engine that is here: times by hand and bounds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fabricstudy.core.store import Record
from fabricstudy.engine.point import PlannedPoint, machine_id, point_id
from fabricstudy.engine.registry import engine_named
from fabricstudy.engine.settings import Limits
from fabricstudy.engine.single_point import simulate_in_folder

from ..machines import point_on

DRAGONFLY: dict[str, Any] = {"kind": "dragonfly", "groups": 4, "routers_per_group": 2, "nodes_per_router": 2}
DRAGONFLY |= {"bandwidth": {"local": "4 GB/s", "global": "4 GB/s", "host": "1 GB/s"}}
ENGINES: dict[str, Any] = {
    "caminos": {"kind": "caminos", "phit": "256 B"},
    "flow": "flow",
    "packet": "packet",
    "sst": "sst",
    "codes": "codes",
}
on_each_engine = pytest.mark.parametrize("engine", ENGINES)


def record_of(folder: Path, engine: str, pattern: dict[str, Any]) -> Record:
    """Simulate a pattern; collective operations with blocks of 60 kB on average, by default by a power law."""
    if not engine_named(engine).probe().found:
        pytest.skip(f"needs {engine}")
    sizes = {} if pattern["kind"] == "refined-blocks" else {"sizes": {"kind": "power-law", "exponent": 1.0, "seed": 2}}
    this = point_on(DRAGONFLY, "minimal", sizes | pattern, "60 kB", engine=ENGINES[engine])
    planned = PlannedPoint(point_id(this), machine_id(this.machine), this)
    record: Record = simulate_in_folder(planned, folder, Limits())["record"]
    assert record["status"] == "done", record["reason"]
    return record


@on_each_engine
@pytest.mark.parametrize("kind", ["scatter", "gather"])
def test_the_link_of_the_root_has_all_blocks_but_its_own(tmp_path: Path, engine: str, kind: str) -> None:
    """Linear scatterv and gatherv: one link of 1 GB/s has all blocks but the largest, that of the root."""
    harmonic = sum(1 / rank for rank in range(1, 17))
    pattern = {"kind": kind, "algorithm": "linear"}
    sizes = point_on(DRAGONFLY, "minimal", pattern | {"sizes": {"kind": "power-law", "seed": 2}}, "60 kB")
    root = int(sizes.jobs[0].pattern.rank_blocks(16).argmax())  # type: ignore[attr-defined]
    (job,) = record_of(tmp_path, engine, pattern | {"root": root})["jobs"]
    expected = 16 * 60_000 * (1 - 1 / harmonic)
    assert job["bytes"] == pytest.approx(expected, abs=1)
    assert job["bound_ns"] <= job["runtime_ns"] == pytest.approx(expected, rel=0.08)


@on_each_engine
@pytest.mark.parametrize(
    "pattern",
    [
        {"kind": "all-gather", "algorithm": "ring"},
        {"kind": "all-gather", "algorithm": "recursive-doubling"},
        {"kind": "all-to-all", "algorithm": "scattered", "window": 5},
        {"kind": "all-to-all", "algorithm": "pairwise", "sizes": {"kind": "linear"}},
    ],
)
def test_times_are_above_their_bounds(tmp_path: Path, engine: str, pattern: dict[str, Any]) -> None:
    (job,) = record_of(tmp_path, engine, pattern)["jobs"]
    assert job["bytes"] == 16 * 15 * 60_000
    assert max(job["bound_ns"], job["phase_bound_ns"]) <= job["runtime_ns"] < 40 * job["bound_ns"]
