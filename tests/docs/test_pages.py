"""The pages build without a warning, ask nothing of other sites, and explain every code of an error."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
import yaml

from fabricstudy.core.columns import STATUSES, TABLES
from fabricstudy.core.errors import Code
from fabricstudy.core.kinds import kind_of, members_of
from fabricstudy.study.dotted_paths import fields_of
from fabricstudy.study.file import load_study
from fabricstudy.study.model import Study
from fabricstudy.study.plan import plan

ROOT = Path(__file__).resolve().parents[2]
TROUBLES = (ROOT / "docs/troubleshooting.md").read_text()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages, built."""
    pytest.importorskip("mkdocs", reason="mkdocs is not installed")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr and "not included in the" not in done.stderr, done.stderr
    return folder


def test_every_page_is_built_and_holds_what_the_code_knows(site: Path) -> None:
    machines = (site / "concepts/machines/index.html").read_text()
    for machine in members_of(fields_of(Study)["machine"].annotation):
        assert f">{kind_of(machine)}</a>" in machines
    tables = (site / "concepts/report/index.html").read_text()
    assert all(f"<code>{name}</code>" in tables for name in TABLES)
    assert "usage: fabricstudy plan" in (site / "commands/index.html").read_text()
    assert "Each rank sends one message to every other rank." in (site / "reference/index.html").read_text()
    assert not any(re.search("<!-- (kinds|tables|commands)", page.read_text()) for page in site.rglob("*.html"))


def test_the_pages_ask_nothing_of_other_sites(site: Path) -> None:
    for page in site.rglob("*.html"):
        assert not re.findall(r"""<(?:script|link|img)[^>]*(?:src|href)=["']?(?:https?:)?//""", page.read_text()), page


def test_every_study_in_the_pages_is_right(tmp_path: Path) -> None:
    found = 0
    for page in sorted((ROOT / "docs").rglob("*.md")):
        for name, text in re.findall(r"^```(?:python|text) file=(\S+)\n(.*?)^```$", page.read_text(), re.M | re.S):
            (tmp_path / name).write_text(text)
        for text in re.findall(r"^```yaml file=\S+\n(.*?)^```$", page.read_text(), re.M | re.S):
            if "study" in yaml.safe_load(text) and "study: wrong" not in text:
                (tmp_path / "study.yaml").write_text(text)
                planned = plan(load_study(tmp_path / "study.yaml"))
                assert planned.points or planned.runs or planned.study.analyses
                found += 1
    assert found >= 3


def explained(section: str) -> list[str]:
    """First cells of the tables of a section of the page on troubles."""
    (text,) = (part for part in TROUBLES.split("\n## ") if part.startswith(section))
    return re.findall(r"^\| `([a-z0-9-]+)` \|", text, re.M)


def test_every_code_of_a_mistake_is_explained_once() -> None:
    assert sorted(explained("Error codes")) == sorted(get_args(Code))


def test_every_code_is_used() -> None:
    texts = [node.value for file in (ROOT / "src").rglob("*.py") for node in ast.walk(ast.parse(file.read_text()))
             if isinstance(node, ast.Constant)]  # fmt: skip
    assert [code for code in get_args(Code) if texts.count(code) < 2] == []


def test_every_status_is_explained() -> None:
    assert set(explained("Statuses of points")) == set(STATUSES)
