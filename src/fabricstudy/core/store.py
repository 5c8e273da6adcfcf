"""Caches of finished things (structures, points), shared by all studies and by processes at once.

A thing lies in ``<root>/ab/<id>/`` with its record (``record.json``) and its arrays. Everything is written in a
folder under a temporary name and renamed, so that a reader sees a whole thing or none. A record begins with its own
digest, and has those of the files beside it: what was damaged later counts as absent, and is made again.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fabricstudy.core.errors import FabricstudyError

Record = dict[str, Any]

FINAL = frozenset({"done", "unsupported"})
"""Statuses that a point would have again if it were run again."""

POINTS, STRUCTURES = STORES = ("points", "structures")
"""Folders below ``results`` that all studies share; no study may be called like one."""


FORMAT = 1
"""Version of what records and tables hold."""

RECORD = "record.json"
FORMAT_KEY = "format"
FILES = "files"
"""The entry of a record that has size and SHA-256 of each file beside it."""

_HEAD = '{"sha256": "'
_DIGITS = 64


def checksummed_line(record: Record) -> str:
    """Return a record as a line of JSON that begins with the SHA-256 of the rest of the line."""
    rest = json.dumps({FORMAT_KEY: FORMAT} | record)[1:]
    return f'{_HEAD}{hashlib.sha256(rest.encode()).hexdigest()}", {rest}'


def verified_record(line: bytes) -> Record | None:
    """Return the record that `checksummed_line` wrote, without its digest; None if the line was damaged.

    Raises FabricstudyError if another version of this project wrote it.

    Examples
    --------
    >>> line = checksummed_line({"point_id": "p0", "runtime_ns": 200.0}).encode()
    >>> verified_record(line), verified_record(line.replace(b"200", b"100"))
    ({'format': 1, 'point_id': 'p0', 'runtime_ns': 200.0}, None)
    """
    start = len(_HEAD) + _DIGITS
    digest, rest = line[len(_HEAD) : start], line[start + 3 :].rstrip(b"\n")
    if not line.startswith(_HEAD.encode()) or hashlib.sha256(rest).hexdigest().encode() != digest:
        return None
    record: Record = json.loads(b"{" + rest)
    if record[FORMAT_KEY] != FORMAT:
        raise other_format("a record", record[FORMAT_KEY])
    return record


def other_format(what: str, found: object) -> FabricstudyError:
    """Return the error for what another version of this project wrote."""
    problem = f"{what} has the format {found}, and this version of fabricstudy reads {FORMAT}"
    return FabricstudyError(
        f"{problem}; run the version that wrote it, or start with an empty results folder", "unsupported-format"
    )


def read_checksummed(path: Path) -> Iterator[tuple[int, Record | None]]:
    """Read a file of such lines; give the number of each, and its record or None."""
    with path.open("rb") as lines:
        yield from ((number, verified_record(line)) for number, line in enumerate(lines, 1))


def _entries(folder: str | os.PathLike[str]) -> list[os.DirEntry[str]]:
    """Return what is in a folder; nothing where that was removed meanwhile."""
    with contextlib.suppress(FileNotFoundError):
        return list(os.scandir(folder))
    return []


def point_store(results: Path) -> Store:
    """Return the store of finished simulations under the folder `results`."""
    return Store(results / POINTS, "point_id")


class Store:
    """Things of one sort under one folder.

    Parameters
    ----------
    root : Path
        The folder, such as ``results/points``; made when first written to.
    key : str
        The entry of a record that holds its id, such as ``point_id``.
    """

    def __init__(self, root: Path, key: str) -> None:
        self.root, self.key = root, key

    def folder(self, identity: str) -> Path:
        """Return the folder of a thing, whether it is there or not."""
        return self.root / identity[1:3] / identity

    def inodes(self) -> dict[str, int]:
        """Return the ids of all things that are there, with a number that changes when a thing is replaced.

        Cheap on shared file systems: it lists the folders, and looks at none of the things.
        """
        # A file may have strayed to where the shelves stand.
        shelves = (shelf for shelf in _entries(self.root) if shelf.is_dir())
        things = (thing for shelf in shelves for thing in _entries(shelf))
        return {
            thing.name: thing.inode()
            for thing in things
            if not thing.name.startswith(".") and not thing.name.endswith(".lock")
        }

    def record(self, identity: str) -> Record | None:
        """Return the record of a thing as it was written; None if there is none, or a file beside it has a new size."""
        folder = self.folder(identity)
        try:
            record = verified_record((folder / RECORD).read_bytes())
            if record is None or record.get(self.key) != identity:
                return None
            sizes = all((folder / name).stat().st_size == size for name, (size, _) in record[FILES].items())
        except OSError:
            return None
        return record if sizes else None

    def damage(self, identity: str) -> str | None:
        """Return what is wrong with a thing whose folder is there, as a phrase; None if nothing is."""
        folder, record = self.folder(identity), self.record(identity)
        if not folder.exists():
            return None
        if record is None:
            return f"{folder} is damaged"
        for name, described in record[FILES].items():
            if _described(folder / name) != described:
                return f"{folder / name} is damaged"
        return None

    def finished(self, identity: str, fingerprint: str) -> Record | None:
        """Return the record of a thing that need not be made again, or None."""
        record = self.record(identity)
        if record is None or record.get("fingerprint") != fingerprint or record.get("status") not in FINAL:
            return None
        return record

    def _shelf(self, identity: str) -> Path:
        """Make the folder in which that of a thing stands, also where a file has taken its place."""
        shelf = self.folder(identity).parent
        if shelf.is_file():
            shelf.unlink(missing_ok=True)
        shelf.mkdir(parents=True, exist_ok=True)
        return shelf

    @contextlib.contextmanager
    def lock(self, identity: str) -> Iterator[None]:
        """Hold a thing against other processes; the lock goes with the process, however it ends."""
        path = self._shelf(identity) / f"{identity}.lock"
        descriptor = _locked(path)
        try:
            yield
        finally:
            # Removed while held: whoever waits for it finds that it is gone and takes a new one.
            path.unlink(missing_ok=True)
            os.close(descriptor)

    @contextlib.contextmanager
    def workspace(self, identity: str) -> Iterator[Path]:
        """Return an empty folder beside the thing, removed at the end unless `keep` took it."""
        parent = self._shelf(identity)
        folder = Path(tempfile.mkdtemp(prefix=f".{identity}-", dir=parent))
        # mkdtemp lets nobody else in, but colleagues may read a store on a shared file system.
        folder.chmod(stat.S_IMODE(parent.stat().st_mode))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def keep(self, folder: Path, record: Record) -> None:
        """Make `folder` the thing of `record`, in place of an older one; the caller holds the lock."""
        files = {path.name: _described(path) for path in sorted(folder.iterdir()) if path.name != RECORD}
        (folder / RECORD).write_text(checksummed_line(record | {FILES: files}))
        target = self.folder(record[self.key])
        if target.exists():
            with self.workspace(record[self.key]) as old:
                target.rename(old / "replaced")
                folder.rename(target)
        else:
            folder.rename(target)

    def sweep(self, identity: str) -> None:
        """Remove what killed processes left of a thing; the caller holds the lock."""
        for left in self.folder(identity).parent.glob(f".{identity}-*"):
            shutil.rmtree(left, ignore_errors=True)


def _described(file: Path) -> list[int | str]:
    content = file.read_bytes()
    return [len(content), hashlib.sha256(content).hexdigest()]


def _locked(path: Path) -> int:
    while True:
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o666)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        try:
            if path.stat().st_ino == os.fstat(descriptor).st_ino:
                return descriptor
        except FileNotFoundError:
            pass
        os.close(descriptor)  # the holder removed it between our open and our lock
