"""The code of the project on this computer: its commit and files."""

import hashlib
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from fabricstudy.core.bundled_files import HOME

SOURCE_PATHS = ("Snakefile", "src", "workflow", "engines", "envs", "profiles", "tools")
"""Folders where an untracked file changes what runs; elsewhere it may be the user's study."""


@dataclass(frozen=True)
class Checkout:
    """Code below a folder.

    `commit` is that of HEAD, or None if `root` is not a git checkout; `changes` is a digest of changed files, and of
    untracked ones in `SOURCE_PATHS`, or "".
    """

    root: Path
    commit: str | None
    changes: str

    @property
    def clean(self) -> bool:
        """Return whether the code is that of a commit."""
        return self.commit is not None and not self.changes

    @property
    def state(self) -> str:
        """Return the commit, and whether the code is that of the commit, as a phrase."""
        if self.commit is None:
            return "working files, not a git checkout"
        return f"commit {self.commit}" if self.clean else f"commit {self.commit} with changes ({self.changes})"

    def files(self) -> Iterator[tuple[str, bytes, bool]]:
        """Yield path, content and executable bit of each file."""
        names = _walked(self.root) if self.commit is None else _listed(self.root, "--cached", "--others")
        for name in names:
            path = self.root / name
            yield name, path.read_bytes(), os.access(path, os.X_OK)


def checkout(root: Path = HOME) -> Checkout:
    """Return the state of the code below `root`, which must be the top of its checkout."""
    top = _git(root, "rev-parse", "--show-toplevel")
    commit = _git(root, "rev-parse", "HEAD")
    if top is None or commit is None or Path(os.fsdecode(top).strip()).resolve() != root.resolve():
        return Checkout(root, None, "")
    changed = _git(root, "diff", "HEAD") or b""
    changed += b"".join(os.fsencode(name) + (root / name).read_bytes() for name in _listed(root, "--others"))
    changes = hashlib.sha256(changed).hexdigest()[:12] if changed else ""
    return Checkout(root, commit.decode().strip(), changes)


def _git(root: Path, *arguments: str) -> bytes | None:
    try:
        process = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True)
    except OSError:  # git is not installed
        return None
    return process.stdout if process.returncode == 0 else None


def _listed(root: Path, *selections: str) -> list[str]:
    names = set()
    for selection in selections:
        folders = SOURCE_PATHS if selection == "--others" else ()
        listed = _git(root, "ls-files", selection, "--exclude-standard", "-z", "--", *folders) or b""
        names |= {os.fsdecode(name) for name in listed.split(b"\0") if name}
    return sorted(name for name in names if _is_plain(root / name))


def _is_plain(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _walked(root: Path) -> Iterator[str]:
    """Yield all files but those in .gitignore, of which plain names and paths with ``*`` are supported."""
    ignore = root / ".gitignore"
    lines = ignore.read_text().splitlines() if ignore.is_file() else []
    patterns = [".git", *(line.strip("/") for line in lines if line.strip("/"))]

    def included(path: Path) -> bool:
        names = path.name, str(path.relative_to(root))
        return not any(fnmatch(name, pattern) for name in names for pattern in patterns)

    for parent, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if included(Path(parent, name)))
        paths = (Path(parent, name) for name in sorted(files))
        yield from (str(path.relative_to(root)) for path in paths if included(path) and _is_plain(path))
