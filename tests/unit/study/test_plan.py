"""The plan: ids, alone points, experiments, files, and its cost."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fabricstudy.core.bundled_files import CONFIGS
from fabricstudy.core.columns import SPOT_CHECK
from fabricstudy.core.quantities import BASE_UNITS_CONTEXT
from fabricstudy.engine.point import (
    canonical_json,
    digest,
    machine_id,
    point_from_json,
    point_id,
)
from fabricstudy.machine.base import Topology
from fabricstudy.study.file import load_study
from fabricstudy.study.model import Study
from fabricstudy.study.plan import Plan, plan

from ...machines import baseline_point

TWO_JOBS = [
    {"name": "a", "share": 0.5, "pattern": {"kind": "ring", "message": "1 kB"}, "mapping": "random"},
    {"name": "b", "share": 0.25, "pattern": {"kind": "all-to-all", "message": "1 kB"}, "allocation": "random"},
    {"name": "c", "nodes": 3, "pattern": "idle"},
]


def check_consistent(result: Plan) -> None:
    """Check the fast way of making ids against the definition, and that every id leads somewhere."""
    for key, planned in result.points.items():
        assert key == planned.point_id == point_id(planned.point)
        assert key == digest("p", canonical_json(planned.point.physics()))
        assert planned.machine_id == machine_id(planned.point.machine)
        assert result.machines[planned.machine_id] == planned.point.machine
    used = {row.point_id for row in result.rows} | {other for row in result.rows for other in row.baseline_ids if other}
    assert used == set(result.points)


def test_ids_agree_with_their_definition(study_of: Callable[..., Study]) -> None:
    result = plan(study_of(jobs=TWO_JOBS, slowdown=True, seeds=2))
    check_consistent(result)
    assert len(result.machines) == 6


def test_point_survives_json(study_of: Callable[..., Study]) -> None:
    for planned in plan(study_of(jobs=TWO_JOBS)).points.values():
        text = json.dumps(planned.point.model_dump(mode="json"))
        assert point_from_json(json.loads(text)) == planned.point
        assert (
            Topology.model_validate(planned.point.machine.model_dump(mode="json"), context=BASE_UNITS_CONTEXT)
            == planned.point.machine
        )


def test_physics_names_nothing(study_of: Callable[..., Study]) -> None:
    planned = next(iter(plan(study_of(jobs__0__name="Waldo", study="waldo-study")).points.values()))
    assert "waldo" not in canonical_json(planned.point.physics()).lower()


def test_single_job_is_its_own_alone_point(study_of: Callable[..., Study]) -> None:
    result = plan(study_of(slowdown=True, seeds=3))
    assert all(row.baseline_ids == (row.point_id,) for row in result.rows)
    assert len(result.points) == 18


def test_alone_points(study_of: Callable[..., Study]) -> None:
    """The first job alone loses its successors; the second keeps an idle predecessor; an idle one has none."""
    result = plan(study_of(jobs=TWO_JOBS, slowdown=True))
    row = result.rows[0]
    point = result.points[row.point_id].point
    assert row.baseline_ids == (point_id(baseline_point(point, 0)), point_id(baseline_point(point, 1)), None)
    second = result.points[row.baseline_ids[1] or ""].point
    assert [job.pattern.kind for job in second.jobs] == ["idle", "all-to-all"]
    assert [job.node_count(72) for job in second.jobs] == [36, 18]
    assert len(result.points) == 3 * len(result.rows)


def test_alone_point_is_shared_by_points_that_differ_in_other_jobs_only(study_of: Callable[..., Study]) -> None:
    sweep = {"message": {"of": "jobs.1.pattern.message", "values": ["1 kB", "2 kB", "3 kB"]}}
    rows = plan(study_of(jobs=TWO_JOBS, slowdown=True, sweep=sweep)).rows
    assert len({row.baseline_ids[0] for row in rows}) == 1
    assert len({row.baseline_ids[1] for row in rows}) == 3


def test_a_job_in_the_background_is_not_asked_for_its_time_alone(study_of: Callable[..., Study]) -> None:
    jobs = [TWO_JOBS[0] | {"background": True}, *TWO_JOBS[1:]]
    usual, result = (plan(study_of(jobs=one, slowdown=True)) for one in (TWO_JOBS, jobs))
    # The other job alone is the same point, whatever it was disturbed by.
    assert [row.baseline_ids for row in result.rows] == [(None, row.baseline_ids[1], None) for row in usual.rows]
    assert all(row.point_id != before.point_id for row, before in zip(result.rows, usual.rows, strict=True))


def test_saying_that_a_job_is_not_in_the_background_changes_no_id(study_of: Callable[..., Study]) -> None:
    jobs = [job | {"background": False} for job in TWO_JOBS]
    assert list(plan(study_of(jobs=jobs)).points) == list(plan(study_of(jobs=TWO_JOBS)).points)


def test_alone_is_asked_for(study_of: Callable[..., Study]) -> None:
    result = plan(study_of(jobs=TWO_JOBS))
    assert all(row.baseline_ids == (None, None, None) for row in result.rows)
    assert len(result.points) == len(result.rows)


def test_experiments_share_base_and_axes(study_of: Callable[..., Study]) -> None:
    """An axis that an experiment lacks has no label in its rows, and no say in the type of the others' labels."""
    experiments = {
        "ratio": {"sweep": {"alpha": {"of": "machine.bandwidth.global", "values": {0.5: "0.5 GB/s", 1: "1000 MB/s"}}}},
        "route": {"sweep": {"routing": {"of": "routing", "values": ["minimal", "valiant"]}}, "seeds": [7]},
        "twice": {"set": {"machine.bandwidth.global": "2 GB/s", "routing": "ugal"}, "slowdown": True},
    }
    result = plan(study_of(sweep=..., experiments=experiments))
    check_consistent(result)
    assert [(row.experiment, row.labels, row.seed) for row in result.rows] == [
        ("ratio", {"alpha": 0.5, "routing": None}, 1),
        ("ratio", {"alpha": 1, "routing": None}, 1),
        ("route", {"alpha": None, "routing": "minimal"}, 7),
        ("route", {"alpha": None, "routing": "valiant"}, 7),
        ("twice", {"alpha": None, "routing": None}, 1),
    ]
    assert result.axes == ("alpha", "routing")
    assert [row.baseline_ids != (None,) for row in result.rows] == [False, False, False, False, True]


