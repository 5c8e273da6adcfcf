"""The command line, run as a user would, on small studies."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest

from fabricstudy import cli
from fabricstudy.commands import common
from fabricstudy.core.bundled_files import SNAKEFILE
from fabricstudy.core.phrasing import cpu_time
from fabricstudy.core.store import point_store
from fabricstudy.engine.definitions import built
from fabricstudy.engine.registry import engine_named
from fabricstudy.engine.settings import Limits
from fabricstudy.engine.simulate import simulate
from fabricstudy.machine.instances import INSTANCES
from fabricstudy.study.file import load_study
from fabricstudy.study.plan import plan

STUDY = """\
study: small
machine: {kind: dragonfly, groups: 3, routers_per_group: 2, nodes_per_router: 2, bandwidth: 1 GB/s}
routing: {kind: minimal}
jobs: [{share: 1.0, pattern: {kind: all-to-all, message: 16 kB}}]
engine: caminos
sweep: {alpha: {of: machine.bandwidth.global, values: {1: 1 GB/s, 2: 2 GB/s}}}
seeds: 2
"""


@pytest.fixture(autouse=True)
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "small.yaml"
    path.write_text(STUDY)
    return path


def said(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert cli.main(list(arguments)) == code
    captured = capsys.readouterr()
    return captured.err if code else captured.out


def data(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    return json.loads(said(capsys, *arguments, "--json"))


def test_what_is_done_is_told_where_somebody_asks_for_it() -> None:
    command = ["plan", "small.yaml", "--json"]
    for place in (None, 0, 1, 3):
        arguments = command if place is None else [*command[:place], "--verbose", *command[place:]]
        done = subprocess.run([sys.executable, "-m", "fabricstudy.cli", *arguments], text=True, capture_output=True)
        assert done.returncode == 0 and json.loads(done.stdout)["points"] == 4
        assert ("fabricstudy.workflow.pipeline: small.yaml: 4 points" in done.stderr) == (place is not None)


def test_plan_counts_points_batches_and_cost(capsys: pytest.CaptureFixture[str]) -> None:
    found = data(capsys, "plan", "small.yaml")
    assert {key: found[key] for key in ("points", "new", "cached", "unchecked", "machines", "batches")} == {
        "points": 4, "new": 4, "cached": 0, "unchecked": 0, "machines": 2, "batches": 1,
    }  # fmt: skip
    assert found["cpu_s"] > 0
    told = said(capsys, "plan", "small.yaml")
    assert "4 on 2 machines" in told and f"predicted {cpu_time(found['cpu_s'])} " in told


def test_plan_lists_points_and_warns_of_a_missing_engine(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    points = data(capsys, "plan", "small.yaml", "--list")["list"]
    assert [(point["axis.alpha"], point["seed"]) for point in points] == [(1, 1), (1, 2), (2, 1), (2, 2)]
    assert points[0]["point_id"] in said(capsys, "plan", "small.yaml", "--list")
    monkeypatch.setenv("FABRICSTUDY_CAMINOS", "/nowhere")
    assert data(capsys, "plan", "small.yaml")["missing_engines"] == ["caminos"]
    assert "caminos is missing" in said(capsys, "plan", "small.yaml")


def test_plan_knows_the_studies_of_the_project(capsys: pytest.CaptureFixture[str]) -> None:
    assert data(capsys, "plan", "quick")["points"] == 288


def test_plan_prints_the_estimates_of_training_steps_once(capsys: pytest.CaptureFixture[str]) -> None:
    summary = data(capsys, "plan", "training-fabric", "--list")
    estimates = summary["estimates"]
    assert sum(one["points"] for one in estimates) == summary["points"]
    told = said(capsys, "plan", "training-fabric")
    assert all(told.count(line) for one in estimates for line in one["text"])
    assert told.count("billion parameters") == len(estimates)
    # Some of its points on packet have messages of few packets of 2 MB; flow has no packets.
    engines = [point["axis.engine"] for point in summary["list"]]
    assert 0 < sum(summary["packet_remarks"].values()) <= engines.count("packet") < len(engines)


def test_the_bound_of_a_training_step_counts_all_ports(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Of a step that hardly computes, twice the ports halve the bound."""
    shape = {"layers": 4, "hidden": 1024, "ffn": 2816, "heads": 16, "sequence": 2048, "vocabulary": 0}
    pattern: dict[str, Any] = {"kind": "training", "model": shape, "parallel": {"tensor": 4, "pipeline": 1, "data": 2}}
    pattern |= {"micro_batches": 2, "compute": {"rate": "1000000 TFLOP/s"}}
    job: dict[str, Any] = {"nodes": 8, "pattern": pattern}
    machine = {"kind": "mesh", "shape": [8], "bandwidth": "1 GB/s"}
    sweep = {"ports": {"of": "network.ports_per_node", "values": [1, 2]}}
    study = {
        "study": "step",
        "machine": machine,
        "routing": "minimal",
        "jobs": [job],
        "engine": "packet",
        "sweep": sweep,
    }
    (tmp_path / "step.yaml").write_text(json.dumps(study))
    one, two = data(capsys, "plan", str(tmp_path / "step.yaml"))["estimates"]
    assert one["bound_ns"] == pytest.approx(2 * two["bound_ns"], rel=1e-3)


