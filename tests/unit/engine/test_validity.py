"""What a stored record depends on, and when it may still be believed."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
import token
import tokenize
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import fabricstudy
from fabricstudy.core import source
from fabricstudy.core.errors import FabricstudyError
from fabricstudy.core.kinds import kinds_within
from fabricstudy.core.source import OURS, PACKAGE, imported
from fabricstudy.core.store import Record, Store, checksummed_line, point_store
from fabricstudy.engine.attempt import TRACEBACK_FILE, attempt_point, strip
from fabricstudy.engine.contract import Engine, Probe
from fabricstudy.engine.definitions import AnalysedMachine, built
from fabricstudy.engine.point import PlannedPoint, Point, machine_id, point_id
from fabricstudy.engine.registry import engine_named
from fabricstudy.engine.settings import Limits
from fabricstudy.engine.simulate import OF_STORE, simulate
from fabricstudy.engine.validity import Validity, _reading, fingerprint, input_digest, validity
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
    "uniform": {"pattern": {"kind": "uniform-random", **MESSAGE}, "share": None, "nodes": 7},
    "random": {"share": None, "nodes": 6, "allocation": "random", "routing": "dimension-order"},
    "bisection": {"machine": DRAGONFLY, "pattern": {"kind": "bisection", **MESSAGE}, "routing": "valiant"},
    "tree": {"machine": TREE, "routing": "d-mod-k", "allocation": "whole-groups", "mapping": "recursive-bisection"},
    "adaptive": {"routing": "adaptive", "pattern": {"kind": "pencil-fft", **MESSAGE}, "allocation": "spread"},
}


def named(name: str, **more: Any) -> Point:
    return point(**{**POINTS[name], **more})


def analysed(this: Point) -> AnalysedMachine:
    machine = this.machine.build()
    return AnalysedMachine(machine, bisection_bounds(machine).cut_side)


# What is covered


def modules_that_run(work: Any) -> set[str]:
    """Names of our modules of which some function runs while `work` does."""
    ran: set[str] = set()

    def note(frame: Any, event: str, argument: object) -> None:
        if event == "call":
            ran.add(frame.f_globals.get("__name__", ""))

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return {name for name in ran if name.split(".")[0] == OURS}


def covered(this: Point) -> set[str]:
    """Modules whose change changes the code digest of a point."""
    kinds = [this.machine, this.routing, this.engine, engine_named(this.engine.kind)]
    kinds += [part for job in this.jobs for part in (job.pattern, job.allocation, job.mapping)]
    roots = {"fabricstudy.engine.simulate", *(type(kind).__module__ for kind in kinds)}
    return set[str]().union(*map(imported, roots))


@pytest.mark.parametrize("engine", ["analysis", "caminos", "sst", "codes"])
@pytest.mark.parametrize("name", POINTS)
def test_whatever_prepares_a_point_is_covered(name: str, engine: str, tmp_path: Path) -> None:
    """From the point as it was written to what the simulator gets, and its reading as far as there is no program."""
    found: dict[str, Any] = {}

    def work(folder: Path) -> None:
        folder.mkdir()
        this = found["point"] = named(name, engine=engine)
        machine = analysed(this)
        found["record"] = attempt_point(this, _Unrun(engine_named(engine)), machine, Limits(), folder)

    work(tmp_path / "first")  # modules run once more when they are imported
    ran = modules_that_run(lambda: work(tmp_path / "second"))
    assert found["record"]["status"] in ("done", "failed", "unsupported"), found["record"]
    missed = ran - covered(found["point"]) - {f"{OURS}.core.{name}" for name in WITHOUT_EFFECT}
    # The registry finds modules, and validity asks for digests: neither computes anything of a point.
    missed -= {f"{OURS}.engine.registry", f"{OURS}.engine.validity", f"{OURS}.core.source", OURS}
    assert not missed
    assert len(ran) > 15


class _Unrun:
    """An engine whose program is not run, so that its reader finds no output."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def prepare(self, *given: Any) -> list[str]:
        self._engine.prepare(*given)
        return ["true"]


