"""Writing files so that a reader sees the whole file or the old one."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO


@contextlib.contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Return a temporary path beside `path` that replaces it if the block ends well, and goes otherwise."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}-", suffix=path.suffix, dir=path.parent)
    os.close(descriptor)
    temporary = Path(name)
    try:
        yield temporary
        # mkstemp makes files for the owner alone.
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def atomic_text(path: Path) -> Iterator[IO[str]]:
    """Open `path` for writing text; it appears when the block ends well."""
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        yield file


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