def test_smaller_batches_are_more(capsys: pytest.CaptureFixture[str]) -> None:
    large = "dragonfly-arrangements"
    assert data(capsys, "plan", large, "--batch-cpu-s", "20")["batches"] > data(capsys, "plan", large)["batches"]


def test_engines_are_listed_found_or_not(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = {engine["name"]: engine for engine in data(capsys, "list", "engines")}
    assert list(found) == ["analysis", "caminos", "codes", "flow", "packet", "sst"] and found["analysis"]["found"]
    assert all(set(engine) == {"name", "found", "version", "reason"} for engine in found.values())
    monkeypatch.setenv("FABRICSTUDY_CAMINOS", str(tmp_path / "nowhere"))
    caminos = data(capsys, "list", "engines")[1]
    assert not caminos["found"] and caminos["version"] is None and caminos["reason"]
    assert "not found" in said(capsys, "list", "engines")


def test_machine_of_a_study_and_of_a_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    found = data(capsys, "machine", "small.yaml")
    assert (found["nodes"], found["routers"], found["cables"], found["radix"]) == (12, 6, 6, 4)
    # Three pairs joined in a ring of six: hops 1, 1, 2, 2, 3 from each router, and two cables cut in half.
    assert (found["diameter"], found["mean_hops"]) == (3, pytest.approx(9 / 5))
    assert found["bisection"] == {
        "lower_Bps": 2e9,
        "upper_Bps": 2e9,
        "exact": True,
        "method": found["bisection"]["method"],
    }
    (tmp_path / "m.yaml").write_text("machine: {kind: dragonfly, groups: 3, routers_per_group: 2, "
                                     "nodes_per_router: 2, bandwidth: 1 GB/s}\n")  # fmt: skip
    assert data(capsys, "machine", "m.yaml") == found
    assert len(data(capsys, "machine", "small.yaml", "--all")) == 2
    assert found["machine_id"] in said(capsys, "machine", "small.yaml")


def test_status_of_a_study_that_never_ran(capsys: pytest.CaptureFixture[str]) -> None:
    found = data(capsys, "status", "small.yaml")
    assert (found["points"], found["done"], found["failed"], found["left"]) == (4, 0, 0, 4)
    assert "4 left" in said(capsys, "status", "small.yaml")


def test_a_point_is_shown_and_run_in_the_foreground(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    if not engine_named("caminos").probe().found:
        pytest.skip("caminos is not built")
    from fabricstudy.study.file import load_study
    from fabricstudy.study.plan import plan

    point_id = plan(load_study("small.yaml")).rows[0].point_id
    shown = data(capsys, "point", point_id, "--study", "small.yaml")
    assert shown["record"] is None and shown["point"]["seed"] == 1
    ran = data(capsys, "point", point_id, "--study", "small.yaml", "--run")
    assert ran["record"]["status"] == "done" and ran["record"]["jobs"][0]["runtime_ns"] > 0
    assert {"ranks.parquet", "messages.parquet", "caminos.cfg"} <= {p.name for p in (tmp_path / point_id).iterdir()}
    assert "caminos" in ran["command"]
    assert "not empty" in said(capsys, "point", point_id, "--study", "small.yaml", "--run", code=1)
    assert "neither in" in said(capsys, "point", "p000000000000", "--study", "small.yaml", code=1)
    assert "--study" in said(capsys, "point", "p000000000000", code=1)


def test_published_machine_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    found = data(capsys, "machine", "juqueen-48")
    assert found["nodes"] == 24_576 and found["bisection"]["upper_Bps"] == 3072 * 2e9
    assert "did you mean 'mira'?" in said(capsys, "machine", "mirra", code=1)


def test_published_machines_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    listed = {machine["name"]: machine for machine in data(capsys, "machine")["published"]}
    assert set(listed) == set(INSTANCES)
    assert (listed["titan"]["kind"], listed["titan"]["nodes"]) == ("gemini", 200 * 96)
    assert all(name in said(capsys, "machine") for name in ("titan", "mira"))
    assert cli.main(["machine", "--all"]) != 0


def test_slow_cables_of_a_fabric_come_first(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    lines = ["from,to,count,bandwidth", "leaf0,spine,2,100 Gb/s", "leaf1,spine,1,100 Gb/s", "leaf1,spine,1,25 Gb/s"]
    (tmp_path / "own.csv").write_text("\n".join(lines) + "\n")
    text = "{kind: graph, file: own.csv, bandwidth: {host: 100 Gb/s}, nodes_per_router: 2}"
    (tmp_path / "own.yaml").write_text(text)
    found = data(capsys, "machine", "own.yaml")
    assert [(one["routers"], one["cables"]) for one in found["slow_cables"]] == [(["spine", "leaf1"], 1)]
    first, *_, last = said(capsys, "machine", "own.yaml").strip().splitlines()
    assert "leaf1" in first and "host" in last


def test_a_fabric_file_is_a_machine(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text("from,to,class,bandwidth\nn,r,host,1 GB/s\nm,s,host,1 GB/s\nr,s,up,1 GB/s\n")
    (tmp_path / "f.yaml").write_text("{kind: graph, file: f.csv}")
    assert data(capsys, "machine", "f.csv") == data(capsys, "machine", "f.yaml")


@pytest.mark.parametrize("name", ["m.yaml", "f.csv"])
def test_a_picture_does_not_overwrite_its_machine(
    name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "f.csv").write_text("from,to,class,bandwidth\nn,r,host,1 GB/s\nm,s,host,1 GB/s\nr,s,up,1 GB/s\n")
    (tmp_path / "m.yaml").write_text("{kind: graph, file: f.csv}")
    (tmp_path / "m.svg").symlink_to(tmp_path / name)
    before = (tmp_path / name).read_bytes()
    assert cli.main(["machine", "draw", str(tmp_path / "m.yaml"), "--out", str(tmp_path / "m.svg"), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["errors"][0]["code"] == "invalid-value"
    assert (tmp_path / name).read_bytes() == before


def test_a_machine_is_drawn_the_same_each_time(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    torus = "{kind: torus, shape: [4, 4, 3], bandwidth: 1 GB/s}"
    pictures = []
    for name in ("a.svg", "b.svg"):
        told = json.loads(said(capsys, "machine", "draw", torus, "--out", name, "--json"))
        assert told["written"] == name
        pictures.append((tmp_path / name).read_bytes())
    assert pictures[0] == pictures[1]
    strokes = ElementTree.fromstring(pictures[0]).find(".//*[@id='LineCollection_1']")
    assert strokes is not None
    # In each of 3 slices 2 x 12 cables are lines and 2 x 4, which close rings, are two stubs; so are the 48 along z.
    assert len([one for one in strokes if one.tag.endswith("path")]) == 3 * (24 + 2 * 8) + 2 * 48


def test_loads_and_jobs_of_a_stored_point_are_drawn(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    all_to_all = "pattern: {kind: all-to-all, message: 16 kB}"
    jobs = f"jobs: [{{name: left, share: 0.5, {all_to_all}}}, {{name: right, share: 0.5, {all_to_all}}}]"
    (tmp_path / "small.yaml").write_text(re.sub("jobs: .*", jobs, STUDY).replace("engine: caminos", "engine: analysis"))
    planned = next(iter(plan(load_study(tmp_path / "small.yaml")).points.values()))
    point = ("machine", "draw", "--load", "small.yaml", planned.point_id, "--out", "a.svg")
    assert cli.main([*point, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["errors"][0]["code"] == "unknown-name"
    simulate(
        planned,
        engine_named("analysis"),
        engine_named("analysis").probe(),
        point_store(tmp_path / "results"),
        lambda one: built(one.point.machine),
        Limits(),
    )
    said(capsys, *point)
    picture = (tmp_path / "a.svg").read_text()
    assert all(f"<!-- {name} -->" in picture for name in ("left", "right", "bytes on a link (kB)"))
    for more, code in ((["--by", "stall"], "conflicting-keys"), (["mira"], "unknown-name")):
        assert cli.main([*point, *more, "--json"]) == 1
        assert json.loads(capsys.readouterr().out)["errors"][0]["code"] == code


@pytest.mark.parametrize("command", ["plan", "status", "machine"])
@pytest.mark.parametrize("name", ["quik", "nowhere.yaml", "bad.yaml"])
def test_errors_are_one_line_and_exit_code_1(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, command: str, name: str
) -> None:
    (tmp_path / "bad.yaml").write_text(STUDY.replace("16 kB", "16"))
    text = said(capsys, command, name, code=1)
    assert text.count("\n") == 1 and name in text


def mistakes(capsys: pytest.CaptureFixture[str], *arguments: str, exit_code: int = 1) -> list[dict[str, Any]]:
    """Errors as a program sees them: one JSON object on standard output, and nothing else."""
    assert cli.main([*arguments, "--json"]) == exit_code
    captured = capsys.readouterr()
    assert captured.err == ""
    found: list[dict[str, Any]] = json.loads(captured.out)["errors"]
    return found


@pytest.mark.parametrize(
    "call", [["plan"], ["plan", "quick", "--core", "4"], ["plan", "--batch-cpu-s", "0", "quick"], ["plam"]]
)
def test_a_wrong_call_is_told_to_programs_too(capsys: pytest.CaptureFixture[str], call: list[str]) -> None:
    (found,) = mistakes(capsys, *call, exit_code=2)
    assert found["code"] == "usage"


ERRORS = {
    "unknown study": (("plan", "quik"), "file-not-found"),
    "no file": (("plan", "nowhere.yaml"), "file-not-found"),
    "two studies": (("plan", "small.yaml,quick"), "invalid-value"),
    "status of two studies": (("status", "small.yaml,quick"), "invalid-value"),
    "point of two studies": (("point", "p000000000000", "--study", "small.yaml,quick"), "invalid-value"),
    "results that are a file": (("status", "small.yaml", "--results", "small.yaml"), "file-unreadable"),
    "plan in a file": (("plan", "small.yaml", "--results", "small.yaml"), "file-unreadable"),
    "no point": (("point", "p000000000000"), "unknown-name"),
    "no point in the study": (("point", "p000000000000", "--study", "small.yaml"), "unknown-name"),
    "no machine": (("machine", "mirra"), "unknown-name"),
    "no results": (("clean", "--results", "nowhere"), "file-not-found"),
    "no tables": (("compare", "/dev/null", "/dev/null"), "file-not-found"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors_have_codes_for_programs(capsys: pytest.CaptureFixture[str], case: str) -> None:
    arguments, code = ERRORS[case]
    (found,) = mistakes(capsys, *arguments)
    assert found["code"] == code and found["message"]


def test_all_mistakes_of_a_study_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    wrong = STUDY.replace("groups: 3", "groups: 0").replace("16 kB", "16").replace("seeds: 2", "seed: 2")
    Path("small.yaml").write_text(wrong)
    found = mistakes(capsys, "plan", "small.yaml")
    assert {(one["code"], one["path"], one["value"]) for one in found} == {
        ("out-of-range", "machine.groups", 0),
        ("invalid-quantity", "jobs.0.pattern.message", 16),
        ("unknown-key", "seed", None),
    }
    assert {one["file"] for one in found} == {"small.yaml"}
    text = said(capsys, "plan", "small.yaml", code=1)
    assert all(one["message"] in text for one in found) and text.count("\n") == 3


def test_all_values_of_axes_that_cannot_be_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    Path("small.yaml").write_text(STUDY.replace("{1: 1 GB/s, 2: 2 GB/s}", "{1: 1 GB, 2: 2 GB/s, 3: 3}"))
    found = mistakes(capsys, "plan", "small.yaml")
    assert [(one["code"], one["path"]) for one in found] == [
        ("invalid-quantity", "sweep.alpha.values.1"), ("invalid-quantity", "sweep.alpha.values.3"),
    ]  # fmt: skip


def test_mistakes_in_sweeps_are_told_with_those_of_the_base(capsys: pytest.CaptureFixture[str]) -> None:
    """Two in the base, a wrong path, and four in values, two of them under one label; some machine fits none."""
    axis = """{set: {
      other: {routing: ugall, jobs.0.nodes: 960},
      large: {jobs.0.nodes: 960, machine.portz: 8},
      sixth: {jobs.5.nodes: 1}}}"""
    wrong = (
        STUDY.replace("16 kB}", "16 kB}, nodes: 6")
        .replace("share: 1.0, ", "")
        .replace("sweep: {", f"sweep: {{a: {axis}, ")
    )
    in_axis = {
        ("unknown-name", "sweep.a.set.large.machine.portz"), ("unknown-value", "sweep.a.set.other.routing"),
        ("does-not-fit", "sweep.a.set.other.jobs.0.nodes"), ("does-not-fit", "sweep.a.set.large.jobs.0.nodes"),
        ("unknown-name", "sweep.a.set.sixth.jobs.5.nodes"),
    }  # fmt: skip
    in_base = {("out-of-range", "limits.time"), ("unknown-key", "seed")}
    for text, expected in ((wrong, in_axis), (f"{wrong}limits: {{time: 0 s}}\nseed: 1\n", in_axis | in_base)):
        Path("small.yaml").write_text(text)
        found = [(one["code"], one["path"]) for one in mistakes(capsys, "plan", "small.yaml")]
        assert len(found) == len(set(found)) and set(found) == expected


def test_values_that_json_does_not_know_are_told_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    Path("small.yaml").write_text(STUDY.replace("share: 1.0", "share: .nan"))
    (found,) = mistakes(capsys, "plan", "small.yaml")
    assert (found["path"], found["value"]) == ("jobs.0.share", "nan")


def test_an_error_of_the_system_is_no_traceback(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    (tmp_path / "results/points").write_text("no folder")
    (found,) = mistakes(capsys, "status", "small.yaml")
    assert found["code"] == "system" and "results/points" in found["message"]
    assert "writing" not in found["message"]


def test_a_study_of_analyses_alone_has_a_status(capsys: pytest.CaptureFixture[str]) -> None:
    Path("alone.yaml").write_text("{study: alone, analyses: {p: {kind: partitions, machines: {M: mira}}}}\n")
    assert data(capsys, "status", "alone.yaml")["left"] == 0
    assert "alone" in said(capsys, "status", "alone.yaml")


def test_the_plan_says_which_points_pass_their_limits(capsys: pytest.CaptureFixture[str]) -> None:
    assert data(capsys, "plan", "small.yaml")["over_time"] == 0
    Path("small.yaml").write_text(STUDY + "limits: {time: 1 ms}\n")
    assert data(capsys, "plan", "small.yaml")["over_time"] == 4
    assert "limits.time" in said(capsys, "plan", "small.yaml")
    Path("small.yaml").write_text(STUDY.replace("caminos", "codes") + "limits: {memory: 1 MB}\n")
    found = data(capsys, "plan", "small.yaml")
    assert (found["over_time"], found["over_memory"]) == (0, 4)
    assert "limits.memory" in said(capsys, "plan", "small.yaml")


@pytest.mark.parametrize("seconds", ["0", "-5", "nan", "inf", "abc"])
def test_batches_of_no_length_are_refused(seconds: str) -> None:
    assert cli.main(["plan", "small.yaml", f"--batch-cpu-s={seconds}"]) == 2


def test_labels_are_printed_where_the_terminal_lacks_their_letters(tmp_path: Path) -> None:
    Path("small.yaml").write_text(STUDY.replace("{1: 1 GB/s,", "{größer: 1 GB/s,"), encoding="utf-8")
    environment = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-m", "fabricstudy.cli", "plan", "small.yaml", "--list"]
    done = subprocess.run(command, env=environment, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(b"gr\\xf6\\xdfer") == 2


def test_a_python_without_docstrings_will_do() -> None:
    command = [sys.executable, "-OO", "-m", "fabricstudy.cli", "plan", "--help"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "") and "--list" in done.stdout


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(["--version"])
    assert caught.value.code == 0 and capsys.readouterr().out == f"fabricstudy {version('fabricstudy')}\n"


def test_run_is_snakemake_with_workflow_and_study_named(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[list[str]] = []

    def start(program: str, command: list[str]) -> None:
        started.append(command)
        raise SystemExit  # nothing of ours comes after it

    monkeypatch.setattr("os.execv", start)
    with pytest.raises(SystemExit):
        cli.main(["run", "small.yaml", "--cores", "2", "--config", "batch_cpu_s=600", "--dry-run"])
    (command,) = started
    at = command.index("fabricstudy.workflow.launch")
    assert command[:at] == [sys.executable, "-P", "-m"]
    assert command[at + 1 : at + 4] == ["small", "--snakefile", str(SNAKEFILE)]
    assert command[at + 4 :] == ["--cores", "2", "--dry-run", "--config", "study=small.yaml", "batch_cpu_s=600"]


def test_where_finds_what_comes_with_the_project(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "list", "where").strip() == str(SNAKEFILE) and SNAKEFILE.is_file()
    assert Path(data(capsys, "list", "where", "profiles/slurm")["path"], "profile.yaml").is_file()
    assert mistakes(capsys, "list", "where", "profiles/none")[0]["code"] == "file-not-found"


@pytest.mark.parametrize(
    ("asked", "first"), [("--version", f"fabricstudy {version('fabricstudy')}"), ("--help", "usage: ")]
)
def test_version_and_help_load_no_command(asked: str, first: str) -> None:
    code = f"import sys; from fabricstudy.cli import main\ntry: main(['{asked}'])\nfinally: print([*sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.startswith(first)
    assert "'fabricstudy.cli'" in done.stdout and "numpy" not in done.stdout and "pydantic" not in done.stdout


def test_blas_has_one_thread_where_the_user_sets_none() -> None:
    show = "print(os.environ['OPENBLAS_NUM_THREADS'])"
    code = f"import os; from fabricstudy.cli import main; main(['list', 'where']); {show}"
    environment = {key: value for key, value in os.environ.items() if key != "OPENBLAS_NUM_THREADS"}
    for given, expected in (({}, "1"), ({"OPENBLAS_NUM_THREADS": "3"}, "3")):
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, env=environment | given, capture_output=True, text=True, check=True)
        assert done.stdout.splitlines()[-1] == expected


def _errors(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    assert cli.main([*arguments, "--json"]) == 2
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["errors"]
    return found


def test_a_misspelt_command_is_a_wrong_call_with_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    (found,) = _errors(capsys, "pln", "quick")
    assert found["code"] == "usage" and "'plan'" in found["message"]


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_each_example_is_a_call_of_its_command(name: str) -> None:
    arguments = shlex.split(cli.COMMANDS[name][1])
    words = name.split()
    assert arguments[: len(words)] == words
    called = cli._parser([name]).parse_args([name, *arguments[len(words) :]])
    assert called.command.__module__ == f"fabricstudy.commands.{words[-1]}"


def test_no_command_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main([])
    assert "commands:" in capsys.readouterr().out


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    modules = {file.stem for file in (Path(cli.__file__).parent / "commands").glob("*.py")}
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    named = capsys.readouterr().out
    assert modules == {"__init__", "common", *(name.split()[-1] for name in cli.COMMANDS)}
    assert all(re.search(rf"\n    {name}\s|\[.*\b{name}\b.*\]", named) for name in modules - {"__init__", "common"})
    assert named.count("\n") <= 23 and max(map(len, named.splitlines())) <= 80


@pytest.mark.parametrize(
    ("former", "present"), [("draw", "machine draw"), ("candidates", "machine candidates"), ("export", "report table")]
)
def test_a_former_name_of_a_command_is_answered_by_the_present_one(
    capsys: pytest.CaptureFixture[str], former: str, present: str
) -> None:
    (found,) = _errors(capsys, former, "frontier")
    assert found["code"] == "usage" and present in found["message"]
    assert "machine" in said(capsys, "-v", "machine", "draw", "mira", code=2)


def test_a_list_of_points_has_a_head(capsys: pytest.CaptureFixture[str]) -> None:
    _, head, first, *_ = said(capsys, "plan", "small.yaml", "--list").splitlines()
    assert head.split("\t")[:4] == ["point_id", "experiment", "axis.alpha", "seed"]
    assert len(first.split("\t")) == len(head.split("\t"))


def test_kinds_of_one_family_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    found = data(capsys, "list", "kinds", "pattern")
    assert {one["path"] for one in found} == {"jobs.*.pattern"} and "stencil" in {one["kind"] for one in found}
    assert [one["kind"] for one in data(capsys, "list", "kinds", "stencil")] == ["stencil"]
    for heading in ("jobs.*.pattern", "pattern (jobs.*.pattern)"):
        assert data(capsys, "list", "kinds", heading) == found


def test_kinds_are_found_by_what_they_are_about(capsys: pytest.CaptureFixture[str]) -> None:
    assert "pencil-fft" in {one["kind"] for one in data(capsys, "list", "kinds", "FFT")}
    for words in (["halo"], ["halo exchange"], ["exchange", "halo"]):
        assert {one["kind"] for one in data(capsys, "list", "kinds", *words)} == {"stencil"}
    for word, kind in (("rfc 2992", "ecmp"), ("dragonfly+", "megafly")):
        assert [one["kind"] for one in data(capsys, "list", "kinds", word)] == [kind]
    for misspelt, meant in (("stencl", "'stencil'"), ("tors", "'torus'")):
        (mistake,) = mistakes(capsys, "list", "kinds", misspelt)
        assert meant in mistake["message"]


def test_one_machine_of_several_is_said_to_be_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["machine", "small.yaml"]) == 0
    assert "of 2" in capsys.readouterr().err
    assert cli.main(["machine", "juqueen-48"]) == 0
    assert not capsys.readouterr().err


def test_a_study_that_is_not_there_is_told_before_snakemake_starts(capsys: pytest.CaptureFixture[str]) -> None:
    told = said(capsys, "run", "nosuch", code=1)
    assert told.count("\n") == 1 and "quick" in told


@pytest.mark.parametrize("wrong", ["small", "smal", "smal.yaml", "./smalll.yaml"])
def test_a_study_file_with_a_similar_name_is_suggested(capsys: pytest.CaptureFixture[str], wrong: str) -> None:
    (mistake,) = mistakes(capsys, "plan", wrong)
    assert mistake["code"] == "file-not-found" and "'small.yaml'" in mistake["message"]


def test_help_is_plain_text(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    assert "`" not in capsys.readouterr().out


def test_how_far_it_is_stands_on_lines_without_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a call each second, one in ten makes a line; standard output stays that of the result."""
    now = 0.0
    monkeypatch.setattr(common, "time", SimpleNamespace(monotonic=lambda: now))
    with common.progress_spinner("looking") as tell:
        for now in map(float, range(1, 31)):
            tell(f"{now:.0f} so far")
    said = capsys.readouterr()
    assert said.err.splitlines() == [f"looking; {count} so far" for count in (10, 20, 30)] and said.out == ""


def test_results_that_are_a_file_are_told_before_a_run(capsys: pytest.CaptureFixture[str]) -> None:
    Path("results").write_text("")
    said_of_it = said(capsys, "run", "small.yaml", code=1)
    assert said_of_it.count("\n") == 1 and "results: " in said_of_it


def test_run_ignores_here(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[list[str]] = []
    monkeypatch.setattr("os.execv", lambda _, command: commands.append(command))
    assert cli.main(["run", "small.yaml", "--here", "--cores", "1"]) == 0
    assert "--here" in capsys.readouterr().err and "--here" not in commands[0] and "--cores" in commands[0]


def test_run_takes_its_study_from_one_place(capsys: pytest.CaptureFixture[str]) -> None:
    assert "study=quick" in said(capsys, "run", "small.yaml", "--config", "study=quick", code=2)
