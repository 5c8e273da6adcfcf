"""Extensions: Python files of a study's own, whose kinds are like ours.

In: the names that stand in a study below `extensions`, and the study's folder. Out: the package into which they were
imported, once a process for each content of all of them together. Its name is made of this content, so it is the same
wherever the files lie, and studies with different files of one name do not meet. One file may import another as its
neighbour: ``from .mlfm import Mlfm``; a file that others import need not register a kind.
"""

import hashlib
import importlib
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path, PurePosixPath
from traceback import walk_tb
from types import FrameType, ModuleType
from typing import Any, NamedTuple

from fabricstudy.core.bundled_files import bundled_path
from fabricstudy.core.errors import StudyError
from fabricstudy.core.kinds import Kind, families
from fabricstudy.core.model import ConfigError
from fabricstudy.core.source import EXTENSIONS, OURS, direct_imports, extension_package

MAX_BYTES = 1_000_000

_STEM = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

LOADED: dict[str, dict[str, str]] = {}
"""The packages that this process has imported: the SHA-256 of each file, by the name of its module."""


class _File(NamedTuple):
    """A file as it stands in the study: its place in the list, its name there, where it is, and what it holds."""

    place: int
    name: str
    path: Path
    content: bytes

    @property
    def stem(self) -> str:
        return self.path.stem

    def error(self, problem: str, remedy: str) -> StudyError:
        return _error(self.place, self.name, problem, remedy)


def _error(place: int, name: str, problem: str, remedy: str) -> StudyError:
    return StudyError(problem, remedy, None, f"extensions.{place}", name, code="extension")


def load_extensions(names: Any, folder: Path, anywhere: bool = False) -> str:
    """Import the extensions of a study, and give the name of their package.

    Parameters
    ----------
    names : object
        What stands in the study: paths relative to `folder`. What is no list of texts is left for the study's own
        checks to refuse.
    folder : Path
        The study's folder.
    anywhere : bool, optional
        Whether files outside the folder will do: those of no study.

    Returns
    -------
    str
        "" if there are none.

    Raises
    ------
    StudyError
        Without the name of the study file, if a file cannot be found or imported, has the name of another, or
        registers no kind.
    """
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        return ""
    files = [_file(place, name, folder, anywhere) for place, name in enumerate(names)]
    for file in files:
        other = next(one for one in files if one.stem == file.stem)
        if other is not file:
            raise file.error(f"two extensions have the name {file.stem}", f"rename one; the other is {other.name}")
    digests = {file.stem: hashlib.sha256(file.content).hexdigest() for file in files}
    listed = "".join(f"{stem} {digest};" for stem, digest in sorted(digests.items()))
    package = EXTENSIONS + hashlib.sha256(listed.encode()).hexdigest()[:12]
    if package not in LOADED:
        _import(package, files)
        LOADED[package] = digests
    return package


def kinds_of(package: str) -> dict[str, list[type[Kind]]]:
    """Give the kinds that a package of extensions registered, by the noun of their family."""
    return {base.FAMILY.noun: list(base.FAMILY.extensions(package).values()) for base in families()}


def _file(place: int, name: str, folder: Path, anywhere: bool) -> _File:
    try:
        return _read(place, name, folder, anywhere)
    except OSError as error:
        raise _error(place, name, f"it cannot be read ({error.strerror})", "check its name and permissions") from None
    except (ValueError, RuntimeError):  # a name with a null byte, links in a circle
        raise _error(place, name, "this cannot be the name of a file", "name it like mlfm.py") from None


def _read(place: int, name: str, folder: Path, anywhere: bool) -> _File:
    path = (folder / name).absolute()
    pure = PurePosixPath(name)
    inside = not pure.is_absolute() and ".." not in pure.parts and path.resolve().is_relative_to(folder.resolve())
    if not (inside or anywhere):
        problem = "an extension stands in the study's folder or below it, so that an artifact can hold it"
        raise _error(place, name, problem, "move the file beside the study and name it from there, like mlfm.py")
    if pure.suffix != ".py" or not _STEM.fullmatch(pure.stem):
        problem = "not the name of a Python module"
        raise _error(place, name, problem, "call the file by letters, digits and '_', with the ending .py")
    if not path.is_file():
        problem = "this is not a file" if path.exists() else "there is no such file"
        raise _error(place, name, problem, f"check the name; it is sought from {folder.resolve()}")
    if path.stat().st_size > MAX_BYTES:
        raise _error(place, name, "the file is too large", f"stay below {MAX_BYTES:,} bytes")
    return _File(place, name, path, path.read_bytes())


class _Loader(SourceFileLoader):
    """Imports what was read already; writes no byte code beside a study, and trusts none that is there."""

    def __init__(self, fullname: str, file: _File) -> None:
        super().__init__(fullname, str(file.path))
        self._content = file.content

    def get_data(self, path: str) -> bytes:
        """Give what the file held."""
        return self._content

    def path_stats(self, path: str) -> Any:
        """Give nothing, so that there is no byte code."""
        raise OSError


class _Finder(MetaPathFinder):
    """Finds the modules of one package of extensions, whichever of them asks first."""

    def __init__(self, package: str, files: Sequence[_File]) -> None:
        self.package = package
        self._files = {f"{package}.{file.stem}": file for file in files}

    def find_spec(self, fullname: str, path: Any, target: ModuleType | None = None) -> ModuleSpec | None:
        """Give how to import a module, or None if it is not in the package."""
        file = self._files.get(fullname)
        return file and spec_from_file_location(fullname, file.path, loader=_Loader(fullname, file))


