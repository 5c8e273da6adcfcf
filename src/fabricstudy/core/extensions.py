"""Extensions: Python files of a study that define kinds.

The files that a study lists below `extensions` are imported as one package, once a process. The name of the package is
a digest of their content: it does not depend on their location, and studies with different files of the same name do
not conflict. A file may import another one: ``from .mlfm import Mlfm``; an imported file need not define a kind.

Ids and artifacts contain the code of extensions, and the files that keys of their kinds name (`input_files.FromFile`).
Whatever else an extension reads is not seen.
"""

import hashlib
import importlib
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from importlib.abc import MetaPathFinder, SourceLoader
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path, PurePosixPath
from traceback import walk_tb
from types import ModuleType
from typing import Any, NamedTuple

from fabricstudy.core.bundled_files import CONFIGS, bundled_path
from fabricstudy.core.input_files import InputFileError, read_bytes
from fabricstudy.core.kinds import families
from fabricstudy.core.model import ConfigError
from fabricstudy.core.source import EXTENSIONS, extension_package, package_sources

MAX_EXTENSION_BYTES = 1_000_000

LOADED: dict[str, dict[str, str]] = {}
"""The imported packages: the SHA-256 of each file, by the name of its module."""


class _File(NamedTuple):
    """A file of a study: its position in the list, its name there, path and content."""

    position: int
    name: str
    path: Path
    content: bytes

    @property
    def stem(self) -> str:
        return self.path.stem

    def error(self, problem: str, remedy: str) -> ConfigError:
        return _error(self.position, self.name, problem, remedy)


def _error(index: int, name: str, problem: str, remedy: str) -> ConfigError:
    return ConfigError(problem, remedy, ("extensions", str(index)), name, "extension")


def load_extensions(names: Any, folder: Path, anywhere: bool = False) -> str:
    """Import the extensions of a study, and return the name of their package; "" if there are none.

    `names` is the value of the key `extensions`: paths relative to `folder`, and with `anywhere` also outside of it,
    which no study allows; the checks of the study refuse anything else. Raises ConfigError, without the name of the
    study file, if a file cannot be found or imported, has the name of another one, or defines no kind.
    """
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        return ""
    files = [_file(index, name, folder, anywhere) for index, name in enumerate(names)]
    for file in files:
        first = next(candidate for candidate in files if candidate.stem == file.stem)
        if first is not file:
            raise file.error(f"two extensions have the name {file.stem}", f"rename one; the first is {first.name}")
    digests = {file.stem: hashlib.sha256(file.content).hexdigest() for file in files}
    listed = "".join(f"{stem} {digest};" for stem, digest in sorted(digests.items()))
    package = EXTENSIONS + hashlib.sha256(listed.encode()).hexdigest()[:12]
    if package not in LOADED:
        _import(package, files)
        LOADED[package] = digests
    return package


def _file(index: int, name: str, folder: Path, anywhere: bool) -> _File:
    pure, path = PurePosixPath(name), (folder / name).absolute()
    try:
        is_below = path.resolve().is_relative_to(folder.resolve())
    except (ValueError, RuntimeError):  # a name with a null byte, a cycle of links
        raise _error(index, name, "not the name of a file", "name it like mlfm.py") from None
    if not anywhere and (pure.is_absolute() or ".." in pure.parts or not is_below):
        problem = "an extension must be in the study's folder or below it, so that an artifact can contain it"
        raise _error(index, name, problem, "move the file next to the study and use a relative path, like mlfm.py")
    if pure.suffix != ".py" or not (pure.stem.isidentifier() and pure.stem.isascii()):
        problem = "not the name of a Python module"
        raise _error(index, name, problem, "use letters, digits and '_' in its name, and the suffix .py")
    try:
        return _File(index, name, path, read_bytes(path, MAX_EXTENSION_BYTES))
    except InputFileError as mistake:
        raise _error(index, name, mistake.problem, f"{mistake.remedy}, relative to {folder.resolve()}") from None


class _Loader(SourceLoader):
    """Imports the content that was read; reads and writes no byte code."""

    def __init__(self, file: _File) -> None:
        self._file = file
        bundled = CONFIGS / "extensions" / file.path.name
        self.is_bundled = bundled.is_file() and bundled.read_bytes() == file.content
        """Whether it is the bundled extension of its name."""

    def get_filename(self, fullname: str) -> str:
        return str(self._file.path)

    def get_data(self, path: str | bytes) -> bytes:
        return self._file.content


class _Finder(MetaPathFinder):
    """Finds the modules of one package of extensions."""

    def __init__(self, package: str, files: Sequence[_File]) -> None:
        self.package = package
        self._files = {f"{package}.{file.stem}": file for file in files}

    def find_spec(self, fullname: str, path: Any, target: ModuleType | None = None) -> ModuleSpec | None:
        file = self._files.get(fullname)
        return file and spec_from_file_location(fullname, file.path, loader=_Loader(file))


def _import(package: str, files: Sequence[_File]) -> None:
    module = ModuleType(package)
    module.__path__ = []
    module.__spec__ = ModuleSpec(package, None, is_package=True)
    sys.modules[package] = module
    sys.meta_path.append(_Finder(package, files))
    try:
        for file in files:
            _import_file(f"{package}.{file.stem}", file, files)
        _check_use(package, files)
    except BaseException:
        unload_extensions(package)
        raise


def unload_extensions(package: str) -> None:
    sys.meta_path[:] = [finder for finder in sys.meta_path if getattr(finder, "package", None) != package]
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
        raise _import_error(error, file, files) from None


def _check_use(package: str, files: Sequence[_File]) -> None:
    """Refuse a file that neither defines a kind nor is imported by another one."""
    used = {kind.__module__ for base in families() for kind in base.FAMILY.extensions(package).values()}
    for file in files:
        module = f"{package}.{file.stem}"
        importing = (f"{package}.{importer.stem}" for importer in files if importer is not file)
        if module not in used and not any(module in package_sources(importer) for importer in importing):
            remedy = f"name the kind in its class, as {bundled_path('docs/extending.md')} shows, or leave it out"
            raise file.error("defines no kind, and no other extension imports it", remedy)


def _import_error(error: BaseException, importing: _File, files: Sequence[_File]) -> ConfigError:
    """Return the error for a failed import, at the deepest line of an extension in its traceback."""
    by_path = {str(file.path): file for file in files}
    lines = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
    if isinstance(error, SyntaxError):
        lines.append((error.filename or "", error.lineno or 0))
    in_files = [(by_path[path], line) for path, line in lines if path in by_path]
    file, line = in_files[-1] if in_files else (importing, 0)
    at = f" (line {line})" if line else ""
    if isinstance(error, ConfigError):
        value = "" if error.value is None else f"'{error.value}': "
        return file.error(f"{value}{error.problem}{at}", error.remedy)
    reason = (error.msg if isinstance(error, SyntaxError) else str(error)).strip().partition("\n")[0]
    if isinstance(error, SyntaxError | UnicodeError) or (isinstance(error, ValueError) and not in_files):
        return file.error(f"not valid Python: {reason}{at}", "fix it there")
    if isinstance(error, ModuleNotFoundError) and (error.name or "").startswith(EXTENSIONS):
        missing = str(error.name).split(".", 1)[-1]
        return file.error(f"imports {missing}.py, which is not an extension{at}", f"add {missing}.py to extensions")
    return file.error(f"cannot be imported: {type(error).__name__}: {reason}{at}", "fix it there")
