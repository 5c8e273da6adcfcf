"""Commands of every day: init, list, validate, report, export, clean, completion."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import networkx as nx
import pandas as pd
import pytest
import yaml

from fabricstudy import cli
from fabricstudy.commands.list import TEMPLATES
from fabricstudy.core.parquet import read_parquet, write_parquet
from fabricstudy.core.store import Store, point_store
from fabricstudy.engine.settings import SWITCH_BUFFERS
from fabricstudy.machine.instances import INSTANCES
from fabricstudy.study.file import validate_machine
from fabricstudy.table.files import write_table
from fabricstudy.workflow.jobs import jobs_of, write_jobs
from fabricstudy.workflow.pipeline import bundled_studies, load_pipelines

STUDY = """\
study: small
machine: {kind: dragonfly, groups: 3, routers_per_group: 2, nodes_per_router: 2, bandwidth: 1 GB/s}
routing: {kind: minimal}
jobs: [{share: 1.0, pattern: {kind: all-to-all, message: 16 kB}}]
engine: caminos
seeds: 2
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.yaml").write_text(STUDY)
    return tmp_path


@pytest.fixture
def data(capsys: pytest.CaptureFixture[str]) -> Any:
    def call(*arguments: str, code: int = 0) -> Any:
        assert cli.main([*arguments, "--json"]) == code
        found = json.loads(capsys.readouterr().out)
        return found["errors"][0]["code"] if code else found

    return call


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_study_from_a_template_is_valid_and_has_its_own_name(data: Any, template: str) -> None:
    data("init", "mine.yaml", "--template", template)
    assert yaml.safe_load(Path("mine.yaml").read_text())["study"] == "mine"
    points = len(load_pipelines(template)[template].plan.points)
    assert data("plan", "validate", "mine.yaml") == [{"study": "mine.yaml", "points": points, "runs": 0}]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("mine.yaml",), "usage"),  # no terminal to ask in
        (("mine.yaml", "--template", "quikc"), "unknown-name"),
        (("small.yaml", "--template", "quick"), "invalid-value"),
        (("Mine.yaml", "--template", "quick"), "invalid-name"),
        (("mine.txt", "--template", "quick"), "invalid-name"),
    ],
)
def test_init_refuses_what_it_cannot_write(
    data: Any, arguments: tuple[str, ...], error: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert data("init", *arguments, code=2 if error == "usage" else 1) == error
    assert Path("small.yaml").read_text() == STUDY and not Path("mine.yaml").exists()


@pytest.mark.parametrize("answer", ["2", TEMPLATES[1]])
def test_init_asks_in_a_terminal(data: Any, answer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda _: answer)
    monkeypatch.setattr("builtins.print", lambda *_, **__: None)
    assert cli.main(["init", "mine.yaml"]) == 0
    assert Path("mine.yaml").read_text().count("study: mine") == 1


def test_what_is_bundled_is_listed(data: Any) -> None:
    count = Counter(row["what"] for row in data("list"))
    assert count == {
        "studies": len(bundled_studies()),
        "templates": len(TEMPLATES),
        "machines": len(INSTANCES),
        "buffers": len(SWITCH_BUFFERS),
    }
    rows = data("list", "studies")
    assert {row["name"] for row in rows} == set(bundled_studies()) and all(row["about"] for row in rows)


def test_mistakes_of_all_studies_are_reported(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a.yaml", "b.yaml"):
        Path(name).write_text(STUDY.replace("1 GB/s", "1G"))
    assert cli.main(["plan", "validate", "a.yaml", "small.yaml", "b.yaml", "--json"]) == 1
    assert {error["file"] for error in json.loads(capsys.readouterr().out)["errors"]} == {"a.yaml", "b.yaml"}


def test_a_report_needs_a_run(data: Any) -> None:
    assert data("report", "small.yaml", code=1) == "file-not-found"
    assert not Path("results").exists() and not Path("reports").exists()


@pytest.mark.parametrize("suffix", [".csv", ".graphml", ".json"])
def test_a_machine_is_the_same_in_a_file(data: Any, suffix: str) -> None:
    """Read by networkx and by our own reader."""
    source = "{kind: dragonfly, groups: 5, routers_per_group: 2, nodes_per_router: 3, links_per_group_pair: 2, "
    source += "bandwidth: {local: 1 GB/s, global: 100 Gb/s, host: 3.3 GB/s}}"
    file, machine = Path(f"machine{suffix}"), validate_machine(yaml.safe_load(source)).build()
    rows = data("machine", "export", source, "--out", str(file))["rows"]
    assert rows == len(machine.cable_tail) + machine.nodes
    again = validate_machine({"kind": "graph", "file": str(file)}).build()
    for name in ("nodes", "routers", "cables"):
        assert getattr(again, name) == getattr(machine, name)
    assert sorted(again.link_capacity_Bps) == sorted(machine.link_capacity_Bps)
    assert again.host.bandwidth_Bps == machine.host.bandwidth_Bps
    assert data("machine", "export", source, "--out", str(file), code=1) == "invalid-value"  # it exists
    assert data("machine", "export", source, "--out", str(file), "--force")["rows"] == rows
    if suffix == ".graphml":
        graph = nx.read_graphml(file)
    elif suffix == ".json":
        graph = nx.node_link_graph(json.loads(file.read_text()), edges="edges")
    else:
        with file.open() as lines:
            rows_of_file = list(csv.DictReader(lines))
        graph = nx.Graph(
            [(row["from"], row["to"], {"bandwidth_Bps": float(row["bandwidth_Bps"])}) for row in rows_of_file]
        )
    plain = nx.Graph(graph)
    assert {value for _, _, value in plain.edges(data="bandwidth_Bps")} == {1e9, 12.5e9, 3.3e9}
    if suffix != ".csv":
        assert {type(value) for _, _, value in plain.edges(data="count")} == {int}
    assert plain.number_of_nodes() == machine.nodes + machine.routers and nx.is_connected(plain)
    ours = nx.Graph([(f"r{a}", f"r{b}") for a, b in zip(machine.cable_tail, machine.cable_head, strict=True)])
    ours.add_edges_from((f"n{node}", f"r{router}") for node, router in enumerate(machine.node_router))
    assert nx.utils.graphs_equal(nx.Graph(plain.edges), nx.Graph(ours.edges))


def test_a_table_is_written_as_csv_and_latex(data: Any) -> None:
    tables = Path("results/small/tables")
    tables.mkdir(parents=True)
    pd.DataFrame({"job_name": ["a_b"], "runtime_ns": [1.5]}).to_parquet(tables / "jobs.parquet")
    write_table(pd.DataFrame(), tables / "points.parquet", identity=load_pipelines("small.yaml")["small"].identity)
    data("report", "table", "small.yaml", "jobs", "--out", "jobs.csv")
    assert Path("jobs.csv").read_text() == "job_name,runtime_ns\na_b,1.5\n"
    data("report", "table", "small.yaml", "jobs", "--columns", "job_name", "--out", "jobs.tex")
    assert r"a\_b" in Path("jobs.tex").read_text() and "runtime" not in Path("jobs.tex").read_text()
    numbers = {"runtime_ns": [21741.2345, None], "slowdown": [1.23456789, 2], "seed": [123456, 2]}
    pd.DataFrame(numbers).convert_dtypes().to_parquet(tables / "jobs.parquet")
    data("report", "table", "small.yaml", "jobs", "--out", "jobs.tex", "--force")
    assert [line.split() for line in Path("jobs.tex").read_text().splitlines() if "&" in line][1:] == [
        ["21740", "&", "1.235", "&", "123456", r"\\"],
        ["\N{EN DASH}", "&", "2", "&", "2", r"\\"],
    ]
    assert data("report", "table", "small.yaml", "job", "--out", "a.csv", code=1) == "unknown-name"
    assert data("report", "table", "small.yaml", "jobs", "--columns", "x", "--out", "a.csv", code=1) == "unknown-name"
    assert data("machine", "export", "small.yaml", "--out", "a.pdf", code=1) == "unsupported-format"


@pytest.mark.parametrize(
    "other", [STUDY.replace("16 kB", "32 kB"), STUDY.replace("minimal", "valiant"), STUDY + "title: later\n"]
)
def test_tables_of_another_study_of_the_name_are_neither_exported_nor_replaced(data: Any, other: str) -> None:
    (pipeline,) = load_pipelines("small.yaml").values()
    write_jobs(pipeline, jobs_of(pipeline), Path("results/small"))
    tables = Path("results/small/tables")
    for name in ("jobs", "points"):
        write_table(pd.DataFrame({"job": [1]}), tables / f"{name}.parquet", identity=pipeline.identity)
    Path("reports/small").mkdir(parents=True)
    Path("reports/small/index.html").write_text("of the study that ran")
    kept = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    Path("other").mkdir()
    Path("other/small.yaml").write_text(other)
    Path("small.yaml").write_text(other)
    for study in ("other/small.yaml", "small.yaml"):
        assert data("report", "table", study, "jobs", "--out", "jobs.csv", code=1) == "study-changed"
        assert data("report", study, code=1) == "study-changed"
    assert all(path.read_bytes() == content for path, content in kept.items() if path.name != "small.yaml")
    Path("small.yaml").write_text(STUDY)
    data("report", "table", "small.yaml", "jobs", "--out", "jobs.csv")


def _missing(results: Path) -> None:
    (results / "small/plan.parquet").unlink()


def _rewritten(results: Path) -> None:
    write_parquet(read_parquet(results / "small/plan.parquet").slice(1), results / "small/plan.parquet")


def _damaged(results: Path) -> None:
    (results / "small/plan.parquet").write_bytes(b"PAR1")


def _without_jobs(results: Path) -> None:
    (results / "small/workflow.json").write_text("{}")


def _without_study(results: Path) -> None:
    shutil.rmtree(results / "small")


@pytest.mark.parametrize("loss", [_missing, _rewritten, _damaged, _without_jobs, _without_study])
def test_clean_deletes_nothing_that_may_be_needed(data: Any, loss: Any) -> None:
    (pipeline,) = load_pipelines("small.yaml").values()
    results = Path("results")
    write_jobs(pipeline, jobs_of(pipeline), results / "small")
    store = point_store(results)
    stored = [*pipeline.plan.points, "p000000000000"]
    for identity in stored:
        with store.lock(identity), store.workspace(identity) as folder:
            store.keep(folder, {store.key: identity})
    loss(results)
    assert data("clean", "--delete", code=1) == "results-damaged"
    assert sorted(store.inodes()) == sorted(stored)


def test_clean_removes_only_what_no_study_needs(data: Any) -> None:
    (pipeline,) = load_pipelines("small.yaml").values()
    write_jobs(pipeline, jobs_of(pipeline), Path("results/small"))
    needed, *_ = pipeline.plan.points
    (machine,) = pipeline.plan.machines
    points, structures = point_store(Path("results")), Store(Path("results/structures"), "machine_id")
    kept = [(points, needed), (structures, machine)]
    left = [(points, "p000000000000"), (structures, "m000000000000")]
    for store, identity in kept + left:
        with store.lock(identity), store.workspace(identity) as folder:
            (folder / "data").write_bytes(b"x" * 1000)
            store.keep(folder, {store.key: identity})
    for arguments in ((), ("--delete",)):
        found = data("clean", *arguments)["stores"]
        assert all((one["stored"], one["unneeded"]) == (2, 1) and one["bytes"] > 1000 for one in found.values())
    assert [store.folder(identity).exists() for store, identity in kept + left] == [True, True, False, False]
    assert [one["unneeded"] for one in data("clean")["stores"].values()] == [0, 0]


def completed(shell: str, script: str, line: str) -> list[str]:
    """Ask a shell what it would complete at the end of a line."""
    words = line.split(" ")
    ask = f"COMP_WORDS=({' '.join(words[:-1])} '{words[-1]}'); COMP_CWORD={len(words) - 1}; _fabricstudy\n"
    ask += "printf '%s\\n' \"${COMPREPLY[@]}\""
    if shell == "fish":
        ask = f"complete -C '{line}' | string replace -r '\\t.*' ''; true"  # 1 if no candidate has a description
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run([shell, "-c", f"{script}\n{ask}"], env=environment, capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize("shell", ["bash", "fish"])
def test_shells_complete_words(data: Any, shell: str) -> None:
    script = data("completion", shell)["script"]
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell}")
    assert completed(shell, script, "fabricstudy machine wha") == ["whatif"]
    assert completed(shell, script, "fabricstudy plan --li") == ["--list"]


def test_commands_options_and_names_complete_words(capsys: pytest.CaptureFixture[str]) -> None:
    Path("configs").mkdir()
    Path("configs/own.yaml").touch()
    Path("results/small/tables").mkdir(parents=True)
    Path("results/small/tables/analysis-cost.parquet").touch()
    for line, expected in {
        "pl": "plan", "machine wha": "whatif", "machine draw --lo": "--load", "plan qui": "quick",
        "plan smal": "small.yaml", "plan configs/o": "configs/own.yaml", "report table small.yaml job": "jobs",
        "report table small.yaml ana": "analysis-cost", "machine fron": "frontier", "nothing --x": "",
    }.items():  # fmt: skip
        assert cli.main(["completion", "words", "--", *line.split()]) == 0
        assert [word.partition("\t")[0] for word in capsys.readouterr().out.splitlines()] == expected.split(), line


def test_zsh_parses_its_script(data: Any) -> None:
    script = data("completion", "zsh")["script"]
    if shutil.which("zsh") is None:
        pytest.skip("no zsh")
    assert subprocess.run(["zsh", "-n"], input=script, text=True).returncode == 0
