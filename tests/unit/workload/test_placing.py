"""Whole points: determinism, independence, measures and files."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricstudy.engine.point import Point
from fabricstudy.machine.graph import Machine
from fabricstudy.workload import messages as placed_module
from fabricstudy.workload.messages import (
    Messages,
    PlacedJob,
    WorkloadError,
    hop_bytes,
    repeat_background,
    write_workload_tables,
)

from ...machines import baseline_point, line

EXTENSIONS = ["furthest_pairing"]

JOBS = st.lists(
    st.fixed_dictionaries(
        {
            "nodes": st.sampled_from([2, 4, 12]),
            "pattern": st.sampled_from(
                [
                    {"kind": "all-to-all", "message": "1 kB"},
                    {"kind": "uniform-random", "message": "2 kB"},
                    {"kind": "permutation", "message": "3 kB", "iterations": 2},
                    {"kind": "furthest-pairing", "message": "4 kB"},
                    {"kind": "stencil", "message": "5 kB"},
                ]
            ),
            "allocation": st.sampled_from([{"kind": "cluster"}, {"kind": "spread"}, {"kind": "random"}]),
            "mapping": st.sampled_from([{"kind": "linear"}, {"kind": "random"}]),
        }
    ),
    min_size=1,
    max_size=5,
)


def assert_same(first: PlacedJob, second: PlacedJob) -> None:
    assert np.array_equal(first.node_of_rank, second.node_of_rank)
    for name in ("phase", "source", "destination", "size_bytes"):
        assert np.array_equal(getattr(first.messages, name), getattr(second.messages, name))


def test_a_background_is_written_out_until_its_slowest_sender_has_enough() -> None:
    # Of 100 + 50 and 300 bytes a round at 1 byte a ns, and 70 that stay within a node.
    columns = np.array([[0, 0, 1, 100], [0, 1, 2, 300], [2, 0, 1, 50], [2, 2, 3, 70]]).T
    phase, source, destination = columns[:3].astype(np.int32)
    sent = Messages(phase, source, destination, columns[3].astype(np.int64))
    job = PlacedJob("app", np.array([0, 1, 2, 2], dtype=np.int32), sent, background_duration_ns=1000.0)
    found = repeat_background(job, line([1e9, 1e9])).messages
    # ceil(1000 / 150), and one more.
    assert len(found) == 8 * len(sent)
    assert found.phase.tolist() == [phase + 3 * number for number in range(8) for phase in (0, 0, 2, 2)]
    assert found.source.tolist() == [0, 1, 0, 2] * 8 and found.destination.tolist() == [1, 2, 1, 3] * 8
    assert np.array_equal(found.size_bytes, np.tile(sent.size_bytes, 8))
    assert repeat_background(replace(job, background_duration_ns=None), line([1e9, 1e9])).messages is sent
    with pytest.raises(WorkloadError):
        repeat_background(replace(job, background_duration_ns=1e12), line([1e9, 1e9]))


@given(jobs=JOBS, seed=st.integers(0, 2**31 - 1), which=st.integers(0, 4))
@settings(deadline=None, max_examples=40)
def test_a_job_alone_is_the_same_job(
    point: Callable[..., Point],
    placed: Callable[[Point], list[PlacedJob]],
    jobs: list[dict[str, Any]],
    seed: int,
    which: int,
) -> None:
    """Names, later jobs, and what earlier ones send and where their ranks sit, change nothing."""
    which %= len(jobs)
    named = [job | {"name": f"job{index}"} for index, job in enumerate(jobs)]
    together = point(*named, seed=seed)
    *others, last = placed(baseline_point(together, which))
    assert len(others) == which and all(len(other.messages) == 0 for other in others)
    assert_same(last, placed(together)[which])
    renamed = placed(point(*[job | {"name": f"other{index}"} for index, job in enumerate(jobs)], seed=seed))
    assert_same(renamed[which], last)


@given(jobs=JOBS, seed=st.integers(0, 2**31 - 1))
@settings(deadline=None, max_examples=30)
def test_same_point_same_jobs(
    point: Callable[..., Point], placed: Callable[[Point], list[PlacedJob]], jobs: list[dict[str, Any]], seed: int
) -> None:
    start = point(*jobs, seed=seed)
    for first, second in zip(placed(start), placed(start), strict=True):
        assert_same(first, second)


def test_seed_and_position_change_what_is_random(
    point: Callable[..., Point], placed: Callable[[Point], list[PlacedJob]]
) -> None:
    job = {
        "nodes": 24,
        "pattern": {"kind": "uniform-random", "message": "1 kB"},
        "allocation": {"kind": "random"},
        "mapping": {"kind": "random"},
    }
    one, two = placed(point(job, job, seed=1))
    (other,) = placed(point(job, seed=2))
    for different in (two, other):
        assert not np.array_equal(one.node_of_rank, different.node_of_rank)
        assert not np.array_equal(one.messages.destination, different.messages.destination)


def test_jobs_are_seated_differently(point: Callable[..., Point], placed: Callable[[Point], list[PlacedJob]]) -> None:
    job = {"nodes": 24, "mapping": {"kind": "random"}}
    first, second = placed(point(job, job))
    assert not np.array_equal(first.node_of_rank, second.node_of_rank - 24)


def test_streams_stay_what_they_were(point: Callable[..., Point], placed: Callable[[Point], list[PlacedJob]]) -> None:
    """Stored results rest on these numbers: a change here must be meant."""
    job = {
        "nodes": 3,
        "pattern": {"kind": "permutation", "message": "1 kB"},
        "allocation": {"kind": "random"},
        "mapping": {"kind": "random"},
    }
    (got,) = placed(point(job, seed=1))
    assert got.node_of_rank.tolist() == [62, 38, 38, 17, 17, 62]
    assert got.messages.destination.tolist() == [1, 5, 3, 2, 0, 4]


@pytest.mark.parametrize(
    ("order", "destinations"), [("random", [6, 2, 7, 5, 3, 4, 1]), ("rounds", [5, 4, 1, 6, 3, 7, 2])]
)
def test_send_order_stays_what_it_was(
    point: Callable[..., Point], placed: Callable[[Point], list[PlacedJob]], order: str, destinations: list[int]
) -> None:
    pattern = {"kind": "all-to-all", "message": "1 kB", "order": order}
    (got,) = placed(point({"nodes": 4, "pattern": pattern}, seed=1))
    assert got.messages.destination[:7].tolist() == destinations


def test_hop_bytes_by_hand(torus: Callable[..., Machine]) -> None:
    """On a ring of six routers: 3 hops of 10 B, 1 hop of 100 B, none of 1000 B on the same router."""
    machine = torus((6,), nodes_per_router=2)
    messages = Messages(
        np.zeros(3, dtype=np.int32),
        np.array([0, 0, 1], dtype=np.int32),
        np.array([1, 2, 3], dtype=np.int32),
        np.array([10, 100, 1000]),
    )
    job = PlacedJob("app", np.array([0, 7, 10, 6], dtype=np.int32), messages)
    assert hop_bytes(job, machine) == 130.0


def test_hop_bytes_of_nothing_is_nothing(
    point: Callable[..., Point], placed: Callable[[Point], list[PlacedJob]]
) -> None:
    start = point({"nodes": 2})
    assert hop_bytes(placed(start)[0], start.machine.build()) == 0.0


@pytest.mark.parametrize("rows_per_write", [7, 1 << 20])
def test_parquet_holds_all_jobs(
    point: Callable[..., Point],
    placed: Callable[[Point], list[PlacedJob]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    rows_per_write: int,
) -> None:
    monkeypatch.setattr(placed_module, "ROWS_PER_WRITE", rows_per_write)
    jobs = placed(
        point(
            {"name": "b", "nodes": 3, "pattern": {"kind": "all-to-all", "message": "3 GB", "iterations": 2}},
            {"name": "idle", "nodes": 1},
            {"name": "a", "nodes": 2, "pattern": {"kind": "ring", "message": "1 B"}},
        )
    )
    write_workload_tables(jobs, tmp_path)
    ranks = pq.read_table(tmp_path / "ranks.parquet").to_pydict()
    assert ranks["job"] == ["b"] * 6 + ["idle"] * 2 + ["a"] * 4
    assert ranks["rank"] == [*range(6), *range(2), *range(4)]
    assert ranks["node"] == np.concatenate([job.node_of_rank for job in jobs]).tolist()
    rows = pq.read_table(tmp_path / "messages.parquet").to_pydict()
    assert rows["job"] == ["b"] * 60 + ["a"] * 8
    for column, name in (("phase",) * 2, ("source",) * 2, ("destination",) * 2, ("bytes", "size_bytes")):
        assert rows[column] == np.concatenate([getattr(job.messages, name) for job in jobs]).tolist()


def test_import_is_lean() -> None:
    """What only some points need is imported when they need it."""
    code = "import sys, fabricstudy.workload; print({'pandas', 'pyarrow', 'pymetis', 'numba'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
