"""The engine of the page "Add a simulator" in every command, in reports, artifacts and cluster profiles."""

from __future__ import annotations

import json
import re
import tarfile
from pathlib import Path

import pandas as pd
import pytest

from fabricstudy.cli import main
from fabricstudy.core.extensions import LOADED, unload_extensions

from .conftest import ROOT, Workplace, unpack

pytestmark = pytest.mark.slow

PAGE = (ROOT / "docs/add-a-simulator.md").read_text()
FILES = dict(re.findall(r"^```\w+ file=(linksim\S*)\n(.*?)^```$", PAGE, re.M | re.S))
FIGURE = """\
figures:
  - {id: time, kind: bar, title: Runtime, x: simulator, y: runtime_ns, unit: us}
"""
STUDY = "linksim.yaml"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder in which the study of the page has run, up to its artifact."""
    workplace = Workplace(tmp_path_factory.mktemp("linksim"), "", small=True)
    for name, text in FILES.items():
        workplace.write_study(text + (FIGURE if name == STUDY else ""), name)
    workplace.run("artifact", study=STUDY)
    for package in list(LOADED):
        unload_extensions(package)
    return workplace.folder


@pytest.mark.parametrize(
    "arguments",
    [
        ("plan", STUDY), ("plan", "validate", STUDY), ("status", STUDY), ("report", STUDY),
        ("list", "engines", "--extensions", "linksim_engine.py"),
        ("list", "kinds", "--extensions", "linksim_engine.py"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_commands(
    arguments: tuple[str, ...], folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    assert main(list(arguments)) == 0, capsys.readouterr()
    if arguments == ("plan", STUDY):
        assert re.search(r"^new +0$", capsys.readouterr().out, re.M)


def test_tables_report_and_agreement(folder: Path) -> None:
    tables = folder / "results/linksim/tables"
    points = pd.read_csv(tables / "points.csv")
    assert set(points["status"]) == {"done"} and sorted(points["engine"]) == ["linksim", "linksim", "packet"]
    agreement = (tables / "agreement.csv").read_text()
    assert "linksim" in agreement and "packet" in agreement
    assert "linksim" in (folder / "reports/linksim/index.html").read_text()


def test_the_artifact_is_run_again_with_its_own_copy_of_the_file(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tarfile.open(folder / "artifact/linksim.tar.gz") as archive:
        unpack(archive, tmp_path)
    unpacked = tmp_path / "linksim-artifact"
    assert list(unpacked.rglob("linksim_engine.py")) and not list(unpacked.rglob("linksim.py"))
    monkeypatch.setenv("FABRICSTUDY_LINKSIM", str(folder / "linksim.py"))
    (study,) = unpacked.rglob(STUDY)
    workplace = Workplace(unpacked / "rerun", "")
    workplace.folder.mkdir()
    workplace.run("--until", "table", study=str(study))
    monkeypatch.chdir(unpacked)
    assert main(["compare", ".", "rerun"]) == 0
    (record, *_) = (unpacked / "rerun").glob("results/points/*/*/record.json")
    assert json.loads(record.read_text())["status"] == "done"


def test_points_are_simulated_and_shown_one_by_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    points = pd.read_csv("results/linksim/tables/points.csv").set_index("simulator")
    for arguments in ((), ("--run", "--folder", "input")):
        assert main(["point", str(points.loc["slow", "point_id"]), "--study", STUDY, *arguments]) == 0, (
            capsys.readouterr()
        )
    assert (folder / "input/flows").exists()


def test_a_cluster_profile_submits_its_points(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("snakemake_executor_plugin_slurm")
    workplace = Workplace(tmp_path, "")
    for name, text in FILES.items():
        workplace.write_study(text, name)
    said = workplace.run("--dry-run", "--profile", str(ROOT / "profiles/slurm"), study=STUDY)
    assert re.search(r"^simulate +\d", said, re.M), said
