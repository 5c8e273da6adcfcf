"""A study with a file of its own, run by Snakemake, packed, unpacked and planned elsewhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pandas as pd
import pytest

from .conftest import BIN, TINY, Workplace, keep_compiled, unpack

pytestmark = pytest.mark.slow

HEAD = """\
from typing import Any, ClassVar

import numpy as np

"""
SHIFT = f"""{HEAD}
from fabricstudy.workload.pattern import MessagePattern, Sends, one_phase

STEP = 2


class Shift(MessagePattern, kind="shift"):
    "Each rank sends to the rank two later."

    def traffic_messages(self, ranks: int) -> float:
        return float(ranks) * self.iterations

    def sends(self, ranks: int, rng: np.random.Generator) -> Sends:
        rank = np.arange(ranks, dtype=np.int32)
        return one_phase(rank, (rank + STEP) % ranks, self.iterations)
"""
WORDS = "# What it is for.\n"
COUNT = f"""{HEAD}
from fabricstudy.analysis.base import Analysis


class Count(Analysis, kind="count"):
    "Numbers."

    keys: ClassVar[tuple[str, ...]] = ("number",)
    numbers: ClassVar[tuple[str, ...]] = ("number", "square")

    def rows(self) -> list[dict[str, Any]]:
        return [{{"number": number, "square": number**2}} for number in range(3)]
"""
ADDED = """\
extensions: [own/shift.py, count.py]
analyses: {squares: {kind: count}}
figures: [{id: squares, kind: line, title: Squares, analysis: squares, x: number, y: square}]
"""
# Two points use the file's pattern, two do not.
STUDY = ADDED + TINY.replace(
    "routing: {of: routing.kind, values: [minimal, valiant]}",
    "pattern: {of: jobs.0.pattern.kind, values: [shift, ring]}",
).replace("seeds: 2", "seeds: 1")


@pytest.fixture
def ran(workplace: Workplace) -> Workplace:
    """A workplace in which the study ran."""
    workplace.write_study(STUDY)
    workplace.write_study(SHIFT, "own/shift.py")
    workplace.write_study(COUNT, "count.py")
    workplace.run("--until", "table")
    return workplace


def test_a_study_with_extensions(ran: Workplace, tmp_path: Path) -> None:
    points = pd.read_parquet(ran.folder / "results/tiny/tables/points.parquet")
    assert points["status"].tolist() == ["done"] * 4 and ran.started == 4
    squares = pd.read_parquet(ran.folder / "results/tiny/tables/analysis-squares.parquet")
    assert squares["square"].tolist() == [0, 1, 4]

    # A change of the file runs the two points again that use it.
    (ran.folder / "own/shift.py").write_text(WORDS + SHIFT)
    ran.run("artifact")
    assert ran.started == 6
    assert "Squares" in (ran.folder / "reports/tiny/index.html").read_text()
    packed(ran.folder / "artifact/tiny.tar.gz", tmp_path / "there")
    (ran.folder / "own/shift.py").write_text(SHIFT.replace("STEP = 2", "STEP = 3"))
    ran.run("--until", "simulate")
    assert ran.started == 8


def packed(archive: Path, folder: Path) -> None:
    """Unpack elsewhere and see with the code of the artifact that its study is the same."""
    with tarfile.open(archive) as file:
        unpack(file, folder)
    top = folder / "tiny-artifact"
    keep_compiled(top / "code/src/fabricstudy")
    assert (top / "study/own/shift.py").read_text() == WORDS + SHIFT and (top / "study/count.py").read_text() == COUNT
    environment = dict(os.environ, PATH=f"{BIN}:{os.environ['PATH']}", PYTHONPATH=str(top / "code/src"))

    def fabricstudy(*arguments: str) -> str:
        command = [sys.executable, "-m", "fabricstudy.cli", *arguments]
        done = subprocess.run(command, cwd=top, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    plan = json.loads(fabricstudy("plan", "study/tiny.yaml", "--json", "--list"))
    made = pd.read_parquet(top / "results/tiny/tables/points.parquet")
    assert [row["point_id"] for row in plan["list"]] == made["point_id"].tolist() and plan["analyses"] == 1
    assert "They agree" in fabricstudy("compare", ".", ".")
