"""Seeds that depend on results, with real Snakemake: only what is needed is simulated, and nothing twice."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from fabricstudy.workflow.pipeline import load_pipelines
from fabricstudy.workflow.progress import Progress

from .conftest import TINY, Workplace

pytestmark = pytest.mark.slow


def adaptive(seeds: str) -> str:
    return TINY.replace("seeds: 2", f"seeds: {seeds}")


def seeds_of(place: Workplace) -> pd.Series[int]:
    points = pd.read_parquet(place.folder / "results/tiny/tables/points.parquet")
    return points.groupby(["alpha", "routing"])["seed"].max()


def test_only_the_seeds_that_are_needed_are_simulated_once(
    workplace: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    workplace.write_study(adaptive("{from: 3, to: 6, until: 8 %}"))
    workplace.run("--until", "table")
    rows = pd.read_parquet(workplace.folder / "results/tiny/tables/repetitions.parquet")
    assert workplace.started == rows["seeds"].sum() == seeds_of(workplace).sum()
    assert rows["seeds"].min() < rows["seeds"].max()
    assert (rows["half_width"][rows["outcome"] == "precise"] <= 0.08 + 1e-9).all()

    monkeypatch.chdir(workplace.folder)
    status = Progress(load_pipelines("tiny.yaml")["tiny"], Path("results")).poll()
    assert (status["done"], status["points"], status["left"]) == (rows["seeds"].sum(), rows["seeds"].sum(), 0)

    assert status["decided"] == status["combinations"] == len(rows)

    before, started = seeds_of(workplace), workplace.started
    workplace.write_study(adaptive("{from: 3, to: 6, until: 12 %}"))
    workplace.run("--until", "table")
    assert workplace.started == started, "a wider interval needs no further seed"
    assert (seeds_of(workplace) <= before).all()
