"""What the grammar of figures and claims refuses."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError
from tests.schedules import SCHEDULE

from fabricstudy.columns import (
    FAILURES,
    FINAL,
    JUDGED,
    KEYS,
    METRICS,
    NAMES,
    RESERVED,
    RESERVED_BY_SCHEDULES,
    SCHEDULED,
    STATUSES,
    TABLES,
    column_unit,
    names_of,
)
from fabricstudy.errors import StudyError
from fabricstudy.study.claims import AnyMeasure, Claim, check_names
from fabricstudy.study.figures import Figure, unit_factor
from fabricstudy.study.schedules import Schedule
from fabricstudy.study.sweep import Sweep, Varied

FIGURE = {"id": "a", "kind": "line", "title": "A", "x": "alpha", "y": "runtime_ns"}
VALUE = {"kind": "value", "metric": "runtime_ns"}
PAIR = {**VALUE, "kind": "contrast", "of": {"a": 1}, "against": {"a": 2}}
READER: TypeAdapter[Any] = TypeAdapter(AnyMeasure)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"y": "runtime"}, "table jobs has no number 'runtime'; take one of runtime_ns"),
        ({"table": "machines"}, "table machines has no number 'runtime_ns'"),
        ({"unit": "GB"}, "unit"),
        ({"y": "slowdown", "unit": "ms"}, "has no unit"),
        ({"unit": "ms", "normalise_to": {"alpha": 1}}, "have no unit"),
        ({"show_bound": True, "y": "rate_Bps"}, "needs y: runtime_ns"),
        ({"show_bound": True, "kind": "bar"}, "cannot be drawn in kind bar"),
        ({"show_bound": True, "normalise_to": {"alpha": 1}}, "exclude each other"),
        ({"interval": ["bound_ns", "runtime_ns"], "kind": "box"}, "interval cannot be drawn"),
        ({"style": "routing", "kind": "bar"}, "style cannot be drawn"),
        ({"id": "../a"}, "id"),
        ({"where": {"alpha": {"min": 3, "max": 1}}}, "swap them"),
        ({"where": {"alpha": {}}}, "empty range"),
        ({"where": {"alpha": []}}, "alpha"),
        ({"colour": "alpha"}, "colour"),
    ],
)
def test_figures_that_cannot_be(change: dict[str, Any], says: str) -> None:
    Figure.model_validate(FIGURE)
    with pytest.raises(ValidationError) as caught:
        Figure.model_validate({**FIGURE, **change})
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("measure", "says"),
    [
        ({**VALUE, "metric": "time"}, "has no number 'time'"),
        ({**PAIR, "against": {"b": 2}}, "name different axes"),
        ({**PAIR, "of": {}}, "of"),
        ({**PAIR, "against": {"a": [1, 2]}}, "against"),
        ({**PAIR, "where": {"a": 1}}, "'a' stands in `where` and in another key"),
        ({**PAIR, "kind": "trend", "along": {"a": [1, 2]}}, "'a' stands in `along`"),
        ({**PAIR, "kind": "trend", "along": {"b": [1, 2], "c": [1, 2]}}, "along"),
        ({**VALUE, "kind": "spread", "over": []}, "over"),
        ({**VALUE, "kind": "average"}, "average"),
        ({"kind": "quotient", "of": VALUE, "against": {"kind": "quotient", "of": VALUE, "against": VALUE}}, "quotient"),
    ],
)
def test_measures_that_cannot_be(measure: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError) as caught:
        READER.validate_python(measure)
    assert says in str(caught.value)


@pytest.mark.parametrize("expect", [[None, None], [2, 1], [0, float("nan")], [0]])
def test_expectations_that_cannot_be(expect: list[Any]) -> None:
    part = {"says": "x", "measure": VALUE, "expect": expect}
    with pytest.raises(ValidationError):
        Claim.model_validate({"id": "1", "says": "x", "source": "y", "parts": [part]})


def test_a_claim_without_parts_says_why() -> None:
    with pytest.raises(ValidationError, match="say why in `note`"):
        Claim.model_validate({"id": "1", "says": "x", "source": "y"})


def claim(**measure: Any) -> Claim:
    """A claim with one value."""
    part = {"says": "x", "measure": {**VALUE, **measure}, "expect": [0, 1]}
    return Claim.model_validate({"id": "1", "says": "x", "source": "y", "parts": [part]})


@pytest.mark.parametrize(
    ("figures", "claims", "path"),
    [
        ([FIGURE, FIGURE], [], "figures.1.id"),
        ([{**FIGURE, "experiment": "other"}], [], "figures.0.experiment"),
        ([{**FIGURE, "hue": "beta"}], [], "figures.0"),
        ([{**FIGURE, "columns": "job"}], [], "figures.0"),
        ([{**FIGURE, "columns": "job_name"}], [], "figures.0"),
        ([{**FIGURE, "table": "agreement", "y": "ratio", "hue": "engine"}], [], "figures.0"),
        ([], [claim(where={"beta": 1})], "claims.0.parts.0.measure"),
        ([], [claim(), claim()], "claims.1.id"),
    ],
)
def test_names_that_are_not_there(figures: list[dict[str, Any]], claims: list[Claim], path: str) -> None:
    with pytest.raises(StudyError) as caught:
        check_names([Figure.model_validate(figure) for figure in figures], claims, {"main": ["alpha", "engine"]})
    assert caught.value.path == path


def test_names_that_are_there() -> None:
    good = [
        {**FIGURE, "hue": ["engine", "seed"]},
        {**FIGURE, "id": "b", "over_jobs": "each", "columns": "job"},
        {**FIGURE, "id": "b2", "over_jobs": "each", "columns": "job_name"},
        {**FIGURE, "id": "b3", "table": "interference", "y": "mls", "columns": "job_name"},
        {**FIGURE, "id": "c", "table": "links", "y": "busy_max_ns", "columns": "class"},
        {**FIGURE, "id": "d", "table": "agreement", "y": "ratio", "x": "pair"},
    ]
    check_names(
        [Figure.model_validate(figure) for figure in good], [claim(where={"alpha": 1})], {"main": ["alpha", "engine"]}
    )


def test_columns_have_one_name_each_and_what_their_roles_need() -> None:
    for table, columns in TABLES.items():
        names = names_of(table)
        assert len(set(names)) == len(names), table
        assert all(one.type in ("count", "number") for one in columns if one.metric), table
        assert all(one.names is None or one.names in names for one in columns), table
        assert any(one.identity for one in columns), table


def test_every_table_that_holds_numbers_of_points_can_be_asked_for() -> None:
    assert set(METRICS) == set(KEYS) == set(NAMES) == set(TABLES) - JUDGED
    assert all(METRICS.values())


def test_the_first_metric_of_a_table_is_what_readers_look_for() -> None:
    """The explorer starts with it."""
    assert {table: METRICS[table][0] for table in ("jobs", "interference", "machines", "agreement")} == {
        "jobs": "runtime_ns", "interference": "slowdown", "machines": "bisection_Bps", "agreement": "ratio",
    }  # fmt: skip


def test_no_axis_can_be_called_like_a_column() -> None:
    for table in TABLES.keys() - JUDGED:
        for name in names_of(table):
            assert name in (RESERVED_BY_SCHEDULES if table in SCHEDULED else RESERVED)
            if name == "engine":
                continue
            with pytest.raises(ValidationError):
                _sweep(name, table in SCHEDULED)


def _sweep(name: str, of_schedule: bool) -> Varied:
    sweep = {"sweep": {name: {"of": "order" if of_schedule else "routing", "values": ["fcfs"]}}}
    return Schedule.model_validate({**SCHEDULE, **sweep}) if of_schedule else Sweep.model_validate(sweep)


def test_statuses() -> None:
    assert set(STATUSES) > FINAL
    assert set(FAILURES) < set(STATUSES)


def test_the_grammar_needs_no_pandas() -> None:
    """The list of columns is plain data, so that reading a study stays fast."""
    code = "import sys, fabricstudy.study, fabricstudy.columns; sys.exit('pandas' in sys.modules)"
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
