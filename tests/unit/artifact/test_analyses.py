"""A study of analyses alone: nothing was simulated, and it is an artifact all the same."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from fabricstudy.artifact.compare import compare
from fabricstudy.artifact.completed_study import CompletedStudy, load_completed_study
from fabricstudy.artifact.pack import pack
from fabricstudy.core.bundled_files import CONFIGS
from fabricstudy.core.checkout import checkout
from fabricstudy.report.page import write_report
from fabricstudy.study.file import load_study
from fabricstudy.study.plan import plan
from fabricstudy.study.plan_file import write_plan
from fabricstudy.table.collect import collect
from fabricstudy.table.files import read_tables, write_tables
from fabricstudy.table.schemas import validated_analysis

STUDY = {
    "study": "small-tori",
    "extensions": ["isoperimetry.py"],
    "analyses": {"squares": {"kind": "isoperimetry", "shapes": [[3, 3], [4, 4]], "exact": True}},
    "figures": [
        {"id": "bound", "title": "Bound", "kind": "line", "analysis": "squares", "x": "size", "y": "exact_over_bound"}
    ],
}


@pytest.fixture
def ran(tmp_path: Path) -> CompletedStudy:
    """It ran in a folder called old."""
    base = tmp_path / "old"
    base.mkdir()
    file = base / "small-tori.yaml"
    file.write_text(yaml.safe_dump(STUDY))
    shutil.copy(CONFIGS / "extensions/isoperimetry.py", base)
    study = load_study(file)
    planned = plan(study)
    tables = collect(
        planned, [], [], {name: validated_analysis(one, one.rows()) for name, one in study.analyses.items()}
    )
    write_plan(planned, base / "results/small-tori", lambda one: {})
    write_tables(tables, base / "results/small-tori/tables")
    write_report(planned, tables, file.read_bytes(), str(file), base / "reports/small-tori")
    return load_completed_study(file, base, [], [], [base / "results/small-tori/tables/analysis-squares.parquet"])


def test_it_is_packed_with_its_rows_and_says_that_nothing_was_simulated(ran: CompletedStudy, tmp_path: Path) -> None:
    pack(ran, checkout(), tmp_path / "out.tar.gz")
    shutil.unpack_archive(tmp_path / "out.tar.gz", tmp_path)
    unpacked = tmp_path / "small-tori-artifact"
    assert (unpacked / "results/small-tori/tables/analysis-squares.parquet").is_file()
    assert "results/small-tori/tables/analysis-squares.csv" in (unpacked / "APPENDIX.md").read_text()
    graph = {
        entity["@id"]: entity for entity in json.loads((unpacked / "ro-crate-metadata.json").read_text())["@graph"]
    }
    assert graph["#run"]["description"] == "1 analyses, no simulations."


def test_a_value_of_an_analysis_that_differs_is_found_by_its_row(ran: CompletedStudy, tmp_path: Path) -> None:
    shutil.copytree(ran.outputs.base, tmp_path / "new")
    assert compare(ran.outputs.base, tmp_path / "new").agrees
    folder = tmp_path / "new/results/small-tori/tables"
    tables = read_tables(folder)
    changed = tables.analyses["squares"].copy()
    changed["bound"] *= np.where(changed.index == 0, 1.001, 1.0)
    write_tables(replace(tables, analyses={"squares": changed}), folder)
    found = compare(ran.outputs.base, tmp_path / "new").tables["analysis-squares"]
    (one,) = found.differing.to_dict("records")
    assert (one["row"], one["column"]) == ("graph torus, shape 3x3, size 1", "bound")
    assert not found.missing and not found.extra


def test_the_rows_of_an_analysis_that_only_one_run_has_are_missing(ran: CompletedStudy, tmp_path: Path) -> None:
    shutil.copytree(ran.outputs.base, tmp_path / "new")
    for path in (tmp_path / "new/results/small-tori/tables").glob("analysis-*"):
        path.unlink()
    found = compare(ran.outputs.base, tmp_path / "new")
    assert found.tables["analysis-squares"].missing and not found.agrees
