"""Formats of traces: a reader for each, chosen by the content of the file that a study names."""

import hashlib
import re
import zlib
from functools import lru_cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from fabricstudy.core.errors import Code, ConfigError
from fabricstudy.core.input_files import GZIP, InputFileError, changed_ns, read, read_bytes

from ..matching import matched
from ..operations import Operations
from . import goal_binary
from .mpi import Algorithms, Clock

Format = Literal["chakra", "dumpi", "goal", "goal-binary", "liballprof", "otf2", "parquet", "pytorch"]


def _read_one(name: Format, path: Path, data: bytes) -> Operations:
    return matched(format_module(name).read(data))


_OF_ONE_FILE: tuple[Format, ...] = ("goal", "goal-binary", "parquet")
ONE_FILE = {name: partial(_read_one, name) for name in _OF_ONE_FILE}
"""Readers of formats of one file; modules of others have `files`, `read` and maybe `CLOCKS`."""

SUFFIXES: dict[str, Format] = {
    ".goal": "goal", ".parquet": "parquet", ".meta": "dumpi", ".et": "chakra", ".otf2": "otf2",
}  # fmt: skip
"""Formats of files whose content does not tell, by suffixes that no other files have."""

_SIGNS: tuple[tuple[Format, re.Pattern[bytes]], ...] = (
    ("parquet", re.compile(rb"PAR1")),
    ("goal-binary", re.compile(goal_binary.SIGN)),
    ("otf2", re.compile(rb"..OTF2", re.DOTALL)),
    ("dumpi", re.compile(rb"\xff\xaa\xddDUMPI|(?s:.*)^numprocs=", re.MULTILINE)),
    ("liballprof", re.compile(rb"(?s:.*)^MPI_[A-Z][a-z_]+:", re.MULTILINE)),
    ("chakra", re.compile(rb'\s*\{\s*"(workload_graph|version)"')),
    ("pytorch", re.compile(rb'\s*\{\s*"schema"')),
    # Metadata: their length, and the version as their first field.
    ("chakra", re.compile(rb"[\x02-\x7f]\x0a[\x01-\x20]\d")),
    ("goal", re.compile(rb"(?s:.*)^\s*num_ranks\b", re.MULTILINE)),
)
_HEAD_BYTES = 4096


def format_of(path: Path) -> Format:
    """Return the format of a trace, by the first bytes of a file or else its suffix.

    Raises InputFileError if neither tells.
    """
    return _format_of(path, changed_ns(path))


@lru_cache(maxsize=16)
def _format_of(path: Path, changed: int) -> Format:
    data = read_bytes(path)
    try:
        head = zlib.decompressobj(31).decompress(data, _HEAD_BYTES) if data.startswith(GZIP) else data[:_HEAD_BYTES]
    except zlib.error:
        head = b""
    suffix = Path(path.stem).suffix if path.suffix == ".gz" else path.suffix
    found = next((name for name, sign in _SIGNS if sign.match(head)), None) or SUFFIXES.get(suffix)
    if found is None:
        known = "GOAL, Parquet, DUMPI, OTF2, Chakra, PyTorch or liballprof"
        raise InputFileError("unknown format of a trace", f"use a file of {known}", "", suffix)
    return found


def read_trace(
    path: Path, algorithms: Algorithms, code: Code, name: Format | None = None, clock: Clock = "wall"
) -> tuple[Operations, str]:
    """Return the operations of a trace, and the SHA-256 of its files; read again only if one of them changes.

    `name` is the format, by default `format_of` the file. Raises ConfigError with the path ``file`` and this code, or
    with the path ``collectives`` or ``clock``.
    """
    try:
        name = name or format_of(path)
        module = None if name in ONE_FILE else format_module(name)
        if clock != "wall" and clock not in getattr(module, "CLOCKS", ()):
            problem = f"a trace in the format {name} has no times of this clock"
            raise ConfigError(problem, "leave it out", ("clock",), clock, "does-not-fit")
        if module is None:
            if algorithms:
                problem = f"a trace in the format {name} has no collective operations"
                raise ConfigError(problem, "leave it out", ("collectives",), None, "does-not-fit")
            found: tuple[Operations, str] = read(path, ONE_FILE[name], code)
            return found
        files = tuple(module.files(path))
        return _read_files(path, files, tuple(map(changed_ns, files)), name, algorithms, clock)
    except InputFileError as mistake:
        if mistake.where.startswith(path.name):
            raise mistake.changed(keys=("file",), code=code) from None
        raise mistake.at_file_key(path.name, code) from None
    except MemoryError:
        raise InputFileError("larger than the memory", "use a smaller file").at_file_key(path.name, code) from None


@lru_cache(maxsize=4)
def _read_files(
    path: Path, files: tuple[Path, ...], changed: tuple[int, ...], name: Format, algorithms: Algorithms, clock: Clock
) -> tuple[Operations, str]:
    digest = hashlib.sha256()
    for file in files:
        digest.update(hashlib.sha256(read_bytes(file)).digest())
    chosen = {} if clock == "wall" else {"clock": clock}
    return matched(format_module(name).read(path, algorithms, **chosen)), digest.hexdigest()


def format_module(name: Format) -> Any:
    """Return the module of a format; only this is imported."""
    return import_module(f"{__package__}.{name.replace('-', '_')}")


def files_beside(path: Path) -> list[Path]:
    """Return the other files of a trace that a study names by this one; none if it is no trace of several files."""
    try:
        name = format_of(path)
        files: list[Path] = [] if name in ONE_FILE else format_module(name).files(path)
    except InputFileError:
        return []
    return [file for file in files if file != path]
