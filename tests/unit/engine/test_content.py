"""Which program a simulator is."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from fabricstudy.engine.caminos.adapter import Caminos
from fabricstudy.engine.content import SYSTEM, content_digest, shared_libraries
from fabricstudy.engine.engine import Engine
from fabricstudy.engine.sst import program


def test_a_variable_that_names_no_program_is_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FABRICSTUDY_CAMINOS", str(tmp_path / "nothing"))
    probe = Engine(Caminos).probe()
    assert not probe.found and str(tmp_path / "nothing") in str(probe.reason)


@pytest.fixture
def sst(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder like that of an installed SST."""
    libraries = tmp_path / "lib/sst-elements-library"
    for folder in (tmp_path / "bin", tmp_path / "libexec", libraries):
        folder.mkdir(parents=True)
    (tmp_path / "bin/sst").write_text("#!/bin/sh\n")
    (tmp_path / "bin/sst").chmod(0o755)
    (tmp_path / "libexec/sstsim.x").write_bytes(b"simulator")
    for name in program.ELEMENTS:
        (libraries / f"lib{name}.so").write_bytes(b"element")
    monkeypatch.setenv("SST_CORE_HOME", os.fspath(tmp_path))
    return tmp_path


@pytest.mark.parametrize("changed", ["bin/sst", "libexec/sstsim.x", "lib/sst-elements-library/libmerlin.so"])
def test_each_file_of_sst_counts_by_its_content(sst: Path, changed: str) -> None:
    before = program.program_digest()
    assert before == program.program_digest()
    content = bytearray((sst / changed).read_bytes())
    content[-1] ^= 1
    (sst / changed).write_bytes(content)
    assert program.program_digest() not in (before, None)


def test_where_files_lie_and_when_they_were_written_does_not_count(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "program").write_bytes(b"content")
    os.utime(tmp_path / "b/program", (0, 0))
    assert content_digest([tmp_path / "a/program"]) == content_digest([tmp_path / "b/program"])


def test_the_libraries_of_a_program_are_those_that_the_system_has_not() -> None:
    found = shared_libraries(Path(sys.executable).resolve())
    assert all(library.is_file() and not str(library).startswith(SYSTEM) for library in found)
