"""Traces with one file a rank, whose names differ in their last number."""

import re
from pathlib import Path

from fabricstudy.core.input_files import InputFileError

_NUMBER = re.compile(r"(?<!\d)0+(?!.*\d)")


def rank_files(first: Path) -> list[Path]:
    """Return the files of all ranks, given that of rank 0: the last number of its name is 0."""
    if _NUMBER.search(first.stem) is None:
        raise InputFileError("not the file of rank 0", "name the one whose last number is 0", "", first.name)
    if not first.is_file():
        raise InputFileError("no such file", "check its name", "", str(first), "file-not-found")
    files: list[Path] = []
    while True:
        rank = len(files)
        # 0, 1, ..., 10 or 00, 01, ..., 10.
        name = _NUMBER.sub(lambda zeros, rank=rank: f"{rank:0{len(zeros[0])}d}", first.stem)  # type: ignore[misc]
        path = first.with_name(name + first.suffix)
        if not path.is_file():
            return files
        files.append(path)
