"""What the README says of studies holds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fabricstudy.study.file import load_study
from fabricstudy.study.plan import plan

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()


def test_the_example_study_is_right(tmp_path: Path) -> None:
    (example,) = re.findall(r"^```yaml file=my-study.yaml\n(.*?)^```$", README, re.M | re.S)
    (tmp_path / "my-study.yaml").write_text(example)
    assert len(plan(load_study(tmp_path / "my-study.yaml")).rows) == 27


@pytest.mark.parametrize(("name", "points"), re.findall(r"^\| `([a-z-]+)` \|.*?\| ([\d,]+) \|", README, re.M))
def test_the_studies_have_as_many_points_as_stated(name: str, points: str) -> None:
    assert len(plan(load_study(ROOT / f"configs/{name}.yaml")).points) == int(points.replace(",", ""))


def test_every_study_is_in_the_table() -> None:
    assert all(f"| `{file.stem}` |" in README for file in (ROOT / "configs").glob("*.yaml"))
