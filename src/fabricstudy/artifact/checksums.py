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


_PACKED = ("results", "reports", "study")
"""Folders to which nobody adds files."""


def check(folder: Path) -> int:
    """Verify the files of an unpacked artifact; return their number.

    Raises ArtifactError if there are no checksums, or a file is missing, was changed, or was added to the results.
    """
    listing = folder / CHECKSUMS
    if not listing.is_file():
        raise ArtifactError(f"{listing}: no such file; name the folder of an unpacked artifact")
    expected = dict(_listed(listing))
    if not any(path.startswith("results/") for path in expected):
        raise ArtifactError(f"{listing}: names no file below results/; unpack the archive again")
    wrong = [
        path
        for path, digest in expected.items()
        if not (folder / path).is_file() or hashlib.sha256((folder / path).read_bytes()).hexdigest() != digest
    ]
    if wrong:
        more = f" and {len(wrong) - 1} other files" if len(wrong) > 1 else ""
        raise ArtifactError(f"{folder / wrong[0]}{more}: not as packed (SHA-256 differs); unpack the archive again")
    found = (str(path.relative_to(folder)) for name in _PACKED for path in sorted((folder / name).rglob("*")))
    added = [path for path in found if path not in expected and (folder / path).is_file()]
    if added:
        raise ArtifactError(f"{folder / added[0]}: was not packed; unpack the archive again")
    return len(expected)


def _listed(listing: Path) -> Iterator[tuple[str, str]]:
    """Yield the paths of a list of checksums with their digests."""
    try:
        for number, line in numbered_lines(read_bytes(listing)):
            match = _LINE.fullmatch(line)
            if match and ".." not in Path(match[2]).parts and not Path(match[2]).is_absolute():
                yield match[2], match[1]
            elif line:
                raise InputFileError("not a digest and a path", "unpack the archive again", position_text(number), line)
    except InputFileError as mistake:
        raise ArtifactError(str(mistake.below(file=str(listing)))) from None
