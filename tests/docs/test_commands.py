"""Every command in the pages and in the README runs, page by page, in a copy of the project.

A block of ``sh`` is run; the block of ``text`` after it is what the last command prints, with ``…`` for any text. A
block with ``file=NAME`` is written first. Lines of ``fabricstudy`` are run in this process and those of ``snakemake``
in one forked for it, which spares a start for each. A comment before a block changes that: ``<!-- fails -->``, or
``<!-- not run: REASON -->`` for what needs a cluster, hours or the network.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fabricstudy import cli
from fabricstudy.engine.registry import engine_named

from ..forked import run_snakemake

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
PAGES = ["README.md", *sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(
    r"(?:^<!-- (?P<note>[^\n]*) -->\n)?^```(?P<kind>\w+)(?P<words>[^\n]*)\n(?P<text>.*?)^```$", re.M | re.S
)
COPIED = ("Snakefile", "Makefile", "mkdocs.yml", "workflow", "configs", "envs", "profiles", "docs", "tools", "src")
NOT_RUN = 12
"""Blocks that are not run, in all pages; each needs a good reason."""


def text_of(page: str) -> str:
    return (ROOT / page).read_text()


def blocks(page: str) -> list[re.Match[str]]:
    return list(BLOCK.finditer(text_of(page)))


def commands(page: str) -> list[re.Match[str]]:
    return [block for block in blocks(page) if block["kind"] in ("sh", "bash", "console", "shell")]


def is_run(block: re.Match[str]) -> bool:
    return not (block["note"] or "").startswith("not run: ")


@pytest.fixture(scope="session")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what a user has in the clone, without results."""
    clone = tmp_path_factory.mktemp("clone")
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, clone / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, clone)
    return clone


@pytest.fixture
def folder(clone: Path, tmp_path: Path) -> Path:
    """The same for one page, of links to its files."""
    return Path(shutil.copytree(clone, tmp_path / "clone", copy_function=os.link))


def environment() -> dict[str, str]:
    found = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST", "COVERAGE"))}
    # The fabricstudy that is tested, whichever is installed.
    return found | {"PATH": f"{BIN}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "src")}


def matches(expected: str, printed: str) -> bool:
    pattern = ".*".join(map(re.escape, expected.strip().split("…")))
    return re.search(pattern, printed, re.S) is not None


def run(text: str, folder: Path) -> tuple[int, str]:
    """Run a block; give the exit code and what was printed."""
    plain = re.sub(r" +# .*", "", text)
    lines = [line for line in plain.splitlines() if line]
    # A line is a command of its own where no shell is asked for more, and none changes what the next one finds.
    if set(plain) & set("$|;&<>\\") or any(line.startswith("cd ") or line.count('"') % 2 for line in lines):
        return run_in_shell(text, folder)
    code, said = 0, ""
    for line in lines:
        code, printed = runner_of(line)(line, folder)
        said += printed
        if code:
            break
    return code, said


def runner_of(line: str) -> Callable[[str, Path], tuple[int, str]]:
    """What runs a command; `fabricstudy run` becomes Snakemake, in whichever process it is, so a shell does."""
    if line.startswith("snakemake "):
        return run_forked
    return run_here if line.startswith("fabricstudy ") and not line.startswith("fabricstudy run ") else run_in_shell


def run_forked(line: str, folder: Path) -> tuple[int, str]:
    """Run Snakemake."""
    return run_snakemake(shlex.split(line, comments=True)[1:], folder, environment())


def run_in_shell(text: str, folder: Path) -> tuple[int, str]:
    """Run commands of any kind up to the first that fails."""
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", text],
        cwd=folder, env=environment(), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600,
    )  # fmt: skip
    return done.returncode, done.stdout


def run_here(line: str, folder: Path) -> tuple[int, str]:
    """Run a command of ours."""
    printed = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        code = cli.main(shlex.split(line, comments=True)[1:])
    return code or 0, printed.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if any(map(is_run, commands(page)))])
def test_every_command_of_a_page_does_what_it_says(page: str, folder: Path) -> None:
    probe = engine_named("caminos").probe()
    if not probe.found:
        pytest.skip(f"caminos: {probe.reason}")
    printed = ""
    for block in blocks(page):
        file = re.search(r"file=(\S+)", block["words"])
        if file:
            (folder / file[1]).write_text(block["text"])
        elif block["kind"] == "sh" and is_run(block):
            code, printed = run(block["text"], folder)
            assert (code != 0) == (block["note"] == "fails"), f"{block['text']}\n{printed}"
        elif block["kind"] == "text" and printed:
            assert matches(block["text"], printed), f"{block['text']}\nis not in\n{printed}"


def test_commands_within_sentences_exist() -> None:
    parser: Any = cli._parser()
    (subparsers,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    makefiles = (ROOT / "Makefile", ROOT / "src/fabricstudy/artifact/templates/Makefile.j2")
    targets = {target for file in makefiles for target in re.findall(r"^([a-z-]+):", file.read_text(), re.M)}
    found = [words.split() for page in PAGES for words in re.findall(r"`((?:fabricstudy|make) [^`]*)`", text_of(page))]
    assert len(found) > 10
    for program, name, *rest in found:
        if program == "make":
            assert name in targets, name
        elif name.startswith("-"):
            assert name in parser._option_string_actions, name
        else:
            # After the study all is Snakemake's.
            options = {word for word in rest if word.startswith("--") and name != "run"}
            name = next((two for two in [" ".join([name, *rest[:1]])] if two in subparsers.choices), name)
            assert options <= set(subparsers.choices[name]._option_string_actions), (name, options)


def test_few_commands_are_not_run_and_each_says_why() -> None:
    left_out = Counter(page for page in PAGES for block in commands(page) if not is_run(block))
    assert left_out.total() <= NOT_RUN, left_out
    assert all(block["kind"] == "sh" for page in PAGES for block in commands(page)), "write commands as sh"
