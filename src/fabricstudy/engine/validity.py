"""Validity of stored records: a result is valid while input, program and reader are the same.

Preparing an input takes about 5 ms for a small point, and 1 s for 300,000 messages. A record therefore also has a
digest of all code that may have prepared it: while that is the same, nothing is prepared.
"""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fabricstudy.core.arrays import Array
from fabricstudy.core.kinds import code_of
from fabricstudy.core.source import OURS, digest_of, source_of, sources_digest
from fabricstudy.core.store import FINAL, Record
from fabricstudy.machine.graph import Machine
from fabricstudy.workload.messages import PlacedJob

from .content import content_digest
from .engine import Engine
from .point import Point
from .registry import engine_of
from .simulator import Simulator

_READERS = tuple(f"{OURS}.engine.{name}" for name in ("engine", "outcome", "program_results"))
"""Modules that read results of several engines."""
_LENGTH = 12
_FOLDERS = re.compile(r"(?<![^\s'\"])/[^\s'\"]*/")
"""Folders of programs and scripts, in an argument."""


@dataclass(frozen=True)
class Fingerprint:
    """What a result depends on, except for the point."""

    code: str
    """Digest of all code that prepares points, of the extensions of the point, too."""
    reader: str
    """Digest of the modules that read the engine's output."""
    program: str
    """Identity of the engine's program; empty if it is not installed."""

    def __str__(self) -> str:
        return f"{self.code}-{self.reader}-{self.program}"


def fingerprint(point: Point) -> Fingerprint:
    """Return the fingerprint of a result of `point` by the current code and program."""
    engine = engine_of(point.engine)
    program = engine.program(_is_offered(engine, point))
    return Fingerprint(code_of("engine", point), _reader(point), program or "")


def _is_offered(engine: Engine, point: Point) -> bool:
    return point.offered is not None and engine.runs_offered


def _reader(point: Point) -> str:
    engine = engine_of(point.engine)
    reading = engine.reading(_is_offered(engine, point))
    scripts = [path for path in engine.kind.scripts if path.is_file()]
    return _reader_of(engine.kind, reading, content_digest(scripts) if scripts else "")


@cache
def _reader_of(kind: type[Simulator], module: str, scripts: str) -> str:
    """Return a digest of the class with its bases, of the modules that read its results, and of its scripts."""
    bases = {base.__module__ for base in kind.__mro__ if issubclass(base, Simulator)}
    texts = ((name, source_of(name).encode()) for name in (*sorted(bases), *_READERS))
    return digest_of([(sources_digest(module), scripts.encode()), *texts])


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
    if made is None or (made.code, made.reader) != (code_of("engine", point), _reader(point)):
        return False
    return of_any_program or fingerprint(point).program in ("", made.program)


def is_valid(record: Record | None, point: Point) -> bool:
    """Return whether a record is final and current."""
    return record is not None and record.get("status") in FINAL and is_current(record, point)


def is_valid_with_same_input(record: Record | None, point: Point) -> bool:
    """Return whether a record is valid if the input that the current code prepares is the one in the record.

    Its program and reader are the current ones. Where the program is not installed, only the reader counts.
    """
    if record is None or record.get("status") not in FINAL or not {"input", "runs"} & record.keys():
        return False
    made, now = _parsed(record.get("fingerprint")), fingerprint(point)
    return made is not None and now.program in ("", made.program) and made.reader == now.reader


def _parsed(text: object) -> Fingerprint | None:
    parts = str(text).split("-", 2)
    return Fingerprint(*parts) if len(parts) == 3 else None


def input_digest(folder: Path, command: list[str], machine: Machine, jobs: Iterable[PlacedJob]) -> str:
    """Return a digest of the input of a simulator, and of what its output refers to.

    The input are the files of `Engine.write` in `folder` and the `command`; folders of its programs and scripts do
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


def files_digest(folder: Path, command: list[str]) -> str:
    """Return a digest of a simulator's input files and arguments."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            digest.update(f"{name} -> {path.readlink()};".encode())
        elif path.is_file():
            digest.update(f"{name} {hashlib.sha256(path.read_bytes()).hexdigest()};".encode())
    for argument in command:
        digest.update(f"{_FOLDERS.sub('', argument)};".encode())
    return digest.hexdigest()[:_LENGTH]