def _import(package: str, files: Sequence[_File]) -> None:
    if not _OWN_FILES:
        sys.addaudithook(_refuse_unseen)
    _OWN_FILES.update(str(file.path) for file in files)
    holder, finder = ModuleType(package), _Finder(package, files)
    holder.__path__ = []
    holder.__spec__ = ModuleSpec(package, None, is_package=True)
    sys.modules[package] = holder
    sys.meta_path.append(finder)
    try:
        for file in files:
            _import_file(f"{package}.{file.stem}", file, files)
        _check_use(package, files)
    except BaseException:
        unload_extensions(package)
        raise


_OWN_FILES: set[str] = set()
_SEEN_ELSEWHERE = (
    f"{sys.prefix}/",
    f"{sys.base_prefix}/",
    "/usr/",
    "/lib/",
    "/lib64/",
    "/etc/",
    "/proc/",
    "/sys/",
    "/dev/",
)
"""Folders of Python and of the system, whose files libraries read for themselves."""


def _refuse_unseen(event: str, values: tuple[Any, ...]) -> None:
    """Refuse that an extension reads a file by itself: nobody would notice that it changes, and no artifact hold it."""
    if event != "open" or not isinstance(values[0], str) or values[2] & (os.O_WRONLY | os.O_RDWR):
        return
    path = Path(values[0]).absolute()
    elsewhere = str(path).startswith(_SEEN_ELSEWHERE) or any(part.startswith(".") for part in path.parts)
    if str(path) in _OWN_FILES or elsewhere or not path.is_file():
        return
    reader = _reader(sys._getframe(1))
    if reader:
        problem = (
            f"{reader.split('.')[-1]}.py reads the file {path.name} by itself, so that nobody notices if it changes"
        )
        remedy = f"make it a key of the kind with FromFile, as {bundled_path('docs/extending.md')} shows"
        raise ConfigError(problem, remedy, ("extensions",), code="extension")


def _reader(frame: FrameType | None) -> str:
    """Return the extension that opens a file; "" if one of our modules does, or an import."""
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if extension_package(module):
            return module
        if module.startswith((f"{OURS}.", "importlib.", "_frozen_importlib")):
            return ""
        frame = frame.f_back
    return ""


def unload_extensions(package: str) -> None:
    """Take a package of extensions away: one that could not be imported, or that a test has done with."""
    sys.meta_path[:] = [one for one in sys.meta_path if not (isinstance(one, _Finder) and one.package == package)]
    for module in [name for name in sys.modules if extension_package(name) == package]:
        del sys.modules[module]
    for base in families():
        base.FAMILY.forget(package)
    LOADED.pop(package, None)


def _import_file(module: str, file: _File, files: Sequence[_File]) -> None:
    try:
        # Standard output is for the results of commands.
        with redirect_stdout(sys.stderr):
            importlib.import_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit, too: a file may call sys.exit() where it was meant to be run
        raise _told(error, file, files) from None


def _check_use(package: str, files: Sequence[_File]) -> None:
    """Refuse a file that neither registers a kind nor is imported by another one."""
    used = {kind.__module__ for kinds in kinds_of(package).values() for kind in kinds}
    for file in files:
        module = f"{package}.{file.stem}"
        others = (f"{package}.{other.stem}" for other in files if other is not file)
        if module not in used and not any(module in direct_imports(other) for other in others):
            remedy = (
                f"put @register above its class, as {bundled_path('docs/extending.md')} shows, or leave the file out"
            )
            raise file.error("it registers no kind, and no other extension imports it", remedy)


def _told(error: BaseException, importing: _File, files: Sequence[_File]) -> StudyError:
    """Say what was wrong, in which of the files and where."""
    by_path = {str(file.path): file for file in files}
    places = [(by_path[path], line) for path, line in _lines(error) if path in by_path]
    file, line = places[-1] if places else (importing, 0)
    at = f" (line {line})" if line else ""
    if isinstance(error, ConfigError):
        value = "" if error.value is None else f"'{error.value}': "
        return file.error(f"{value}{error.problem}{at}", error.remedy)
    if isinstance(error, SyntaxError | UnicodeError) or (isinstance(error, ValueError) and not places):
        return file.error(f"it is no Python: {_first_line(error)}{at}", "fix it there")
    if isinstance(error, ModuleNotFoundError) and (error.name or "").startswith(EXTENSIONS):
        missing = str(error.name).split(".", 1)[-1]
        return file.error(f"it imports {missing}.py, which is no extension{at}", f"add {missing}.py to extensions")
    return file.error(f"it cannot be imported: {type(error).__name__}: {_first_line(error)}{at}", "fix it there")


def _lines(error: BaseException) -> Iterator[tuple[str, int]]:
    """Give the files and lines through which an error came, the deepest last."""
    for frame, line in walk_tb(error.__traceback__):
        yield frame.f_code.co_filename, line
    if isinstance(error, SyntaxError):
        yield error.filename or "", error.lineno or 0


def _first_line(error: BaseException) -> str:
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    return text.strip().partition("\n")[0]
