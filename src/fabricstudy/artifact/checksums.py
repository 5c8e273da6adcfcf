"""SHA-256 of the files of an artifact, in the format of ``sha256sum``."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from .finished import ArtifactError

CHECKSUMS = "SHA256SUMS"


def checksums(contents: Mapping[str, bytes]) -> bytes:
    """Give the file of checksums of all contents.

    Examples
    --------
    >>> checksums({"a": b""})[:8], checksums({"a": b""})[-4:]
    (b'e3b0c442', b'  a\\n')
    """
    lines = [f"{hashlib.sha256(content).hexdigest()}  {path}\n" for path, content in sorted(contents.items())]
    return "".join(lines).encode()


def check(folder: Path, below: str = "") -> int:
    """Check the files of an unpacked artifact whose path begins with `below`; give their number.

    Raises
    ------
    ArtifactError
        If there are no checksums, or a file is missing or not as it was packed.
    """
    listing = folder / CHECKSUMS
    if not listing.is_file():
        raise ArtifactError(f"{listing}: there is no such file; name the folder of an unpacked artifact")
    lines = [line.partition("  ") for line in listing.read_text(encoding="utf-8").splitlines()]
    expected = {path: digest for digest, _, path in lines if path.startswith(below)}
    wrong = [path for path, digest in expected.items() if _digest(folder / path) != digest]
    if wrong:
        others = f" and {len(wrong) - 1} other files" if len(wrong) > 1 else ""
        raise ArtifactError(f"{folder / wrong[0]}{others}: not as packed (SHA-256 differs); unpack the archive again")
    return len(expected)


def _digest(path: Path) -> str | None:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
