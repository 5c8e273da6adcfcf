"""A job in the background disturbs the others throughout, on each engine that is here: times by hand, and links."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fabricstudy.core.store import Record
from fabricstudy.engine.point import PlannedPoint, Point, machine_id, point_id
from fabricstudy.engine.registry import engine_named
from fabricstudy.engine.settings import Limits
from fabricstudy.engine.single_point import simulate_in_folder

from ..machines import point_on


def _engine(name: str) -> Any:
    probe = engine_named(name).probe()
    return pytest.param(name, marks=pytest.mark.skipif(not probe.found, reason=str(probe.reason)))


on_each_engine = pytest.mark.parametrize("engine", [_engine(name) for name in ("caminos", "packet", "sst", "codes")])

LINE = {"kind": "mesh", "shape": [5], "nodes_per_router": 2, "bandwidth": "1 GB/s"}
"""Router r of five in a line has the nodes 2r and 2r+1."""

SLOW_BETWEEN = {"local": "1 GB/s", "global": "0.25 GB/s", "host": "1 GB/s"}

LONG, SHORT = 400_000.0, 200_000.0
"""Times of two exchanges across the line, alone, in ns; each of the two ranks sends two messages."""


def job(nodes: list[int], message: str, **more: Any) -> dict[str, Any]:
    """Exchange between two nodes: both send the message to the other one, once in each of two directions of a ring."""
    allocation = {"kind": "explicit", "nodes": nodes}
    return {"pattern": {"kind": "ring", "message": message}, "allocation": allocation, **more}


def simulate(folder: Path, engine: str, *jobs: dict[str, Any]) -> Record:
    """Run a point of these jobs on the line."""
    network = {"buffer": "8 kB", "port_buffer": "8 kB"}
    this = point_on(LINE, "dimension-order", engine=engine, jobs=list(jobs), network=network)
    return run(folder, this)


def run(folder: Path, this: Point) -> Record:
    """Run a point, and give its record."""
    planned = PlannedPoint(point_id(this), machine_id(this.machine), this)
    record: Record = simulate_in_folder(planned, folder, Limits())["record"]
    assert record["status"] == "done", record["reason"]
    return record


def times(record: Record) -> list[float | None]:
    """Times of the jobs, in ns."""
    return [job["runtime_ns"] for job in record["jobs"]]


@on_each_engine
class TestShortBesideLong:
    def test_without_background_the_second_half_is_undisturbed(self, tmp_path: Path, engine: str) -> None:
        long, short = times(simulate(tmp_path, engine, job([0, 6], "200 kB"), job([1, 7], "100 kB")))
        # All bytes of both have crossed the links between them when the long one ends.
        assert long == pytest.approx(LONG + SHORT, rel=0.06)
        # Half of the links is the short one's, or more where queues are served in turn; with random arbitration
        # a little less: 2.13 to 2.38 times its time alone, by the seed.
        most = 2.5 if engine == "caminos" else 2.1
        assert short is not None and 1.5 * SHORT < short < most * SHORT

    def test_in_the_background_it_disturbs_throughout_and_has_no_time(self, tmp_path: Path, engine: str) -> None:
        record = simulate(tmp_path, engine, job([0, 6], "200 kB"), job([1, 7], "100 kB", background=True))
        long, short = times(record)
        assert short is None
        # Half of the links is its own; between two rounds the short one leaves a little more.
        assert long == pytest.approx(2 * LONG, rel=0.2)
        assert long is not None
        assert long > LONG + SHORT + 0.2 * SHORT
        busiest = max(row["load_max_bytes"] for row in record["links"])
        # The bytes of both are on the links, up to the end, which does not wait for the round that is under way.
        assert busiest == pytest.approx(long, rel=0.06)
        own = record["jobs"][1]
        assert (own["bound_ns"], own["bound_method"], own["phase_bound_ns"]) == (None, None, None)


@on_each_engine
def test_on_links_of_its_own_a_background_changes_nothing(tmp_path: Path, engine: str) -> None:
    once = simulate(tmp_path / "once", engine, job([0, 6], "200 kB"), job([8, 9], "50 kB"))
    again = simulate(tmp_path / "again", engine, job([0, 6], "200 kB"), job([8, 9], "50 kB", background=True))
    assert times(again) == [times(once)[0], None]
    assert again["links"] == once["links"]
    assert once["jobs"][0] == again["jobs"][0]


@on_each_engine
def test_the_end_does_not_wait_for_the_background(tmp_path: Path, engine: str) -> None:
    record = simulate(tmp_path, engine, job([0, 6], "50 kB"), job([1, 7], "4 MB", background=True))
    short, long = times(record)
    assert long is None
    # CAMINOS' own router divides the link less evenly: 256 us.
    assert short == pytest.approx(200_000, rel=0.3 if engine == "caminos" else 0.2)
    assert max(row["load_max_bytes"] for row in record["links"]) < 300_000


@on_each_engine
def test_several_phases_and_ranks_of_a_node_repeat(tmp_path: Path, engine: str) -> None:
    machine = {"kind": "dragonfly", "groups": 5, "routers_per_group": 2, "nodes_per_router": 2, "cores_per_node": 2}
    jobs: list[dict[str, Any]] = [
        {"share": 0.5, "pattern": {"kind": "all-to-all", "message": "20 kB"}, "allocation": "random"},
        {
            "share": 0.5,
            "pattern": {"kind": "stencil", "message": "20 kB", "iterations": 2},
            "allocation": "random",
            "background": True,
        },
    ]
    this = point_on(machine | {"bandwidth": SLOW_BETWEEN}, engine=engine, jobs=jobs)
    record = run(tmp_path / "repeated", this)
    disturbed, none = times(record)
    once = tuple(job.model_copy(update={"background": False}) for job in this.jobs)
    undisturbed = times(run(tmp_path / "once", this.model_copy(update={"jobs": once})))[0]
    assert none is None and disturbed is not None and undisturbed is not None
    assert 1.05 * undisturbed < disturbed < 3 * undisturbed


@on_each_engine
def test_where_no_other_job_sends_there_is_nothing_to_wait_for(tmp_path: Path, engine: str) -> None:
    # Both ranks on one node: a job that sends nothing between nodes ends at once on CAMINOS and CODES.
    within = {"nodes": 1, "pattern": {"kind": "idle"}}
    record = simulate(tmp_path, engine, within, job([8, 9], "50 kB", background=True))
    assert times(record) == [0.0, None]
