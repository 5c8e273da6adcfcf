"""What a release says of itself in several places is the same."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

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


def test_the_changelog_has_a_section_for_this_version() -> None:
    assert re.search(rf"^## {re.escape(PROJECT['version'])}\b", (ROOT / "CHANGELOG.md").read_text(), re.M)


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