@pytest.mark.parametrize("engine", ["caminos", "sst", "codes"])
def test_readers_are_covered(engine: str) -> None:
    """What each engine says reads its output, with all of its own package that it needs."""
    this = point(engine=engine)
    assert engine_named(engine).reading in covered(this)
    assert engine_named(engine).reading.startswith(f"{OURS}.engine.{engine}.")


# Which points a change concerns

# Formulas: of neighbours, degrees, cuboids, global ports: what the study's models computed, too (B1).
FORMULAS = {
    "workload/pattern/all_gather.py": ("np.roll(rank, -1)", "np.roll(rank, -2)", "all-gather"),
    "workload/pattern/uniform_random.py": ("integers(1, ranks", "integers(2, ranks", "uniform"),
    "workload/allocation/random.py": ("rng.permutation", "rng.permuted", "random"),
    "machine/arrangement.py": ("port // 2 + 1", "port // 2 + 2", "bisection"),
    "machine/fat_tree.py": ("// 2", "// 3", "tree"),
    "routing/d_mod_k.py": ("// self._divisor[at]", "// 1 // self._divisor[at]", "tree"),
}
ENGINES = ("analysis", "caminos", "codes", "sst")
SHARED: dict[str, tuple[str, ...]] = {
    "engine/caminos/clock.py": ("caminos",),
    "engine/codes/packet.py": ("codes",),
    "engine/sst/system.py": ("sst",),
    "workload/placing.py": ENGINES,
    "engine/simulate.py": ENGINES,
}
NEW_PATTERN = '''
"""Everyone to rank 0."""



from .base import MessagePattern


class Gather(MessagePattern, kind="gather-all"):
    """Everyone to rank 0."""

'''

# Prints the fingerprints of all points, and those after each change of a file, which a child of its own sees.
SHOW = """
import json, os, sys
from pathlib import Path
from fabricstudy.engine.point import Point
from fabricstudy.engine.validity import fingerprint
from fabricstudy.core.quantities import BASE_UNITS_CONTEXT

def show(name, points):
    print(json.dumps([name, {name: str(fingerprint(point)) for name, point in points.items()}]), flush=True)

given = json.loads(Path(sys.argv[1]).read_text())
points = {name: Point.model_validate(point, context=BASE_UNITS_CONTEXT) for name, point in given["points"].items()}
for file, text in given["changes"].items():
    child = os.fork()
    if not child:
        kept = Path(file).read_text()
        try:
            Path(file).write_text(text)
            show(file, points)
        finally:
            Path(file).write_text(kept)
            os._exit(0)
    os.waitpid(child, 0)
show("", points)
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package."""
    folder = tmp_path_factory.mktemp("code")
    shutil.copytree(PACKAGE, folder / OURS)
    return folder / OURS


Prints = dict[str, dict[str, str]]


def fingerprints(package: Path, changes: dict[str, str]) -> Prints:
    """Fingerprints of each point by each changed file, and those without a change by no name."""
    # Quantities stand as numbers in what we dump; the copy reads them as its own.
    points = {
        f"{name} on {engine}": named(name, engine=engine).model_dump(mode="json", by_alias=False)
        for name in POINTS
        for engine in ENGINES
    }
    given = package.parent / "given.json"
    given.write_text(json.dumps({"points": points, "changes": changes}))
    environment = {**os.environ, "PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", SHOW, str(given)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=package)
    assert done.returncode == 0, done.stderr
    found: Prints = dict(map(json.loads, done.stdout.splitlines()))
    assert set(found) == {"", *changes}, done.stderr
    return found


@pytest.fixture(scope="module")
def prints(copy: Path) -> Prints:
    """Fingerprints without a change, and after each of those that the tests below ask about."""
    changes = {file: (copy / file).read_text() + "\n\nNEW_CONSTANT = 1\n" for file in SHARED}
    for file, (old, new, _) in FORMULAS.items():
        assert old in (copy / file).read_text(), f"{file} has no {old!r}"
        changes[file] = (copy / file).read_text().replace(old, new, 1)
    return fingerprints(copy, changes)


