"""Which program a simulator is, by the content of its files."""

import hashlib
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path

SYSTEM = ("/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/")
"""Libraries of the operating system do not count: updates of these change no result that a simulation can rest on."""

_DIGITS = 12
_TRIES_S = 30


def content_digest(files: Iterable[Path]) -> str:
    """Return 12 hexadecimal digits over the content of some files; a file is read once while it stays as it is."""
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
def shared_libraries(program: Path) -> tuple[Path, ...]:
    """Return the shared libraries that a program loads, those of the system left out; none where ``ldd`` is absent."""
    try:
        listed = subprocess.run(["ldd", program], capture_output=True, text=True, timeout=_TRIES_S, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return ()
    found = (line.split("=>", 1)[1].split("(")[0].strip() for line in listed.splitlines() if "=>" in line)
    return tuple(sorted(Path(name) for name in found if name.startswith("/") and not name.startswith(SYSTEM)))
