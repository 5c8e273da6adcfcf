"""Whether a stored record may still be believed. All who ask go by `validity`."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

import numpy.typing as npt

from fabricstudy.core.kinds import kinds_within
from fabricstudy.core.source import OURS, code_digest, digest_of, imported, is_project_module
from fabricstudy.core.store import FINAL, Record
from fabricstudy.machine.graph import Machine
from fabricstudy.workload.messages import PlacedJob

from .contract import Engine
from .point import Point
from .registry import engine_named

_CORE = f"{OURS}.engine.simulate"
_LENGTH = 12
_FOLDERS = re.compile(r"(?<![^\s'\"])/[^\s'\"]*/")
"""Where programs and scripts lie, in an argument."""


class Validity(Enum):
    """What is to be done about a point that has a record."""

    VALID = "valid"
    """Nothing: this code and this program would give the same result."""

    UNCHECKED = "unchecked"
    """Code has changed that prepares the point: prepare it, and see whether the simulator would get the same input."""

    INVALID = "invalid"
    """Simulate it again."""


@dataclass(frozen=True)
class Fingerprint:
    """What a result depends on, beside the point itself.

    Parameters
    ----------
    code : str
        Digest of the modules that prepare, run and read the point: the core, and those of the kinds that it names.
    reading : str
        Digest of the modules that read what the engine wrote.
    program : str
        What tells the engine's program from others; empty if it is not here.
    """

    code: str
    reading: str
    program: str

    def __str__(self) -> str:
        return f"{self.code}-{self.reading}-{self.program}"


def fingerprint(point: Point) -> Fingerprint:
    """Return what a result of `point` would depend on here and now."""
    return Fingerprint(*_code_of(point), engine_named(point.engine.kind).program() or "")


def _code_of(point: Point) -> tuple[str, str]:
    """Return the digests of the code that a result of `point` depends on, and of what reads it."""
    engine = engine_named(point.engine.kind)
    kinds = {type(kind).__module__ for kind in [engine, *kinds_within(point)]}
    return _code(frozenset(kinds), engine.sources()), _reading(type(engine), engine.reading)


@cache
def _code(kinds: frozenset[str], sources: str) -> str:
    digest = code_digest(_CORE, *sorted(kinds))
    return hashlib.sha256(f"{digest} {sources}".encode()).hexdigest()[:_LENGTH] if sources else digest


@cache
def _reading(adapter: type[Engine], module: str) -> str:
    """Return a digest of the adapter with its bases, and of what the module that reads imports of its package."""
    package = module.rsplit(".", 1)[0]
    modules = {name for name in imported(module) if f"{name}.".startswith(f"{package}.")}
    bases = {base.__module__ for base in adapter.__mro__ if base is not Engine and is_project_module(base.__module__)}
    return digest_of({*modules, *bases, f"{OURS}.engine.outcome"})


def validity(record: Record | None, point: Point) -> Validity:
    """Return whether a record of `point` may be believed.

    A record of another program is never believed; where the program is not here, nobody can tell, and only the code
    counts. A record without a final status never is, nor one whose output would be read by other code.
    """
    if record is None or record.get("status") not in FINAL:
        return Validity.INVALID
    if is_current(record, point):
        return Validity.VALID
    made, now = _parsed(record.get("fingerprint")), fingerprint(point)
    same_program = made is not None and now.program in ("", made.program)
    same_reading = made is not None and made.reading == now.reading and record.get("input") is not None
    return Validity.UNCHECKED if same_program and same_reading else Validity.INVALID


def is_current(record: Record, point: Point, of_any_program: bool = False) -> bool:
    """Return whether a record, whatever its status, was made by this code, and by the program that is here, if one is.

    With `of_any_program` the code alone counts: programs of compute nodes may be others than that of the node where
    tables are made.
    """
    # Several processes may be refused what one can do.
    several = record.get("processes", 1) > 1
    if record.get("status") == "unsupported" and several != (point.engine.processes > 1):
        return False
    made = _parsed(record.get("fingerprint"))
    if made is None or (made.code, made.reading) != _code_of(point):
        return False
    return of_any_program or fingerprint(point).program in ("", made.program)


def _parsed(text: object) -> Fingerprint | None:
    parts = str(text).split("-", 2)
    return Fingerprint(*parts) if len(parts) == 3 else None


def input_digest(
    folder: Path,
    command: list[str] | None,
    machine: Machine,
    jobs: Iterable[PlacedJob],
    scale: Mapping[str, float],
) -> str:
    """Digest of all that a result follows from: what the simulator is given, and what turns its output into a record.

    Parameters
    ----------
    folder : Path
        As `Engine.prepare` left it.
    command : list of str or None
        What is to be run in it; where its programs and scripts lie does not count.
    machine : Machine
        Whose links the arrays of a result follow.
    jobs : iterable of PlacedJob
        Whose ranks and bytes it follows.
    scale : mapping
        As `Engine.scale` gives it.
    """
    digest = hashlib.sha256(files_digest(folder, command).encode())
    arrays: list[npt.NDArray[Any]] = [machine.link_tail, machine.link_head, machine.link_class, machine.node_router]
    for job in jobs:
        arrays += [job.node_of_rank, job.messages.source, job.messages.size_bytes]
    for array in arrays:
        digest.update(f"{array.dtype} {array.shape};".encode())
        digest.update(array.tobytes())
    digest.update(str(sorted(scale.items())).encode())
    return digest.hexdigest()[:_LENGTH]


def files_digest(folder: Path, command: list[str] | None) -> str:
    """Return a digest of the files that a simulator is given, and of its arguments."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            digest.update(f"{name} -> {path.readlink()};".encode())
        elif path.is_file():
            digest.update(f"{name} {hashlib.sha256(path.read_bytes()).hexdigest()};".encode())
    for argument in command or []:
        digest.update(f"{_FOLDERS.sub('', argument)};".encode())
    return digest.hexdigest()[:_LENGTH]
