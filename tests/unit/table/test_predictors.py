"""Rank correlations against scipy's and hand counts; which metric foretells the times of mappings; claims on both."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter
from scipy.stats import kendalltau, spearmanr

from fabricstudy.core.errors import ConfigError
from fabricstudy.report.summaries import predictor_summary as grid
from fabricstudy.study.claims import AnyMeasure
from fabricstudy.study.file import load_study
from fabricstudy.study.plan import Plan, plan
from fabricstudy.table.claims import Measurement, NotMeasurable, measure
from fabricstudy.table.collect import collect
from fabricstudy.table.files import Tables
from fabricstudy.table.predictors import PREDICTOR_COLUMNS
from fabricstudy.table.ranks import rank_correlation
from fabricstudy.table.select import observe

from .conftest import make_tables

MAPPINGS = [
    "linear",
    "random",
    "greedy",
    "orb",
    {"kind": "curve", "curve": "hilbert"},
    "recursive-bisection",
    "annealing",
]
STUDY: dict[str, Any] = {
    "study": "mapped",
    "machine": {"kind": "torus", "shape": [4, 4], "bandwidth": "1 GB/s"},
    "routing": {"kind": "dimension-order", "tie": "positive"},
    "jobs": [{"share": 1.0, "pattern": {"kind": "stencil", "dimensions": 2, "shape": [4, 4], "message": "1 kB"}}],
    "engine": "caminos",
    "sweep": {
        "size": {"of": "jobs.0.pattern.message", "values": {1: "1 kB", 2: "2 kB"}},
        "mapping": {"of": "jobs.0.mapping", "values": {str(i): one for i, one in enumerate(MAPPINGS)}},
    },
    "seeds": 2,
}  # fmt: skip
HOP_BYTES = [10, 30, 20, 40, 50, 60, 70]
LINK_MAX = [3, 1, 1, 2, 5, 5, 9]
TIMES = [3.0, 1.0, 2.0, 4.0, 5.0, 6.0, 7.0]


def planned(folder: Path, **changes: Any) -> Plan:
    """Plan the study with some keys replaced."""
    file = folder / "study.yaml"
    file.write_text(yaml.safe_dump({**STUDY, **changes}, sort_keys=False))
    return plan(load_study(file))


def collected(of: Plan, lost: int = 0, engine: str = "caminos") -> Tables:
    """Tables with times by hand, one for each mapping; the last `lost` mappings have failed."""
    records = []
    for row in of.rows:
        number = int(row.labels.get("mapping") or 0)
        job = {"job": 0, "ranks": 16, "nodes": 16, "messages": 64, "bytes": 64_000, "runtime_ns": TIMES[number],
               "bound_ns": 1.0, "bound_method": "paths", "hop_bytes": HOP_BYTES[number],
               "hops_max": -number % 7, "link_max_bytes": LINK_MAX[number], "link_rms_bytes": None}  # fmt: skip
        status = "failed" if number >= len(MAPPINGS) - lost else "done"
        records.append({"point_id": row.point_id, "engine": engine, "status": status, "reason": "lost",
                        "jobs": [job] if status == "done" else [], "links": []})  # fmt: skip
    return collect(of, records, [])


values = st.lists(st.sampled_from([0.0, 1.0, 2.5, 2.5 * (1 + 1e-14), -3.0, 1e9]), min_size=2, max_size=30)


@settings(max_examples=80, deadline=None)
@given(st.data(), values)
def test_rank_correlations_are_those_of_scipy(data: st.DataObject, one: list[float]) -> None:
    other = data.draw(st.lists(st.integers(0, 6), min_size=len(one), max_size=len(one)))
    # What differs in the last digits only is equal.
    exact = np.round(one, 6)
    with np.errstate(all="ignore"):
        constant = len(set(exact)) == 1 or len(set(other)) == 1
        expected = (np.nan, np.nan) if constant else (spearmanr(exact, other)[0], kendalltau(exact, other)[0])
    found = (rank_correlation("spearman", one, other), rank_correlation("kendall", one, other))
    assert found == pytest.approx(expected, nan_ok=True, abs=1e-12)


def test_rank_correlations_counted_by_hand() -> None:
    """Of ten pairs 8 are in order, 1 is not and 1 is tied on one side; ranks differ by 0, 0.5, 0.5, 1, 1."""
    one, other = [1, 2, 3, 4, 5], [1, 2, 2, 5, 4]
    assert rank_correlation("kendall", one, other) == pytest.approx((8 - 1) / np.sqrt(10 * 9))
    assert rank_correlation("kendall", one, one[::-1]) == rank_correlation("spearman", one, one[::-1]) == -1
    assert np.isnan(rank_correlation("kendall", one, [2] * 5)) and np.isnan(rank_correlation("spearman", [2] * 5, one))


def test_a_group_differs_in_the_mapping_alone(tmp_path: Path) -> None:
    tables = collected(planned(tmp_path))
    rows = tables.predictors
    assert len(rows) == 2 * 2 * len(PREDICTOR_COLUMNS)
    assert "mapping" not in rows and list(rows.columns[:3]) == ["experiment", "size", "seed"]
    assert set(rows["routing_kind"]) == {"dimension-order"}
    assert (rows["mappings_planned"] == 7).all()
    one = rows[(rows["size"] == 1) & (rows["seed"] == 1)].set_index("metric")
    assert one.loc["hop_bytes", "spearman"] == pytest.approx(spearmanr(HOP_BYTES, TIMES)[0])
    assert one.loc["link_max_bytes", "kendall"] == pytest.approx(kendalltau(LINK_MAX, TIMES)[0])
    # The least hop-bytes take 3 where 1 is possible; of the two fullest links that are least one takes 1, the other 2.
    assert one.loc["hop_bytes", "regret"] == 2.0
    assert one.loc["link_max_bytes", "regret"] == 0.5


def test_what_cannot_be_put_in_order_is_missing_not_nothing(tmp_path: Path) -> None:
    rows: Any = collected(planned(tmp_path)).predictors.set_index("metric")
    assert rows.loc["bound_ns", ["spearman", "kendall"]].isna().all(axis=None)
    # All have the same bound: whichever is chosen takes 4 on average.
    assert (rows.loc["bound_ns", "regret"] == 3.0).all()
    assert (rows.loc["link_rms_bytes", "mappings"] == 0).all()
    assert rows.loc["link_rms_bytes", ["spearman", "kendall", "regret"]].isna().all(axis=None)


def test_failed_mappings_are_counted_and_five_are_too_few(tmp_path: Path) -> None:
    of = planned(tmp_path)
    found: list[Any] = [collected(of, lost).predictors.set_index("metric") for lost in (1, 2)]
    six, five = (rows.loc["hop_bytes"] for rows in found)
    assert set(zip(six["mappings"], six["mappings_planned"], strict=True)) == {(6, 7)}
    assert six["spearman"].notna().all() and five[["spearman", "kendall"]].isna().all(axis=None)
    assert (five["mappings"] == 5).all() and (five["regret"] == 2.0).all()


def test_experiments_without_several_mappings_have_no_rows(tmp_path: Path) -> None:
    sweep = {"mapping": {"set": {"a": {"jobs.0.mapping": "linear", "jobs.0.pattern.message": "2 kB"},
                                 "b": {"jobs.0.mapping": "random"}}}}  # fmt: skip
    of = planned(tmp_path, sweep=sweep)
    tables = collect(of, [], [])
    assert tables.predictors.empty and "mapping" in tables.predictors
    experiments = {"one": {"sweep": STUDY["sweep"]}, "two": {"sweep": {"size": STUDY["sweep"]["size"]}}}
    study = {name: value for name, value in STUDY.items() if name not in ("sweep", "seeds")}
    file = tmp_path / "two.yaml"
    file.write_text(yaml.safe_dump({**study, "experiments": experiments}, sort_keys=False))
    assert set(collected(plan(load_study(file))).predictors["experiment"]) == {"one"}


def test_the_page_sums_up_the_groups(tmp_path: Path) -> None:
    found = grid(collected(planned(tmp_path), lost=1))
    first = dict(zip(found.head[:8], found.rows[0][:8], strict=True))
    assert first["metric"] == "hop_bytes" and first["groups"] == "4" and first["seeds"] == "2"
    assert first["mappings"] == "6 of 7"
    assert [row[3] for row in found.rows] == list(PREDICTOR_COLUMNS)


def refused(folder: Path, **changes: Any) -> tuple[str, str | None]:
    """Code and path of the mistake."""
    with pytest.raises(ConfigError) as caught:
        planned(folder, **changes)
    return caught.value.code, caught.value.path


def claim(**asked: Any) -> list[dict[str, Any]]:
    """A claim of one part."""
    parts = [{"statement": "a number", "measure": asked, "source_range": [0, None]}]
    return [{"id": "1", "statement": "something", "source": "somebody", "parts": parts}]


CORRELATION = {"kind": "correlation", "metric": "hop_bytes", "against": "runtime_ns"}


@pytest.mark.parametrize(
    ("asked", "code", "path"),
    [
        ({**CORRELATION, "against": "time"}, "unknown-name", ""),
        ({**CORRELATION, "against": "hop_bytes"}, "duplicate", ".against"),
        ({**CORRELATION, "form": "pearson"}, "unknown-value", ".form"),
        ({**CORRELATION, "over": "colour"}, "unknown-name", ""),
        ({"kind": "value", "table": "predictors", "metric": "spearman", "where": {"mapping": 1}}, "unknown-name", ""),
    ],
)
def test_correlations_that_cannot_be(tmp_path: Path, asked: dict[str, Any], code: str, path: str) -> None:
    planned(tmp_path, claims=claim(**CORRELATION, over="mapping"))
    assert refused(tmp_path, claims=claim(**asked)) == (code, f"claims.0.parts.0.measure{path}")


def measured(tables: Tables, **asked: Any) -> Measurement:
    """Compute a measure given as in a study file."""
    return measure(TypeAdapter(AnyMeasure).validate_python(asked), tables)


def numbers(**columns: Any) -> Tables:
    """Tables of jobs with these numbers, at so many labels of an axis `x`; scalars stand for all."""
    rows: list[Any] = pd.DataFrame(columns).to_dict("records")
    return make_tables([{"messages": 2, **row} for row in rows])


def test_a_correlation_takes_medians_over_seeds_and_counts_its_rows() -> None:
    x = np.tile(np.arange(6), 3)
    seed = np.repeat([1, 2, 3], 6)
    hops = np.where(seed == 3, 100 - x, x)
    found = measured(numbers(x=x, seed=seed, hop_bytes=hops, runtime_ns=1.0 + x), **CORRELATION)
    # The medians over seeds grow with the time; the third seed by itself falls.
    assert (found.value, found.low, found.high) == (1.0, -1.0, 1.0)
    assert (found.points, found.seeds, found.pairs, found.pairs_planned) == (18, 3, 6, 6)


def test_a_correlation_over_an_axis_is_one_number_a_group_of_which_the_least_counts() -> None:
    x, graph = np.tile(np.arange(7), 3), np.repeat(["a", "b", "c"], 7)
    up = 1.0 + np.array([0, 1, 2, 3, 4, 5, 6])
    times = np.concatenate([up, up[::-1], up])
    hops = np.concatenate([up, up, np.full(7, 5.0)])
    tables = numbers(x=x, graph=graph, hop_bytes=hops, runtime_ns=times)
    found = measured(tables, **CORRELATION, over="x")
    # The third group is constant and has no number.
    assert (found.value, found.at_labels, found.pairs, found.pairs_planned) == (-1.0, "graph b", 14, 21)
    assert measured(tables, **CORRELATION, over="x", reduce="max").value == 1.0
    together = measured(tables, **CORRELATION, form="kendall")
    assert together.value == pytest.approx(kendalltau(hops, times)[0]) and together.pairs == 21


@pytest.mark.parametrize(
    "columns",
    [
        {"x": np.arange(5), "hop_bytes": np.arange(5), "runtime_ns": 1.0 + np.arange(5)},
        {"x": np.arange(8), "hop_bytes": np.full(8, 3), "runtime_ns": 1.0 + np.arange(8)},
        {"x": np.arange(8), "hop_bytes": [np.nan, *range(7)], "runtime_ns": 1.0 + np.arange(8)},
    ],
    ids=["too few", "constant", "without a number"],
)
def test_a_correlation_that_cannot_be_had_is_not_run(columns: dict[str, Any]) -> None:
    with pytest.raises(NotMeasurable):
        measured(numbers(**columns), **CORRELATION)


def test_claims_and_figures_read_the_table(tmp_path: Path) -> None:
    value = {"kind": "value", "table": "predictors", "metric": "spearman", "reduce": "min"}
    tables = collected(planned(tmp_path))
    found = measured(tables, **value, where={"metric": "hop_bytes", "size": 2})
    assert found.value == pytest.approx(spearmanr(HOP_BYTES, TIMES)[0]) and found.seeds == 2
    with pytest.raises(NotMeasurable, match="2 of 4 rows missing"):
        measured(tables, **value, where={"metric": ["hop_bytes", "bound_ns"], "size": 2})
    contrast = {"kind": "contrast", "of": {"metric": "hop_bytes"}, "against": {"metric": "link_max_bytes"}}
    assert measured(tables, table="predictors", metric="regret", **contrast).value == 4.0
    study = planned(tmp_path, figures=[{"id": "a", "kind": "bar", "title": "A", "table": "predictors", "x": "metric",
                                        "y": "spearman", "hue": "size"}]).study  # fmt: skip
    assert observe(tables, study.figures[0], "regret").noun == "rows"