def test_equal_points_of_experiments_are_one(study_of: Callable[..., Study]) -> None:
    sweep = {"routing": {"of": "routing", "values": ["minimal", "valiant"]}}
    result = plan(study_of(sweep=..., experiments={"a": {"sweep": sweep, "seeds": 2}, "b": {"sweep": sweep}}))
    assert (len(result.rows), len(result.points)) == (6, 4)
    assert [row.point_id for row in result.rows if row.experiment == "b"] == [
        row.point_id for row in result.rows if row.experiment == "a" and row.seed == 1
    ]


def test_mapping_file_counts_by_content(tmp_path: Path, write_study: Callable[[dict[str, Any]], Path]) -> None:
    """Same numbers in another file and layout: same point; other numbers: another point."""
    numbers = list(range(144))[::-1]
    (tmp_path / "one.txt").write_text("\n".join(map(str, numbers)))
    (tmp_path / "two.map").write_text("\n".join(f" {n}\t" for n in numbers) + "\n\n")
    (tmp_path / "three.txt").write_text("\n".join(map(str, sorted(numbers))))
    values = {name: {"kind": "file", "file": name} for name in ("one.txt", "two.map", "three.txt")}
    path = write_study({"sweep": {"mapping": {"of": "jobs.0.mapping", "values": values}}})
    result = plan(load_study(path))
    check_consistent(result)
    one, two, three = (row.point_id for row in result.rows)
    assert one == two != three
    point = result.points[one].point
    mapping: Any = point.jobs[0].mapping
    assert mapping.cores == tuple(numbers)
    assert point_from_json(point.model_dump(mode="json")) == point


