"""Digests of the project's code, which record the code that a stored result depends on.

A digest covers modules and all modules of the project that they import, directly or not. Comments, docstrings and blank
lines do not count, and all versions of Python yield the same digest. Sources are split by regular expressions, since
parsing all of them would take half a second in each process.
"""

import hashlib
import re
import sys
from collections.abc import Iterable
from functools import cache
from importlib.util import resolve_name
from pathlib import Path
from typing import Any

from .kind_modules import MODULES

PACKAGE = Path(__file__).resolve().parents[1]
OURS = PACKAGE.name
EXTENSIONS = f"{OURS}_extensions_"
"""Prefix of the names of packages of extensions; the rest is a digest of their files."""

_LIST_OF_KINDS = f"{OURS}.core.kind_modules"
_ENGINE = f"{OURS}.engine."
_KINDS = frozenset(module for family, kinds in MODULES.items() if family != "engine" for module in kinds.values())
"""In no digest of others: results depend on the modules of their own kinds only."""

# String literals are matched first and put back, since a "#" in one begins no comment.
# Unrolled loops: possessive quantifiers are wrong in Python 3.11.0 to 3.11.4 (cpython issue 106052).
_LONG_TEXT = r'"""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*"""'
_OTHER_LONG_TEXT = _LONG_TEXT.replace('"', "'")
_SHORT_TEXT = r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"'
_OTHER_SHORT_TEXT = _SHORT_TEXT.replace('"', "'")
_TEXT = rf"(?:{_LONG_TEXT}|{_OTHER_LONG_TEXT}|{_SHORT_TEXT}|{_OTHER_SHORT_TEXT})"
_COMMENT = re.compile(rf"({_TEXT})|[ \t]*#[^\n]*", re.S)
# A docstring is a separate literal after the head of its class or function, or after a complete assignment. After a
# line that ends in a literal it might continue an expression, and counts.
_DOCSTRING = re.compile(
    rf"(?:(?<=[\w)\]]:)\n\s*r?{_TEXT}|(?<=[\w)\]}}])\n\s*r?{_LONG_TEXT})(?=\n)|\n[ \t]*(?=\n)|({_TEXT})", re.S
)
_FOR_TYPE_CHECKERS = re.compile(r"^[ \t]*if TYPE_CHECKING:\n(?:[ \t]+.*\n)+", re.M)
_IMPORT = re.compile(r"(?:^|[;:])[ \t]*(?:from[ \t]+([\w.]+)[ \t]+)?import[ \t]+(\([^)]*\)|[^\n;]+)", re.M)
_IMPORTED_NAME = re.compile(r"([\w.]+)(?:\s+as\s+\w+)?")


@cache
def code_digest(*modules: str) -> str:
    """Return 12 hexadecimal digits over modules and all modules of the project that they import.

    Examples
    --------
    >>> code_digest("fabricstudy.core.store") != code_digest("fabricstudy.core.errors")
    True
    """
    return digest_of(frozenset[str]().union(*map(imported, modules)))


def digest_of(modules: Iterable[str]) -> str:
    """Return 12 hexadecimal digits over these modules alone."""
    # An extension counts by its content, whatever its path.
    names = {module: "extension" if extension_package(module) else module for module in modules}
    texts = (f"{names[module]} {_digest(_meaning_of(module))};" for module in sorted(names))
    return _digest("".join(texts))


@cache
def file_digest(file: Path) -> str:
    """Return 12 hexadecimal digits over the meaning of a Python file."""
    return _digest(meaning(file.read_text(encoding="utf-8")))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def meaning(text: str) -> str:
    r"""Return the text of a module without comments, docstrings and blank lines.

    Examples
    --------
    >>> print(meaning('def f():  # why\n    "What."\n\n    return "#"  # so'))
    module:
    def f():
        return "#"
    <BLANKLINE>
    """
    return _DOCSTRING.sub(r"\1", _COMMENT.sub(r"\1", f"module:\n{text}\n"))


def extension_package(module: str) -> str:
    """Return the package of extensions that a module belongs to, or "".

    Examples
    --------
    >>> extension_package("fabricstudy_extensions_0123456789ab.mlfm"), extension_package("fabricstudy.core.store")
    ('fabricstudy_extensions_0123456789ab', '')
    """
    package = module.split(".")[0]
    return package if package.startswith(EXTENSIONS) else ""


@cache
def extension_digest(module: str) -> str:
    """Return 12 hexadecimal digits over an extension and those that it imports; "" for any other module.

    Bundled extensions have the version of the project, as its modules have: unchanged ones have no digest, either.
    """
    extensions = list(filter(extension_package, imported(module)))
    return "" if all(map(_is_bundled, extensions)) else digest_of(extensions)


def _is_bundled(extension: str) -> bool:
    loader: Any = sys.modules[extension].__loader__
    return bool(loader.is_bundled)


def is_project_module(module: str) -> bool:
    return module.split(".")[0] == OURS or bool(extension_package(module))


@cache
def imported(module: str) -> frozenset[str]:
    """Return a module and all modules of the project that it imports, directly or not.

    Examples
    --------
    >>> sorted(imported("fabricstudy.core.bundled_files"))
    ['fabricstudy.core.bundled_files', 'fabricstudy.core.source']
    """
    modules: set[str] = set()
    left = [module]
    while left:
        name = left.pop()
        if name not in modules:
            modules.add(name)
            left += direct_imports(name)
    return frozenset(modules)


@cache
def direct_imports(module: str) -> frozenset[str]:
    """Return the modules of the project that a module imports; imports for type checkers do not count."""
    is_package = not extension_package(module) and _file(module).name == "__init__.py"
    package = module if is_package else module.rpartition(".")[0]
    modules = set()
    for start, names in _IMPORT.findall(_FOR_TYPE_CHECKERS.sub("", _meaning_of(module))):
        origin = resolve_name(start, package) if start else ""
        for name in _IMPORTED_NAME.findall(names):
            inner = f"{origin}.{name}" if origin else name
            modules.add(inner if not origin or _is_module(inner) else origin)
    # Engines import kinds to distinguish them; those of a point count separately.
    kinds = _KINDS if module.startswith(_ENGINE) else frozenset[str]()
    return frozenset(filter(is_project_module, modules - kinds - {_LIST_OF_KINDS}))


@cache
def _meaning_of(module: str) -> str:
    """Return the meaning of a module; of an extension as it was imported, even if its file has changed."""
    if not extension_package(module):
        return meaning(_file(module).read_text(encoding="utf-8"))
    loader: Any = sys.modules[module].__loader__
    return meaning(loader.get_source(module))


def _is_module(name: str) -> bool:
    return name in sys.modules if extension_package(name) else _file(name).is_file()


def _file(module: str) -> Path:
    path = PACKAGE.parent.joinpath(*module.split("."))
    # A folder without it may be left over from a package of an earlier version.
    package = path / "__init__.py"
    return package if package.is_file() else path.with_suffix(".py")
