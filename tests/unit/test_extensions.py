"""Files of a study's own: imported, refused with one error, and part of what a result depends on."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from fabricstudy.cli import main
from fabricstudy.core import extensions
from fabricstudy.core.bundled_files import CONFIGS
from fabricstudy.core.kind_modules import BUNDLED_EXTENSIONS, MODULES
from fabricstudy.core.kinds import code_of, families, kind_of
from fabricstudy.core.model import ConfigError
from fabricstudy.core.source import package_sources
from fabricstudy.core.store import checksummed_line
from fabricstudy.engine.point import Point, point_from_json
from fabricstudy.engine.registry import engine_named
from fabricstudy.engine.validity import fingerprint
from fabricstudy.study.document import family_paths, reference_page, schema
from fabricstudy.study.file import load_machine, load_study
from fabricstudy.study.plan import Plan, plan
from fabricstudy.workflow.pipeline import Pipeline, load_pipelines
from fabricstudy.workload.definitions import WorkloadIds

HEAD = """\
from typing import Any, ClassVar
import numpy as np
"""
HALF = f"""{HEAD}
from fabricstudy.workload.pattern import MessagePattern, Sends, one_phase

class Half(MessagePattern, kind="half"):
    "Each rank sends to the rank half-way round."
    def traffic_messages(self, ranks: int) -> float:
        return float(ranks) * self.iterations
    def sends(self, ranks: int, rng: np.random.Generator) -> Sends:
        rank = np.arange(ranks, dtype=np.int32)
        return one_phase(rank, (rank + ranks // 2) % ranks, self.iterations)
"""
CLOSED = "        return float(ranks) * self.iterations\n"
LINE = f"""{HEAD}
from fabricstudy.machine.grids import TorusConfig

class Line(TorusConfig, kind="line"):
    "A torus of another name."
"""
COUNT = f"""{HEAD}
from fabricstudy.analysis.base import Analysis

class Count(Analysis, kind="count"):
    "Numbers."
    keys: ClassVar[tuple[str, ...]] = ("number",)
    numbers: ClassVar[tuple[str, ...]] = ("number",)
    def rows(self) -> list[dict[str, Any]]:
        return [{{"number": 1}}]
"""
STUDY: dict[str, Any] = {
    "study": "own",
    "extensions": ["half.py"],
    "machine": {"kind": "torus", "shape": [4], "nodes_per_router": 1, "bandwidth": "1 GB/s"},
    "routing": "minimal",
    "jobs": [{"share": 1.0, "pattern": {"kind": "half", "message": "1 kB"}}],
    "engine": "caminos",
}
BOTH: dict[str, Any] = {"sweep": {"pattern": {"of": "jobs.0.pattern.kind", "values": ["half", "ring"]}}}


def write(folder: Path, files: dict[str, str | bytes] | None = None, **changes: Any) -> Path:
    """Write a study and its files."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in ({"half.py": HALF} if files is None else files).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    path = folder / "own.yaml"
    path.write_text(yaml.safe_dump(STUDY | changes, sort_keys=False))
    return path


def points(path: Path) -> list[Point]:
    found = plan(load_study(path))
    return [found.points[row.point_id].point for row in found.rows]


def test_a_kind_of_an_extension_is_like_ours(tmp_path: Path) -> None:
    half, ring = points(write(tmp_path, **BOTH))
    assert half.jobs[0].pattern.traffic_messages(4) == 4 and ring.jobs[0].pattern.kind == "ring"
    # A file may lie below, and its physics stands in the record.
    (below,) = points(write(tmp_path, {"a/b/half.py": HALF}, extensions=["a/b/half.py"]))
    assert below.physics() == half.physics() and point_from_json(half.model_dump(mode="json")) == half


def test_mistakes_in_its_keys_are_told_like_those_in_ours(tmp_path: Path) -> None:
    for own, key in (({"kind": "halv", "message": "1 kB"}, "kind"), ({"kind": "half", "mesage": "1 kB"}, "mesage")):
        with pytest.raises(ConfigError) as caught:
            load_study(write(tmp_path, jobs=[{"share": 1.0, "pattern": own}]))
        assert caught.value.path == f"jobs.0.pattern.{key}" and "did you mean" in caught.value.remedy


BROKEN: dict[str, tuple[dict[str, str | bytes], list[Any], int, str]] = {
    "missing": ({}, ["none.py"], 0, "no such file"),
    "a folder": ({"half.py/x": ""}, ["half.py"], 0, "not a file"),
    "of no name": ({}, [""], 0, ".py"),
    "a null byte": ({}, ["half\0.py"], 0, "name"),
    "too long a name": ({}, ["h" * 300 + ".py"], 0, "name"),
    "too large": ({"half.py": b"#" * 1_000_001}, ["half.py"], 0, "1,000,000"),
    "absolute": ({"half.py": HALF}, [sys.executable], 0, "folder"),
    "outside": ({"../half.py": HALF}, ["../half.py"], 0, "folder"),
    "out and in": ({"half.py": HALF}, ["../study/half.py"], 0, "folder"),
    "another ending": ({"half.txt": HALF}, ["half.txt"], 0, ".py"),
    "no module name": ({"my-half.py": HALF}, ["my-half.py"], 0, "letters"),
    "twice": ({"half.py": HALF}, ["half.py", "half.py"], 1, "half"),
    "two of one stem": ({"half.py": HALF, "a/half.py": LINE}, ["half.py", "a/half.py"], 1, "half"),
    "two of one kind": ({"half.py": HALF, "other.py": HALF}, ["half.py", "other.py"], 1, "half.py"),
    "a kind of ours": ({"half.py": HALF.replace('"half"', '"ring"')}, ["half.py"], 0, "'ring'"),
    "no kind": ({"half.py": HALF.replace(', kind="half"', "")}, ["half.py"], 0, "defines no kind"),
    "of no family": (
        {"half.py": f"{HEAD}class Half(kind='half'): pass\n"}, ["half.py"], 0, "line 3",
    ),
    "no Python": ({"half.py": "x = 1\ndef (:\n"}, ["half.py"], 0, "line 2"),
    "not UTF-8": ({"half.py": b"x = '\xff'\n"}, ["half.py"], 0, "half.py"),
    "null bytes": ({"half.py": b"x = 1\0\n"}, ["half.py"], 0, "half.py"),
    "raises": ({"half.py": "\n\n1 / 0\n"}, ["half.py"], 0, "line 3"),
    "raises below": ({"half.py": "def f():\n  return int('x')\nf()\n"}, ["half.py"], 0, "line 2"),
    "ends": ({"half.py": "import sys\nsys.exit(0)\n"}, ["half.py"], 0, "SystemExit"),
    "imports what is not there": ({"half.py": "import no_such_module\n"}, ["half.py"], 0, "no_such_module"),
    "registers nothing": ({"half.py": "x = 1\n"}, ["half.py"], 0, "defines no kind"),
    "is empty": ({"half.py": ""}, ["half.py"], 0, "defines no kind"),
    "a neighbour not listed": ({"half.py": "from .line import Line\n", "line.py": LINE}, ["half.py"], 0, "line.py"),
    "a helper that nobody uses": ({"half.py": HALF, "helper.py": "x = 1\n"}, ["half.py", "helper.py"], 1, "leave"),
    "the neighbour is broken": (
        {"half.py": f"from .line import Line\n{HALF}", "line.py": "x = (\n"}, ["half.py", "line.py"], 1, "line 1",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("files", "listed", "place", "told"), BROKEN.values(), ids=BROKEN)
def test_what_cannot_be_an_extension(
    files: dict[str, str | bytes], listed: list[Any], place: int, told: str, tmp_path: Path
) -> None:
    path = write(tmp_path / "study", files, extensions=listed)
    with pytest.raises(ConfigError) as caught:
        load_study(path)
    error = caught.value
    assert (error.file, error.path, error.value) == (str(path), f"extensions.{place}", listed[place])
    assert error.remedy and told in str(error) and "\n" not in str(error)
    # Nothing of it stays, and once it is mended it is taken.
    assert not any(name.startswith("fabricstudy_extensions_") for name in sys.modules)
    assert len(points(write(tmp_path / "study/mended"))) == 1


@pytest.mark.parametrize(
    ("listed", "path"), [("half.py", "extensions"), ([1], "extensions.0"), ({"a": 1}, "extensions")]
)
def test_what_is_no_list_of_names(listed: Any, path: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_study(write(tmp_path, extensions=listed))
    assert path in str(caught.value)


def test_a_link_that_leads_to_itself_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "study", {})
    (tmp_path / "study/half.py").symlink_to("half.py")
    with pytest.raises(ConfigError) as caught:
        load_study(path)
    assert caught.value.path == "extensions.0"


def test_a_link_that_leads_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "study", {"../elsewhere.py": HALF})
    (tmp_path / "study/half.py").symlink_to("../elsewhere.py")
    with pytest.raises(ConfigError) as caught:
        load_study(path)
    assert caught.value.path == "extensions.0"


def test_importing_leaves_no_trace_and_prints_nothing_to_standard_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, {"half.py": f"print('imported')\n{HALF}"})
    assert main(["plan", "--json", str(path)]) == 0
    assert json.loads(capsys.readouterr().out)["points"] == 1
    assert sorted(file.name for file in tmp_path.iterdir()) == ["half.py", "own.yaml"]


def test_a_study_has_its_own_kinds_and_no_other_ones(tmp_path: Path) -> None:
    write(tmp_path / "a", study="a")
    # Another file of the same name, with a kind of the same name.
    write(tmp_path / "b", {"half.py": HALF.replace("ranks // 2", "ranks // 4")}, study="b")
    files = [str(tmp_path / name / "own.yaml") for name in "ab"]
    both = load_pipelines(",".join(files), tmp_path)
    codes = {next(iter(both[name].plan.points.values())).point.jobs[0].pattern.__class__ for name in "ab"}
    assert len(codes) == 2
    with pytest.raises(ConfigError) as caught:
        load_study(write(tmp_path / "c", extensions=[]))
    assert caught.value.path == "jobs.0.pattern.kind"
    # Nor does it come in by a sweep, which is looked at later.
    sweep: dict[str, Any] = {"sweep": {"pattern": {"of": "jobs.0.pattern.kind", "values": ["half"]}}}
    ring = [{"share": 1.0, "pattern": {"kind": "ring", "message": "1 kB"}}]
    with pytest.raises(ConfigError):
        plan(load_study(write(tmp_path / "c", extensions=[], jobs=ring, **sweep)))
    # What we publish of our own kinds stays the same.
    assert "`half`" not in reference_page() and '"half"' not in schema()


def test_a_file_is_imported_once_whichever_folder_it_lies_in(tmp_path: Path) -> None:
    found = [points(write(tmp_path / name))[0].jobs[0].pattern for name in "aba"]
    assert len({type(pattern) for pattern in found}) == 1


@pytest.mark.parametrize("order", [["half.py", "line.py"], ["line.py", "half.py"]])
def test_one_file_may_import_another_in_any_order(order: list[str], tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"half.py": f"from .line import Line\n{HALF}", "line.py": LINE}
    (point,) = points(write(tmp_path, files, extensions=order))
    module = type(point.jobs[0].pattern).__module__
    assert {name.rsplit(".")[-1] for name in package_sources(module)} == {"half", "line"}


def test_a_helper_needs_no_kind_and_counts(tmp_path: Path) -> None:
    ids = set()
    for factor in (2, 3, 3):
        half = HALF.replace("ranks // 2", "ranks // FACTOR").replace(HEAD, f"{HEAD}\nfrom .helper import FACTOR\n")
        files: dict[str, str | bytes] = {"half.py": half, "helper.py": f"FACTOR = {factor}\n"}
        ids |= set(plan(load_study(write(tmp_path, files, extensions=["half.py", "helper.py"]))).points)
    assert len(ids) == 2


def test_only_files_that_keys_name_are_inputs(tmp_path: Path) -> None:
    """Of two files that a kind reads, the change of the declared one makes another point; the other is not seen."""
    half = HALF.replace("class Half(MessagePattern,", "class Half(FromFile, MessagePattern,")
    half = half.replace("ranks // 2", "self.content() + int(open(__file__.replace('half.py', 'undeclared')).read())")
    half = half.replace(HEAD, f"{HEAD}\nfrom fabricstudy.core.input_files import FromFile\n")
    half = re.sub(r"(class Half.*\n)", r"\1    READER = staticmethod(lambda path, data: int(data))\n", half)
    ids: list[str] = []
    sent: list[Any] = []
    for declared, undeclared in ((1, 1), (2, 1), (2, 2)):
        files: dict[str, str | bytes] = {"half.py": half, "n.txt": str(declared), "undeclared": str(undeclared)}
        path = write(
            tmp_path, files, jobs=[{"share": 1.0, "pattern": {"kind": "half", "message": "1 kB", "file": "n.txt"}}]
        )
        (planned,) = plan(load_study(path)).points.values()
        ids.append(planned.point_id)
        sends: Any = planned.point.jobs[0].pattern.sends(4, np.random.default_rng(1))
        sent.append((sends.destination - sends.source) % 4)
    assert ids[0] != ids[1] == ids[2]
    assert [set(steps.tolist()) for steps in sent] == [{2}, {3}, {0}]


def test_two_kinds_of_one_name_have_points_of_their_own(tmp_path: Path) -> None:
    for name, steps in (("x", 2), ("y", 4)):
        write(tmp_path / name, {"half.py": HALF.replace("ranks // 2", f"ranks // {steps}")})
    ids = [set(plan(load_study(tmp_path / name / "own.yaml")).points) for name in "xyx"]
    assert ids[0] == ids[2] and not ids[0] & ids[1]


class TestWhatAResultDependsOn:
    """The files that a point uses, by their meaning, and nothing else."""

    @staticmethod
    def prints(path: Path) -> tuple[str, ...]:
        return tuple(fingerprint(point).code for point in points(path))

    def test_a_changed_file_concerns_the_points_that_use_its_kinds(self, tmp_path: Path) -> None:
        half, ring = self.prints(write(tmp_path, **BOTH))
        changed, same = self.prints(write(tmp_path, {"half.py": HALF.replace("// 2", "// 4")}, **BOTH))
        assert changed != half and same == ring

    def test_the_place_of_a_file_does_not_count(self, tmp_path: Path) -> None:
        before = self.prints(write(tmp_path / "a", **BOTH))
        assert self.prints(write(tmp_path / "b", **BOTH)) == before
        (tmp_path / "a").rename(tmp_path / "moved")
        assert self.prints(tmp_path / "moved/own.yaml") == before

    def test_a_neighbour_that_is_imported_counts(self, tmp_path: Path) -> None:
        found = []
        for gap in ("", "    gap: ClassVar[int] = 1\n"):
            files: dict[str, str | bytes] = {"half.py": f"from . import line\n{HALF}", "line.py": LINE + gap}
            found.append(self.prints(write(tmp_path, files, extensions=["half.py", "line.py"], **BOTH)))
        assert found[0][0] != found[1][0] and found[0][1] == found[1][1]

    def test_in_another_process_from_another_folder_it_is_the_same(self, tmp_path: Path) -> None:
        path = write(tmp_path / "study")
        code = (
            "from fabricstudy.study import load_study, plan; from fabricstudy.engine.validity import fingerprint;"
            "(point,) = plan(load_study('own.yaml')).points.values(); print(fingerprint(point.point).code)"
        )
        shutil.copytree(path.parent, tmp_path / "copy")
        for folder in (path.parent, tmp_path / "copy"):
            done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
            assert (done.stdout.strip(),) == self.prints(path), done.stderr

    def test_a_file_counts_whatever_its_name(self, tmp_path: Path) -> None:
        """Of ours, modules of this name hold words alone."""
        found = [
            self.prints(write(tmp_path, {"differences.py": text}, extensions=["differences.py"]))
            for text in (HALF, HALF.replace("// 2", "// 4"))
        ]
        assert found[0] != found[1]

    def test_a_machine_depends_on_its_file(self, tmp_path: Path) -> None:
        machine = STUDY["machine"] | {"kind": "line"}
        marks = []
        for text in (LINE, LINE.replace("A torus", "Some torus"), LINE + "    gap: ClassVar[int] = 1\n"):
            files: dict[str, str | bytes] = {"half.py": HALF, "line.py": text}
            path = write(tmp_path, files, extensions=["half.py", "line.py"], machine=machine)
            marks.append(code_of("machine", points(path)[0].machine))
        assert len(set(marks)) == 3

    def test_each_key_of_its_machine_counts_for_workloads(self, tmp_path: Path) -> None:
        write(tmp_path, {"half.py": HALF, "line.py": LINE})
        machine = STUDY["machine"] | {"kind": "line"}
        bandwidth = {"of": "machine.bandwidth", "values": {"slow": "1 GB/s", "fast": "2 GB/s"}}
        files = {"extensions": ["half.py", "line.py"], "sweep": {"bandwidth": bandwidth}}
        slow, fast = points(write(tmp_path, {}, machine=machine, **files))
        assert WorkloadIds().of(slow) != WorkloadIds().of(fast)

    def test_an_analysis_depends_on_its_file(self, tmp_path: Path) -> None:
        marks = []
        for text in (COUNT, COUNT.replace("Numbers.", "Few."), COUNT.replace('"number": 1', '"number": 2')):
            files: dict[str, str | bytes] = {"half.py": HALF, "count.py": text}
            listed = {"extensions": ["half.py", "count.py"], "analyses": {"own": {"kind": "count"}}}
            path = write(tmp_path, files, **listed)
            marks.append(Pipeline(path, plan(load_study(path))).analysis_digest("own"))
        assert len(set(marks)) == 3


ROUTING = f"""{HEAD}
from fabricstudy.routing.base import Routing
from fabricstudy.routing.minimal import MinimalRoutes

class Near(Routing, kind="near"):
    "Minimal by another name."
    def routes(self, machine):
        return MinimalRoutes(machine)
"""


def test_a_routing_is_taken_from_its_routes_or_refused_by_name(tmp_path: Path) -> None:
    engines = {"engine": {"of": "engine", "values": ["analysis", "caminos", "flow", "packet", "sst", "codes"]}}
    files: dict[str, str | bytes] = {"half.py": HALF, "near.py": ROUTING}
    path = write(tmp_path, files, extensions=["half.py", "near.py"], routing="near", sweep=engines)
    found = Pipeline(path, plan(load_study(path)))
    assert len(found.batches) == 6
    for planned in found.plan.points.values():
        engine = engine_named(planned.point.engine.kind)
        refusal = engine.unsupported(planned.point, planned.point.machine.build())
        assert "near" in str(refusal) if engine.name == "codes" else "near" not in str(refusal)


def test_an_allocation_says_how_many_nodes_it_holds_when_it_is_planned(tmp_path: Path) -> None:
    text = f"""{HEAD}
from fabricstudy.workload.allocation.base import Allocation
from fabricstudy.workload.allocation.base import Grant

class Twice(Allocation, kind="twice"):
    def reserved_nodes(self, machine, nodes):
        return 2 * nodes
"""
    files: dict[str, str | bytes] = {"half.py": HALF, "twice.py": text}
    job = STUDY["jobs"][0] | {"share": 0.75, "allocation": "twice"}
    with pytest.raises(ConfigError) as caught:
        load_study(write(tmp_path, files, extensions=["half.py", "twice.py"], jobs=[job]))
    assert caught.value.path == "jobs.0.share"


def test_a_file_with_a_machine_alone_may_have_extensions(tmp_path: Path) -> None:
    write(tmp_path, {"line.py": LINE})
    path = tmp_path / "machine.yaml"
    path.write_text(yaml.safe_dump({"extensions": ["line.py"], "machine": STUDY["machine"] | {"kind": "line"}}))
    assert load_machine(path).kind == "line"


TURN = """
import numpy as np
from fabricstudy.machine.xgft import XgftConfig
from fabricstudy.workload.mapping.base import Mapping

class Turned(Mapping, kind="turned"):
    "Ranks in descending order."
    def map_ranks(self, slots, tasks, rng):
        return np.arange(slots.ranks)[::-1].astype(np.int64)

class OwnTree(XgftConfig, kind="own-tree"):
    "A tree."
"""


def test_draw_and_map_know_kinds_of_their_extensions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "turn.py").write_text(TURN)
    (tmp_path / "ring.csv").write_text("source,destination,weight\n0,1,1\n1,2,1\n2,3,1\n")
    tree, known = (
        "{kind: own-tree, down: [2, 2], up: [2], bandwidth: 1 GB/s}",
        ["--extensions", str(tmp_path / "turn.py")],
    )
    picture = tmp_path / "tree.svg"
    assert main(["machine", "draw", tree, "--out", str(picture), *known]) == 0 and picture.stat().st_size > 1000
    graph = ["--machine", tree, "--graph", str(tmp_path / "ring.csv"), "--with", "turned"]
    capsys.readouterr()
    assert main(["map", *graph, *known, "--json"]) == 0
    assert [row["mapping"] for row in json.loads(capsys.readouterr().out)["mappings"]] == ["linear", "turned"]
    assert main(["map", *graph, "--extensions", str(tmp_path / "none.py")]) == 1


