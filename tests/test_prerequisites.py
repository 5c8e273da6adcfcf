"""A missing prerequisite is named with the package that brings it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "tools/prerequisites.sh"
PACKAGES = {"git": "git", "cc": "gcc", "cargo": "cargo"}
SYSTEMS = {
    "Debian": (["apt-get"], "(apt-get install git)"),
    "Enterprise Linux": (["dnf"], "(dnf install git)"),
    "macOS": (["uname"], "(xcode-select --install)"),
    "another": ([], "(Debian: apt-get install git; Enterprise Linux: dnf install git)"),
}
"""Programs that tell a system, and how git is installed there."""


def check(
    folder: Path, without: str = "", python: str = sys.executable, system: tuple[str, ...] = ("apt-get",)
) -> subprocess.CompletedProcess[str]:
    """Run the script where only the other programs can be found."""
    for program in (*PACKAGES, *system):
        path = folder / program
        if program != without:
            path.write_text("#!/bin/sh\necho Darwin\n")
            path.chmod(0o755)
    shell = shutil.which("sh")
    assert shell is not None
    environment = {"PATH": str(folder), "PYTHON": python}
    return subprocess.run([shell, str(SCRIPT)], env=environment, capture_output=True, text=True)


def test_with_everything_there_it_says_nothing(tmp_path: Path) -> None:
    done = check(tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("program", PACKAGES)
def test_each_missing_program_is_named_with_its_package(tmp_path: Path, program: str) -> None:
    done = check(tmp_path, without=program)
    assert done.returncode == 1
    assert f"apt-get install {PACKAGES[program]}" in done.stderr and done.stderr.count("missing") == 1


@pytest.mark.parametrize("system", SYSTEMS)
def test_each_system_is_told_its_own_way(tmp_path: Path, system: str) -> None:
    programs, way = SYSTEMS[system]
    assert way in check(tmp_path, without="git", system=tuple(programs)).stderr


def test_an_old_or_absent_python_is_named(tmp_path: Path) -> None:
    old = tmp_path / "python-old"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    assert "3.11" in check(tmp_path, python=str(old)).stderr
    assert "apt-get install python3" in check(tmp_path, python="no-such-python").stderr
