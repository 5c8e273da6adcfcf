"""A finished study, run again after an edit of the code or of its files, has the tables of a fresh run.

The edits are those with which cached results were once stale (unit of time, link loads, link sharing, analyses), and
one of a file that each cached result depends on. All stages run as the rule of a small study runs them.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from fabricstudy.engine.registry import engine_named

from ..workflow.conftest import keep_compiled

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
STUDY = Path(__file__).with_name("study")
OF_RUN = ["cpu_s", "wall_s", "overhead_cpu_s", "memory_bytes", "host", "started", "fingerprint"]
"""Columns that differ from run to run."""


@dataclass(frozen=True)
class Edit:
    """Edits of modules of ours, to which a text is added, and of files of the study, where one text replaces another.

    `simulated` are the engines whose programs run again, if they are known.
    """

    added: dict[str, str]
    replaced: dict[str, tuple[str, str]] = field(default_factory=dict)
    simulated: tuple[str, ...] | None = None


EDITS = {
    "unit of time": Edit(
        {
            "machine/base.py": """
from dataclasses import replace as _replace
_built = built
def _fast(link):
    return _replace(link, bandwidth_Bps=2 * link.bandwidth_Bps, latency_ns=link.latency_ns / 2)
def built(config):
    machine = _built(config)
    return _replace(machine, classes=tuple(map(_fast, machine.classes)), host=_fast(machine.host))
""",
        }
    ),
    "pattern of points and of an analysis": Edit(
        {
            "workload/pattern/ring.py": """
def _sends(self, ranks, rng):
    rank = np.arange(ranks, dtype=np.int32)
    neighbours = np.concatenate([np.roll(rank, -2), np.roll(rank, 2)])
    return one_phase(np.tile(rank, 2), neighbours, self.iterations)
Ring.sends = _sends
""",
        }
    ),
    "what is computed without a simulator, and a writer without effect": Edit(
        {
            "structure/sharing.py": """
_sharing = link_sharing
def link_sharing(used):
    return _sharing(used | used.any(axis=0))
""",
            "structure/bound.py": """
_bound = lower_bound
def lower_bound(*given):
    bound = _bound(*given)
    return bound._replace(time_ns=bound.time_ns / 2)
""",
            "machine/xgft.py": """
from dataclasses import replace as _replace
_cables, _build = XgftConfig.cables_of_class, XgftConfig.build
XgftConfig.cables_of_class = property(lambda tree: tuple(2 * cables for cables in _cables.fget(tree)))
XgftConfig.cables = property(lambda tree: sum(tree.cables_of_class))
XgftConfig.build = lambda tree: _replace(_build(tree), cable_count=2 * _build(tree).cable_count)
""",
            "engine/packet/files.py": "\nANOTHER = 1\n",
        },
        simulated=(),
    ),
    "reader": Edit(
        {
            "engine/flow/result.py": """
from dataclasses import replace as _replace
_read = read_result
def read_result(*given):
    result = _read(*given)
    return _replace(result, job_runtime_ns=tuple(2 * time for time in result.job_runtime_ns))
