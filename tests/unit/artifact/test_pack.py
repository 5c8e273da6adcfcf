"""The archive: complete, the same each time, and described by its metadata."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fabricstudy.artifact.checksums import check
from fabricstudy.artifact.compare import compare
from fabricstudy.artifact.completed_study import ArtifactError
from fabricstudy.artifact.documents import JOB_START_S, effort
from fabricstudy.artifact.pack import pack
from fabricstudy.core.checkout import Checkout, checkout

from .conftest import Ran, run_in


@pytest.fixture
def code(tmp_path: Path) -> Checkout:
    """A folder that looks like our code."""
    root = tmp_path / "clone"
    for path, text in {
        "Snakefile": "", "requirements.lock": "a==1", "engines/caminos/Cargo.lock": "", "LICENSE": "", "deep/x.py": "",
        "Makefile": "", "pyproject.toml": "[project]\ndependencies = ['numpy>=2', 'no-such-package']\n",
    }.items():  # fmt: skip
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    (root / "tool.sh").write_text("#!/bin/sh\n")
    (root / "tool.sh").chmod(0o755)
    return checkout(root)


@pytest.fixture
def unpacked(ran: Ran, code: Checkout, tmp_path: Path) -> Path:
    """The unpacked artifact."""
    pack(ran.finished(), code, tmp_path / "out/made-up.tar.gz")
    subprocess.run(["tar", "-xf", "out/made-up.tar.gz"], cwd=tmp_path, check=True)
    return tmp_path / "made-up-artifact"


def test_the_same_inputs_give_the_same_bytes(ran: Ran, code: Checkout, tmp_path: Path) -> None:
    for name in ("one", "two"):
        pack(ran.finished(), code, tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    with tarfile.open(tmp_path / "one") as archive:
        members = archive.getmembers()
    assert [member.name for member in members] == sorted(member.name for member in members)
    assert {(member.uid, member.gid, member.uname, member.mtime) for member in members} == {(0, 0, "", 946_684_800)}
    modes = {member.name: member.mode for member in members}
    assert {name for name, mode in modes.items() if mode == 0o755} == {"made-up-artifact/code/tool.sh"}


def test_every_file_has_its_checksum(unpacked: Path) -> None:
    files = {path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*") if path.is_file()}
    listed = {line.split("  ", 1)[1] for line in (unpacked / "SHA256SUMS").read_text().splitlines()}
    assert listed == files - {"SHA256SUMS"} and check(unpacked) == len(listed)
    # sha256sum of coreutils is another one's arithmetic.
    subprocess.run(["sha256sum", "--check", "--quiet", "--strict", "SHA256SUMS"], cwd=unpacked, check=True)


def test_a_changed_or_missing_file_is_named(unpacked: Path) -> None:
    (unpacked / "code/deep/x.py").write_text("changed")
    with pytest.raises(
        ArtifactError, match=r"code/deep/x.py: not as packed \(SHA-256 differs\); unpack the archive again"
    ):
        check(unpacked)
    (unpacked / "results/made-up/tables/jobs.csv").unlink()
    with pytest.raises(ArtifactError, match=r"x.py and 1 other files: not as packed"):
        check(unpacked)
    with pytest.raises(ArtifactError, match="SHA256SUMS"):
        check(unpacked / "code")


def test_authors_may_change_the_appendix(unpacked: Path) -> None:
    (unpacked / "APPENDIX.md").write_text("By us.\n")
    before = (unpacked / "SHA256SUMS").read_text().splitlines()
    assert subprocess.run(["make", "check"], cwd=unpacked, capture_output=True).returncode != 0
    subprocess.run(["make", "checksums", "check"], cwd=unpacked, check=True)
    after = (unpacked / "SHA256SUMS").read_text().splitlines()
    assert [line[66:] for line in set(after) - set(before)] == ["APPENDIX.md"] and len(before) == len(after)


def test_the_metadata_describe_the_run(unpacked: Path) -> None:
    """They are read with the library's own reader, and link by link as the profiles ask for."""
    from rocrate.rocrate import ROCrate

    crate = ROCrate(unpacked)
    (action,) = crate.get_by_type("CreateAction")
    assert action["instrument"] is crate.mainEntity and crate.mainEntity.id == "code/Snakefile"
    assert crate.root_dataset["mentions"] is action
    profiles = [one.id for one in crate.root_dataset["conformsTo"]]
    assert [one.rsplit("/", 2)[1] for one in profiles] == ["process", "workflow", "workflow-ro-crate"]
    assert action["object"].id == "study/made-up.yaml"
    results = {entity.id for entity in action["result"]}
    made = {"results/made-up/tables/", "results/made-up/simulate/"}
    assert results == made | {"reports/made-up/index.html", "reports/made-up/figures/"}
    assert (action["startTime"], action["endTime"]) == ("2026-01-01T00:00:00+00:00", "2026-01-01T00:00:16+00:00")
    parameters = crate.get_by_type("FormalParameter")
    assert {one["workExample"].id for one in parameters} == results | {"study/made-up.yaml"}
    for one in parameters:
        assert one["additionalType"] in one["workExample"].type and one["workExample"]["exampleOfWork"] is one
    assert crate.mainEntity["softwareRequirements"]["softwareVersion"] == "1.0"