def concerned(prints: Prints, file: str) -> set[str]:
    """Points of which the fingerprint changes with a file."""
    return {name for name in prints[""] if prints[""][name] != prints[file][name]}


@pytest.mark.parametrize("file", FORMULAS)
def test_a_changed_formula_concerns_the_points_of_its_kind_alone(prints: Prints, file: str) -> None:
    found, (*_, kind) = concerned(prints, file), FORMULAS[file]
    # SST and CODES wire some topologies themselves, so all their points are looked at; none is simulated for that.
    own = {name for name in found if not (file.startswith("machine/") and name.endswith((" on sst", " on codes")))}
    assert {name.split(" on ")[0] for name in own} == {kind}
    assert {name for name in prints[""] if name.startswith(f"{kind} on ")} <= found


@pytest.mark.parametrize("file", SHARED)
def test_an_engine_and_the_core_concern_their_points(prints: Prints, file: str) -> None:
    found, engines = concerned(prints, file), SHARED[file]
    assert {name.split(" on ")[1] for name in found} == set(engines) and len(found) == len(POINTS) * len(engines)


def test_a_new_kind_and_changed_words_concern_no_point(copy: Path, prints: Prints, tmp_path: Path) -> None:
    code = tmp_path / OURS
    shutil.copytree(copy, code)
    (code / "workload/pattern/gather_all.py").write_text(NEW_PATTERN)
    (code / "workload/pattern/unused.py").write_text("UNUSED = 1\n")
    placing = code / "workload/placing.py"
    placing.write_text("# A remark.\n" + placing.read_text().replace('"""From a point', '"""Other words: from a point'))
    assert fingerprints(code, {})[""] == prints[""]


def test_all_versions_of_python_give_the_same() -> None:
    """Each interpreter that is here digests all of our files."""
    script = (
        "import importlib.util, pathlib, sys\n"
        "spec = importlib.util.spec_from_file_location('source', sys.argv[1])\n"
        "source = importlib.util.module_from_spec(spec); spec.loader.exec_module(source)\n"
        "print(*(source.file_digest(path) for path in sorted(pathlib.Path(sys.argv[2]).rglob('*.py'))))\n"
    )
    own = [source.file_digest(path) for path in sorted(PACKAGE.rglob("*.py"))]
    found = {}
    for version in ("3.11", "3.12", "3.13", "3.14"):
        for program in _interpreters(version):
            command = [program, "-c", script, str(PACKAGE / "source.py"), str(PACKAGE)]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode == 0:
                found[version] = done.stdout.split()
    others = {version for version in found if version != f"{sys.version_info[0]}.{sys.version_info[1]}"}
    if not others:
        pytest.skip("no other version of Python from 3.11 on is here")
    assert all(digests == own for digests in found.values())


def _interpreters(version: str) -> list[str]:
    found = [shutil.which(f"python{version}")]
    found += [str(path) for path in Path.home().glob(f".pyenv/versions/{version}.*/bin/python")]
    return [program for program in found if program]


def tokens(text: str) -> list[str]:
    """Return the tokens of a module that decide what it does, as Python's own tokenizer finds them."""
    found: list[str] = []
    statement: list[str] = []
    is_text = True
    for one in tokenize.generate_tokens(io.StringIO(text).readline):
        if one.type == token.NEWLINE:
            # A statement of strings alone is a docstring.
            found += [] if is_text else [*statement, "\n"]
            statement, is_text = [], True
        elif one.type not in (token.NL, token.COMMENT, token.INDENT, token.DEDENT, token.ENDMARKER):
            statement.append(one.string)
            is_text = is_text and one.type == token.STRING
    return found


def test_nothing_but_comments_and_docstrings_is_left_out_of_a_text() -> None:
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text()
        assert tokens(source.meaning(text).removeprefix("module:")) == tokens(text), path


