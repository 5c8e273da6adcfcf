"""Validity of stored records; `validity` alone decides."""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path

from fabricstudy.core.arrays import Array
from fabricstudy.core.kinds import kinds_within
from fabricstudy.core.source import OURS, code_digest, digest_of, imported, is_project_module
from fabricstudy.core.store import FINAL, Record
from fabricstudy.machine.graph import Machine
from fabricstudy.workload.messages import PlacedJob

from .contract import Engine
from .point import Point
from .registry import engine_of

_CORE = f"{OURS}.engine.simulate"
_READERS = f"{OURS}.engine.program_results"
_LENGTH = 12
_FOLDERS = re.compile(r"(?<![^\s'\"])/[^\s'\"]*/")
"""Folders of programs and scripts, in an argument."""


class Validity(Enum):
    """State of a record."""

    VALID = "valid"
    """This code and this program would give the same result."""

    UNCHECKED = "unchecked"
    """Code that prepares the point has changed: valid if the simulator's input is the same."""

    INVALID = "invalid"
    """The point must be simulated again."""


@dataclass(frozen=True)
class Fingerprint:
    """What a result depends on, except for the point."""

    code: str
    """Digest of the modules that prepare, run and read the point: the core, and those of its kinds."""
    reading: str
    """Digest of the modules that read the engine's output."""
    program: str
    """Identity of the engine's program; empty if it is not installed."""

    def __str__(self) -> str:
        return f"{self.code}-{self.reading}-{self.program}"


def fingerprint(point: Point) -> Fingerprint:
    """Return the fingerprint of a result of `point` by the current code and program."""
    engine = engine_of(point.engine)
    program = engine.offered_program() if _is_offered(engine, point) else engine.program()
    return Fingerprint(*_code_of(point), program or "")


def _is_offered(engine: Engine, point: Point) -> bool:
    return point.offered is not None and engine.runs_offered


def _code_of(point: Point) -> tuple[str, str]:
    """Return the fields `code` and `reading` of the fingerprint."""
    engine = engine_of(point.engine)
    kinds = {type(kind).__module__ for kind in [engine, *kinds_within(point)]}
    reading = engine.reading_offered if _is_offered(engine, point) else engine.reading
    return _code(frozenset(kinds), engine.sources()), _reading(type(engine), reading)


@cache
def _code(kinds: frozenset[str], sources: str) -> str:
    digest = code_digest(_CORE, *sorted(kinds))
    return hashlib.sha256(f"{digest} {sources}".encode()).hexdigest()[:_LENGTH] if sources else digest


@cache
def _reading(adapter: type[Engine], module: str) -> str:
    """Return a digest of the adapter with its bases, and of the readers that the reading module imports."""
    package = module.rsplit(".", 1)[0]
    modules = {name for name in imported(module) if f"{name}.".startswith(f"{package}.") or name == _READERS}
    bases = {base.__module__ for base in adapter.__mro__ if base is not Engine and is_project_module(base.__module__)}
    return digest_of({*modules, *bases, f"{OURS}.engine.outcome"})


def validity(record: Record | None, point: Point) -> Validity:
    """Return whether a record of `point` is valid.

    Records of another program, without a final status, or whose output other code would read are invalid. Where the
    program is not installed, only the code counts.
    """
    if record is None or record.get("status") not in FINAL:
        return Validity.INVALID
    if is_current(record, point):
        return Validity.VALID
    made, now = _parsed(record.get("fingerprint")), fingerprint(point)
    same_program = made is not None and now.program in ("", made.program)
    same_reading = made is not None and made.reading == now.reading and bool({"input", "runs"} & record.keys())
    return Validity.UNCHECKED if same_program and same_reading else Validity.INVALID


def is_current(record: Record, point: Point, of_any_program: bool = False) -> bool:
    """Return whether a record of any status was made by this code, and by the program installed here, if any.

    With `of_any_program` the code alone counts: programs of compute nodes may differ from that of the node where
    tables are made.
    """
    # Several processes may be unsupported where one is not.
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


def input_digest(folder: Path, command: list[str] | None, machine: Machine, jobs: Iterable[PlacedJob]) -> str:
    """Return a digest of the input of a simulator, and of what its output refers to.

    The input are the files of `Engine.prepare` in `folder` and the `command`; folders of its programs and scripts do
    not count. Arrays of a result refer to the links, ranks and bytes of `machine` and `jobs`.
    """
    digest = hashlib.sha256(files_digest(folder, command).encode())
    arrays: list[Array] = [machine.link_tail, machine.link_head, machine.link_class, machine.node_router]
    for job in jobs:
        arrays += [job.node_of_rank, job.messages.source, job.messages.size_bytes]
    for array in arrays:
        digest.update(f"{array.dtype} {array.shape};".encode())
        digest.update(array.tobytes())
    digest.update(b"[]")  # as always, so that stored records remain valid
    return digest.hexdigest()[:_LENGTH]


def files_digest(folder: Path, command: list[str] | None) -> str:
    """Return a digest of a simulator's input files and arguments."""
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
