"""Figures and claims that compare a point with another one that is not there are refused before anything runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fabricstudy.core.errors import ConfigError
from fabricstudy.study.model import Study
from fabricstudy.study.plan import plan

StudyOf = Callable[..., Study]
ALPHA = {"of": "machine.bandwidth.global", "values": {0.5: "0.5 GB/s", 1: "1 GB/s", 2: "2 GB/s"}}
ROUTING = {"of": "routing", "values": ["minimal", "valiant"]}
TWO = [
    {"name": "left", "share": 0.5, "pattern": {"kind": "ring", "message": "1 kB"}},
    {"name": "right", "share": 0.5, "pattern": {"kind": "all-to-all", "message": "1 kB"}},
]
LOADS = {"set": {"one": {"jobs": [{**TWO[1], "share": 1.0}]}, "two": {"jobs": TWO}}}
PAIR = {"metric": "runtime_ns", "of": {"routing": "valiant"}, "against": {"routing": "minimal"}}
FIGURE = {"id": "a", "kind": "bar", "title": "A", "x": "alpha", "y": "runtime_ns"}


def claim(**measure: Any) -> dict[str, Any]:
    """A claim of one part."""
    part = {"statement": "x", "measure": {"kind": "contrast", **PAIR, **measure}, "source_range": [0, None]}
    return {"id": "1", "statement": "x", "source": "y", "parts": [part]}


def refused(study_of: StudyOf, **keys: Any) -> str | None:
    """Plan a study of two axes from which valiant at ratio 2 is left out; give the path of the refusal, if any."""
    changes = {"sweep": {"alpha": ALPHA, "routing": ROUTING}, "exclude": [EXCLUDED]} | keys
    study = study_of(**{key: value for key, value in changes.items() if key != "exclude" or value is not ...})
    try:
        plan(study)
    except ConfigError as error:
        return error.path
    return None


EXCLUDED = {"routing": "minimal", "alpha": 2}
TREND = {"kind": "trend", "along": {"alpha": [0.5, 2]}}


@pytest.mark.parametrize(
    ("measure", "path"),
    [
        ({}, ""),
        ({"where": {"alpha": [0.5, 1]}}, None),
        ({"where": {"alpha": {"max": 1}}}, None),
        ({"where": {"alpha": 2}}, ".against"),
        ({"where": {"alpha": 7}}, ".where"),
        ({"of": {"routing": "ugal"}}, ".of"),
        (TREND, ""),
        ({"kind": "trend", "along": {"alpha": [0.5, 1]}}, None),
        ({"table": "points", "metric": "cpu_s"}, ""),
        ({"table": "links", "metric": "used", "where": {"class": "global", "alpha": 1}}, None),
        ({"table": "links", "metric": "used", "where": {"class": "global"}}, ""),
        ({"table": "links", "metric": "used", "of": {"class": "local"}, "against": {"class": "global"}}, None),
        ({"of": {"routing": "valiant", "alpha": 2}, "against": {"routing": "minimal", "alpha": 1}}, None),
    ],
)
def test_points_without_a_partner(study_of: StudyOf, measure: dict[str, Any], path: str | None) -> None:
    expected = None if path is None else f"claims.0.parts.0.measure{path}"
    assert refused(study_of, claims=[claim(**measure)]) == expected


SCATTER = {"kind": "scatter", "x": "hop_bytes"}


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"normalise_to": {"routing": "minimal"}}, "figures.0"),
        ({"normalise_to": {"routing": "valiant"}}, None),
        ({"normalise_to": {"routing": "minimal"}, "where": {"alpha": [0.5, 1]}}, None),
        ({"normalise_to": {"routing": "ugal"}}, "figures.0.normalise_to"),
        ({**SCATTER, "normalise_to": {"routing": "minimal"}}, "figures.0"),
        ({**SCATTER, "normalise_to": {"routing": "valiant"}}, None),
        ({}, None),
        ({"where": {"alpha": {"min": 3}}}, "figures.0.where"),
        ({"where": {"routing": "ugal"}}, "figures.0.where"),
        ({"where": {"routing": ["ugal", "valiant"]}}, None),
    ],
)
def test_figures_that_have_nothing_to_draw_or_to_be_normalised_to(
    study_of: StudyOf, change: dict[str, Any], path: str | None
) -> None:
    assert refused(study_of, figures=[{**FIGURE, **change}]) == path


@pytest.mark.parametrize(
    ("measure", "fits"),
    [
        ({}, True),
        ({"reduce_jobs": "each"}, False),
        ({"reduce_jobs": "each", "where": {"job_name": "right"}}, True),
        ({"reduce_jobs": "each", "where": {"job": 0}}, True),
        ({"reduce_jobs": "each", "where": {"job": 1}}, False),
        ({"table": "interference", "metric": "mls"}, False),
    ],
)
def test_jobs_by_number_and_by_name(study_of: StudyOf, measure: dict[str, Any], fits: bool) -> None:
    """One job, called right, beside two, called left and right."""
    asked = claim(of={"load": "two"}, against={"load": "one"}, **measure)
    found = refused(study_of, sweep={"load": LOADS}, exclude=[], claims=[asked])
    assert (found is None) == fits


def test_machines_are_compared_once_however_many_points_use_them(study_of: StudyOf) -> None:
    """The routing has no say in a bisection: a point that lacks one routing has its partner."""
    asked = claim(table="machines", metric="radix", of={"alpha": 2}, against={"alpha": 1})
    assert refused(study_of, claims=[asked]) is None


def test_an_axis_of_another_experiment_is_no_axis(study_of: StudyOf) -> None:
    experiments = {"a": {"sweep": {"alpha": ALPHA}}, "b": {"sweep": {"routing": ROUTING}}}
    asked = claim(experiment="a", of={"alpha": 1}, against={"alpha": 2}, where={"routing": "minimal"})
    with pytest.raises(ConfigError) as caught:
        study_of(sweep=..., experiments=experiments, claims=[asked])
    assert caught.value.path == "claims.0.parts.0.measure"


def test_an_engine_that_goes_with_another_axis_separates_no_pair(study_of: StudyOf) -> None:
    """The axis `who` sets machine and engine; a pair differs in both."""
    who = {"set": {"ours": {"engine": "caminos", "machine.arrangement": "relative"}, "theirs": {"engine": "codes"}}}
    asked = claim(of={"who": "theirs"}, against={"who": "ours"})
    assert refused(study_of, sweep={"who": who, "alpha": ALPHA}, exclude=[], claims=[asked]) is None


def test_a_range_over_labels_that_another_experiment_makes_text(study_of: StudyOf) -> None:
    text = {"of": "machine.bandwidth.global", "values": ["1 GB/s"]}
    asked = {**claim(experiment="a", where={"alpha": {"min": 1}}), "id": "2"}
    first = {"sweep": {"alpha": ALPHA, "routing": ROUTING}}
    assert refused(study_of, sweep=..., exclude=..., experiments={"a": first}, claims=[asked]) is None
    beside = {"a": first, "b": {"sweep": {"alpha": text}}}
    path = refused(study_of, sweep=..., exclude=..., experiments=beside, claims=[asked])
    assert path == "claims.0.parts.0.measure.where.alpha"


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"x": "alpha"}, None),
        ({"x": "seed"}, None),
        ({"x": "routing"}, "figures.0.x_log"),
        ({"x": "engine"}, "figures.0.x_log"),
        ({"x": "alpha", "kind": "bar"}, "figures.0.x_log"),
    ],
)
def test_logarithmic_scales_need_numbers(study_of: StudyOf, change: dict[str, Any], path: str | None) -> None:
    figure = {**FIGURE, "kind": "line", "x_log": True, **change}
    try:
        found = refused(study_of, figures=[figure])
    except ConfigError as error:
        found = error.path
    assert found == path


RINGS = {name: {"kind": "torus", "shape": [8], "bandwidth": "1 GB/s"} for name in ("ring", "ring, valiant", "other")}


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({}, "figures.0.x_analysis"),
        ({"where": {"machine": ["ring", "other"]}}, None),
        ({"x_key": {"ring, valiant": "ring"}}, None),
        ({"x_key": {"ring, valiant": "square"}}, "figures.0.x_analysis"),
        ({"x_key": {"ring, valiant": "ring", "rang": "ring"}}, "figures.0.x_key"),
    ],
)
def test_a_mark_needs_a_row_of_the_analysis(study_of: StudyOf, change: dict[str, Any], path: str | None) -> None:
    priced = {name: machine for name, machine in RINGS.items() if "," not in name}
    figure = {
        "id": "a", "kind": "scatter", "title": "A", "x": "price_per_node", "x_analysis": "bill",
        "x_where": {"part": "all"}, "y": "runtime_ns", **change,
    }  # fmt: skip
    analyses = {"bill": {"kind": "cost", "machines": priced}}
    sweep = {"machine": {"of": "machine", "values": RINGS}}
    assert refused(study_of, sweep=sweep, exclude=..., analyses=analyses, figures=[figure]) == path


def test_zero_has_no_logarithm(study_of: StudyOf) -> None:
    figure = {**FIGURE, "kind": "line", "x_log": True}
    alpha = {**ALPHA, "values": {0: "1 GB/s", 1: "2 GB/s"}}
    assert refused(study_of, sweep={"alpha": alpha}, exclude=..., figures=[figure]) == "figures.0.x_log"


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"unit": "furlongs"}, "figures.0.unit"),
        ({"unit": "GB"}, "figures.0.unit"),
        ({"y": "slowdown", "unit": "ms"}, "figures.0.unit"),
        ({"id": "Not/this"}, "figures.0.id"),
        ({"id": ""}, "figures.0.id"),
    ],
)
def test_figures_are_refused_at_the_key(study_of: StudyOf, change: dict[str, Any], path: str) -> None:
    with pytest.raises(ConfigError) as caught:
        study_of(figures=[{**FIGURE, **change}])
    assert caught.value.path == path
    assert caught.value.value == next(iter(change.get(key) for key in ("unit", "id") if key in change))


def test_claims_are_refused_at_the_key(study_of: StudyOf) -> None:
    with pytest.raises(ConfigError) as caught:
        study_of(claims=[{**claim(), "id": "not this"}])
    assert (caught.value.path, caught.value.value) == ("claims.0.id", "not this")


@pytest.mark.parametrize(
    ("where", "fits"), [({"job_name": "twin"}, False), ({"job_name": "other"}, True), ({"job": 1}, True)]
)
def test_jobs_of_one_name_cannot_be_told_by_it(study_of: StudyOf, where: dict[str, Any], fits: bool) -> None:
    jobs = [{**TWO[0], "name": name, "share": 0.3} for name in ("twin", "twin", "other")]
    for reduce_jobs in ("each", "geometric-mean"):
        asked = claim(kind="value", reduce_jobs=reduce_jobs, where=where)
        for key in ("of", "against"):
            del asked["parts"][0]["measure"][key]
        by_number = reduce_jobs != "each" and "job" in where
        found = refused(study_of, jobs=jobs, claims=[asked]) if not by_number else None
        assert found == (None if fits or reduce_jobs != "each" else "claims.0.parts.0.measure")


def test_jobs_of_a_count_are_jobs_of_one_name(study_of: StudyOf) -> None:
    small = {**TWO[0], "share": 0.2}
    counted, listed = (
        study_of(jobs=[{**small, "count": 3}, {**TWO[1], "share": 0.4}]),
        study_of(jobs=[small, small, small, {**TWO[1], "share": 0.4}]),
    )
    assert list(plan(counted).points) == list(plan(listed).points)
    assert plan(counted).rows[0].job_names == ("left", "left", "left", "right")
    measure = {"kind": "contrast", "of": {"job_name": "left"}, "against": {"job_name": "right"}}
    asked = claim(**measure, reduce_jobs="geometric-mean")
    assert refused(study_of, jobs=[{**small, "count": 3}, {**TWO[1], "share": 0.4}], claims=[asked]) is None


@pytest.mark.parametrize(
    ("jobs", "path"),
    [
        ([{**TWO[0], "share": 0.4, "count": 3}], "jobs"),
        ([{**TWO[0], "share": None, "nodes": 1, "count": 3, "ranks_per_node": 1}], "jobs.0.nodes"),
        ([{**TWO[0], "share": 0.1, "count": 2}, {**TWO[1], "share": None, "nodes": 10**6}], "jobs.1.nodes"),
        ([{**TWO[0], "count": 0}], "jobs.0.count"),
        ([{**TWO[0], "share": 0.001, "count": 600}, {**TWO[0], "share": 0.0001, "count": 600}], "jobs"),
    ],
)
def test_a_count_is_refused_at_the_job_that_states_it(study_of: StudyOf, jobs: list[Any], path: str) -> None:
    with pytest.raises(ConfigError) as caught:
        study_of(jobs=jobs)
    assert caught.value.path == path
