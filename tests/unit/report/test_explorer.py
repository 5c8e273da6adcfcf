"""The data of the explorer are those of the tables, small, and safe inside a script element."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from fabricstudy.report import explorer as explorer_module
from fabricstudy.report.explorer import explorer
from fabricstudy.table.files import Tables

from .conftest import HOSTILE, Case

Make = Callable[..., Case]


def data_of(tables: Tables, **room: int) -> dict[str, Any]:
    """The explorer's data as its script reads them."""
    made = explorer(tables, **room)
    assert made is not None
    found: dict[str, Any] = json.loads(made.data)
    return found


def frame_of(table: dict[str, Any]) -> pd.DataFrame:
    """One table of the data with labels instead of codes."""
    axes = {axis["name"]: [axis["labels"][code] for code in axis["codes"]] for axis in table["axes"]}
    return pd.DataFrame(axes | {metric["name"]: metric["values"] for metric in table["metrics"]})


@pytest.mark.parametrize("value, text", [(34604321.0, "34604000"), (1.35171875, "1.3517"), (math.nan, "null")])
def test_numbers_have_five_digits(value: float, text: str) -> None:
    rows = pd.DataFrame({"seed": [1], "runtime_ns": [value]})
    source = explorer_module._Source("jobs", rows, ["seed"], ["runtime_ns"])
    assert f'"values":[{text}]' in explorer_module._table(source)


def test_every_row_stands_in_the_data_with_its_labels(make: Make) -> None:
    jobs = make().tables.jobs
    found = frame_of(data_of(make().tables)["jobs"])
    for column in ("experiment", "alpha", "routing", "message", "seed", "job"):
        assert list(found[column]) == list(jobs[column])
    assert list(found["runtime_ns"]) == pytest.approx(list(jobs["runtime_ns"]), rel=1e-4)
    assert "slowdown" not in found  # nothing was run alone


def test_numbers_are_numeric_axes_in_order_and_texts_keep_the_order_of_the_study(make: Make) -> None:
    axes = {axis["name"]: axis for axis in data_of(make().tables)["jobs"]["axes"]}
    assert axes["alpha"]["numeric"] and axes["alpha"]["labels"] == [0.5, 2]
    assert not axes["message"]["numeric"] and axes["message"]["labels"] == [HOSTILE, "large"]


def test_machines_of_two_experiments_are_told_apart(make: Make) -> None:
    """Their axes are the same, and no machine is common to both."""
    tables = make().tables
    small = tables.points.assign(experiment="small")
    large = tables.points.assign(experiment="large", machine_id=tables.points["machine_id"] + "L")
    machines = pd.concat([tables.machines, tables.machines.assign(machine_id=tables.machines["machine_id"] + "L")])
    tables = replace(tables, points=pd.concat([small, large]), machines=machines)
    found = frame_of(data_of(tables)["machines"])
    assert list(found["experiment"]) == ["small", "small", "large", "large"]
    assert not found.duplicated(["experiment", "alpha"]).any()


def test_points_that_are_not_done_are_not_drawn(make: Make) -> None:
    assert data_of(make(lost=3).tables)["points"]["rows"] == 21


def test_no_label_ends_the_script_element(make: Make) -> None:
    made = explorer(make().tables)
    assert made is not None
    assert "<" not in made.data
    assert "</script" not in made.libraries + made.code


def test_too_many_rows_become_medians_over_seeds(make: Make) -> None:
    tables = make().tables
    tables = replace(tables, points=tables.points[:0], machines=tables.machines[:0])
    full = explorer(tables)
    assert full is not None and not full.reduced
    made = explorer(tables, len(full.data) - 1)
    assert made is not None and (made.reduced, made.left_out) == (["jobs"], [])
    medians = frame_of(json.loads(made.data)["jobs"])
    keys = ["alpha", "routing", "message"]
    expected = tables.jobs.groupby(keys, sort=False)["runtime_ns"].median()
    assert list(medians.set_index(keys)["runtime_ns"]) == pytest.approx(list(expected), rel=1e-4)


def test_what_is_still_too_large_is_left_out_and_said(make: Make) -> None:
    case = make()
    made = explorer(case.tables, 1000)
    assert made is not None
    assert (made.left_out, set(json.loads(made.data))) == (["jobs", "machines"], {"points"})
    assert len(made.data) <= 1000


def test_nothing_done_gives_no_explorer(make: Make) -> None:
    tables = make(lost=24).tables
    assert explorer(replace(tables, machines=tables.machines[:0])) is None


def test_the_scripts_are_bundled_once_and_a_cache_that_cannot_be_written_does_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundled: list[str] = []

    def bundle(text: str) -> str:
        bundled.append(text)
        return "vega </script>"

    monkeypatch.setattr("vl_convert.javascript_bundle", bundle)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first = explorer_module._libraries()
    assert explorer_module._libraries() == first and len(bundled) == 1
    assert "</script" not in first
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert explorer_module._libraries() == first and len(bundled) == 2
