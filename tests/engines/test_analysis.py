"""The engine that simulates nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fabricstudy.engine.point import PlannedPoint
from fabricstudy.engine.settings import Limits
from fabricstudy.engine.single_point import simulate_in_folder

from ..machines import point_on

RING = {"kind": "torus", "shape": [6], "bandwidth": "1 GB/s"}


def record_of(folder: Path, **more: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the foreground says of a ring of six, where each node sends 3 kB to the next."""
    point = point_on(RING, engine="analysis", **({"pattern": "ring", "message": "3 kB"} | more))
    found = simulate_in_folder(PlannedPoint("p1", "m1", point), folder, Limits())
    return found, found["record"]


def test_loads_and_bounds_without_times(tmp_path: Path) -> None:
    found, record = record_of(tmp_path)
    assert found["command"] is None and record["status"] == "done"
    (job,), (links,) = record["jobs"], record["links"]
    assert job["runtime_ns"] is None and job["bound_method"] == "host"
    # A rank of the ring sends to both neighbours: 3 kB on each of 12 links, 6 kB out of each node.
    assert job["bound_ns"] == job["expected_load_ns"] == 6000.0 and job["hop_bytes"] == 36_000.0
    assert (links["links"], links["used"], links["load_max_bytes"]) == (12, 12, 3000.0)
    assert np.array_equal(np.load(tmp_path / "links.npy"), np.full(12, 3000.0))
    assert (tmp_path / "messages.parquet").exists()


@pytest.mark.parametrize("routing", ["adaptive", "ugal"])
def test_adaptive_routing_has_bounds_and_sharing_and_no_loads(tmp_path: Path, routing: str) -> None:
    others = [
        {
            "pattern": {"kind": "all-to-all", "message": "3 kB"},
            "allocation": {"kind": "explicit", "nodes": nodes},
        }
        for nodes in ([0, 2, 4], [1, 3, 5])
    ]
    _, record = record_of(tmp_path, routing=routing, jobs=others)
    assert record["status"] == "done" and "links" not in record
    assert [job["runtime_ns"] for job in record["jobs"]] == [None, None]
    assert record["sharing"]["routes"]["tls"] == 1
    # Each node sends 6 kB.
    facts = [(job["bound_method"], job["bound_ns"], job["expected_load_ns"]) for job in record["jobs"]]
    assert facts == [("host", 6000.0, None)] * 2


def test_a_job_that_cannot_be_placed_is_refused(tmp_path: Path) -> None:
    _, record = record_of(tmp_path, jobs=[{"nodes": 7, "pattern": {"kind": "ring", "message": "1 kB"}}])
    assert record["status"] == "unsupported" and "6 are free" in record["reason"]
    assert not any(tmp_path.iterdir())
