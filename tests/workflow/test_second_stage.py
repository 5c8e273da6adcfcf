"""Seeds that depend on results, with real Snakemake: only what is needed is simulated, and nothing twice."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from fabricstudy.workflow.pipeline import load_pipelines
from fabricstudy.workflow.progress import Progress

from .conftest import TINY, Workplace

pytestmark = pytest.mark.slow
SCREEN = "screen: {with: flow, keep: 10 %, sample: 5}\n"


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


ANALYSIS = """\
  - id: c2
    statement: Routers are at most three hops apart.
    source: test
    parts:
      - statement: diameter
        measure: {kind: value, analysis: machines, metric: diameter}
        source_range: [3, 3]
analyses: {machines: {kind: topologies, families: {dragonfly: [{kind: dragonfly, groups: 3, routers_per_group: 2,
           nodes_per_router: 2, bandwidth: 1 GB/s}]}}}
"""


@pytest.mark.parametrize("small", [False, True])
def test_claims_may_rest_on_analyses_where_seeds_depend_on_claims(workplace: Workplace, small: bool) -> None:
    """Each stage as a rule, and all in one process."""
    workplace.small = small
    workplace.write_study(adaptive("{from: 2, to: 3, until: decided}") + ANALYSIS)
    workplace.run(*([] if small else ["--until", "table"]))
    claims = pd.read_parquet(workplace.folder / "results/tiny/tables/claims.parquet").set_index("claim")
    assert claims.loc["c2", "measured"] == 3
    assert set(seeds_of(workplace)) <= {2, 3}


def test_screened_combinations_are_simulated_with_the_seeds_they_need(workplace: Workplace) -> None:
    """The time falls with the bandwidth: of eight, a sample of five is simulated, and the fastest with all seeds.

    All in one process.
    """
    bandwidths = {f"{ratio}": f"{ratio} GB/s" for ratio in (0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6)}
    text = adaptive("{from: 2, to: 4, until: 50 %}").replace("{1: 1 GB/s, 2: 2 GB/s}", str(bandwidths))
    workplace.write_study(text.replace("[minimal, valiant]", "[minimal]").partition("claims:")[0] + SCREEN)
    workplace.small = True
    workplace.run()
    tables = workplace.folder / "results/tiny/tables"
    rows = pd.read_parquet(tables / "screening.parquet").set_index("alpha")["outcome"]
    points = pd.read_parquet(tables / "points.parquet")
    seeds = points[points["engine"] == "caminos"].groupby("alpha")["seed"].count()
    assert len(rows) == 8 and set(rows) == {"among the fastest", "sampled", "not simulated"}
    assert set(seeds.index) == set(rows.index[rows != "not simulated"]) and len(seeds) < 8
    assert set(seeds[rows[seeds.index] == "sampled"]) == {2} and rows["1.6"] == "among the fastest"
    assert workplace.started == seeds.sum()
    workplace.run()
    assert workplace.started == seeds.sum()
