"""The whole line with real Snakemake: what is run, what is kept, what comes out."""

from __future__ import annotations

import csv
import io
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from fabricstudy.core.errors import ConfigError
from fabricstudy.core.store import STORES
from fabricstudy.workflow.pipeline import load_pipelines

from ..forked import run_snakemake
from .conftest import BIN, ROOT, TINY, Workplace, rules_run

pytestmark = pytest.mark.slow


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_a_study_of_ones_own_runs_twice_and_then_grows(after_run: Workplace) -> None:
    workplace = after_run
    assert workplace.started == 8
    points = rows(workplace.table("points"))
    assert len(points) == 8 and {row["status"] for row in points} == {"done"}
    assert all(float(row["runtime_ns"]) >= float(row["bound_ns"]) > 0 for row in rows(workplace.table("jobs")))
    assert "<html" in (workplace.folder / "reports/tiny/index.html").read_text()
    assert (workplace.folder / "reports/tiny/figures/time.pdf").read_bytes().startswith(b"%PDF")

    assert "Nothing to be done" in workplace.run()
    assert workplace.started == 8

    # Claims and figures are no physics: the new points alone are simulated, and the words stand on the page.
    workplace.write_study(
        TINY.replace("2: 2 GB/s}", "2: 2 GB/s, 4: 4 GB/s}").replace("statement: More", "statement: Much more")
    )
    workplace.run()
    assert workplace.started == 12
    assert len(rows(workplace.table("points"))) == 12
    assert "Much more" in (workplace.folder / "reports/tiny/index.html").read_text()


@pytest.mark.parametrize("succeeds", [True, False])
def test_snakemake_ends_with_its_last_job(after_run: Workplace, succeeds: bool) -> None:
    """Its rate limit leaves a timer of this length."""
    made = after_run.folder / "results/tiny"
    shutil.rmtree(made / "tables")
    if not succeeds:
        (made / "structure/all.jsonl").write_text("{}")
    limit = ("--until", "table", "--max-jobs-per-timespan", "1000/30m")
    command = [str(BIN / "snakemake"), *after_run.arguments(*limit)]
    done = subprocess.run(command, cwd=after_run.folder, env=after_run.environment, capture_output=True, timeout=600)
    assert (done.returncode == 0) == succeeds


def test_a_job_renamed_in_the_study_is_renamed_in_the_tables(after_run: Workplace) -> None:
    structures = after_run.folder / "results/tiny/structure/all.jsonl"
    fresh = structures.read_bytes()
    structures.unlink()
    after_run.write_study(TINY.replace("name: app", "name: solver"))
    after_run.run("--until", "table")
    assert {row["job_name"] for row in rows(after_run.table("jobs"))} == {"solver"}
    assert after_run.started == 8 and structures.read_bytes() == fresh


def test_two_studies_in_one_call_and_at_the_same_time_share_the_store(workplace: Workplace) -> None:
    workplace.write_study(TINY.replace("study: tiny", "study: tiny-two").replace("seeds: 2", "seeds: 3"), "two.yaml")
    first, second = (workplace.start("--until", "table", study=study) for study in ("tiny.yaml", "two.yaml"))
    assert (first.wait(), second.wait()) == (0, 0)
    assert workplace.started == 12
    assert rows(workplace.table("points"))[0]["point_id"] in workplace.table("points", "tiny-two")
    assert not rules_run(workplace.run("--until", "table", study="tiny.yaml,two.yaml"))


def test_a_broken_study_says_so_and_runs_nothing(workplace: Workplace) -> None:
    workplace.write_study(TINY.replace("1: 1 GB/s", "1: 1G"))
    said = workplace.run(code=1)
    assert "tiny.yaml" in said and "1G" in said and "Traceback" not in said
    assert not (workplace.folder / "results").exists()


def test_no_cores_are_refused(workplace: Workplace) -> None:
    workplace.write_study()
    assert "--cores: " in workplace.run("--cores", "0", code=1)


def test_unknown_and_strange_studies_are_refused(workplace: Workplace) -> None:
    """In one process: that Snakemake says such errors is seen in the test above."""
    workplace.write_study(TINY.replace("study: tiny", "study: $(touch pwned)"))
    for study, expected in (("qick", "did you mean 'quick'"), ("tiny.yaml", "tiny.yaml: study:")):
        with pytest.MonkeyPatch.context() as patch, pytest.raises(ConfigError, match=re.escape(expected)):
            patch.chdir(workplace.folder)
            load_pipelines(study)
    assert {path.name for path in workplace.folder.iterdir()} == {"tiny.yaml", "simulator"}


