"""Identity of simulators: their output, and digests of the content of their files."""

import hashlib
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path

SYSTEM = ("/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/")
"""Libraries of the operating system are not part of a digest: their updates should change no result."""

_DIGITS = 12
_TRIES_S = 30


def content_digest(files: Iterable[Path]) -> str:
    """Return 12 hexadecimal digits over the content of some files; an unchanged file is read once."""
    digest = hashlib.sha256()
    for file in files:
        stat = file.stat()
        digest.update(f"{file.name} {_content(file, stat.st_size, stat.st_mtime_ns, stat.st_ino)};".encode())
    return digest.hexdigest()[:_DIGITS]


@cache
def _content(file: Path, size: int, changed_ns: int, inode: int) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


@cache
def output_of(*command: str | Path) -> str | None:
    """Return the standard output of a command; None if it fails, or takes longer than 30 s."""
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=_TRIES_S, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None


def shared_libraries(program: Path) -> tuple[Path, ...]:
    """Return the shared libraries that a program loads, without those of the system; none where ``ldd`` is absent."""
    lines = (output_of("ldd", program) or "").splitlines()
    names = (line.split("=>", 1)[1].split("(")[0].strip() for line in lines if "=>" in line)
    return tuple(sorted(Path(name) for name in names if name.startswith("/") and not name.startswith(SYSTEM)))
