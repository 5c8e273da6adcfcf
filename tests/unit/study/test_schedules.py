"""Schedules of a study: what is refused, and what runs there are."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.schedules import APPLICATIONS, MEASURED, SCHEDULE, coupled

from fabricstudy.core.errors import ConfigError
from fabricstudy.study.dotted_paths import parse_path, set_at_path
from fabricstudy.study.file import load_study, validate_study
from fabricstudy.study.plan import Plan, plan
from fabricstudy.study.schedules import Schedule


def planned(**changes: Any) -> Plan:
    """Plan a study with one schedule."""
    return plan(validate_study({"study": "small", "schedules": {"s": {**SCHEDULE, **changes}}}))


def refused(data: dict[str, Any]) -> list[tuple[str, str | None]]:
    """Return code and path of all mistakes of a study."""
    with pytest.raises(ConfigError) as caught:
        plan(validate_study(data))
    return [(one.code, one.path) for one in caught.value.each()]


def test_a_broken_log_is_refused_when_it_is_planned(tmp_path: Path) -> None:
    (tmp_path / "log.swf").write_text("; a log\n1 2 3\n")
    file = tmp_path / "small.yaml"
    schedule = {**SCHEDULE, "trace": {"kind": "swf", "file": "log.swf"}}
    file.write_text(yaml.safe_dump({"study": "small", "schedules": {"s": schedule}}))
    with pytest.raises(ConfigError) as error:
        plan(load_study(file))
    assert (error.value.code, error.value.file, error.value.path) == ("invalid-trace", "log.swf", "line 2")


def with_value(path: str, value: Any) -> dict[str, Any]:
    """The small study with another value below its schedule."""
    return {"study": "small", "schedules": {"s": set_at_path(deepcopy(SCHEDULE), parse_path(path, Schedule), value)}}


@pytest.mark.parametrize(
    ("path", "value", "code", "place"),
    [
        ("partitions", "intrepid-toros", "unknown-value", "partitions"),
        ("order", "wpf", "unknown-value", "order"),
        ("backfill", "eazy", "unknown-value", "backfill"),
        ("trace.load", 0, "out-of-range", "trace.load"),
        ("trace.load", 3.5, "out-of-range", "trace.load"),
        ("trace.sizes", {512: 1, 40961: 1}, "does-not-fit", "trace"),
        ("slowdown.mesh", -0.1, "out-of-range", "slowdown.mesh"),
        ("slowdown.bisection", 0.3, "conflicting-keys", "slowdown.bisection"),
        ("seeds", 0, "invalid-value", "seeds"),
        ("request", "longer", "unknown-value", "request"),
        ("sweep", {"loss": {"of": "slowdown.mehs", "values": [0]}}, "unknown-name", "sweep.loss.of"),
        ("sweep", {"utilisation": {"of": "slowdown.mesh", "values": [0]}}, "invalid-name", "sweep.utilisation"),
        ("sweep", {"loss": {"of": "slowdown.mesh", "values": [0, -1]}}, "out-of-range", "sweep.loss.values.-1"),
        ("sweep", {"order": ["fcfs", "wpf"]}, "unknown-value", "sweep.order.values.wpf"),
        ("exclude", [{"network": "torus"}], "unknown-name", "exclude.0.network"),
        ("partitions", [{"shape": [1, 1, 9]}], "unsupported", "partitions.shapes.0.shape"),
        ("partitions", [{"shape": [1, 1, 1]}, {"shape": [1, 1, 1]}], "duplicate", "partitions.shapes"),
    ],
)
def test_what_cannot_be_is_refused_where_it_stands(path: str, value: Any, code: str, place: str) -> None:
    assert refused(with_value(path, value)) == [(code, f"schedules.s.{place}")]


def test_all_mistakes_are_told_at_once() -> None:
    broken = {**SCHEDULE, "order": "wpf", "slowdown": {"mesh": -1}}
    found = refused({"study": "small", "schedules": {"a": broken, "b": {**SCHEDULE, "limit": "stop"}}})
    assert set(found) == {
        ("unknown-value", "schedules.a.order"), ("out-of-range", "schedules.a.slowdown.mesh"),
        ("unknown-value", "schedules.b.limit"),
    }  # fmt: skip


def test_every_combination_and_seed_is_a_run_and_equal_ones_are_one() -> None:
    found = planned(
        sweep={
            "network": {"of": "partitions", "values": {"torus": "intrepid-torus", "mesh": "intrepid-mesh"}},
            "loss": {"of": "slowdown.mesh", "values": [0, 0.1, 0.2]},
            "same": {"of": "order", "values": {"a": "fcfs", "b": {"kind": "fcfs"}}},
        },
        exclude=[{"network": "torus", "loss": [0.1, 0.2]}],
        seeds=3,
    )
    assert len(found.run_rows) == 4 * 2 * 3
    assert len(found.runs) == 4 * 3
    assert found.run_rows[0].labels == {"network": "torus", "loss": 0, "same": "a"}
    assert len({one.list_id for one in found.runs.values()}) == 2


@pytest.mark.parametrize(("keep", "kept"), [("first", 1), ("all", 3), ("none", 0)])
def test_jobs_are_kept_of_the_runs_asked_for(keep: str, kept: int) -> None:
    assert sum(run.keeps_jobs for run in planned(seeds=3, keep_jobs=keep).runs.values()) == kept


def test_words_change_no_run_and_a_changed_ratio_does() -> None:
    def runs(data: dict[str, Any]) -> set[str]:
        return set(plan(validate_study(data)).runs)

    base = coupled()
    assert runs({**base, "title": "Other words"}) == runs(base)
    other = deepcopy(base)
    patterns = other["experiments"]["ratios"]["sweep"]["pattern"]["set"]
    patterns["halves"]["jobs.0.pattern"]["message"] = "2 kB"
    assert not runs(other) & runs(base)


@pytest.mark.parametrize(
    ("change", "code", "place"),
    [
        ({"experiment": "rations"}, "unknown-name", "slowdown.measured.experiment"),
        ({"nodes": "sizes"}, "unknown-name", "slowdown.measured"),
        ({"of": {"net": "mesh"}, "against": {"net": "torus"}}, "unknown-name", "slowdown.measured"),
        ({"of": {"network": "mesh"}, "against": {"net": "torus"}}, "not-comparable", "slowdown.measured.against"),
        ({"of": {"network": "tree"}}, "not-comparable", "slowdown.measured.experiment"),
        ({"beyond": "bounds"}, "unknown-name", "slowdown.measured.beyond"),
    ],
)
def test_a_measured_slowdown_that_the_study_has_not(change: dict[str, Any], code: str, place: str) -> None:
    wanted = {**MEASURED, **change}
    if "beyond" in change:
        wanted["of"] = {"network": "tree"}
    slowdown = {"measured": wanted, "applications": APPLICATIONS}
    assert refused(coupled(slowdown=slowdown)) == [(code, f"schedules.s.{place}")]


def test_a_size_that_nobody_knows_is_refused_when_planned() -> None:
    assert refused(coupled(partitions="intrepid-mesh")) == [
        ("not-comparable", "schedules.s.slowdown.measured.experiment")
    ]


def test_points_that_differ_otherwise_are_not_taken_for_one() -> None:
    slowdown = {"measured": MEASURED, "applications": [{"name": "all"}]}
    assert refused(coupled(slowdown=slowdown)) == [("not-comparable", "schedules.s.slowdown.measured")]


@pytest.mark.parametrize(
    ("figure", "code", "place"),
    [
        (
            {"schedule": "t", "kind": "line", "x": "seed", "y": "useful_utilisation"},
            "unknown-name",
            "figures.0.schedule",
        ),
        ({"schedule": "s", "kind": "line", "x": "load", "y": "useful_utilisation"}, "unknown-name", "figures.0"),
        ({"schedule": "s", "kind": "line", "x": "seed", "y": "runtime_ns"}, "unknown-name", "figures.0"),
        (
            {"table": "schedules", "kind": "line", "x": "seed", "y": "useful_utilisation"},
            "unknown-name",
            "figures.0.schedule",
        ),
        ({"schedule": "s", "kind": "gantt", "where": {"network": "mesh"}}, "unknown-name", "figures.0"),
        ({"kind": "timeline"}, "unknown-name", "figures.0.schedule"),
    ],
)
def test_figures_of_schedules_are_checked(figure: dict[str, Any], code: str, place: str) -> None:
    data = {"study": "small", "schedules": {"s": SCHEDULE}, "figures": [{"id": "a", "title": "A", **figure}]}
    assert refused(data) == [(code, place)]
