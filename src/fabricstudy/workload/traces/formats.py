"""Formats of traces: readers by the suffix of the file that a study names."""

import hashlib
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

from fabricstudy.core.errors import Code, ConfigError
from fabricstudy.core.input_files import InputFileError, changed_ns, read, read_bytes, reader_for_suffix

from ..matching import Listing, matched
from ..operations import Operations
from . import goal
from .mpi import Algorithms, Clock


def _read_parquet(data: bytes) -> Listing:
    # Imports pyarrow, which GOAL text does not need.
    from . import parquet

    return parquet.read(data)


READERS: dict[str, Callable[[bytes], Listing]] = {".goal": goal.read, ".parquet": _read_parquet}
"""Formats of one file."""

SEVERAL_FILES = {".bin": "dumpi", ".et": "chakra", ".meta": "dumpi", ".otf2": "otf2"}
"""Formats of several files, with collective operations: modules with `files`, `read` and maybe `CLOCKS`."""

SUFFIXES = (*READERS, *SEVERAL_FILES)


def read_one(path: Path, data: bytes) -> Operations:
    """Parse a trace of one file, and check it; raises InputFileError, with the place."""
    if path.suffix not in SUFFIXES:
        raise InputFileError(f"unknown format '{path.suffix}'", f"use one of the suffixes {', '.join(SUFFIXES)}")
    return matched(reader_for_suffix(READERS, path)(data))


def read_trace(
    path: Path, algorithms: Algorithms, code: Code, module: str | None = None, clock: Clock = "wall"
) -> tuple[Operations, str]:
    """Return the operations of a trace, and the SHA-256 of its files; read again only if one of them changes.

    `module` is that of the format, by default that of the suffix. Raises ConfigError with the path ``file`` and this
    code, or with the path ``collectives`` or ``clock``.
    """
    module = module or SEVERAL_FILES.get(path.suffix)
    if clock != "wall" and (module is None or clock not in getattr(format_module(module), "CLOCKS", ())):
        problem = f"a trace in the format {path.suffix} has no times of this clock"
        raise ConfigError(problem, "leave it out", ("clock",), clock, "does-not-fit")
    if module is None:
        if algorithms:
            problem = f"a trace in the format {path.suffix} has no collective operations"
            raise ConfigError(problem, "leave it out", ("collectives",), None, "does-not-fit")
        found: tuple[Operations, str] = read(path, read_one, code)
        return found
    try:
        files = tuple(format_module(module).files(path))
        return _read_files(path, files, tuple(map(changed_ns, files)), module, algorithms, clock)
    except InputFileError as mistake:
        raise mistake.at_file_key(path.name, code) from None
    except MemoryError:
        raise InputFileError("larger than the memory", "use a smaller file").at_file_key(path.name, code) from None


@lru_cache(maxsize=4)
def _read_files(
    path: Path, files: tuple[Path, ...], changed: tuple[int, ...], module: str, algorithms: Algorithms, clock: Clock
) -> tuple[Operations, str]:
    digest = hashlib.sha256()
    for file in files:
        digest.update(hashlib.sha256(read_bytes(file)).digest())
    chosen = {} if clock == "wall" else {"clock": clock}
    return matched(format_module(module).read(path, algorithms, **chosen)), digest.hexdigest()


def format_module(name: str) -> Any:
    """Return the module of a format of several files; only this is imported."""
    return import_module(f"{__package__}.{name}")


def files_beside(path: Path) -> list[Path]:
    """Return the other files of a trace that a study names by this one; none if it is no trace of several files."""
    if path.suffix not in SEVERAL_FILES:
        return []
    try:
        files: list[Path] = format_module(SEVERAL_FILES[path.suffix]).files(path)
    except InputFileError:
        return []
    return [file for file in files if file != path]
