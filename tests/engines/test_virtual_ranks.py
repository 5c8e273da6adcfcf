"""Several ranks per core, on each engine that is here: as on a machine with as many cores."""

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
from .test_block_sizes import DRAGONFLY, ENGINES, on_each_engine


def job_record(folder: Path, engine: str, cores: int, **keys: Any) -> Record:
    """Simulate a halo exchange of shuffled ranks."""
    pattern = {"kind": "stencil", "message": "60 kB", "dimensions": 2, "numbering": "shuffled"}
    this = point_on(
        DRAGONFLY | {"cores_per_node": cores}, jobs=[{"share": 1.0, "pattern": pattern, "mapping": "exchange"} | keys],
        engine=ENGINES[engine],
    )  # fmt: skip
    planned = PlannedPoint(point_id(this), machine_id(this.machine), this)
    record: Record = simulate_in_folder(planned, folder, Limits())["record"]
    assert record["status"] == "done", record["reason"]
    job: Record = record["jobs"][0]
    return job


@on_each_engine
def test_four_ranks_of_a_core_send_as_those_of_four_cores(tmp_path: Path, engine: str) -> None:
    if not engine_named(engine).probe().found:
        pytest.skip(f"needs {engine}")
    virtual = job_record(tmp_path / "virtual", engine, 1, ranks_per_core=4)
    real = job_record(tmp_path / "real", engine, 4)
    assert virtual["ranks"] == 64 and virtual["runtime_ns"] == real["runtime_ns"]
    assert max(virtual["bound_ns"], virtual["phase_bound_ns"]) <= virtual["runtime_ns"]