class TestCommand:
    @staticmethod
    def run(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
        assert main(["list", "kinds", *arguments]) == code
        out, err = capsys.readouterr()
        return err if code else out

    def test_all_kinds_are_listed_one_a_line(self, capsys: pytest.CaptureFixture[str]) -> None:
        lines = self.run(capsys).splitlines()
        listed = json.loads(self.run(capsys, "--json"))
        kinds = [kind_of(kind) for base in family_paths() for kind in base.FAMILY.members.values()]
        assert [entry["kind"] for entry in listed] == kinds
        assert [line.split()[0] for line in lines if line.startswith("  ")] == kinds
        assert {"machine", "routing", "jobs.*.pattern", "jobs.*.mapping"} <= {entry["path"] for entry in listed}

    def test_the_reference_of_a_kind_is_that_of_the_page(self, capsys: pytest.CaptureFixture[str]) -> None:
        page = reference_page()
        for base, path in family_paths().items():
            for kind in base.FAMILY.kinds[::5]:
                sections = re.split(r"^(?=### )", self.run(capsys, kind), flags=re.M)
                (own,) = [text for text in sections if text.startswith(f"### `{path}`, kind `{kind}`\n")]
                assert own.strip() in page

    def test_of_an_extension(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        write(tmp_path, {"half.py": HALF, "line.py": LINE})
        files = [f"--extensions={tmp_path / name}" for name in ("half.py", "line.py")]
        assert "half-way round" in self.run(capsys, *files) and "half-way round" not in self.run(capsys)
        (half,) = json.loads(self.run(capsys, "--json", *files, "half"))
        assert half["path"] == "jobs.*.pattern" and "| `message` |" in half["reference"]
        assert set(half["schema"]["properties"]) == {"kind", "message", "iterations", "order", "numbering"}
        assert "did you mean 'half'" in self.run(capsys, *files, "halv", code=1)
        assert "no such file" in self.run(capsys, "--extensions", str(tmp_path / "no.py"), code=1)


def test_a_stored_point_with_unknown_kinds_asks_for_its_study(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path)
    found: Plan = plan(load_study(path))
    (planned,) = found.points.values()
    folder = tmp_path / f"results/points/{planned.point_id[1:3]}/{planned.point_id}"
    folder.mkdir(parents=True)
    point = planned.point.model_dump(mode="json")
    record = {"point_id": planned.point_id, "status": "done", "point": point, "files": {}}
    (folder / "record.json").write_text(checksummed_line(record))
    extensions.unload_extensions(found.study.extension_package)
    assert main(["point", planned.point_id]) == 1
    assert "--study" in capsys.readouterr().err
    assert main(["point", planned.point_id, "--study", os.fspath(path)]) == 0


@pytest.mark.parametrize(("formula", "value"), [
    ("1 / 0", None), ("float('nan')", "half"), ("float('inf')", "half"), ("-1.0", "half"),
])  # fmt: skip
def test_a_closed_form_that_gives_no_number_is_told_before_anything_runs(
    formula: str, value: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "half.py").write_text(HALF.replace(CLOSED, f"        return {formula}\n"))
    study = {
        "study": "own", "extensions": ["half.py"], "machine": {"kind": "torus", "shape": [8], "bandwidth": "1 GB/s"},
        "routing": "minimal", "jobs": [{"share": 1.0, "pattern": {"kind": "half", "message": "1 kB"}}],
        "engine": "analysis",
    }  # fmt: skip
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(study))
    assert main(["plan", str(tmp_path / "own.yaml"), "--json"]) == 1
    (error,) = json.loads(capsys.readouterr().out)["errors"]
    found = (error["code"], error["file"], error["path"], error["value"])
    assert found == ("extension", str(tmp_path / "own.yaml"), "jobs.0.pattern", value)
    assert value is not None or "half.py, line 9" in error["problem"]


@pytest.mark.parametrize(("name", "formula", "told"), [
    ("nodes", "1 // 0", ("half.py, line 10", "machine")),
    ("nodes", "float('nan')", ("nan", "machine")),
    ("typical_hops", "1 / 0", ("half.py, line 10", None)),
    ("typical_hops", "float('nan')", ("nan", None)),
])  # fmt: skip
def test_a_closed_form_of_a_machine_that_gives_no_number_is_told(
    name: str, formula: str, told: tuple[str, str | None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "half.py").write_text(
        f"{LINE}    @property\n    def {name}(self) -> float:\n        return {formula}\n"
    )
    study = {
        "study": "own", "extensions": ["half.py"], "machine": {"kind": "line", "shape": [8], "bandwidth": "1 GB/s"},
        "routing": "minimal", "jobs": [{"share": 1.0, "pattern": {"kind": "ring", "message": "1 kB"}}],
        "engine": "caminos",
    }  # fmt: skip
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(study))
    assert main(["plan", str(tmp_path / "own.yaml"), "--json"]) == 1
    (error,) = json.loads(capsys.readouterr().out)["errors"]
    assert error["code"] == "extension" and told[0] in error["message"] and error.get("path") == told[1]


def test_bundled_extensions_define_their_kinds_and_no_others() -> None:
    folder = CONFIGS / "extensions"
    package = extensions.load_extensions(sorted(file.name for file in folder.glob("*.py")), folder)
    found = {
        base.FAMILY.noun: {name: kind.__module__.split(".")[-1] for name, kind in kinds.items()}
        for base in families()
        if base.FAMILY.noun in MODULES and (kinds := base.FAMILY.extensions(package))
    }
    assert found == BUNDLED_EXTENSIONS


def test_ids_contain_the_code_of_changed_copies_of_bundled_extensions_alone(tmp_path: Path) -> None:
    jobs = [{"share": 1.0, "pattern": {"kind": "b-eff", "message": "1 kB"}}]
    with pytest.raises(ConfigError) as refusal:
        load_study(write(tmp_path, {}, extensions=[], jobs=jobs))
    assert refusal.value.code == "unknown-value" and "b_eff.py" in refusal.value.remedy
    code = (CONFIGS / "extensions/b_eff.py").read_text()
    physics = []
    for text in (code, code, code.replace("max(16,", "max(8,")):
        path = write(tmp_path, {"b_eff.py": text}, extensions=["b_eff.py"], jobs=jobs)
        physics.append(points(path)[0].jobs[0].pattern.physics())
    assert physics[0] == physics[1] == {"kind": "b-eff", "message_bytes": 1000}
    assert set(physics[2]) == {"kind", "message_bytes", "code"}
