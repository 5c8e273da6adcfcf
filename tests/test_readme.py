"""What the README and the page on studies say of studies holds."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from fabricstudy.study.file import load_study
from fabricstudy.study.plan import plan

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()
STUDIES = (ROOT / "docs/studies.md").read_text()


def test_the_example_study_is_right(tmp_path: Path) -> None:
    (example,) = re.findall(r"^```yaml file=my-study.yaml\n(.*?)^```$", README, re.M | re.S)
    (tmp_path / "my-study.yaml").write_text(example)
    assert len(plan(load_study(tmp_path / "my-study.yaml")).rows) == 27


@pytest.mark.parametrize(("name", "points"), re.findall(r"^\| `([a-z-]+)` \|.*?\| ([\d,]+) \|", STUDIES, re.M))
def test_the_studies_have_as_many_points_as_stated(name: str, points: str) -> None:
    assert len(plan(load_study(ROOT / f"configs/{name}.yaml")).points) == int(points.replace(",", ""))


def test_every_study_is_in_the_table_and_beside_its_file() -> None:
    beside = (ROOT / "configs/README.md").read_text()
    for file in (ROOT / "configs").glob("*.yaml"):
        assert f"| `{file.stem}` |" in STUDIES and f"`{file.stem}`" in beside


RESULTS = ROOT / "results/quick/tables/jobs.parquet"


@pytest.mark.skipif(not RESULTS.is_file(), reason="the study quick has not run in this folder")
def test_the_numbers_of_quick_are_those_of_a_run() -> None:
    jobs = pd.read_parquet(RESULTS).query("experiment == 'main'").assign(alpha=lambda rows: rows["alpha"].astype(float))
    times = jobs.set_index(["pattern", "alpha", "arrangement", "routing", "seed"])["runtime_ns"]
    minimal = times.xs("bisection").xs("minimal", level="routing")
    over_absolute = minimal.xs("circulant", level="arrangement") / minimal.xs("absolute", level="arrangement") - 1
    of_routing = times.groupby(level=[0, 1, 2, 3]).median().unstack("routing")
    over_minimal = (of_routing["valiant"] / of_routing["minimal"] - 1).loc[
        lambda rows: rows.index.isin((0.5, 1), level=1)
    ]
    told = {
        "less time with the": -over_absolute.loc[4],
        "more at ratio 2": over_absolute.loc[2],
        "less time than minimal": -over_minimal.loc["stencil"],
        "more (medians": over_minimal.loc["stencil (mapped by exchange)"],
    }
    words = " ".join(README.split())
    for text, values in told.items():
        low, high = (round(100 * end) for end in (values.min(), values.max()))
        assert f"{low} to {high} % {text}" in words


def test_it_can_be_read_in_two_minutes_and_its_pictures_are_there_and_small() -> None:
    words = re.sub(r"^```.*?^```$", "", README, flags=re.M | re.S).split()
    assert len(README.splitlines()) <= 100 and len(words) < 650
    pictures = re.findall(r"!\[[^\]]{20,}\]\((\S+)\)", README)
    assert len(pictures) == README.count("![") == 6
    assert all(0 < (ROOT / picture).stat().st_size < 250_000 for picture in pictures)
