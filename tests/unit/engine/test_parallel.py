"""Several cores at one point: what it changes, what it does not, and who refuses it. No simulator is needed."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fabricstudy.engine.batch import batches, run_batch
from fabricstudy.engine.codes.adapter import Codes
from fabricstudy.engine.contract import EngineFailure
from fabricstudy.engine.parallel import Parallel, at_most, usable_cores
from fabricstudy.engine.point import PlannedPoint, Point, machine_id, point_id
from fabricstudy.engine.registry import engines
from fabricstudy.engine.settings import Limits
from fabricstudy.engine.sst.adapter import Sst
from fabricstudy.engine.stores import Stores
from fabricstudy.engine.validity import fingerprint, is_current
from fabricstudy.errors import StudyError
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
    assert [name for name, engine in engines().items() if isinstance(engine, Parallel)] == ["codes", "sst"]


def study(engine: object) -> Study:
    jobs = [{"share": 1.0, "pattern": {"kind": "ring", "message": "1 kB"}}]
    given = {"study": "s", "machine": DRAGONFLY, "routing": "minimal", "jobs": jobs, "engine": engine}
    return Study.model_validate(given, context={"folder": Path(), "source": "file"})


@pytest.mark.parametrize("kind", ["analysis", "caminos", "flow"])
def test_an_engine_that_cannot_is_refused_with_its_place(kind: str) -> None:
    with pytest.raises(StudyError) as error:
        plan(study({"kind": kind, "processes": 3}))
    assert (error.value.code, error.value.path, error.value.value) == ("engine-does-not-fit", "engine.processes", 3)
    assert plan(study({"kind": kind, "processes": 1})).points


def test_points_of_a_batch_take_the_same_cores() -> None:
    several = [planned(point(processes, message=f"{size} kB")) for processes in (1, 4) for size in (1, 2)]
    made = batches(several, Limits(), 1e6)
    assert {(batch.name, batch.processes, len(batch.points)) for batch in made} == {
        ("codes-all", 1, 2), ("codes-on4-all", 4, 2)
    }  # fmt: skip
    alone, shared = (batch for batch in made)
    assert shared.cpu_s == pytest.approx(Codes.cost_of_sharing * alone.cpu_s)


def test_a_cluster_is_asked_for_the_time_that_passes() -> None:
    batch = batches([planned(point(1))], Limits(), 1e6)[0]
    long, shared = replace(batch, cpu_s=36_000.0), replace(batch, cpu_s=36_000.0, processes=8)
    assert long.time_min(1) - shared.time_min(1) == pytest.approx(3 * 600 * 7 / 8, abs=1)


def test_no_more_work_on_a_point_than_were_granted_or_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []

    def simulate(one: PlannedPoint, *given: object) -> dict[str, Any]:
        seen.append(one.point.engine.processes)
        assert one.point_id == point_id(one.point)
        return {}

    monkeypatch.setattr("fabricstudy.engine.batch.simulate", simulate)
    monkeypatch.setattr("fabricstudy.engine.batch.usable_cores", lambda: 6)
    batch = batches([planned(point(8))], Limits(), 1e6)[0]
    for cores in (1, 4, 8):
        run_batch(batch, Stores(tmp_path), tmp_path / "shard", cores)
    assert seen == [1, 4, 6]
    assert at_most(planned(point(2)), 8) == planned(point(2)) and usable_cores() >= 1


def test_what_several_are_refused_one_may_do_and_the_other_way_round() -> None:
    alone, shared = point(1), point(4)
    for refused_to, others in ((1, shared), (4, alone)):
        record = {"status": "refused", "processes": refused_to, "fingerprint": str(fingerprint(alone))}
        assert not is_current(record, others)
        assert is_current(record | {"status": "done"}, others)
    assert is_current({"status": "refused", "fingerprint": str(fingerprint(alone))}, alone)


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
        reason = Codes().unsupported(this, this.machine.build())
        assert ("several processes" in reason) if cannot and reason is not None else reason is None and not cannot

    def test_each_run_is_started_by_mpirun(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("fabricstudy.engine.codes.adapter.shutil.which", lambda name: f"/a b/{name}")
        program = "/a b/model-net-mpi-replay"
        one = Codes().on_cores([program, "--sync=1", "--end=3", "--", "net.yaml"], point(2))
        assert one[0] == sys.executable and one[2:5] == ["2", program, "--sync=3"]
        assert one[-3:] == ["--end=3", "--", "net.yaml"] and "--sync=1" not in one
        here = f"'{program}' --sync=1 -- net.yaml"
        *shell, text = Codes().on_cores(["sh", "-c", f"{here} && (cd job0 && {here})"], point(3))
        assert shell == ["sh", "-c"] and text.count(f" 3 '{program}' --sync=3 ") == 2 and "--sync=1" not in text

    def test_without_mpirun_the_row_says_so(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("fabricstudy.engine.codes.adapter.shutil.which", lambda name: None)
        with pytest.raises(EngineFailure, match="mpirun"):
            Codes().on_cores(["model-net-mpi-replay", "--sync=1"], point(2))


def test_sst_has_threads() -> None:
    assert Sst().on_cores(["sst", "model.py", "--", "run.json"], point(3, "sst"))[1:3] == [
        "--num-threads=3",
        "model.py",
    ]
