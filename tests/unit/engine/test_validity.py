"""What a stored record depends on, and when it may still be believed."""

from __future__ import annotations

import operator
import os
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import fabricstudy
from fabricstudy.core import source
from fabricstudy.core.errors import FabricstudyError
from fabricstudy.core.source import OURS, PACKAGE
from fabricstudy.core.store import Record, Store, checksummed_line, point_store
from fabricstudy.engine.analysis import Analysis
from fabricstudy.engine.attempt import TRACEBACK_FILE, attempt_point, strip
from fabricstudy.engine.built_point import BuiltPoint
from fabricstudy.engine.definitions import AnalysedMachine, built
from fabricstudy.engine.engine import Engine, Probe
from fabricstudy.engine.outcome import EngineResult
from fabricstudy.engine.point import PlannedPoint, Point, machine_id, point_id
from fabricstudy.engine.registry import engine_named, engine_of
from fabricstudy.engine.settings import Limits
from fabricstudy.engine.simulate import OF_STORE, simulate
from fabricstudy.engine.validity import fingerprint, input_digest, is_valid, is_valid_with_same_input
from fabricstudy.machine.graph import Machine
from fabricstudy.structure.bisection import bisection_bounds
from fabricstudy.workload.placing import place

DRAGONFLY = {"kind": "dragonfly", "groups": 5, "routers_per_group": 2, "nodes_per_router": 2, "bandwidth": "1 GB/s"}
TORUS = {"kind": "torus", "shape": [4, 3], "bandwidth": "1 GB/s"}
TREE = {"kind": "fat-tree", "radix": 4, "bandwidth": "1 GB/s"}
MESSAGE = {"message": "2 kB"}

WITHOUT_EFFECT = {"errors", "store", "files", "kinds", "model", "quantities"}
"""Modules of the bottom floor, in which nothing is computed that goes into a record."""


def point(machine: dict[str, Any] = TORUS, routing: str = "minimal", engine: str = "analysis", **job: Any) -> Point:
    whole = {"share": 1.0, "pattern": {"kind": "stencil", "dimensions": 2, **MESSAGE}, **job}
    return Point.model_validate({"machine": machine, "routing": routing, "jobs": [whole], "engine": engine, "seed": 1})


POINTS: dict[str, dict[str, Any]] = {
    "stencil": {},
    "all-gather": {"pattern": {"kind": "all-gather", **MESSAGE}, "mapping": "random"},
    "spread": {"pattern": {"kind": "spread", "degree": [1, 3], **MESSAGE}, "share": None, "nodes": 7},
    "cuboid": {"share": None, "nodes": 6, "allocation": "cuboid", "routing": "dimension-order"},
    "bisection": {"machine": DRAGONFLY, "pattern": {"kind": "bisection", **MESSAGE}, "routing": "valiant"},
    "tree": {"machine": TREE, "routing": "d-mod-k", "allocation": "whole-groups", "mapping": "recursive-bisection"},
    "adaptive": {"routing": "adaptive", "pattern": {"kind": "pencil-fft", **MESSAGE}, "allocation": "convex-block"},
}


def named(name: str, **more: Any) -> Point:
    return point(**{**POINTS[name], **more})


def analysed(this: Point) -> AnalysedMachine:
    machine = this.machine.build()
    return AnalysedMachine(machine, bisection_bounds(machine).cut_side)


# What is covered


