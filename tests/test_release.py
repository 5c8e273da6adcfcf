"""What a release says of itself in several places is the same."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from fabricstudy.artifact.documents import _packages

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text())


def test_the_citation_is_one_and_names_this_version() -> None:
    # What version 1.2.0 of the format asks for.
    assert {"cff-version", "message", "title", "authors"} <= set(CITATION) and CITATION["cff-version"] == "1.2.0"
    assert (CITATION["version"], CITATION["license"]) == (PROJECT["version"], PROJECT["license"])
    assert all({"name", "family-names"} & set(author) for author in CITATION["authors"])


def test_zenodo_is_told_the_same() -> None:
    told = json.loads((ROOT / ".zenodo.json").read_text())
    assert (told["version"], told["license"]) == (PROJECT["version"], PROJECT["license"])
    assert told["keywords"] == CITATION["keywords"]
    assert [creator["name"] for creator in told["creators"]] == [author["name"] for author in CITATION["authors"]]
    assert " ".join(CITATION["abstract"].split()) in told["description"]
    assert f"## {PROJECT['version']}\n" in (ROOT / "docs/release-notes.md").read_text()


def test_a_static_wheel_is_one_for_any_linux() -> None:
    """The name alone: to link the programs again takes minutes."""
    code = (
        "import sys; from setuptools.command.bdist_wheel import bdist_wheel as base\n"
        "base.run = lambda self: print('-'.join(self.get_tag()))\n"
        "sys.argv = ['setup.py', 'bdist_wheel']; exec(open('setup.py').read())"
    )
    environment = os.environ | {"FABRICSTUDY_PLATFORM": "manylinux2014_x86_64"}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1:] == ["cp311-abi3-manylinux2014_x86_64"], done.stderr


def test_the_changelog_has_a_section_for_this_version() -> None:
    assert re.search(rf"^## {re.escape(PROJECT['version'])}\b", (ROOT / "CHANGELOG.md").read_text(), re.M)


def test_the_badges_are_those_of_the_project() -> None:
    figures = ROOT / "docs/figures"
    before = {path.name: path.read_text() for path in figures.glob("badge-*.svg")}
    subprocess.run([sys.executable, str(ROOT / "tools/badges.py")], check=True)
    assert {path.name: path.read_text() for path in figures.glob("badge-*.svg")} == before and len(before) == 3


def test_the_manual_page_is_that_of_the_parser() -> None:
    page = ROOT / "docs/man/fabricstudy.1"
    before = page.read_text()
    subprocess.run([sys.executable, str(ROOT / "tools/man_page.py")], check=True)
    assert page.read_text() == before, "run make documents"


@pytest.mark.skipif(shutil.which("groff") is None, reason="no groff is here")
def test_the_manual_page_has_no_mistakes() -> None:
    command = ["groff", "-man", "-ww", "-z", "-Tutf8", str(ROOT / "docs/man/fabricstudy.1")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stderr == ""


def test_every_dependency_is_locked_and_told_in_an_artifact() -> None:
    locked = dict(re.findall(r"^([a-z0-9._-]+)==(\S+)", (ROOT / "requirements.lock").read_text(), re.M))
    told = _packages({"code/pyproject.toml": (ROOT / "pyproject.toml").read_bytes()})
    assert len(told) == len(PROJECT["dependencies"]) and set(told) <= set(locked)


def test_the_issue_forms_are_forms() -> None:
    forms = [path for path in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml") if path.name != "config.yml"]
    assert len(forms) >= 3
    for path in forms:
        form = yaml.safe_load(path.read_text())
        assert {"name", "description", "body"} <= set(form), path
        ids = [field["id"] for field in form["body"]]
        assert len(ids) == len(set(ids)), path
        assert {field["type"] for field in form["body"]} <= {"input", "textarea"}, path
        assert all(field["attributes"]["label"] for field in form["body"]), path
