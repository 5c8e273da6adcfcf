"""Atomic writing (a reader sees the complete new file or the old one), and removal."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO


@contextlib.contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield a temporary path next to `path`, which replaces it if the block succeeds and is removed otherwise."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}-", suffix=path.suffix, dir=path.parent)
    os.close(descriptor)
    temporary = Path(name)
    try:
        yield temporary
        # mkstemp makes files for the owner alone.
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def atomic_text(path: Path) -> Iterator[IO[str]]:
    """Open `path` for writing text; it appears when the block succeeds."""
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        yield file


def remove(path: Path) -> None:
    """Remove a file, or a folder with its content."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