@pytest.mark.parametrize(("changed", "digests"), [("core", 3), ("machine", 2), ("report", 1), ("artifact", 0)])
def test_a_digest_covers_a_package_and_those_that_it_may_import(
    changed: str, digests: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in source.PACKAGES:
        (tmp_path / name / "within").mkdir(parents=True)
        (tmp_path / name / "within/page.j2").write_text("words")
    monkeypatch.setattr(source, "PACKAGE", tmp_path)
    packages = ("core", "engine", "report")
    before = [source.code_digest.__wrapped__(name) for name in packages]
    (tmp_path / changed / "within/page.j2").write_text("other words")
    after = [source.code_digest.__wrapped__(name) for name in packages]
    assert sum(map(operator.ne, before, after)) == digests


@pytest.mark.parametrize(
    ("engine", "offered", "read", "other"),
    [
        ("packet", True, {"packet.result", "packet.offered_window"}, "packet.files"),
        ("flow", False, {"flow.result"}, "flow.files"),
        ("caminos", True, {"caminos.result", "caminos.clock"}, "caminos.cost"),
        ("sst", True, {"sst.offered", "sst.result", "sst.wiring.graph"}, "sst.caveats"),
        ("codes", False, {"codes.result", "codes.models", "codes.models.torus"}, "codes.offered"),
    ],
)
def test_a_reader_is_what_reads_results_and_what_that_imports(
    engine: str, offered: bool, read: set[str], other: str
) -> None:
    modules = source.package_sources(engine_named(engine).reading(offered))
    assert {f"{OURS}.engine.{name}" for name in read} <= modules.keys()
    assert f"{OURS}.engine.{other}" not in modules


class _Unrun(Engine):
    """An engine whose program is not run, so that its reader finds no output."""

    def write(self, *given: Any) -> list[str]:
        super().write(*given)
        return ["true"]


# What becomes of a record


@pytest.fixture
def stored(tmp_path: Path) -> tuple[PlannedPoint, Store]:
    """A point that the engine caminos has done, and the stores that hold it."""
    this = named("stencil", engine="caminos")
    planned = PlannedPoint(point_id(this), machine_id(this.machine), this)
    stores = point_store(tmp_path / "results")
    assert done_by(planned, stores)["status"] == "done"
    return planned, stores


def machine_of(planned: PlannedPoint) -> AnalysedMachine:
    return built(planned.point.machine)


def done_by(planned: PlannedPoint, stores: Store) -> Record:
    engine = engine_named("caminos")
    return simulate(planned, engine, Probe(engine.name, True, "a version"), stores, machine_of, Limits())


def edit(planned: PlannedPoint, stores: Store, **facts: Any) -> None:
    record = stores.record(planned.point_id)
    assert record is not None
    (stores.folder(planned.point_id) / "record.json").write_text(checksummed_line(record | facts))


def with_mark(planned: PlannedPoint, part: int, text: str) -> str:
    marks = str(fingerprint(planned.point)).split("-", 2)
    marks[part] = text
    return "-".join(marks)


def runs_of(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note each attempt to simulate."""
    runs: list[str] = []

    def noted(*given: Any) -> Record:
        runs.append("run")
        return attempt_point(*given)

    monkeypatch.setattr(sys.modules["fabricstudy.engine.simulate"], "attempt_point", noted)
    return runs


def test_a_record_of_this_code_stands(stored: tuple[PlannedPoint, Store], monkeypatch: pytest.MonkeyPatch) -> None:
    runs = runs_of(monkeypatch)
    first = stored[1].record(stored[0].point_id)
    assert done_by(*stored) == {key: value for key, value in (first or {}).items() if key not in OF_STORE} and not runs


def test_other_code_with_the_same_input_is_stamped_anew(
    stored: tuple[PlannedPoint, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    planned, stores = stored
    before = done_by(*stored)
    jobs = [{**job, "bound_ns": -1.0} for job in before["jobs"]]
    edit(*stored, fingerprint=with_mark(planned, 0, "0" * 12), jobs=jobs, host="elsewhere")
    runs = runs_of(monkeypatch)
    after = done_by(*stored)
    assert not runs and after["fingerprint"] == str(fingerprint(planned.point))
    # Our own part is computed anew; what was measured stays.
    assert after["jobs"] == before["jobs"] and after["links"] == before["links"] and after["host"] == "elsewhere"
    assert is_valid(stores.record(planned.point_id), planned.point)
    assert (stores.folder(planned.point_id) / "links.npy").exists()


@pytest.mark.parametrize(
    ("part", "facts"),
    [
        pytest.param(0, {"input": "other"}, id="another input"),
        pytest.param(1, {}, id="read by other code"),
        pytest.param(2, {}, id="another program"),
    ],
)
def test_whatever_else_differs_is_simulated_again(
    stored: tuple[PlannedPoint, Store], monkeypatch: pytest.MonkeyPatch, part: int, facts: dict[str, Any]
) -> None:
    planned, _ = stored
    mark = with_mark(planned, part, "0" * 12)
    if part == 1:
        mark = "0" * 12 + mark[12:]  # the reader is part of the code
    edit(*stored, fingerprint=mark, **facts)
    runs = runs_of(monkeypatch)
    assert done_by(*stored)["status"] == "done" and runs == ["run"]


@pytest.fixture(scope="module", params=[0.4, "saturation"])
def simulated_offered(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[PlannedPoint, Path]:
    """A finished point of offered traffic, at one load or with a search, and the folder of its store; for copies."""
    offered = {"traffic": "uniform", "load": request.param, "warmup": 50, "measured": 200, "batches": 8}
    parts = {"machine": DRAGONFLY, "routing": "minimal", "offered": offered, "engine": "caminos", "seed": 1}
    of_traffic = Point.model_validate(parts)
    planned = PlannedPoint(point_id(of_traffic), machine_id(of_traffic.machine), of_traffic)
    folder = tmp_path_factory.mktemp("offered")
    assert done_by(planned, point_store(folder))["status"] == "done"
    return planned, folder


@pytest.fixture
def stored_offered(simulated_offered: tuple[PlannedPoint, Path], tmp_path: Path) -> tuple[PlannedPoint, Store]:
    """A finished point of offered traffic, and a store of its own."""
    planned, folder = simulated_offered
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    return planned, point_store(tmp_path)


def test_offered_traffic_with_the_same_input_is_computed_from_its_stored_runs(
    stored_offered: tuple[PlannedPoint, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    planned, _ = stored_offered
    before = done_by(*stored_offered)
    row = {**before["latency"], "latency_mean_ns": -1.0, "state": "steady", "link_max": -1.0}
    edit(*stored_offered, fingerprint=with_mark(planned, 0, "0" * 12), latency=row, host="elsewhere")
    runs = runs_of(monkeypatch)
    after = done_by(*stored_offered)
    assert not runs and after["fingerprint"] == str(fingerprint(planned.point))
    assert after == before | {"fingerprint": after["fingerprint"], "host": "elsewhere"}
    assert len(after["runs"]) > (planned.point.offered.load == "saturation")  # type: ignore[union-attr]


@pytest.mark.parametrize("change", ["input", "file"])
def test_offered_traffic_with_another_input_is_simulated_again(
    stored_offered: tuple[PlannedPoint, Store], monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    planned, store = stored_offered
    before = done_by(*stored_offered)["runs"]
    changed = [*before[:-1], before[-1] | {"input": "other"}] if change == "input" else before
    edit(*stored_offered, fingerprint=with_mark(planned, 0, "0" * 12), runs=changed)
    if change == "file":
        os.truncate(store.folder(planned.point_id) / "run-0.npz", 20)
    runs = runs_of(monkeypatch)
    assert done_by(*stored_offered)["runs"] == before and runs == ["run"]


@pytest.mark.parametrize("damage", ["links", "raises"])
def test_a_record_that_cannot_be_checked_is_simulated_again(
    stored: tuple[PlannedPoint, Store], monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    """Neither a cut file nor a point that raises costs the batch."""
    planned, stores = stored
    edit(*stored, fingerprint=with_mark(planned, 0, "0" * 12))
    if damage == "links":
        os.truncate(stores.folder(planned.point_id) / "links.npy", 20)
    else:
        monkeypatch.setattr("fabricstudy.engine.caminos.adapter.Caminos.write", lambda *given: 1 / 0)
    runs = runs_of(monkeypatch)
    assert done_by(*stored)["status"] == ("done" if damage == "links" else "failed") and runs == ["run"]


def test_a_record_of_another_format_is_refused_by_its_name(stored: tuple[PlannedPoint, Store]) -> None:
    planned, stores = stored
    edit(*stored, format=99)
    with pytest.raises(FabricstudyError, match="99") as caught:
        stores.record(planned.point_id)
    assert caught.value.code == "unsupported-format"


@pytest.mark.parametrize("text", ["", "f", "a-b", None, 3, "x" * 100])
def test_a_record_with_a_damaged_mark_is_not_believed(stored: tuple[PlannedPoint, Store], text: object) -> None:
    edit(*stored, fingerprint=text)
    planned, stores = stored
    record = stores.record(planned.point_id)
    assert not is_valid(record, planned.point) and not is_valid_with_same_input(record, planned.point)


def test_without_the_program_a_record_is_believed_and_checked_but_not_made(
    stored: tuple[PlannedPoint, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tables are often made where the simulator is not."""
    planned, stores = stored
    edit(*stored, fingerprint=with_mark(planned, 2, "the program of another host"))
    monkeypatch.setattr("fabricstudy.engine.caminos.adapter.Caminos.program_digest", lambda offered: None)
    assert is_valid(stores.record(planned.point_id), planned.point)
    edit(*stored, fingerprint=f"{'0' * 12}-{with_mark(planned, 2, 'theirs')[13:]}")
    engine, missing = engine_named("caminos"), Probe("caminos", False, reason="it is not here")
    kept = simulate(planned, engine, missing, stores, machine_of, Limits())
    assert kept["status"] == "done" and kept["fingerprint"].endswith("-theirs")
    edit(*stored, fingerprint=f"{'0' * 12}-{with_mark(planned, 2, 'theirs')[13:]}", input="other")
    skipped = simulate(planned, engine, missing, stores, machine_of, Limits())
    assert (skipped["status"], skipped["reason"]) == ("skipped", "it is not here")


class Raising(Analysis):
    """An engine that fails in an unexpected way."""

    where: str

    def write(self, point: BuiltPoint, folder: Path) -> list[str]:
        if self.where == "write":
            raise OverflowError("Python int too large to convert to C long")
        return []

    def read(self, point: BuiltPoint, folder: Path) -> EngineResult:
        raise KeyError("runtime")


@pytest.mark.parametrize("where", ["write", "read"])
def test_a_point_that_raises_anything_is_a_row_with_its_reason(where: str, tmp_path: Path) -> None:
    """D3."""
    this = named("stencil").model_copy(update={"engine": Raising(where=where)})
    record = attempt_point(this, engine_of(this.engine), analysed(this), Limits(), tmp_path)
    assert record["status"] == "failed" and re.match(r"(OverflowError|KeyError): .", record["reason"])
    # Where it was raised is told by a file that stays.
    strip(tmp_path, record["status"])
    told = (tmp_path / TRACEBACK_FILE).read_text()
    assert TRACEBACK_FILE in record["reason"] and told.startswith("Traceback") and f"in {where}\n" in told


def test_the_same_input_in_another_folder_has_the_same_digest(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name / "deeper").mkdir(parents=True)
        (tmp_path / name / "deeper/file").write_bytes(b"1")
        (tmp_path / name / "link").symlink_to("deeper/file")
    command = ["/usr/bin/program", "-x", "sh -c '/opt/a/run --y'", "file"]
    this = named("stencil")
    machine = analysed(this)
    jobs = place(this, machine.machine, machine.cut_side)

    def digest(folder: str, command: list[str], machine: Machine = machine.machine) -> str:
        return input_digest(tmp_path / folder, command, machine, jobs)

    one = digest("a", command)
    assert one == digest("b", ["/opt/program", "-x", "sh -c '/usr/run --y'", "file"])
    (tmp_path / "b/deeper/file").write_bytes(b"2")
    rewired = replace(machine.machine, node_router=machine.machine.node_router[::-1].copy())
    others = [digest("b", command), digest("a", [*command, "-z"])]
    assert one not in (*others, digest("a", command, rewired))


@pytest.mark.parametrize("engine", ["caminos", "sst", "codes"])
def test_preparing_twice_gives_the_same_input(engine: str, tmp_path: Path) -> None:
    """Otherwise no changed code could ever be told to matter not."""
    this = named("bisection", engine=engine, routing="minimal")
    machine = analysed(this)
    digests = set()
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        record = attempt_point(this, _Unrun(engine_named(engine).kind), machine, Limits(), tmp_path / name)
        digests.add(record.get("input"))
    assert len(digests) == 1 and None not in digests


def test_the_package_is_the_one_under_test() -> None:
    assert Path(fabricstudy.__file__).parent == PACKAGE


def test_offered_traffic_on_codes_depends_on_its_synthetic_program(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def written(name: str, text: str) -> None:
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)

    parts = {"machine": DRAGONFLY, "routing": "minimal", "engine": "codes", "seed": 1}
    offered = Point.model_validate({**parts, "offered": {"traffic": "uniform", "load": 0.5}})
    jobs = Point.model_validate({**parts, "jobs": [{"share": 1, "pattern": {"kind": "ring", "message": "1 kB"}}]})
    monkeypatch.setenv("PATH", str(tmp_path))
    written("model-net-mpi-replay", "#!/bin/sh\n")
    written("model-net-synthetic-dragonfly-all", "#!/bin/sh\n")
    before = fingerprint(offered), fingerprint(jobs)
    written("model-net-synthetic-dragonfly-all", "#!/bin/sh\nexit 1\n")
    after = fingerprint(offered), fingerprint(jobs)
    assert after[0] != before[0] and after[1] == before[1]
    # Traces are replayed where that program has not the traffic.
    written("model-net-mpi-replay", "#!/bin/sh\nexit 1\n")
    assert fingerprint(offered) != after[0]
