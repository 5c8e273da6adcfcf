"""Stores of finished things (machines, structures, points), shared by all studies and by processes at once.

A thing lies in ``<root>/ab/<id>/`` with its record (``record.json``) and its arrays. Everything is written in a
folder under a temporary name and renamed, so that a reader sees a whole thing or none.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Record = dict[str, Any]

FINAL = frozenset({"done", "refused"})
"""Statuses that a point would have again if it were run again."""

POINTS, MACHINES, STRUCTURES = STORES = ("points", "machines", "structures")
"""Folders below ``results`` that all studies share; no study may be called like one."""


def _entries(folder: str | os.PathLike[str]) -> list[os.DirEntry[str]]:
    """Give what is in a folder; nothing where that was removed meanwhile."""
    with contextlib.suppress(FileNotFoundError):
        return list(os.scandir(folder))
    return []


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
        """Give the folder of a thing, whether it is there or not."""
        return self.root / identity[1:3] / identity

    def inodes(self) -> dict[str, int]:
        """Give the ids of all things that are there, with a number that changes when a thing is replaced.

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
        """Give the record of a thing, or None if there is none that can be read whole."""
        try:
            record = json.loads((self.folder(identity) / "record.json").read_bytes())
        except (OSError, ValueError):
            return None
        return record if isinstance(record, dict) and record.get(self.key) == identity else None

    def finished(self, identity: str, fingerprint: str) -> Record | None:
        """Give the record of a thing that need not be made again, or None."""
        record = self.record(identity)
        if record is None or record.get("fingerprint") != fingerprint or record.get("status") not in FINAL:
            return None
        return record

    @contextlib.contextmanager
    def lock(self, identity: str) -> Iterator[None]:
        """Hold a thing against other processes; the lock goes with the process, however it ends."""
        path = self.folder(identity).with_suffix(".lock")
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = _locked(path)
        try:
            yield
        finally:
            # Removed while held: whoever waits for it finds that it is gone and takes a new one.
            path.unlink(missing_ok=True)
            os.close(descriptor)

    @contextlib.contextmanager
    def workspace(self, identity: str) -> Iterator[Path]:
        """Give an empty folder beside the thing, removed at the end unless `keep` took it."""
        parent = self.folder(identity).parent
        parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f".{identity}-", dir=parent))
        # mkdtemp lets nobody else in, but colleagues may read a store on a shared file system.
        folder.chmod(stat.S_IMODE(parent.stat().st_mode))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def keep(self, folder: Path, record: Record) -> None:
        """Make `folder` the thing of `record`, in place of an older one; the caller holds the lock."""
        (folder / "record.json").write_text(json.dumps(record))
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
