"""The pages build without a warning, ask nothing of other sites, and quote messages that exist."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from fabricstudy.kinds import kind_of, members_of
from fabricstudy.study.file import load_study
from fabricstudy.study.model import Study
from fabricstudy.study.paths import fields_of
from fabricstudy.study.plan import plan
from fabricstudy.table.schemas import STATUSES, TABLES

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
        for name, text in re.findall(r"^```python file=(\S+)\n(.*?)^```$", page.read_text(), re.M | re.S):
            (tmp_path / name).write_text(text)
        for text in re.findall(r"^```yaml file=\S+\n(.*?)^```$", page.read_text(), re.M | re.S):
            if "study" in yaml.safe_load(text) and "study: wrong" not in text:
                (tmp_path / "study.yaml").write_text(text)
                assert plan(load_study(tmp_path / "study.yaml")).points
                found += 1
    assert found >= 3


def literals() -> Iterator[str]:
    """All texts in the code, with … for what is filled in."""
    for file in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.JoinedStr):
                yield "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


def test_every_message_that_is_explained_exists() -> None:
    texts = set(literals())
    explained = re.findall(r"^### `(.*)`$", TROUBLES, re.M)
    assert len(explained) > 25
    assert [message for message in explained if not any(message.strip("…") in text for text in texts)] == []


def test_every_status_is_explained() -> None:
    assert set(re.findall(r"^\| `(\w+)` \|", TROUBLES, re.M)) == set(STATUSES)