WORDS = [
    pytest.param("x = 1", "x = 1  # why", id="a comment"),
    pytest.param("x = 1\ny = 2", "x = 1\n\n# why\n  # and\n\ny = 2", id="lines of comments"),
    pytest.param('"""One."""\nx = 1', '# Why.\n\n"""Two.\n\nAnd more."""\n\nx = 1', id="of a module"),
    pytest.param('def f():\n  """One."""\n  return 1', "def f():  # why\n  return 1", id="of a function"),
    pytest.param("class X(Y):\n  'One.'\n  x = 1", "class X(Y):\n  'Two.'\n  x = 1", id="in single quotes"),
    pytest.param('X = [1]\n"""One."""\nx = 1', 'X = [1]\n"""Two."""\nx = 1', id="of an attribute"),
]


@pytest.mark.parametrize(("one", "other"), WORDS)
def test_words_do_not_count(one: str, other: str) -> None:
    assert source.meaning(one) == source.meaning(other)


CODE = [
    pytest.param("x = 1", "x = 2", id="a number"),
    pytest.param("x = '#a'", "x = '#b'", id="a text with a hash"),
    pytest.param('x = f"{a} # b"', 'x = f"{a} # c"', id="a formatted text"),
    pytest.param('x = """\n# a\n"""', 'x = """\n# b\n"""', id="a long text"),
    pytest.param('x = """\n\na"""', 'x = """\na"""', id="a blank line in a text"),
    pytest.param('f(\n"""\na\n"""\n)', 'f(\n"""\nb\n"""\n)', id="a text as an argument"),
    pytest.param('f(  # c\n"""a"""\n)', 'f(  # c\n"""b"""\n)', id="a text after a comment"),
    pytest.param('f(x,\n"""a"""\n)', 'f(x,\n"""b"""\n)', id="a text as a further argument"),
    pytest.param('f("x"\n"""a"""\n)', 'f("x"\n"""b"""\n)', id="a text joined to another"),
    pytest.param('x = \\\n"""a"""\n', 'x = \\\n"""b"""\n', id="a text on a line that goes on"),
    pytest.param('x = {\n"a":\n"b"\n}', 'x = {\n"a":\n"c"\n}', id="a text as a value"),
    pytest.param("x = '\\'#a'", "x = '\\'#b'", id="an escaped quote"),
    pytest.param("if x:\n  y\nz", "if x:\n  y\n  z", id="an indent"),
]


@pytest.mark.parametrize(("one", "other"), CODE)
def test_code_counts(one: str, other: str) -> None:
    assert source.meaning(one) != source.meaning(other)


def test_imports_are_found_however_they_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / OURS
    (package / "one").mkdir(parents=True)
    for name in ("one/__init__", "one/two", "one/three", "four", "five"):
        (package / f"{name}.py").touch()
    (package / "one/six.py").write_text(
        '"""\nimport fabricstudy.none\n"""\nfrom .two import x, y\nfrom . import (\n    three,  # why\n    z as w,\n)\n'
        "import numpy as np; from .. import four as more\nif x: import fabricstudy.five as five, sys\n"
    )
    monkeypatch.setattr(source, "PACKAGE", package)
    found = source.direct_imports.__wrapped__(f"{OURS}.one.six")
    assert found == {f"{OURS}.{name}" for name in ("one", "one.two", "one.three", "four", "five")}


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
    assert validity(stores.record(planned.point_id), planned.point) is Validity.VALID
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