def test_relative_path_of_study(
    tmp_path: Path, write_study: Callable[[dict[str, Any]], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files are sought beside the study, wherever it is read from."""
    path = write_study({"jobs/0/mapping": {"kind": "file", "file": "map.txt"}})
    (tmp_path / "map.txt").write_text("\n".join(map(str, range(144))))
    monkeypatch.chdir("/")
    assert len(plan(load_study(path)).rows) == 6


def test_explicit_jobs(study_of: Callable[..., Study]) -> None:
    """Explicit nodes beside a cluster that leaves them free."""
    ring = {"kind": "ring", "message": "1 kB"}
    jobs = [{"allocation": {"kind": "explicit", "nodes": [0, 5]}, "pattern": ring}, {"nodes": 70, "pattern": ring}]
    assert len(plan(study_of(jobs=jobs)).rows) == 6


def test_aliases_of_yaml_may_be_used(tmp_path: Path, write_study: Callable[[dict[str, Any]], Path]) -> None:
    """Anchors and merge keys save writing; a merged key may be written again."""
    ring = "pattern: {kind: ring, message: 1 kB}"
    text = write_study({"jobs": ...}).read_text()
    path = tmp_path / "merged.yaml"
    path.write_text(f"{text}jobs:\n- &job {{name: app, share: 0.5, {ring}}}\n- {{<<: *job, name: other}}\n")
    points = plan(load_study(path)).points.values()
    assert {tuple(job.name for job in planned.point.jobs) for planned in points} == {("app", "other")}


COST = """
import sys, time
from pathlib import Path
from fabricstudy.study import load_study, plan
result = plan(load_study(Path(sys.argv[1])))
print(len(result.rows), time.process_time())
"""


def test_cost_of_planning(write_study: Callable[[dict[str, Any]], Path]) -> None:
    """10,000 points are planned in less than 5 s of processor time, interpreter and imports included."""
    sweep = {
        "routing": {"of": "routing", "values": ["minimal", "valiant", "ugal"]},
        "packet": {"of": "network.packet", "values": {n: f"{n} kB" for n in range(1, 29)}},
        "message": {"of": "jobs.*.pattern.message", "values": {n: f"{n} kB" for n in range(1, 11)}},
        "arrangement": {"of": "machine.arrangement", "values": ["absolute", "relative"]},
        "alpha": {"of": "machine.bandwidth.global", "values": {n: f"{n} GB/s" for n in range(1, 3)}},
    }
    path = write_study({"sweep": sweep, "seeds": 3, "slowdown": True})
    done = subprocess.run([sys.executable, "-c", COST, str(path)], check=True, capture_output=True, text=True)
    count, cpu_s = done.stdout.split()
    assert int(count) == 3 * 28 * 10 * 2 * 2 * 3
    assert float(cpu_s) < 5


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.yaml")), ids=lambda path: path.stem)
def test_numbers_of_shipped_studies_have_three_seeds_and_do_not_rest_on_flow_alone(path: Path) -> None:
    study = load_study(path)
    planned = plan(study)
    engines = {planned.points[row.point_id].point.engine.kind for row in planned.rows if row.experiment != SPOT_CHECK}
    assert "flow" not in engines or engines & {"packet", "caminos", "sst", "codes"}
    seeds: dict[str, set[int]] = {}
    for row in planned.rows:
        point = planned.points[row.point_id].point
        if point.engine.kind != "analysis":
            seeds.setdefault(row.experiment, set()).add(point.seed)
    measures = [measure for claim in study.claims for part in claim.parts for measure in part.measures()]
    for measure in measures:
        if measure.of_points and measure.table != "machines" and measure.experiment in seeds:
            assert len(seeds[measure.experiment]) >= 3, measure.experiment