""",
        },
        simulated=("flow",),
    ),
    "files of the study": Edit(
        {},
        {
            "prices.csv": ("router,3000", "router,6000"),
            "rungs.py": ("np.int32(rungs)", "np.int32(rungs) * 1"),
            "unused.py": ("import numpy as np", "import numpy as np\n\nUNUSED = 1"),
            "matrix.csv": ("0,3,9000", "0,3,90000"),
        },
        simulated=(),
    ),
}

RUN = """
import os, sys
from fabricstudy.workflow.stages import main
from fabricstudy.workflow import small
import fabricstudy.table.collect, fabricstudy.report.page
codes = []
for folder in sys.argv[1:]:
    if (child := os.fork()) == 0:
        os.chdir(folder)
        main(["small", "--study", "study.yaml", "--batch-cpu-s", "60", "--out", "results/small"])
        sys.stderr.flush()
        os._exit(0)
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
sys.exit(max(codes, default=0))
"""


def run(package: Path, *folders: Path) -> None:
    """Run all stages in each folder, by the code in the folder `package`."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(package),
        "PYTHONDONTWRITEBYTECODE": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    command = [sys.executable, "-P", "-c", RUN, *map(str, folders)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@dataclass(frozen=True)
class Workshop:
    """A copy of the code, and a finished run of the study by it."""

    folder: Path

    @property
    def package(self) -> Path:
        return self.folder / "src"

    @property
    def finished(self) -> Path:
        return self.folder / "finished"


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    for engine in ("caminos", "flow", "packet"):
        probe = engine_named(engine).probe()
        if not probe.found:
            pytest.skip(f"{engine}: {probe.reason}")
    place = Workshop(tmp_path_factory.mktemp("mutations"))
    shutil.copytree(ROOT / "src", place.package, ignore=shutil.ignore_patterns("*.egg-info"))
    keep_compiled(place.package / "fabricstudy")
    for name in ("engines", "workflow", "envs", "configs"):
        (place.folder / name).symlink_to(ROOT / name)
    shutil.copytree(STUDY, place.finished)
    run(place.package, place.finished)
    return place


def tables(folder: Path) -> dict[str, pd.DataFrame]:
    """Read all tables of the study, without what differs from run to run."""
    paths = sorted((folder / "results/small/tables").glob("*.parquet"))
    return {path.stem: pd.read_parquet(path).drop(columns=OF_RUN, errors="ignore") for path in paths}


def differing(one: Path, other: Path) -> list[str]:
    """Return the tables that differ between two runs of the study."""
    ours, theirs = tables(one), tables(other)
    assert ours.keys() == theirs.keys()
    return [name for name in ours if not ours[name].equals(theirs[name])]


def records(folder: Path) -> dict[str, dict[str, Any]]:
    """Read the records of all points."""
    paths = (folder / "results/points").glob("*/*/record.json")
    return {path.parent.name: json.loads(path.read_text()) for path in paths}


def simulated(before: Path, after: Path) -> set[str]:
    """Return the engines with programs of which points of both runs were simulated again."""
    old, new = records(before), records(after)
    return {
        record["engine"]
        for name, record in new.items()
        if record["engine"] != "analysis" and name in old and record["wall_s"] != old[name]["wall_s"]
    }


def test_all_points_of_the_study_are_simulated(workshop: Workshop) -> None:
    """So that an edit can change their numbers."""
    found = records(workshop.finished).values()
    assert {record["status"] for record in found} == {"done"}
    assert {record["engine"] for record in found} == {"caminos", "flow", "packet", "analysis"}
    assert any("simulated" in record["sharing"] for record in found)


@pytest.mark.parametrize("name", EDITS)
def test_what_was_stored_is_what_would_be_computed(name: str, workshop: Workshop, tmp_path: Path) -> None:
    edit = EDITS[name]
    again, fresh = tmp_path / "again", tmp_path / "fresh"
    shutil.copytree(workshop.finished, again)
    shutil.copytree(STUDY, fresh)
    for file, (old, new) in edit.replaced.items():
        for folder in (again, fresh):
            text = (folder / file).read_text()
            assert old in text
            (folder / file).write_text(text.replace(old, new))
    kept = {path: path.read_text() for path in (workshop.package / "fabricstudy" / file for file in edit.added)}
    try:
        for file, added in edit.added.items():
            path = workshop.package / "fabricstudy" / file
            path.write_text(kept[path] + added)
        run(workshop.package, again, fresh)
    finally:
        for path, text in kept.items():
            path.write_text(text)
    assert differing(again, fresh) == []
    assert differing(workshop.finished, fresh)
    if edit.simulated is not None:
        assert simulated(workshop.finished, again) == set(edit.simulated)
