"""The rules as somebody else's workflow sees them: targets, outputs, and what a dry run leaves alone."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from ..forked import run_snakemake
from .conftest import BIN, ROOT, TINY, Workplace

FOREIGN = f"""\
configfile: "settings.json"


module fabricstudy:
    snakefile: "{ROOT}/Snakefile"
    config: config


use rule * from fabricstudy exclude report


use rule workload from fabricstudy with:
    threads: 1
    message: "Placing at my site {{wildcards.study}} with {{resources.mem_mb}}"
    resources:
        mem_mb=1234,


rule slowest:
    input: "results/tiny/tables/jobs.parquet"
    output: "slowest.csv"
    run:
        import pandas
        pandas.read_parquet(input[0]).nlargest(1, "runtime_ns").to_csv(output[0])


rule report:
    input: "results/tiny/tables/points.csv"
    output: page="reports/tiny/index.html", figures=directory("reports/tiny/figures")
    shell: "mkdir {{output.figures}} && cp {{input}} {{output.page}}"
"""

STORED = """\

storage shelf:
    provider="folder"


rule stored:
    input: "slowest.csv"
    output: storage.shelf("elsewhere/slowest.csv")
    shell: "cp {input} {output}"


rule fetched:
    input: storage.shelf("elsewhere/slowest.csv")
    output: "fetched.csv"
    shell: "cp {input} {output}"
"""


def files(folder: Path) -> dict[str, int]:
    """Files of a run with their dates; what Snakemake keeps for itself is left out."""
    found = (path for path in folder.rglob("*") if path.is_file() and ".snakemake" not in path.parts)
    return {str(path): path.stat().st_mtime_ns for path in found}


def test_a_dry_run_and_lists_leave_all_files_alone(after_run: Workplace) -> None:
    results = after_run.folder / "results"
    shutil.rmtree(results / "points")
    shutil.rmtree(results / "structures")
    after_run.write_study(after_run.write_study().read_text().replace("seeds: 2", "seeds: 3"))
    before = files(after_run.folder)
    for flags in (["--dry-run"], ["--list-rules"], ["--rulegraph"], ["--summary"]):
        after_run.run(*flags)
    assert files(after_run.folder) == before


@pytest.mark.parametrize("target", ["machines", "workloads", "simulations", "tables", "reports", "artifact"])
def test_each_stage_is_a_target(after_run: Workplace, target: str) -> None:
    said = after_run.run(target, "--dry-run")
    assert ("Nothing to be done" in said) == (target != "artifact")


def test_a_workflow_with_a_storage_adds_rules_and_replaces_ours(after_run: Workplace) -> None:
    folder = after_run.folder
    (folder / "Snakefile").write_text(FOREIGN + STORED)
    (folder / "settings.json").write_text(json.dumps({"study": "tiny.yaml", "small_cpu_s": 0}))
    shutil.rmtree(folder / "reports")
    command = [str(BIN / "snakemake"), "--cores", "1", "fetched.csv", "reports"]
    environment = after_run.environment | {"PYTHONPATH": str(Path(__file__).with_name("storage"))}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (folder / "elsewhere/slowest.csv").read_bytes() == (folder / "fetched.csv").read_bytes()
    slowest = pd.read_csv(folder / "slowest.csv")["runtime_ns"].item()
    assert slowest == pd.read_parquet(folder / "results/tiny/tables/jobs.parquet")["runtime_ns"].max()
    table = (folder / "results/tiny/tables/points.csv").read_text()
    assert (folder / "reports/tiny/index.html").read_text() == table
    # Snakemake ignores `onstart` of a module: its rules rewrite the plan of a study that has changed, and all tables.
    after_run.write_study(TINY.replace("seeds: 2", "seeds: 3").replace("name: app", "name: solver"))
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    jobs = pd.read_parquet(folder / "results/tiny/tables/jobs.parquet")
    assert len(jobs) == 12 and set(jobs["job_name"]) == {"solver"} and after_run.started == 12
    assert "Placing at my site tiny with 1234" in done.stderr


def test_definitions_can_be_read_without_us(after_run: Workplace) -> None:
    made = after_run.folder / "results/tiny"
    points = pd.read_parquet(made / "plan.parquet")
    links = pd.concat(map(pd.read_parquet, made.glob("machine/*/links.parquet")))
    nodes = pd.concat(map(pd.read_parquet, made.glob("machine/*/nodes.parquet")))
    placed = pd.concat(map(pd.read_parquet, made.glob("workload/*.parquet")))
    assert set(points["machine_id"]) == set(links["machine_id"]) == set(nodes["machine_id"])
    assert {name for names in points["workload_ids"] for name in names} == set(placed["workload_id"])
    assert (placed["node_of_rank"].map(len) == placed["ranks"]).all() and placed["reason"].isna().all()
    jobs = pd.read_parquet(made / "tables/jobs.parquet")
    assert set(jobs["bytes"]) == set(placed["bytes"]) and (links["bandwidth_Bps"] > 0).all()


def test_the_inputs_of_a_point_are_what_its_simulator_gets(after_run: Workplace) -> None:
    point = pd.read_parquet(after_run.folder / "results/tiny/plan.parquet")["point_id"].iloc[0]

    def fabricstudy(*arguments: str) -> str:
        command = [str(BIN / "fabricstudy"), *arguments]
        return subprocess.run(
            command, cwd=after_run.folder, env=after_run.environment, capture_output=True, text=True, check=True
        ).stdout

    fabricstudy("point", point, "--study", "tiny.yaml", "--run", "--folder", "run")
    fabricstudy("point", "inputs", "tiny.yaml", point, "--out", "in")
    written = {path.name for path in (after_run.folder / "in").iterdir()} - {"run.sh"}
    assert written
    subprocess.run([str(after_run.folder / "in/run.sh")], check=True, capture_output=True, env=after_run.environment)
    for name in {*written, "result.json"}:
        assert (after_run.folder / "in" / name).read_bytes() == (after_run.folder / "run" / name).read_bytes()


def test_the_page_lists_the_rules_of_the_workflow() -> None:
    files = (ROOT / "Snakefile", *(ROOT / "workflow/rules").glob("*.smk"))
    rules = {name for file in files for name in re.findall(r"^rule (\w+):", file.read_text(), re.M)}
    page = (ROOT / "docs/concepts/pipeline.md").read_text()
    listed = set(re.findall(r"^\| `(\w+)` \|", page, re.M))
    targets = {"all", "machines", "workloads", "simulations", "tables", "reports", "artifact"}
    assert listed == rules - targets and targets <= rules


def test_the_page_draws_the_rule_graph_of_the_workflow(tmp_path: Path) -> None:
    arguments = ["--snakefile", str(ROOT / "Snakefile"), "--config", "study=torus-or-mesh-scheduling"]
    code, said = run_snakemake([*arguments, "--rulegraph", "--", "reports"], tmp_path, os.environ)
    assert code == 0, said
    rule = dict(re.findall(r'^\s*(\d+)\[label = "(\w+)"', said, re.M))
    edges = {(rule[tail], rule[head]) for tail, head in re.findall(r"^\s*(\d+) -> (\d+)$", said, re.M)}
    page = (ROOT / "docs/concepts/pipeline.md").read_text()
    drawn = re.findall(r"^    (\w+) --> ([\w &]+)$", page, re.M)
    assert {(tail, head) for tail, heads in drawn for head in heads.split(" & ")} == {
        edge for edge in edges if edge[1] != "reports"
    }