def test_the_metadata_fit_the_files(unpacked: Path) -> None:
    graph: list[dict[str, Any]] = json.loads((unpacked / "ro-crate-metadata.json").read_text())["@graph"]
    known = {entity["@id"] for entity in graph}
    described = [entity for entity in graph if "sha256" in entity]
    for entity in described:
        content = (unpacked / entity["@id"]).read_bytes()
        assert entity["sha256"] == hashlib.sha256(content).hexdigest() and entity["contentSize"] == str(len(content))
    files = {path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*") if path.is_file()}
    without = {"SHA256SUMS", "ro-crate-metadata.json", "APPENDIX.md"}
    ours = {path for path in files - without if not path.startswith("code/")}
    locks = {"code/LICENSE", "code/requirements.lock", "code/engines/caminos/Cargo.lock"}
    assert {entity["@id"] for entity in described} == ours | locks
    (root,) = (entity for entity in graph if entity["@id"] == "./")
    assert {part["@id"] for part in root["hasPart"]} <= known


def test_the_state_of_the_code_is_told(unpacked: Path) -> None:
    for name in ("README.md", "APPENDIX.md", "ro-crate-metadata.json"):
        assert "working files, not a git checkout" in (unpacked / name).read_text()


def test_effort_is_added_up_from_the_measurements(ran: Ran) -> None:
    found = effort(ran.finished())
    # Eight points of 59 + 1 s in one batch; the machines took 9 s; then 6 s and 51 s.
    assert found.longest_s == 8 * 60 + JOB_START_S
    assert found.execution_s == 8 * 60 + 9 + 2 * JOB_START_S
    assert found.analysis_s == 6 + 51 + 2 * JOB_START_S
    assert found.memory_bytes == 300e6
    assert found.execution_minutes(1) == found.execution_s / 60
    assert found.execution_minutes(1000) == found.longest_s / 60


def test_effort_of_a_small_study_is_that_of_its_job(ran: Ran) -> None:
    folder = ran.base / "benchmarks/made-up"
    shutil.rmtree(folder)
    folder.mkdir()
    (folder / "small.jsonl").write_text(json.dumps({"s": 500, "max_rss": 250}) + "\n")
    found = effort(ran.finished())
    assert (found.execution_s, found.analysis_s) == (8 * 60 + JOB_START_S, 20 + JOB_START_S)
    assert found.memory_bytes == 250e6


def test_the_appendix_holds_what_the_structure_asks_for(unpacked: Path) -> None:
    text = (unpacked / "APPENDIX.md").read_text()
    for heading in (
        "# Artifact Description (AD)", "## I. Overview of Contributions and Artifacts",
        "### A. Paper's Main Contributions",
        "### B. Computational Artifacts", "## II. Artifact Identification", "#### Relation to contributions",
        "#### Expected results", "#### Expected reproduction time (in minutes)", "#### Artifact setup (incl. inputs)",
        "#### Artifact execution", "#### Artifact analysis (incl. outputs)", "# Artifact Evaluation (AE)",
    ):  # fmt: skip
        assert f"\n{heading}\n" in text, heading
    assert "| Artifact execution | 8 | 8 | 8 | 8 |" in text
    assert "| Artifact analysis | 1 | 1 | 1 | 1 |" in text
    assert "| c1 | Valiant takes twice as long. (ratio) | 1.9 to 2.1 | 1.9 to 2.1 | 2 | reproduced |" in text
    assert "| numpy | " in text and "pytest" not in text
    # Every row of a table has as many cells as its head.
    for block in text.split("\n\n"):
        rows = [line for line in block.splitlines() if line.startswith("|")]
        assert len({row.replace("\\|", "").count("|") for row in rows}) <= 1, rows


def test_a_simulator_that_is_not_in_the_archive_is_named_as_such(code: Checkout, tmp_path: Path) -> None:
    pack(run_in(tmp_path / "run", engine="codes").finished(), code, tmp_path / "out.tar.gz")
    subprocess.run(["tar", "-xf", "out.tar.gz"], cwd=tmp_path, check=True)
    appendix, readme = ((tmp_path / "made-up-artifact" / name).read_text() for name in ("APPENDIX.md", "README.md"))
    assert "| engine codes | 1.0 | not in this archive, see `code/docs/engines/codes.md` |" in appendix
    assert all("simulator codes" in text and "`code/docs/engines/codes.md`" in text for text in (appendix, readme))


def test_a_folder_that_cannot_be_set_up_is_refused(ran: Ran, code: Checkout, tmp_path: Path) -> None:
    (code.root / "Makefile").unlink()
    with pytest.raises(ArtifactError, match="clone: there is no Makefile"):
        pack(ran.finished(), code, tmp_path / "out.tar.gz")
    assert not (tmp_path / "out.tar.gz").exists()


def _append(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b" ")


def _without_line(artifact: Path, path: str) -> None:
    """Change a file, and leave its line out of the checksums."""
    _append(artifact / path)
    listing = artifact / "SHA256SUMS"
    listing.write_text("".join(line for line in listing.read_text().splitlines(True) if not line.endswith(f"{path}\n")))


CHANGES: dict[str, Callable[[Path], object]] = {
    "a table": lambda artifact: _append(artifact / "results/made-up/tables/jobs.csv"),
    "the page": lambda artifact: _append(artifact / "reports/made-up/index.html"),
    "the study": lambda artifact: _append(next(artifact.glob("study/*.yaml"))),
    "the code": lambda artifact: _append(artifact / "code/deep/x.py"),
    "the readme": lambda artifact: _append(artifact / "README.md"),
    "a table and its line": lambda artifact: _without_line(artifact, "results/made-up/tables/jobs.csv"),
    "a further table": lambda artifact: (artifact / "results/made-up/tables/more.parquet").touch(),
    "no figure": lambda artifact: next(artifact.glob("reports/made-up/figures/*")).unlink(),
    "no checksums": lambda artifact: (artifact / "SHA256SUMS").unlink(),
    "a file elsewhere": lambda artifact: (artifact / "SHA256SUMS").write_text(f"{'0' * 64}  ../results/x\n"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_an_artifact_that_was_changed_is_not_compared(ran: Ran, unpacked: Path, change: str) -> None:
    assert compare(unpacked, ran.base).agrees
    CHANGES[change](unpacked)
    for named in (unpacked, unpacked / "results/made-up"):
        with pytest.raises(ArtifactError):
            compare(named, ran.base)
