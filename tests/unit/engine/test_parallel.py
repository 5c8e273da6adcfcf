"""Several cores at one point: what it changes, what it does not, and who refuses it. No simulator is needed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fabricstudy import cli
from fabricstudy.core.errors import ConfigError
from fabricstudy.core.store import point_store
from fabricstudy.engine.batch import at_most, make_batches, run_batch, usable_cores
from fabricstudy.engine.codes import ranks
from fabricstudy.engine.codes.adapter import Codes
from fabricstudy.engine.definitions import built
from fabricstudy.engine.engine import Engine
from fabricstudy.engine.failures import EngineFailure
from fabricstudy.engine.point import PlannedPoint, Point, machine_id, point_id
from fabricstudy.engine.registry import engines
from fabricstudy.engine.settings import Limits
from fabricstudy.engine.sst.adapter import Sst
from fabricstudy.engine.validity import fingerprint, is_current
from fabricstudy.study.model import Study
from fabricstudy.study.plan import plan

from ...machines import point_on

DRAGONFLY = {"kind": "dragonfly", "groups": 5, "routers_per_group": 2, "nodes_per_router": 2, "bandwidth": "1 GB/s"}
TREE = {"kind": "fat-tree", "radix": 4, "bandwidth": "1 GB/s"}
SLIM_FLY = {"kind": "slim-fly", "q": 5, "nodes_per_router": 1, "bandwidth": "1 GB/s"}


def point(
    processes: int, kind: str = "codes", machine: Any = DRAGONFLY, routing: str = "minimal", **more: Any
) -> Point:
    return point_on(machine, routing, engine={"kind": kind, "processes": processes} | more.pop("engine", {}), **more)


def planned(this: Point) -> PlannedPoint:
    return PlannedPoint(point_id(this), machine_id(this.machine), this)


def test_processes_are_no_part_of_the_id_and_the_default_is_none_of_the_description() -> None:
    for kind in ("codes", "sst"):
        assert len({point_id(point(processes, kind)) for processes in (1, 2, 8)}) == 1
        assert point(8, kind).engine.physics() == {"kind": kind}


def test_which_engines_can() -> None:
    assert [name for name, engine in engines().items() if engine.shares_cores] == ["codes", "sst"]


STUDY = """study: s
machine: {kind: dragonfly, groups: 33, routers_per_group: 8, nodes_per_router: 4, bandwidth: 1 GB/s}
routing: minimal
jobs: [{share: 1.0, pattern: {kind: stencil, message: 64 kB}}]
"""


def study(engine: object) -> Study:
    jobs = [{"share": 1.0, "pattern": {"kind": "ring", "message": "1 kB"}}]
    given = {"study": "s", "machine": DRAGONFLY, "routing": "minimal", "jobs": jobs, "engine": engine}
    return Study.model_validate(given, context={"folder": Path(), "source": "file"})


@pytest.mark.parametrize("kind", ["analysis", "caminos", "flow", "packet"])
def test_an_engine_that_cannot_is_refused_with_its_place(kind: str) -> None:
    with pytest.raises(ConfigError) as error:
        plan(study({"kind": kind, "processes": 3}))
    assert (error.value.code, error.value.path, error.value.value) == ("unsupported", "engine.processes", 3)
    assert plan(study({"kind": kind, "processes": 1})).points


def test_the_plan_tells_what_passes_and_what_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    found = []
    for processes in (1, 4):
        text = STUDY + f"engine: {{kind: codes, processes: {processes}}}\n"
        Path("s.yaml").write_text(text)
        cli.main(["plan", "s.yaml", "--json"])
        found.append(json.loads(capsys.readouterr().out))
    one, four = found
    assert (one["cores"], four["cores"]) == (1, 4)
    assert one["longest_s"] == pytest.approx(one["cpu_s"], abs=1e-3)
    assert four["cpu_s"] == pytest.approx(Codes.cost_of_sharing * one["cpu_s"], rel=0.1)
    assert four["longest_s"] == pytest.approx(four["cpu_s"] / 4, abs=1e-3)
    needed = [Engine(Codes).predict_memory_bytes(point(processes)) for processes in (1, 2, 4)]
    assert needed == sorted(set(needed))


def test_points_of_a_batch_take_the_same_cores() -> None:
    several = [planned(point(processes, message=f"{size} kB")) for processes in (1, 4) for size in (1, 2)]
    made = make_batches(several, Limits(), 1e6)
    assert {(batch.name, batch.processes, len(batch.points)) for batch in made} == {
        ("codes-all", 1, 2), ("codes-on4-all", 4, 2)
    }  # fmt: skip
    alone, shared = (batch for batch in made)
    assert shared.cpu_s == pytest.approx(Codes.cost_of_sharing * alone.cpu_s)


def test_a_cluster_is_asked_for_the_time_that_passes() -> None:
    batch = make_batches([planned(point(1))], Limits(), 1e6)[0]
    long, shared = replace(batch, cpu_s=36_000.0), replace(batch, cpu_s=36_000.0, processes=8)
    assert long.time_min(1) - shared.time_min(1) == pytest.approx(3 * 600 * 7 / 8, abs=1)


def test_no_more_work_on_a_point_than_were_granted_or_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []

    def simulate(one: PlannedPoint, *given: object) -> dict[str, Any]:
        seen.append(one.point.engine.processes)
        assert one.point_id == point_id(one.point)
        return {"status": "failed"}

    monkeypatch.setattr("fabricstudy.engine.batch.simulate", simulate)
    monkeypatch.setattr("fabricstudy.engine.batch.usable_cores", lambda: 6)
    batch = make_batches([planned(point(8))], Limits(), 1e6)[0]
    for cores in (1, 4, 8):
        run_batch(
            batch,
            point_store(tmp_path),
            lambda one: built(one.point.machine),
            tmp_path / "shard",
            tmp_path / "l",
            cores=cores,
        )
    assert seen == [1, 4, 6]
    assert at_most(planned(point(2)), 8) == planned(point(2)) and usable_cores() >= 1


def test_what_several_are_refused_one_may_do_and_the_other_way_round() -> None:
    alone, shared = point(1), point(4)
    for refused_to, others in ((1, shared), (4, alone)):
        record = {"status": "unsupported", "processes": refused_to, "fingerprint": str(fingerprint(alone))}
        assert not is_current(record, others)
        assert is_current(record | {"status": "done"}, others)
    assert is_current({"status": "unsupported", "fingerprint": str(fingerprint(alone))}, alone)


TWO_JOBS = [{"share": 0.5, "pattern": {"kind": "all-to-all", "message": "1 kB"}}] * 2


class TestCodes:
    @pytest.mark.parametrize(
        ("this", "cannot"),
        [
            (point(2, machine=TREE, routing="adaptive"), True),
            (point(2, machine=SLIM_FLY), True),
            (point(2, jobs=TWO_JOBS), True),
            (point(1, jobs=TWO_JOBS), False),
            (point(2, jobs=TWO_JOBS, engine={"job_links": False}), False),
            (point(2, machine=TREE, routing="d-mod-k", jobs=TWO_JOBS), False),
        ],
        ids=["tree", "slim fly", "hops", "hops of one process", "no hops", "runs alone"],
    )
    def test_where_the_numbers_would_differ_it_is_refused(self, this: Point, cannot: bool) -> None:
        reason = Engine(Codes).unsupported(this, this.machine.build())
        assert (reason is not None) == cannot

    def test_each_run_is_started_by_mpirun(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("fabricstudy.engine.codes.adapter.shutil.which", lambda name: f"/a b/{name}")
        program = "/a b/model-net-mpi-replay"
        one = Engine(Codes).on_cores([program, "--sync=1", "--end=3", "--", "net.yaml"], point(2))
        assert one[0] == sys.executable and one[3:6] == ["2", program, "--sync=3"]
        assert one[-3:] == ["--end=3", "--", "net.yaml"] and "--sync=1" not in one
        here = f"'{program}' --sync=1 -- net.yaml"
        *shell, text = Engine(Codes).on_cores(["sh", "-c", f"{here} && (cd job0 && {here})"], point(3))
        assert shell == ["sh", "-c"] and text.count(f" 3 '{program}' --sync=3 ") == 2 and "--sync=1" not in text

    def test_without_mpirun_the_row_says_so(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("fabricstudy.engine.codes.adapter.shutil.which", lambda name: None)
        with pytest.raises(EngineFailure, match="mpirun"):
            Engine(Codes).on_cores(["model-net-mpi-replay", "--sync=1"], point(2))


MPIRUN = """#!/bin/sh
shift; for rank in $(seq $1 -1 1); do RANK=$rank "$0-rank" "$@" & done; wait
"""
RANK = """#!/bin/sh
shift; exec "$@"
"""
PROGRAM = """#!/bin/sh
mkdir lpio-$RANK && echo told > lpio-$RANK/$1
[ $RANK = 1 ] && echo "ROSS Version: 1"
echo "rank $RANK of $1"
[ $RANK = 2 ] && ! [ -e "$TRIED" ] && touch "$TRIED" && echo "error: We never look for non-existent events!"
exit 0
"""


class TestRanks:
    """The script that starts CODES, with stand-ins for mpirun and the program."""

    def run(self, folder: Path, mpirun: str) -> subprocess.CompletedProcess[str]:
        for name, text in {"mpirun": mpirun, "mpirun-rank": RANK, "program": PROGRAM}.items():
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)
        (folder / "work").mkdir()
        (folder / "work/net.yaml").write_text("input")
        environment = os.environ | {"PATH": f"{folder}:{os.environ['PATH']}", "TRIED": str(folder / "tried")}
        command = [sys.executable, ranks.__file__, "2", "program", "net.yaml"]
        return subprocess.run(command, cwd=folder / "work", env=environment, capture_output=True, text=True)

    def test_each_process_is_told_whole_and_the_first_one_first(self, tmp_path: Path) -> None:
        (tmp_path / "tried").touch()
        done = self.run(tmp_path, MPIRUN)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == "ROSS Version: 1\nrank 1 of net.yaml\nrank 2 of net.yaml\n"
        assert {path.name for path in (tmp_path / "work").iterdir()} == {"net.yaml", "lpio-1", "lpio-2"}

    def test_where_ross_gave_up_it_is_run_again_in_a_clean_folder(self, tmp_path: Path) -> None:
        done = self.run(tmp_path, MPIRUN.replace("wait", "wait; [ -e $TRIED.2 ] || { touch $TRIED.2; exit 7; }"))
        assert (done.returncode, done.stderr) == (0, "") and "We never" not in done.stdout

    def test_another_failure_is_told_at_once(self, tmp_path: Path) -> None:
        (tmp_path / "tried").touch()
        done = self.run(tmp_path, MPIRUN.replace("wait", "wait; echo >> $TRIED; exit 7"))
        assert done.returncode == 7 and (tmp_path / "tried").read_text() == "\n"


def test_sst_has_threads() -> None:
    assert Engine(Sst).on_cores(["sst", "model.py", "--", "run.json"], point(3, "sst"))[1:3] == [
        "--num-threads=3",
        "model.py",
    ]
