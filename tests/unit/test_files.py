"""Files appear whole or not at all."""

from pathlib import Path

import pytest

from fabricstudy.core.files import atomic_text


def test_a_failing_writer_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(RuntimeError), atomic_text(path) as out:
        out.write("half")
        raise RuntimeError
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_new_file_is_readable_as_the_umask_says(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.touch()
    with atomic_text(tmp_path / "folder" / "b.txt") as out:
        out.write("new")
    assert (tmp_path / "folder" / "b.txt").read_text() == "new"
    assert (tmp_path / "folder" / "b.txt").stat().st_mode == plain.stat().st_mode
