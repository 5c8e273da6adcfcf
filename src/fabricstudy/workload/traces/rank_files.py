"""Traces with one file a rank, whose names differ in their last number."""

import re
from pathlib import Path

from fabricstudy.core.input_files import InputFileError, read_bytes, unpacked

_NUMBER = re.compile(r"(?<!\d)0+(?!.*\d)")


def rank_files(first: Path) -> list[Path]:
    """Return the files of all ranks, given that of rank 0: the last number of its name is 0."""
    zeros = _NUMBER.search(first.stem)
    if zeros is None:
        raise InputFileError("not the file of rank 0", "name the one whose last number is 0", "", first.name)
    if not first.is_file():
        raise InputFileError("no such file", "check its name", "", str(first), "file-not-found")
    # 0, 1, ..., 10 or 00, 01, ..., 10.
    before, after, width = first.name[: zeros.start()], first.name[zeros.end() :], len(zeros[0])
    of_set = re.compile(f"{re.escape(before)}([0-9]{{{width},9}}){re.escape(after)}")
    found = (of_set.fullmatch(path.name) for path in first.parent.iterdir() if path.is_file())
    ranks = {int(name[1]) for name in found if name is not None and name[1] == f"{int(name[1]):0{width}d}"}
    files = [first.with_name(f"{before}{rank:0{width}d}{after}") for rank in range(len(ranks))]
    missing = next((file for rank, file in enumerate(files) if rank not in ranks), None)
    if missing is not None:
        problem = f"the trace has a file of rank {max(ranks)}, and none of rank {files.index(missing)}"
        raise InputFileError(problem, f"add {missing.name}, or remove the files behind it", "", missing.name)
    return files


def read_unpacked(path: Path) -> bytes:
    """Return the content of a file, compressed by gzip or not; raises InputFileError with its name."""
    try:
        return unpacked(read_bytes(path))
    except InputFileError as error:
        raise InputFileError(error.problem, error.remedy, path.name, error.value, error.code) from None