def test_a_missing_engine_skips_its_points_and_comes_back(after_run: Workplace) -> None:
    workplace = after_run
    for name in ("points", "tiny/simulate", "tiny/tables"):
        shutil.rmtree(workplace.folder / "results" / name)
    (workplace.folder / "simulator").write_text("#!/bin/sh\nexit 1\n")
    assert "8 points skipped without caminos" in workplace.run("--until", "table", code=1)
    points = rows(workplace.table("points"))
    assert {row["status"] for row in points} == {"skipped"} and all(row["reason"] for row in points)
    assert rows(workplace.table("claims"))[0]["verdict"] == "not run"
    workplace.stand_in()
    workplace.run("--until", "table")
    assert {row["status"] for row in rows(workplace.table("points"))} == {"done"}

    # What is finished stays so in a terminal in which the engine is not found.
    (workplace.folder / "simulator").write_text("#!/bin/sh\nexit 1\n")
    said = workplace.run("--forcerun", "simulate")
    assert {row["status"] for row in rows(workplace.table("points"))} == {"done"}
    assert "tiny: 8 of 8 points done" in said and "reports/tiny/index.html" in said


def test_ten_thousand_points_are_at_most_300_jobs(tmp_path: Path) -> None:
    """In one process: a job of Snakemake is a chunk, a batch, or one of three for the whole study."""
    file = tmp_path / "tiny.yaml"
    ratios = ", ".join(f"{i / 10}: {i / 10} GB/s" for i in range(1, 51))
    file.write_text(TINY.replace("1: 1 GB/s, 2: 2 GB/s", ratios).replace("seeds: 2", "seeds: 100"))
    found = load_pipelines(str(file))["tiny"]
    assert len(found.plan.points) == 10_000
    assert 10 < len(found.machine_chunks) + len(found.batches) + 3 <= 300


def test_included_in_another_workflow_it_runs_nothing_unasked(tmp_path: Path) -> None:
    snakefile = tmp_path / "Snakefile"
    snakefile.write_text(
        f'include: "{ROOT / "Snakefile"}"\nrule own:\n    output: "own.txt"\n    shell: "touch {{output}}"\n'
    )
    options = ["--cores", "1", "--snakefile", str(snakefile), "--directory", str(tmp_path), "own.txt"]
    code, said = run_snakemake(options, tmp_path, os.environ)
    assert code == 0, said
    assert {path.name for path in tmp_path.iterdir()} == {"Snakefile", "own.txt", ".snakemake"}


def test_what_is_removed_or_damaged_is_made_again(after_run: Workplace) -> None:
    """Outputs of rules are made again; without what is cached nothing is missing, but what needs it is simulated."""
    workplace, jobs = after_run, after_run.table("jobs")

    def runs(*rules: str, until: str = "table") -> None:
        said = workplace.run("--until", until)
        ends = {"report", "all"} if until == "all" else set()
        assert rules_run(said) == {*rules, "table", *ends}, said
        assert workplace.table("jobs") == jobs

    results = workplace.folder / "results"
    assert {path.name for path in results.iterdir()} == {*STORES, "tiny"}
    shutil.rmtree(results / "tiny/tables")
    runs()
    first, second, *_ = workplace.point_records()
    first.write_text("{")
    shutil.rmtree(second.parent)
    shutil.rmtree(results / "structures")
    assert "Nothing to be done" in workplace.run()
    (results / "tiny/tables/machines.csv").unlink()
    runs()
    shutil.rmtree(results / "tiny/structure")
    runs("structure", "workload", "simulate")
    assert workplace.started == 10 and workplace.table("machines")
    shutil.rmtree(results / "tiny")
    runs("plan", "machine", "structure", "workload", "simulate", until="all")
    assert workplace.started == 10
    assert "Nothing to be done" in workplace.run()


def test_a_sites_module_brings_a_simulator_that_is_missing(tmp_path: Path, finished: Path) -> None:
    """Without its environment activated it runs with its own Python."""
    place = Workplace(tmp_path, "")
    place.take(finished)
    on_codes = TINY.replace("engine: caminos", "engine: codes")
    # Through groups, as CODES' detours are.
    detours = "{of: routing, values: {minimal: minimal, valiant: {kind: valiant, via: group}}}"
    place.write_study(on_codes.replace("{of: routing.kind, values: [minimal, valiant]}", detours))
    program = tmp_path / "of-the-site/model-net-mpi-replay"
    program.parent.mkdir()
    program.write_text(
        '#!/bin/sh\nif [ "$1" = --help ]; then echo "ROSS Version: v1.2 --workload_type"; else echo error: of the site;'
        " exit 3; fi\n"
    )
    program.chmod(0o755)
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path),
        "BASH_FUNC_module%%": f'() {{ if [ "$1 $2" = "load codes/1" ]; then PATH={program.parent}:$PATH; fi; }}',
    }

    def points(*arguments: str, config: tuple[str, ...] = ()) -> list[dict[str, str]]:
        command = [str(BIN / "snakemake"), *place.arguments("--until", "table", *arguments), *config]
        subprocess.run(command, env=environment, cwd=tmp_path)  # 1 without the engine
        return rows(place.table("points"))

    assert {row["status"] for row in points()} == {"skipped"}
    found = points("--sdm", "env-modules", "--forcerun", "simulate", config=('envmodules=["codes/1"]',))
    assert {row["status"] for row in found} == {"failed"}
    assert all("ended with 3: error: of the site" in row["reason"] for row in found)
