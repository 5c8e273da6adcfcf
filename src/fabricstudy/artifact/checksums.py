"""SHA-256 of the files of an artifact, in the format of ``sha256sum``."""

import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from fabricstudy.core.input_files import InputFileError, numbered_lines, position_text, read_bytes

from .completed_study import ArtifactError

CHECKSUMS = "SHA256SUMS"
_LINE = re.compile(r"([0-9a-f]{64})  (.+)")


def checksums(contents: Mapping[str, bytes]) -> bytes:
    """Return the file of checksums of all contents.

    Examples
    --------
    >>> checksums({"a": b""})[:8], checksums({"a": b""})[-4:]
    (b'e3b0c442', b'  a\\n')
    """
    lines = [f"{hashlib.sha256(content).hexdigest()}  {path}\n" for path, content in sorted(contents.items())]
    return "".join(lines).encode()


def check(folder: Path, below: str = "") -> int:
    """Verify the files of an unpacked artifact whose path begins with `below`; return their number.

    Raises ArtifactError if there are no checksums, or a file is missing or was changed.
    """
    listing = folder / CHECKSUMS
    if not listing.is_file():
        raise ArtifactError(f"{listing}: no such file; name the folder of an unpacked artifact")
    expected = {path: digest for path, digest in _listed(listing) if path.startswith(below)}
    if not expected:
        raise ArtifactError(f"{listing}: names no file below {below or folder}; unpack the archive again")
    wrong = [
        path
        for path, digest in expected.items()
        if not (folder / path).is_file() or hashlib.sha256((folder / path).read_bytes()).hexdigest() != digest
    ]
    if wrong:
        more = f" and {len(wrong) - 1} other files" if len(wrong) > 1 else ""
        raise ArtifactError(f"{folder / wrong[0]}{more}: not as packed (SHA-256 differs); unpack the archive again")
    return len(expected)


def _listed(listing: Path) -> Iterator[tuple[str, str]]:
    """Yield the paths of a list of checksums with their digests."""
    try:
        for number, line in numbered_lines(read_bytes(listing)):
            match = _LINE.fullmatch(line)
            if match:
                yield match[2], match[1]
            elif line:
                raise InputFileError("not a digest and a path", "unpack the archive again", position_text(number), line)
    except InputFileError as mistake:
        raise ArtifactError(str(mistake.below(file=str(listing)))) from None
