"""The code at its commit, with real git."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from fabricstudy.core.checkout import checkout


def git(root: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", "-C", str(root), *identity, *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clean checkout."""
    root = tmp_path / "clone"
    (root / "src/deep").mkdir(parents=True)
    (root / "src/deep/a.py").write_text("a = 1\n")
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "run.sh").chmod(0o755)
    (root / ".gitignore").write_text("/results/\n*.egg-info/\n/engines/target/\n\n")
    for made in ("results/x", "src/a.egg-info/x", "engines/target/x"):
        (root / made).parent.mkdir(parents=True)
        (root / made).write_text("made")
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "first")
    return root


FILES = [(".gitignore", False), ("run.sh", True), ("src/deep/a.py", False)]


def listed(root: Path) -> list[tuple[str, bool]]:
    return sorted((path, program) for path, _, program in checkout(root).files())


def test_a_clean_checkout_gives_the_files_of_its_commit(clone: Path) -> None:
    found = checkout(clone)
    assert found.clean and found.commit == git(clone, "rev-parse", "HEAD") and found.state == f"commit {found.commit}"
    assert listed(clone) == FILES
    assert {path: content for path, content, _ in found.files()}["src/deep/a.py"] == b"a = 1\n"


def test_a_changed_file_is_told_and_taken(clone: Path) -> None:
    (clone / "src/deep/a.py").write_text("a = 2\n")
    found = checkout(clone)
    assert not found.clean and found.state == f"commit {found.commit} with changes ({found.changes})"
    assert {path: content for path, content, _ in found.files()}["src/deep/a.py"] == b"a = 2\n"
    (clone / "src/deep/a.py").write_text("a = 3\n")
    assert checkout(clone).changes not in ("", found.changes)
    git(clone, "add", ".")
    assert not checkout(clone).clean
    (clone / "src/deep/a.py").unlink()
    assert listed(clone) == FILES[:2]


def test_a_new_file_counts_where_code_stands(clone: Path) -> None:
    (clone / "my-study.yaml").write_text("study: mine\n")
    assert checkout(clone).clean
    (clone / "src/b.py").write_text("b = 1\n")
    first = checkout(clone)
    assert not first.clean and listed(clone) == [*FILES[:2], ("src/b.py", False), FILES[2]]
    (clone / "src/b.py").write_text("b = 2\n")
    assert checkout(clone).changes != first.changes


def test_without_git_all_is_taken_but_what_is_ignored(clone: Path) -> None:
    (clone / ".git").rename(clone.parent / "elsewhere")
    found = checkout(clone)
    assert found.commit is None and not found.clean and found.state == "working files, not a git checkout"
    assert listed(clone) == FILES


def test_a_checkout_around_the_code_does_not_count(clone: Path) -> None:
    (clone / ".git").rename(clone.parent / ".git")
    assert checkout(clone).commit is None
