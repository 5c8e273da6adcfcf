"""What the grammar of figures and claims refuses."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from tests.schedules import SCHEDULE

from fabricstudy.analysis.base import Analysis
from fabricstudy.core.columns import (
    CLAIM_TABLES,
    FAILURES,
    KEYS,
    METRICS,
    NAMES,
    RESERVED,
    RESERVED_BY_SCHEDULES,
    SCHEDULE_TABLES,
    STATUSES,
    TABLES,
    column_unit,
    names_of,
)
from fabricstudy.core.model import ConfigError, Model
from fabricstudy.core.store import FINAL
from fabricstudy.study.claims import Claim, KnownNames
from fabricstudy.study.figures import Figure, HeatmapFigure, ScatterFigure, check_metric, unit_factor
from fabricstudy.study.file import validated
from fabricstudy.study.schedules import Schedule
from fabricstudy.study.sweep import Sweep

FIGURE = {"id": "a", "kind": "line", "title": "A", "x": "alpha", "y": "runtime_ns"}
VALUE = {"kind": "value", "metric": "runtime_ns"}
PAIR = {**VALUE, "kind": "contrast", "of": {"a": 1}, "against": {"a": 2}}


def refused(model: type[Model], data: dict[str, Any]) -> tuple[str, str | None]:
    """Code and path of the mistake."""
    with pytest.raises(ConfigError) as caught:
        validated(model, data, {})
    return caught.value.code, caught.value.path


def test_a_number_that_was_probably_meant_is_named() -> None:
    with pytest.raises(ConfigError) as caught:
        check_metric("jobs", "runtim_ns")
    assert "did you mean 'runtime_ns'?" in caught.value.remedy


@pytest.mark.parametrize(
    ("change", "code", "path"),
    [
        ({"y": "runtime"}, "unknown-name", None),
        ({"table": "machines"}, "unknown-name", None),
        ({"unit": "GB"}, "invalid-quantity", "unit"),
        ({"y": "slowdown", "unit": "ms"}, "conflicting-keys", "unit"),
        ({"unit": "ms", "normalise_to": {"alpha": 1}}, "conflicting-keys", "unit"),
        ({"show_bound": True, "y": "rate_Bps"}, "conflicting-keys", "show_bound"),
        ({"show_bound": True, "kind": "box"}, "conflicting-keys", "show_bound"),
        ({"show_bound": True, "normalise_to": {"alpha": 1}}, "conflicting-keys", "show_bound"),
        ({"interval": ["bound_ns", "runtime_ns"], "kind": "box"}, "conflicting-keys", "interval"),
        ({"style": "routing", "kind": "bar"}, "conflicting-keys", "style"),
        ({"kind": "bar", "x_log": True}, "conflicting-keys", "x_log"),
        ({"parts": ["compute_ns", "communication_ns"]}, "conflicting-keys", "parts"),
        ({"kind": "bar", "parts": "compute_ns"}, "conflicting-keys", "reduce_jobs"),
        (
            {"kind": "bar", "parts": "compute_ns", "reduce_jobs": "geometric-mean"},
            "conflicting-keys",
            "reduce_jobs",
        ),
        ({"kind": "bar", "reduce_jobs": "each", "parts": ["computing_ns"]}, "unknown-name", None),
        (
            {"kind": "bar", "reduce_jobs": "each", "parts": ["compute_ns"], "normalise_to": {"alpha": 1}},
            "conflicting-keys",
            "parts",
        ),
        ({"id": "../a"}, "invalid-name", "id"),
        ({"where": {"alpha": {"min": 3, "max": 1}}}, "out-of-range", "where.alpha"),
        ({"where": {"alpha": {}}}, "out-of-range", "where.alpha"),
        ({"where": {"alpha": []}}, "wrong-type", "where.alpha"),
        ({"colour": "alpha"}, "unknown-key", "colour"),
    ],
)
def test_figures_that_cannot_be(change: dict[str, Any], code: str, path: str | None) -> None:
    Figure.model_validate(FIGURE)
    assert refused(Figure, {**FIGURE, **change}) == (code, path)


SCATTER = {"id": "a", "kind": "scatter", "title": "A", "x": "hop_bytes", "y": "runtime_ns"}
HEATMAP = {"id": "a", "kind": "heatmap", "title": "A", "x": "alpha", "y": "routing", "value": "runtime_ns"}


@pytest.mark.parametrize(
    ("model", "figure", "code", "path"),
    [
        (ScatterFigure, {**SCATTER, "x": "alpha"}, "unknown-name", None),
        (ScatterFigure, {**SCATTER, "x_unit": "ms"}, "invalid-quantity", "x_unit"),
        (ScatterFigure, {**SCATTER, "x": "hops_max", "x_unit": "m"}, "conflicting-keys", "x_unit"),
        (ScatterFigure, {**SCATTER, "unit": "GB"}, "invalid-quantity", "unit"),
        (ScatterFigure, {**SCATTER, "x_where": {"part": "all"}}, "conflicting-keys", "x_where"),
        (ScatterFigure, {**SCATTER, "x_table": "machines"}, "unknown-name", None),
        (ScatterFigure, {**SCATTER, "x_table": "links"}, "unknown-value", "x_table"),
        (ScatterFigure, {**SCATTER, "x": "bisection_upper_Bps"}, "unknown-name", None),
        (
            ScatterFigure,
            {**SCATTER, "x": "bisection_upper_Bps", "x_table": "machines", "x_unit": "ns"},
            "invalid-quantity",
            "x_unit",
        ),
        (
            ScatterFigure,
            {**SCATTER, "x": "bisection_upper_Bps", "x_table": "machines", "x_analysis": "bill"},
            "conflicting-keys",
            "x_table",
        ),
        (
            ScatterFigure,
            {**SCATTER, "x": "mean_hops", "x_table": "machines", "table": "machines", "y": "diameter"},
            "conflicting-keys",
            "x_table",
        ),
        (ScatterFigure, {**SCATTER, "unit": "ms", "normalise_to": {"alpha": 1}}, "conflicting-keys", "unit"),
        (ScatterFigure, {**SCATTER, "correlation": "pearson"}, "unknown-value", "correlation"),
        (HeatmapFigure, {**HEATMAP, "value": "alpha"}, "unknown-name", None),
        (HeatmapFigure, {**HEATMAP, "y": "alpha"}, "duplicate", "y"),
        (HeatmapFigure, {**HEATMAP, "unit": "ms", "normalise_to": {"alpha": 1}}, "conflicting-keys", "unit"),
    ],
)
def test_scatter_plots_and_heat_maps_that_cannot_be(
    model: type[Model], figure: dict[str, Any], code: str, path: str | None
) -> None:
    ScatterFigure.model_validate(SCATTER)
    HeatmapFigure.model_validate(HEATMAP)
    assert refused(model, figure) == (code, path)


@pytest.mark.parametrize(
    ("measure", "code", "path"),
    [
        ({**VALUE, "metric": "time"}, "unknown-name", ""),
        ({**PAIR, "against": {"b": 2}}, "conflicting-keys", ".against"),
        ({**PAIR, "of": {}}, "out-of-range", ".of"),
        ({**PAIR, "against": {"a": [1, 2]}}, "wrong-type", ".against.a"),
        ({**PAIR, "where": {"a": 1}}, "duplicate", ".where"),
        ({**PAIR, "kind": "crossing", "along": "b", "of": {"a": 1, "b": [1, 2]}, "against": {"b": 1}},
         "conflicting-keys", ".against"),
        ({**PAIR, "kind": "trend", "along": {"a": [1, 2]}}, "duplicate", ".along"),
        ({**PAIR, "kind": "trend", "along": {"b": [1, 2], "c": [1, 2]}}, "out-of-range", ".along"),
        ({**VALUE, "kind": "spread", "over": []}, "out-of-range", ".over"),
        ({**VALUE, "kind": "average"}, "unknown-value", ".kind"),
        ({"metric": "runtime_ns"}, "missing-key", ".kind"),
        ({"kind": "quotient", "of": VALUE, "against": {"kind": "quotient", "of": VALUE, "against": VALUE}},
         "unknown-value", ".against.kind"),
    ],
)  # fmt: skip
def test_measures_that_cannot_be(measure: dict[str, Any], code: str, path: str) -> None:
    assert refused(Claim, with_part(measure, [0, 1])) == (code, f"parts.0.measure{path}")


@pytest.mark.parametrize(
    ("source_range", "code", "path"),
    [
        ([None, None], "out-of-range", ""),
        ([2, 1], "out-of-range", ""),
        ([0, float("nan")], "wrong-type", ".1"),
        ([0], "missing-key", ".1"),
    ],
)
def test_ranges_that_cannot_be(source_range: list[Any], code: str, path: str) -> None:
    assert refused(Claim, with_part(VALUE, source_range)) == (code, f"parts.0.source_range{path}")


WHY = {"reason": "another machine"}


@pytest.mark.parametrize(
    ("source_range", "more", "code", "path"),
    [
        ([1, 2], {"accept": [None, None], **WHY}, "out-of-range", "accept"),
        ([1, 2], {"accept": [3, 0], **WHY}, "out-of-range", "accept"),
        ([1, 2], {"accept": [1.1, 3], **WHY}, "out-of-range", "accept"),
        ([1, 2], {"accept": [0, 1.9], **WHY}, "out-of-range", "accept"),
        ([None, 2], {"accept": [0, 3], **WHY}, "out-of-range", "accept"),
        ([1, None], {"accept": [0, 3], **WHY}, "out-of-range", "accept"),
        ([1, 2], {"accept": [1, 3]}, "missing-key", "reason"),
        ([1, 2], {"expect": [1, 2]}, "unknown-key", "expect"),
    ],
)
def test_accepted_ranges_that_cannot_be(source_range: list[Any], more: dict[str, Any], code: str, path: str) -> None:
    assert refused(Claim, with_part(VALUE, source_range, **more)) == (code, f"parts.0.{path}")


@pytest.mark.parametrize(
    ("source_range", "accept"), [([1, 2], None), ([1, 2], (1, 2)), ([1, 2], (None, 2)), ([None, 1], (None, 3))]
)
def test_what_is_accepted_contains_what_the_source_says(source_range: list[Any], accept: Any) -> None:
    (part,) = Claim.model_validate(with_part(VALUE, source_range, accept=accept, **WHY)).parts
    assert part.accepted == (tuple(source_range) if accept is None else accept)


def with_part(measure: dict[str, Any], source_range: list[Any], **more: Any) -> dict[str, Any]:
    part = {"statement": "x", "measure": measure, "source_range": source_range, **more}
    return {"id": "1", "statement": "x", "source": "y", "parts": [part]}


def test_a_claim_without_parts_says_why() -> None:
    assert refused(Claim, {"id": "1", "statement": "x", "source": "y"}) == ("missing-key", "note")


def claim(**measure: Any) -> Claim:
    """A claim with one value."""
    return Claim.model_validate(with_part({**VALUE, **measure}, [0, 1]))


@pytest.mark.parametrize(
    ("figures", "claims", "path"),
    [
        ([FIGURE, FIGURE], [], "figures.1.id"),
        ([{**FIGURE, "experiment": "other"}], [], "figures.0.experiment"),
        ([{**FIGURE, "hue": "beta"}], [], "figures.0"),
        ([{**FIGURE, "columns": "job"}], [], "figures.0"),
        ([{**FIGURE, "table": "agreement", "y": "ratio", "hue": "engine"}], [], "figures.0"),
        ([], [claim(where={"beta": 1})], "claims.0.parts.0.measure"),
        ([], [claim(), claim()], "claims.1.id"),
    ],
)
def test_names_that_are_not_there(figures: list[dict[str, Any]], claims: list[Claim], path: str) -> None:
    with pytest.raises(ConfigError) as caught:
        KnownNames({"main": ["alpha", "engine"]}).check([Figure.model_validate(figure) for figure in figures], claims)
    assert caught.value.path == path


@pytest.mark.parametrize(
    ("change", "code", "path"),
    [
        ({}, None, None),
        ({"x_analysis": "bills"}, "unknown-name", "figures.0.x_analysis"),
        ({"x": "runtime_ns"}, "unknown-name", "figures.0"),
        ({"x_where": {"piece": "all"}}, "unknown-name", "figures.0"),
        ({"x_where": {}}, "unknown-name", "figures.0.x_analysis"),
        ({"experiment": "other"}, "unknown-name", "figures.0.x_analysis"),
    ],
)
def test_a_number_of_an_analysis_is_matched_by_all_keys_of_its_rows(
    change: dict[str, Any], code: str | None, path: str | None
) -> None:
    ring = {"kind": "torus", "shape": [4], "bandwidth": "1 GB/s"}
    bill = Analysis.model_validate({"kind": "cost", "machines": {"ring": ring}})
    asked = {**SCATTER, "x": "price_per_node", "x_analysis": "bill", "x_where": {"part": "all"}, **change}
    figure = ScatterFigure.model_validate(asked)
    found: tuple[str | None, str | None] = (None, None)
    try:
        KnownNames({"main": ["machine"], "other": ["alpha"]}, {"bill": bill}).check([figure], [])
    except ConfigError as error:
        found = (error.code, error.path)
    assert found == (code, path)


def test_names_that_are_there() -> None:
    good = [
        {**FIGURE, "hue": ["engine", "seed"]},
        {**FIGURE, "id": "b", "reduce_jobs": "each", "columns": "job"},
        {**FIGURE, "id": "b1", "reduce_jobs": "geometric-mean", "columns": "job_name"},
        {**FIGURE, "id": "b2", "reduce_jobs": "each", "columns": "job_name"},
        {**FIGURE, "id": "b3", "table": "interference", "y": "mls", "columns": "job_name"},
        {**FIGURE, "id": "c", "table": "links", "y": "busy_max_ns", "columns": "class"},
        {**FIGURE, "id": "d", "table": "agreement", "y": "ratio", "x": "pair"},
    ]
    figures = [Figure.model_validate(figure) for figure in good]
    KnownNames({"main": ["alpha", "engine"]}).check(figures, [claim(where={"alpha": 1})])


def test_columns_have_one_name_each_and_what_their_roles_need() -> None:
    for table, columns in TABLES.items():
        names = names_of(table)
        assert len(set(names)) == len(names), table
        assert all(one.type in ("count", "number", "any number") for one in columns if one.metric), table
        assert all(one.names is None or one.names in names for one in columns), table
        assert any(one.identity for one in columns), table


def test_every_table_that_holds_numbers_of_points_can_be_asked_for() -> None:
    assert set(METRICS) == set(KEYS) == set(NAMES) == set(TABLES) - CLAIM_TABLES
    assert all(METRICS.values())


def test_the_first_metric_of_a_table_is_what_readers_look_for() -> None:
    """The explorer starts with it."""
    assert {table: METRICS[table][0] for table in ("jobs", "interference", "machines", "agreement")} == {
        "jobs": "runtime_ns", "interference": "slowdown", "machines": "bisection_Bps", "agreement": "ratio",
    }  # fmt: skip


def test_no_axis_can_be_called_like_a_column() -> None:
    for table in TABLES.keys() - CLAIM_TABLES:
        of_schedule = table in SCHEDULE_TABLES
        for name in names_of(table):
            assert name in (RESERVED_BY_SCHEDULES if of_schedule else RESERVED)
            if name == "engine":
                continue
            sweep = {"sweep": {name: {"of": "order" if of_schedule else "routing", "values": ["fcfs"]}}}
            code, _ = refused(Schedule, {**SCHEDULE, **sweep}) if of_schedule else refused(Sweep, sweep)
            assert code == "invalid-name"


def test_statuses() -> None:
    assert set(STATUSES) > FINAL
    assert set(FAILURES) < set(STATUSES)


def test_the_grammar_needs_no_pandas() -> None:
    """The list of columns is plain data, so that reading a study stays fast."""
    code = "import sys, fabricstudy.study, fabricstudy.core.columns; sys.exit('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_numbers_with_a_unit_are_numbers() -> None:
    for columns in TABLES.values():
        for one in columns:
            assert one.unit is None or one.type in ("count", "number"), one.name
    assert column_unit("bytes") == "byte"


def test_units_of_columns() -> None:
    assert unit_factor("bisection_upper_Bps", "GB/s") == pytest.approx(1e-9)
    assert unit_factor("bytes", "MB") == pytest.approx(1e-6)
    assert unit_factor("cpu_s", "h") == pytest.approx(1 / 3600)
