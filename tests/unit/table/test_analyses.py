"""Rows of analyses as tables: types, files, figures' and claims' numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from fabricstudy.core.errors import ConfigError
from fabricstudy.report.page import render, write_report
from fabricstudy.study.claims import Claim
from fabricstudy.study.figures import Figure
from fabricstudy.study.file import validate_study
from fabricstudy.study.plan import Plan, plan
from fabricstudy.table.claims import judge
from fabricstudy.table.collect import collect
from fabricstudy.table.files import Tables, read_tables, write_tables
from fabricstudy.table.schemas import validated_analysis
from fabricstudy.table.select import observe

FIGURE = {"id": "f", "kind": "line", "title": "t", "analysis": "p", "x": "blocks", "y": "gain", "hue": "choice"}
STUDY: dict[str, Any] = {
    "study": "alone",
    "analyses": {"p": {"kind": "partitions", "machines": {"M": "mira"}}},
    "figures": [FIGURE],
}


def row(blocks: int, choice: str, geometry: str, links: float, gain: float | None = 1.0) -> dict[str, Any]:
    names = ("nodes", "longest", "bisection_Bps", "links_per_node", "crossing_per_link", "geometries", "misordered")
    other = dict.fromkeys((*names, "exchange_ns"))
    return {"machine": "M", "blocks": blocks, "choice": choice, "geometry": geometry, "bisection_links": links,
            "gain": gain, **other}  # fmt: skip


ROWS = [
    row(4, "best", "2x2", 512), row(4, "worst", "4x1", 256, 2), row(8, "best", "2x2x2", 1024),
    row(8, "worst", "4x2", 512, 2), row(1, "best", "1x1", 1 / 3, None),
]  # fmt: skip


@pytest.fixture
def planned() -> Plan:
    return plan(validate_study(STUDY))


@pytest.fixture
def tables(planned: Plan) -> Tables:
    return collect(planned, [], [], {"p": validated_analysis(planned.study.analyses["p"], ROWS)})


def test_types_and_files(tables: Tables, tmp_path: Path) -> None:
    frame = tables.analyses["p"]
    assert list(frame)[:5] == ["kind", "machine", "blocks", "choice", "geometry"]
    assert frame["bisection_links"].dtype == float and set(frame["kind"]) == {"partitions"}
    write_tables(tables, tmp_path)
    again = read_tables(tmp_path)
    pd.testing.assert_frame_equal(again.analyses["p"], frame, check_dtype=False)
    assert len(again.points) == 0
    assert (tmp_path / "analysis-p.csv").read_text().count("\n") == len(ROWS) + 1


@pytest.mark.parametrize(
    ("column", "value", "code"), [("gain", "large", "wrong-type"), ("choice", None, "missing-key")]
)
def test_a_row_that_is_none_is_refused(planned: Plan, column: str, value: object, code: str) -> None:
    with pytest.raises(ConfigError) as caught:
        validated_analysis(planned.study.analyses["p"], [{**ROWS[0], column: value}])
    assert (caught.value.path, caught.value.code) == (f"partitions.{column}", code)


def test_a_figure_leaves_out_rows_without_the_number(tables: Tables) -> None:
    seen = observe(tables, Figure.model_validate(FIGURE), "gain")
    assert seen.noun == "rows" and seen.needed == 4 and not seen.gap()
    assert seen.keys == ["machine", "blocks", "choice"]


def judged(tables: Tables, measure: dict[str, Any], expect: list[float]) -> dict[str, Any]:
    part = {"statement": "x", "source_range": expect, "measure": {"analysis": "p", **measure}}
    claim = Claim.model_validate({"id": "c", "statement": "s", "source": "o", "parts": [part]})
    found: Any = judge([claim], tables).iloc[0].to_dict()
    assert isinstance(found, dict)
    return found


def test_values_and_pairs(tables: Tables) -> None:
    ratio = {"kind": "contrast", "metric": "bisection_links", "of": {"choice": "best"}, "against": {"choice": "worst"}}
    found = judged(tables, ratio, [2, 2])
    assert (found["measured"], found["verdict"], found["at_labels"]) == (2, "reproduced", "blocks 4")
    # A condition on a number selects rows; it does not tell the two sides of a pair apart.
    assert judged(tables, {**ratio, "where": {"gain": {"min": 1}}}, [2, 2])["measured"] == 2
    least = {"kind": "value", "metric": "bisection_links", "reduce": "min", "where": {"geometry": ["4x1", "4x2"]}}
    assert judged(tables, least, [0, 1])["measured"] == 256
    grown = {"kind": "trend", "metric": "bisection_links", "of": {"choice": "best"}, "against": {"choice": "worst"},
             "along": {"blocks": [4, 8]}}  # fmt: skip
    assert judged(tables, grown, [1, 1])["measured"] == 1
    assert judged(tables, {**least, "where": {"geometry": "9"}}, [0, 1])["verdict"] == "not run"


PRINTED = [[4, "2x2", 512], [8, "2x2x2", 1024], [1, "1x1", 0.333333333333]]


@pytest.mark.parametrize(
    ("rows", "differing", "told"),
    [
        (PRINTED, 0, None),
        (PRINTED[::-1], 0, None),
        (PRINTED[:2], 1, "only computed: 1, 1x1, 0.333333333"),
        ([*PRINTED, [9, "3x3", 768]], 1, "only printed: 9, 3x3, 768"),
        ([PRINTED[0], *PRINTED], 1, "only printed: 4, 2x2, 512"),
        (
            [PRINTED[0], [8, "2x2x2", 1025], PRINTED[2]],
            1,
            "only printed: 8, 2x2x2, 1025; only computed: 8, 2x2x2, 1024",
        ),
        ([[4, "2x2", 511], [8, "8x1", 1024], PRINTED[2]], 2, "only printed: 4, 2x2, 511; only computed: 4, 2x2, 512"),
    ],
)
def test_a_printed_table_is_compared_row_by_row(
    tables: Tables, rows: list[Any], differing: int, told: str | None
) -> None:
    measure = {"kind": "rows", "where": {"choice": "best"}, "columns": ["blocks", "geometry", "bisection_links"]}
    found = judged(tables, {**measure, "rows": rows}, [0, 0])
    assert found["measured"] == differing
    assert found["verdict"] == ("differs" if differing else "reproduced")
    assert found["at_labels"] == told or (told is None and pd.isna(found["at_labels"]))


def test_rows_of_an_analysis_that_was_not_made(planned: Plan) -> None:
    measure = {"kind": "rows", "columns": ["blocks"], "rows": [[1]]}
    found = judged(collect(planned, [], []), measure, [0, 0])
    assert found["verdict"] == "not run"


def test_the_page_says_that_nothing_was_simulated(planned: Plan, tables: Tables, tmp_path: Path) -> None:
    write_report(planned, tables, b"study: alone", "alone.yaml", tmp_path)
    page = (tmp_path / "index.html").read_text()
    assert "No simulations" in page and 'id="analyses"' in page and "2x2x2" in page
    assert not any(f'id="{name}"' in page for name in ("machines", "bounds", "agreement", "failures"))
    assert 'src="data:image/svg' in page and "simulations done" not in page
    assert render(planned, tables, [], b"study: alone", "alone.yaml").count("</html>") == 1
