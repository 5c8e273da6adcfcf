"""What the Snakefile asks of us: settings, names of files, and what has gone from the stores."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from fabricstudy.engine.registry import engines
from fabricstudy.engine.stores import Stores
from fabricstudy.errors import StudyError
from fabricstudy.machine.stage import keep_machine
from fabricstudy.pipeline import Pipeline, pipelines
from fabricstudy.structure.stage import keep_structure
from fabricstudy.workflow import (
    WILDCARDS,
    check_cores,
    check_dates,
    forget_what_is_gone,
    last_words,
    pages,
    points_told,
    products,
    settings,
)

STUDY = """\
study: small
machine: {kind: dragonfly, groups: 3, routers_per_group: 2, nodes_per_router: 2, bandwidth: 1 GB/s}
routing: {kind: minimal}
jobs: [{share: 1.0, pattern: {kind: all-to-all, message: 16 kB}}]
engine: analysis
sweep: {alpha: {of: machine.bandwidth.global, values: {1: 1 GB/s, 2: 2 GB/s}}}
"""


@pytest.mark.parametrize(
    ("config", "code", "path"),
    [
        ({"studie": "small.yaml"}, "unknown-key", "studie"),
        ({"study": None}, "no-value", "study"),
        ({"study": ""}, "no-value", "study"),
        ({"study": True}, "wrong-type", "study"),
        ({"batch_cpu_s": "abc"}, "wrong-type", "batch_cpu_s"),
        ({"batch_cpu_s": True}, "wrong-type", "batch_cpu_s"),
        ({"batch_cpu_s": 0}, "out-of-range", "batch_cpu_s"),
        ({"batch_cpu_s": -1}, "out-of-range", "batch_cpu_s"),
        ({"batch_cpu_s": float("nan")}, "wrong-type", "batch_cpu_s"),
        ({"batch_cpu_s": float("inf")}, "wrong-type", "batch_cpu_s"),
        ({"envmodules": 3}, "wrong-type", "envmodules"),
    ],
)
def test_config_is_checked(config: dict[str, Any], code: str, path: str) -> None:
    with pytest.raises(StudyError) as caught:
        settings(config)
    assert (caught.value.code, caught.value.path) == (code, path)


def test_config_is_taken_as_it_is_written() -> None:
    found = settings({"study": 2024, "batch_cpu_s": 600, "envmodules": "codes/1", "container": "image.sif"})
    assert (found.study, found.batch_cpu_s, found.envmodules) == ("2024", 600, ("codes/1",))
    assert settings({}).study == "quick" and settings({"envmodules": ["a/1", "b/2"]}).envmodules == ("a/1", "b/2")


@pytest.mark.parametrize("engine", [*engines(), "booksim2", "ns-3"])
def test_file_names_of_any_engine_fit_the_rules(engine: str) -> None:
    assert re.fullmatch(WILDCARDS["batch"], f"{engine}-all") and re.fullmatch(WILDCARDS["batch"], f"{engine}-0110")


@pytest.mark.parametrize("cores", [0, -1])
def test_cores_on_which_nothing_runs_are_refused(cores: int) -> None:
    check_cores(None)
    check_cores(1)
    with pytest.raises(StudyError) as caught:
        check_cores(cores)
    assert (caught.value.code, caught.value.path, caught.value.value) == ("out-of-range", "--cores", cores)


def test_a_file_of_tomorrow_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.touch()
    check_dates(file, [str(tmp_path / "not there"), str(file)])
    result = tmp_path / "jobs.parquet"
    result.touch()
    for one in (result, file):
        os.utime(one, (time.time() + 86_400,) * 2)
        with pytest.raises(StudyError) as caught:
            check_dates(file, [str(result)])
        assert caught.value.code == "file-from-the-future" and caught.value.file == str(one)
        os.utime(one)


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pipeline:
    """A study of two machines, one batch of two points, all of which are in the stores, and all of its files."""
    monkeypatch.chdir(tmp_path)
    Path("small.yaml").write_text(STUDY)
    pipeline = pipelines("small.yaml")["small"]
    for machine_id, config in pipeline.plan.machines.items():
        keep_machine(Path("results"), machine_id, config)
        keep_structure(Path("results"), machine_id)
    store = Stores(Path("results")).points
    for point_id in pipeline.plan.points:
        with store.lock(point_id), store.workspace(point_id) as folder:
            (folder / "links.npy").touch()
            store.keep(folder, {"point_id": point_id, "status": "done", "links": [{"class": "all"}]})
    for name in products(pipeline):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).touch()
    for mark, file in (("tables", Path("results/small/tables/jobs.csv")), ("figures", FIGURE)):
        file.parent.unlink()
        file.parent.mkdir()
        file.touch()
        Path(f"results/small/{mark}.stored").write_text(f"{file.name}\n")
    return pipeline


def first(pattern: str) -> Path:
    return min(Path("results").glob(pattern))


STRUCTURES, POINTS = (f"results/small/{name}" for name in ("structure/all.stored", "simulate/analysis-all.stored"))
FIGURE = Path("reports/small/figures/time.svg")
LOSSES: dict[str, tuple[Callable[[], object], list[str]]] = {
    "nothing": (lambda: None, []),
    "a point": (lambda: first("points/*/*/record.json").unlink(), [POINTS]),
    "a point, damaged": (lambda: first("points/*/*/record.json").write_text('{"point_id": '), [POINTS]),
    "the links of a point": (lambda: first("points/*/*/links.npy").unlink(), [POINTS]),
    "a point that is another": (lambda: first("points/*/*/record.json").write_text('{"point_id": "p0"}'), [POINTS]),
    "a machine": (lambda: first("machines/*/*/machine.npz").unlink(), [STRUCTURES]),
    "a machine, cut short": (lambda: os.truncate(first("machines/*/*/machine.npz"), 100), [STRUCTURES]),
    "a structure": (lambda: first("structures/*/*/cut_side.npy").unlink(), [STRUCTURES]),
    "a structure, cut short": (lambda: os.truncate(first("structures/*/*/cut_side.npy"), 100), [STRUCTURES]),
    "a table": (lambda: first("small/tables/jobs.csv").unlink(), ["results/small/tables.stored"]),
    "a figure": (FIGURE.unlink, ["results/small/figures.stored"]),
    "the store of points": (lambda: Path("results/points").rename("elsewhere"), [POINTS]),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_what_is_gone_is_noticed(stored: Pipeline, loss: str) -> None:
    lose, marks = LOSSES[loss]
    lose()
    assert [str(path) for path in forget_what_is_gone(stored, Path("results"))] == marks
    assert [name for name in products(stored) if not Path(name).exists()] == marks


def test_points_that_cannot_be_made_again_are_kept(stored: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    from fabricstudy import workflow
    from fabricstudy.engine.contract import Probe
    from fabricstudy.engine.registry import engine_named

    monkeypatch.setattr(type(engine_named("analysis")), "probe", lambda engine: Probe("analysis", False))
    Path("results/points").rename("elsewhere")
    assert workflow.forget_what_is_gone(stored, Path("results")) == []


def test_only_reports_that_are_there_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = Path("reports/one/index.html")
    page.parent.mkdir(parents=True)
    page.touch()
    assert pages(["one", "two"]) == [page]


def test_a_run_tells_how_many_points_are_new(stored: Pipeline) -> None:
    now = time.time()
    records = [("done", now - 60), ("done", now), ("refused", now + 9), ("timeout", now - 1e6), ("skipped", now)]
    lines = [
        json.dumps(
            {
                "point_id": f"p{number}",
                "started": datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds"),
                "reason": '"status": "x"',
                "status": status,
            }
        )
        for number, (status, at) in enumerate(records)
    ]
    shard = Path("results/small/simulate/analysis-all.jsonl")
    shard.write_text("".join(f"{line}\n" for line in lines))
    # The study has two points: five records let one shard show every status.
    told = "small: 2 of 2 points done, 1 timeout, 1 refused, 1 skipped (2 new, 2 cached)"
    assert points_told(stored, Path("results"), now, set()) == told
    assert last_words({"small": stored}, Path("results"), now) == [told, "The report: reports/small/index.html"]
    # Each simulation is told once, by the first of the studies that share its point.
    again = told.replace("(2 new, 2 cached)", "(0 new, 4 cached)")
    assert last_words({"small": stored, "its twin": stored}, Path("results"), now)[:2] == [told, again]
    shard.unlink()
    assert points_told(stored, Path("results"), now, set()) == "small: 0 of 2 points done (0 new, 0 cached)"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stage_that_is_asked_to_end_does_so_without_a_traceback(number: int) -> None:
    code = f"import os; from fabricstudy import stages; stages._end_when_asked(); os.kill(os.getpid(), {int(number)})"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (128 + signal.SIGTERM, "")
