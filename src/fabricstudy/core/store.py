"""Caches of finished entries (structures, points), shared by all studies and by concurrent processes.

An entry is a folder ``<root>/ab/<id>/`` with a record (``record.json``) and arrays. It is written under a temporary
name and renamed, so that a reader sees a complete entry or none. A record begins with its digest, and contains those of
the other files: a damaged entry counts as missing.
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
"""Statuses that another run of a point would have, too."""

POINTS, STRUCTURES = STORES = ("points", "structures")
"""Folders below ``results`` that all studies share; no study may have such a name."""

FORMAT = 1
"""Version of the format of records and tables."""

RECORD = "record.json"
FORMAT_KEY = "format"
FILES = "files"
"""The key of a record that has size and SHA-256 of each other file of its entry."""

_HEAD = '{"sha256": "'
_DIGITS = 64


def checksummed_line(record: Record) -> str:
    """Return a record as a line of JSON that begins with the SHA-256 of the rest of the line."""
    rest = json.dumps({FORMAT_KEY: FORMAT} | record)[1:]
    return f'{_HEAD}{hashlib.sha256(rest.encode()).hexdigest()}", {rest}'


def verified_record(line: bytes) -> Record | None:
    """Return the record of a `checksummed_line`, without its digest; None if the line was damaged.

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


def other_format(what: str, found: object, expected: object = FORMAT) -> FabricstudyError:
    """Return the error for a record or table of another version of this project."""
    problem = f"{what} has the format {found}, and this version of fabricstudy reads {expected}"
    remedy = "run the version that wrote it, or start with an empty results folder"
    return FabricstudyError(f"{problem}; {remedy}", "unsupported-format")


def read_checksummed(path: Path) -> Iterator[tuple[int, Record | None]]:
    """Yield the number and the record, or None, of each `checksummed_line` of a file."""
    with path.open("rb") as lines:
        yield from ((number, verified_record(line)) for number, line in enumerate(lines, 1))


def _entries(folder: str | os.PathLike[str]) -> list[os.DirEntry[str]]:
    """Return the entries of a folder; none if it was removed meanwhile."""
    with contextlib.suppress(FileNotFoundError):
        return list(os.scandir(folder))
    return []


def point_store(results: Path) -> Store:
    """Return the store of finished simulations under the folder `results`."""
    return Store(results / POINTS, "point_id")


class Store:
    """Entries of one sort below the folder `root`; `key` of a record is the id of its entry."""

    def __init__(self, root: Path, key: str) -> None:
        self.root, self.key = root, key

    def folder(self, identity: str) -> Path:
        """Return the folder of an entry, which may be missing."""
        return self.root / identity[1:3] / identity

    def inodes(self) -> dict[str, int]:
        """Return the inode of each entry by its id, which changes when an entry is replaced.

        Cheap on shared file systems: only folders are listed.
        """
        shelves = (shelf for shelf in _entries(self.root) if shelf.is_dir())  # there may be stray files
        entries = (entry for shelf in shelves for entry in _entries(shelf))
        return {
            entry.name: entry.inode()
            for entry in entries
            if not entry.name.startswith(".") and not entry.name.endswith(".lock")
        }

    def record(self, identity: str) -> Record | None:
        """Return the record of an entry; None if there is none, or another file of it has changed in size."""
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
        """Return what is wrong with an entry as a phrase; None if nothing is, or it is missing."""
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
        """Return the record of an entry that is final and has this fingerprint, or None."""
        record = self.record(identity)
        if record is None or record.get("fingerprint") != fingerprint or record.get("status") not in FINAL:
            return None
        return record

    def _shelf(self, identity: str) -> Path:
        """Make the parent folder of an entry, also where a stray file has its name."""
        shelf = self.folder(identity).parent
        if shelf.is_file():
            shelf.unlink(missing_ok=True)
        shelf.mkdir(parents=True, exist_ok=True)
        return shelf

    @contextlib.contextmanager
    def lock(self, identity: str) -> Iterator[None]:
        """Lock an entry against other processes; the lock ends with the process."""
        path = self._shelf(identity) / f"{identity}.lock"
        descriptor = _locked(path)
        try:
            yield
        finally:
            # Removed while held: a process that waits for it notices, and locks a new file.
            path.unlink(missing_ok=True)
            os.close(descriptor)

    @contextlib.contextmanager
    def workspace(self, identity: str) -> Iterator[Path]:
        """Yield an empty folder next to the entry, removed at the end unless `keep` renamed it."""
        parent = self._shelf(identity)
        folder = Path(tempfile.mkdtemp(prefix=f".{identity}-", dir=parent))
        # mkdtemp makes folders for the owner alone, but colleagues may read a store on a shared file system.
        folder.chmod(stat.S_IMODE(parent.stat().st_mode))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def keep(self, folder: Path, record: Record) -> None:
        """Make `folder` the entry of `record`, in place of an older one; the caller holds the lock."""
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
        """Remove the workspaces that killed processes left; the caller holds the lock."""
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
