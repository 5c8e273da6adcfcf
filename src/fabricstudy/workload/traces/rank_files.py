"""Traces with one file a rank, whose names differ in their last number."""

import re
from pathlib import Path

from fabricstudy.core.input_files import InputFileError, read_bytes, unpacked

_NUMBER = re.compile(r"(?<!\d)0+(?!.*\d)")


def rank_files(first: Path) -> list[Path]:
    """Return the files of all ranks, given that of rank 0: the last number of its name is 0."""
    zeros = _NUMBER.search(first.stem)
    if zeros is None:
        remedy = f"name the one whose last number is 0, or rename a single one to {first.stem}.0{first.suffix}"
        raise InputFileError("not the file of rank 0", remedy, "", first.name)
    if not first.is_file():
        raise InputFileError("no such file", "check its name", "", str(first), "file-not-found")
    # 0, 1, ..., 10 or 00, 01, ..., 10.
    before, after, width = first.name[: zeros.start()], first.name[zeros.end() :], len(zeros[0])
    of_set = re.compile(f"{re.escape(before)}([0-9]{{{width},9}}){re.escape(after.removesuffix('.gz'))}(?:[.]gz)?")
    files: dict[int, Path] = {}
    for path in first.parent.iterdir():
        found = of_set.fullmatch(path.name)
        if found and found[1] == f"{int(found[1]):0{width}d}" and path.is_file():
            # Some may be compressed; of two files of a rank the one like that of rank 0.
            rank = int(found[1])
            files[rank] = path if path.name.endswith(f"{found[1]}{after}") else files.get(rank, path)
    missing = next((rank for rank in range(len(files)) if rank not in files), None)
    if missing is not None:
        problem = f"the trace has a file of rank {max(files)}, and none of rank {missing}"
        name = f"{before}{missing:0{width}d}{after}"
        raise InputFileError(problem, f"add {name}, or remove the files behind it", "", name)
    return [files[rank] for rank in range(len(files))]


def read_unpacked(path: Path) -> bytes:
    """Return the content of a file, compressed by gzip or not; raises InputFileError with its name."""
    try:
        return unpacked(read_bytes(path))
    except InputFileError as error:
        raise error.within(path.name) from None
