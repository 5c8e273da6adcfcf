"""Studies of offered traffic: grammar, mistakes, and figures."""

from typing import Any

import pytest

from fabricstudy.core.errors import ConfigError
from fabricstudy.study.file import validate_study
from fabricstudy.study.plan import plan

STUDY: dict[str, Any] = {
    "study": "loads",
    "machine": {"kind": "dragonfly", "groups": 5, "routers_per_group": 2, "nodes_per_router": 2, "bandwidth": "1 GB/s"},
    "routing": "minimal",
    "offered": {"traffic": "uniform", "load": 0.3},
    "engine": "caminos",
    "sweep": {"load_offered": {"of": "offered.load", "values": {"from": 0.1, "to": 0.9, "step": 0.2}}},
}


def changed(**parts: Any) -> dict[str, Any]:
    return {key: value for key, value in (STUDY | parts).items() if value is not None}


def test_a_range_gives_the_numbers_as_written() -> None:
    planned = plan(validate_study(STUDY))
    assert [row.labels["load_offered"] for row in planned.rows] == [0.1, 0.3, 0.5, 0.7, 0.9]
    loads = [planned.points[row.point_id].point.offered.load for row in planned.rows]  # type: ignore[union-attr]
    assert loads == [0.1, 0.3, 0.5, 0.7, 0.9]
    assert planned.study.report_figures[0].kind == "load-latency"


def test_a_range_of_integers_gives_integers() -> None:
    sweep = {"size": {"of": "machine.routers_per_group", "values": {"from": 2, "to": 6, "step": 2}}}
    assert [row.labels["size"] for row in plan(validate_study(changed(sweep=sweep))).rows] == [2, 4, 6]


def test_ids_do_not_depend_on_how_a_study_writes_the_traffic() -> None:
    written = changed(offered={"traffic": {"kind": "uniform"}, "load": 0.3, "batches": 40, "message": "256 B"})
    assert plan(validate_study(written)).points.keys() == plan(validate_study(STUDY)).points.keys()


JOBS = [{"share": 1, "pattern": {"kind": "ring", "message": "1 kB"}}]


def test_an_experiment_replaces_jobs_by_offered_traffic_only_explicitly() -> None:
    offered = {"traffic": "uniform", "load": 0.3}
    experiments: dict[str, Any] = {"jobs": {}, "load": {"set": {"offered": offered, "jobs": []}}}
    written = changed(offered=None, jobs=JOBS, sweep=None, experiments=experiments)
    points = [planned.point for planned in plan(validate_study(written)).points.values()]
    assert [(len(point.jobs), point.offered is None) for point in points] == [(1, True), (0, False)]
    experiments = {"load": {}, "jobs": {"set": {"offered": None, "jobs": JOBS}}}
    points = [
        planned.point for planned in plan(validate_study(changed(sweep=None, experiments=experiments))).points.values()
    ]
    assert [(len(point.jobs), point.offered is None) for point in points] == [(0, False), (1, True)]


@pytest.mark.parametrize("base", [{"jobs": JOBS, "offered": None}, {}])
def test_an_experiment_with_both_jobs_and_offered_traffic_is_refused(base: dict[str, Any]) -> None:
    added = {"offered": {"traffic": "uniform", "load": 0.3}} if base else {"jobs": JOBS}
    where = "experiments.both.set.offered" if base else "offered"
    with pytest.raises(ConfigError) as caught:
        plan(validate_study(changed(sweep=None, experiments={"both": {"set": added}}, **base)))
    assert (caught.value.code, caught.value.path) == ("conflicting-keys", where)


@pytest.mark.parametrize(
    ("parts", "path", "code"),
    [
        ({"offered": {"traffic": "uniform", "load": 1.2}}, "offered.load", "out-of-range"),
        ({"offered": {"traffic": "uniform", "load": 1.0000001}}, "offered.load", "out-of-range"),
        ({"offered": {"traffic": "uniform", "load": 30}}, "offered.load", "out-of-range"),
        ({"offered": {"traffic": "uniform", "load": 0}}, "offered.load", "out-of-range"),
        ({"offered": {"traffic": "uniform", "load": "full"}}, "offered.load", "out-of-range"),
        ({"offered": {"traffic": "uniform", "load": 0.1, "measured": 50}}, "offered.measured", "out-of-range"),
        ({"offered": {"traffic": "uniform", "load": 0.1, "measured": 100}}, "offered.batches", "out-of-range"),
        ({"offered": {"traffic": "uniform", "load": 0.1, "arrivals": "bursts"}}, "offered.burst", "conflicting-keys"),
        ({"offered": {"traffic": "tornado", "load": 0.1}}, "offered.traffic.kind", "unsupported"),
        ({"offered": {"traffic": "tornados", "load": 0.1}}, "offered.traffic", "unknown-value"),
        ({"jobs": [{"share": 1, "pattern": {"kind": "ring", "message": "1 kB"}}]}, "offered", "conflicting-keys"),
        ({"offered": None, "sweep": {}}, "jobs", "missing-key"),
        ({"slowdown": True}, "slowdown", "conflicting-keys"),
        (
            {"figures": [{"id": "a", "title": "a", "kind": "line", "x": "load_offered", "y": "runtime_ns"}]},
            "figures.0.table",
            "conflicting-keys",
        ),
        (
            {"figures": [{"id": "a", "title": "a", "kind": "load-latency", "y": "jain"}]},
            "figures.0.y",
            "unknown-name",
        ),
        (
            {"figures": [{"id": "a", "title": "a", "kind": "load-throughput", "unit": "us"}]},
            "figures.0.unit",
            "conflicting-keys",
        ),
        (
            {"sweep": {"a": {"of": "offered.load", "values": {"from": 0.1, "to": 0.9, "step": 0}}}},
            "sweep.a.values.step",
            "out-of-range",
        ),
        (
            {"sweep": {"a": {"of": "offered.load", "values": {"from": 0.1, "to": "1", "step": 0.1}}}},
            "sweep.a.values.to",
            "wrong-type",
        ),
    ],
)
def test_mistakes_are_named(parts: dict[str, Any], path: str, code: str) -> None:
    with pytest.raises(ConfigError) as wrong:
        plan(validate_study(changed(**parts)))
    assert (wrong.value.path, wrong.value.code) == (path, code)


def test_a_table_of_latencies_needs_offered_traffic() -> None:
    sweep = {"routing": {"of": "routing", "values": ["minimal", "valiant"]}}
    figures = [{"id": "a", "title": "a", "kind": "load-latency"}]
    with pytest.raises(ConfigError) as wrong:
        plan(validate_study(changed(offered=None, jobs=JOBS, sweep=sweep, figures=figures)))
    assert (wrong.value.path, wrong.value.code) == ("figures.0.table", "conflicting-keys")
