"""An adaptively refined mesh, on each engine that is here."""

from __future__ import annotations

from pathlib import Path

import pytest

from .test_block_sizes import on_each_engine, record_of

EXTENSIONS = ["refined_blocks"]


@on_each_engine
@pytest.mark.parametrize("aggregate", [True, False])
def test_times_are_above_their_bounds(tmp_path: Path, engine: str, aggregate: bool) -> None:
    pattern = {"kind": "refined-blocks", "message": "192 B", "levels": [2, 3], "iterations": 2, "aggregate": aggregate}
    (job,) = record_of(tmp_path, engine, pattern)["jobs"]
    # Contacts between ranks of quarters of 4 x 4 x 4 cells.
    assert job["bytes"] > 0 and job["bytes"] % (4 * 4 * 4 * 192) == 0
    assert max(job["bound_ns"], job["phase_bound_ns"]) <= job["runtime_ns"] < 3 * job["bound_ns"]