@pytest.fixture(params=[0.4, "saturation"])
def stored_offered(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[PlannedPoint, Store]:
    """A finished point of offered traffic, at one load or with a search, and its store."""
    offered = {"traffic": "uniform", "load": request.param, "warmup": 50, "measured": 200, "batches": 8}
    parts = {"machine": DRAGONFLY, "routing": "minimal", "offered": offered, "engine": "caminos", "seed": 1}
    of_traffic = Point.model_validate(parts)
    planned, store = (
        PlannedPoint(point_id(of_traffic), machine_id(of_traffic.machine), of_traffic),
        point_store(tmp_path),
    )
    assert done_by(planned, store)["status"] == "done"
    return planned, store


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
        monkeypatch.setattr("fabricstudy.engine.caminos.adapter.Caminos.prepare", lambda *given: 1 / 0)
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
    assert validity(stores.record(planned.point_id), planned.point) is Validity.INVALID


def test_without_the_program_a_record_is_believed_and_checked_but_not_made(
    stored: tuple[PlannedPoint, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tables are often made where the simulator is not."""
    planned, stores = stored
    edit(*stored, fingerprint=with_mark(planned, 2, "the program of another host"))
    monkeypatch.setattr("fabricstudy.engine.caminos.adapter.Caminos.program", lambda self: None)
    record = stores.record(planned.point_id)
    assert validity(record, planned.point) is Validity.VALID
    edit(*stored, fingerprint=f"{'0' * 12}-{with_mark(planned, 2, 'theirs')[13:]}")
    engine, missing = engine_named("caminos"), Probe("caminos", False, reason="it is not here")
    kept = simulate(planned, engine, missing, stores, machine_of, Limits())
    assert kept["status"] == "done" and kept["fingerprint"].endswith("-theirs")
    edit(*stored, fingerprint=f"{'0' * 12}-{with_mark(planned, 2, 'theirs')[13:]}", input="other")
    skipped = simulate(planned, engine, missing, stores, machine_of, Limits())
    assert (skipped["status"], skipped["reason"]) == ("skipped", "it is not here")


class Raising:
    """An engine that fails in a way that nobody thought of."""

    name, simulates, bundled, differences = "analysis", True, True, ()

    def __init__(self, where: str) -> None:
        self.where = where

    def probe(self) -> Probe:
        return Probe("analysis", True, version="1")

    def unsupported(self, *given: Any) -> str | None:
        return None

    def predict_memory_bytes(self, *given: Any) -> float | None:
        return None

    def derived(self, *given: Any) -> dict[str, int]:
        return {}

    def scale(self, *given: Any) -> dict[str, float]:
        return {}

    def prepare(self, *given: Any) -> None:
        if self.where == "prepare":
            raise OverflowError("Python int too large to convert to C long")

    def read(self, *given: Any) -> None:
        raise KeyError("runtime")


@pytest.mark.parametrize("where", ["prepare", "read"])
def test_a_point_that_raises_anything_is_a_row_with_its_reason(where: str, tmp_path: Path) -> None:
    """D3."""
    this = named("stencil")
    engine: Any = Raising(where)
    record = attempt_point(this, engine, analysed(this), Limits(), tmp_path)
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
        record = attempt_point(this, _Unrun(engine_named(engine)), machine, Limits(), tmp_path / name)
        digests.add(record.get("input"))
    assert len(digests) == 1 and None not in digests


def test_the_package_is_the_one_under_test() -> None:
    assert Path(fabricstudy.__file__).parent == PACKAGE


@pytest.mark.parametrize(("engine", "reader"), [("caminos", "result"), ("sst", "offered"), ("codes", "offered")])
def test_results_of_offered_traffic_depend_on_its_reader(
    monkeypatch: pytest.MonkeyPatch, engine: str, reader: str
) -> None:
    read: list[set[str]] = []

    def digest(modules: set[str]) -> str:
        read.append(modules)
        return "0" * 12

    monkeypatch.setattr(sys.modules["fabricstudy.engine.validity"], "digest_of", digest)
    _reading.cache_clear()
    parts = {"machine": DRAGONFLY, "routing": "minimal", "engine": engine, "seed": 1}
    fingerprint(Point.model_validate({**parts, "offered": {"traffic": "uniform", "load": 0.5}}))
    _reading.cache_clear()
    assert f"{OURS}.engine.{engine}.{reader}" in read[-1]


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


def test_offered_traffic_depends_on_the_module_of_each_part() -> None:
    mix = {
        "kind": "mix",
        "of": [{"weight": 1, "traffic": {"kind": "shift", "nodes": 1}}, {"weight": 1, "traffic": "uniform"}],
    }
    parts = {"machine": DRAGONFLY, "routing": "minimal", "engine": "caminos", "seed": 1}
    point = Point.model_validate({**parts, "offered": {"traffic": mix, "load": 0.5}})
    modules = {type(kind).__module__.rpartition(".")[2] for kind in kinds_within(point)}
    assert {"mix", "permutations", "uniform"} <= modules
