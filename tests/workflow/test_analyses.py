"""A study of analyses alone, with real Snakemake and without any simulator."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from fabricstudy.core.bundled_files import CONFIGS

from .conftest import Workplace

pytestmark = pytest.mark.slow

STUDY = """\
study: alone
extensions: [printed.py]
analyses:
  p: {kind: partitions, machines: {Mira: mira}, allowed: mira}
  i: {kind: printed, tables: {t: {a: {1: 2}}}}
figures:
  - {id: f, kind: line, title: Bisection, analysis: p, x: blocks, y: bisection_links, hue: choice}
claims:
  - {id: c, statement: No set breaks the bound., source: test, parts: [{statement: least ratio, source_range: [1, null],
     measure: {kind: value, analysis: i, metric: number, reduce: min}}]}
"""


def test_it_runs_and_only_what_changed_runs_again(tmp_path: Path) -> None:
    place = Workplace(tmp_path, "none")
    shutil.copy(CONFIGS / "extensions/printed.py", tmp_path)
    place.write_study(STUDY, "alone.yaml")
    place.run(study="alone.yaml")
    assert place.table("analysis-p", "alone").count("\n") == 31
    assert "reproduced" in place.table("claims", "alone")
    assert "<svg" in (tmp_path / "reports/alone/figures/f.svg").read_text()

    place.write_study(STUDY.replace("{a: {1: 2}}", "{a: {1: 2}, b: {1: 3}}"), "alone.yaml")
    said = place.run("--until", "table", study="alone.yaml")
    assert said.count("Computing the analysis i of alone") == 1 and "Computing the analysis p" not in said
    assert "t,b," in place.table("analysis-i", "alone")
