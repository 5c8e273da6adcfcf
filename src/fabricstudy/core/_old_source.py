"""Digests of our own code, so that a stored result says what code it depends on.

A digest covers a module and all modules of ours that it imports, through names that a package hands on too, so that it
changes with whatever may run. It is made of tokens: comments, docstrings, blank lines and line breaks within a
statement do not count, and all versions of Python give the same.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import io
import sys
import token
import tokenize
from collections.abc import Iterator
from functools import cache
from importlib.abc import InspectLoader
from pathlib import Path
from typing import Any

from fabricstudy.core.kept import Kept

PACKAGE = Path(__file__).resolve().parents[1]
OURS = PACKAGE.name
EXTENSIONS = f"{OURS}_extensions_"
"""Start of the names of the packages that hold a study's own files; the rest is a digest of these."""

_READINGS = Kept(__file__)
"""What the texts of our modules say: parsing all of them takes half a second."""

_LAYOUT = frozenset({token.NL, token.COMMENT, token.ENCODING, token.ENDMARKER})
_F_STRING_START = getattr(token, "FSTRING_START", None)
_F_STRING_END = getattr(token, "FSTRING_END", None)


@cache
def code_digest(*modules: str) -> str:
    """Give 12 hexadecimal digits over modules and all of ours that they import.

    Examples
    --------
    >>> code_digest("fabricstudy.core.store") != code_digest("fabricstudy.core.errors")
    True
    """
    return digest_of(frozenset[str]().union(*(imported(module) for module in modules)))


def digest_of(modules: frozenset[str]) -> str:
    """Give 12 hexadecimal digits over these modules alone."""
    digest = hashlib.sha256()
    for module in sorted(modules):
        # An extension's file counts with its content, wherever it lies.
        name = module if module.split(".")[0] == OURS else "extension"
        digest.update(f"{name} {_reading(module)['digest']};".encode())
    return digest.hexdigest()[:12]


def extension_package(module: str) -> str:
    """Give the package of the extensions that a module belongs to, or "" if it is none.

    Examples
    --------
    >>> extension_package("fabricstudy_extensions_0123456789ab.mlfm"), extension_package("fabricstudy.core.store")
    ('fabricstudy_extensions_0123456789ab', '')
    """
    package = module.split(".")[0]
    return package if package.startswith(EXTENSIONS) else ""


@cache
def extension_digest(module: str) -> str:
    """Return 12 hexadecimal digits over an extension and its neighbours that it imports; "" for any other module."""
    package = extension_package(module)
    return digest_of(frozenset(name for name in imported(module) if extension_package(name))) if package else ""


def is_ours(module: str) -> bool:
    """Return whether a module is part of this project, or an extension."""
    return module.split(".")[0] == OURS or bool(extension_package(module))


@cache
def imported(module: str) -> frozenset[str]:
    """Return a module and all modules of ours that it imports, directly or not.

    Examples
    --------
    >>> sorted(imported("fabricstudy.core.source"))
    ['fabricstudy.core.kept', 'fabricstudy.core.source']
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
    """Give the modules of ours whose names a module uses; what is for type checkers alone does not count."""
    return frozenset(_home(origin, name) for origin, name in _reading(module)["imports"])


@cache
def _reading(module: str) -> dict[str, Any]:
    """Give what the text of a module says: the digest of its tokens, and the names of ours that it imports."""
    source = _source(module)
    text = source if isinstance(source, str) else source.decode()
    own = hashlib.sha256(text.encode()).hexdigest()
    kept: dict[str, Any] | None = _READINGS.get(module)
    if kept is not None and kept["text"] == own:
        return kept
    is_package = not extension_package(module) and _file(module).name == "__init__.py"
    imports = [list(one) for one in _imported_names(ast.parse(text), module, is_package)]
    read = {"text": own, "digest": _text_digest(text), "imports": imports}
    if not extension_package(module):
        _READINGS.put(module, read)
    return read


def _imported_names(tree: ast.Module, module: str, is_package: bool) -> Iterator[tuple[str, str | None]]:
    """Give each import of ours as module and name."""
    for node in _statements(tree.body):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names if is_ours(alias.name))
        elif isinstance(node, ast.ImportFrom):
            base = module.split(".") if is_package else module.split(".")[:-1]
            start = base[: len(base) - node.level + 1] if node.level else []
            origin = ".".join([*start, *(node.module or "").split(".")]).strip(".")
            if is_ours(origin):
                yield from ((origin, alias.name) for alias in node.names)


def _statements(body: list[Any]) -> Iterator[ast.stmt]:
    """Give all statements, also those within others; expressions, which are most of a module, hold no imports."""
    for node in body:
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            continue
        if isinstance(node, ast.stmt):
            yield node
        for inner in ("body", "orelse", "finalbody", "handlers", "cases"):
            yield from _statements(getattr(node, inner, []))


@cache
def _home(origin: str, name: str | None) -> str:
    """Give the module where an imported name stands: a module of a package, or where the package has it from."""
    if extension_package(origin):
        return f"{origin}.{name}" if origin in sys.modules and "." not in origin and name else origin
    file = _file(origin)
    if name is None or file.name != "__init__.py":
        return origin
    if (file.parent / f"{name}.py").is_file() or (file.parent / name / "__init__.py").is_file():
        return f"{origin}.{name}"
    handed_on = _handed_on(file)
    if name not in handed_on:
        return origin
    level, module, own = handed_on[name]
    base = origin.split(".")
    start = base[: len(base) - level + 1] if level else []
    return _home(".".join([*start, *module.split(".")]).strip("."), own)


@cache
def _handed_on(file: Path) -> dict[str, tuple[int, str, str]]:
    """Give what a package has from elsewhere: for each name the level and module of its import, and its name there."""
    found: dict[str, tuple[int, str, str]] = {}
    for node in ast.parse(file.read_bytes()).body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                found.setdefault(alias.asname or alias.name, (node.level, node.module or "", alias.name))
    return found


@cache
def _file(module: str) -> Path:
    parts = module.split(".")
    if parts[0] == OURS:
        path = PACKAGE.joinpath(*parts[1:])
        return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    spec = sys.modules[module].__spec__ if module in sys.modules else importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise ValueError(f"the module {module} has no file")
    return Path(spec.origin)


def _source(module: str) -> str | bytes:
    """Give the text of a module; of an extension that which was imported, whatever its file holds now."""
    spec = sys.modules[module].__spec__ if extension_package(module) else None
    if spec is not None and isinstance(spec.loader, InspectLoader):
        return spec.loader.get_source(module) or ""
    return _file(module).read_bytes()


@cache
def file_digest(file: Path) -> str:
    """Give 12 hexadecimal digits over the tokens of a Python file."""
    return _text_digest(file.read_text(encoding="utf-8"))


def _text_digest(text: str) -> str:
    return hashlib.sha256("\n".join(meaning(text)).encode()).hexdigest()[:12]


def meaning(source: str) -> list[str]:
    """Give the tokens of a module that decide what it does.

    Examples
    --------
    >>> meaning('def f():  # why\\n    "What."\\n    return (1 +\\n       2)') == meaning("def f():\\n return (1 + 2)")
    True
    >>> meaning("x = 1") == meaning("x = 2")
    False
    """
    lines = source.splitlines(keepends=True)
    words: list[str] = []
    statement: list[str] = []
    is_text = True
    for kind, text in _tokens(source, lines):
        if kind in (token.NEWLINE, token.INDENT, token.DEDENT):
            # A statement of strings alone is a docstring.
            words += [] if is_text else [*statement, "newline"]
            statement, is_text = [], True
            if kind != token.NEWLINE:
                words.append(token.tok_name[kind])
        else:
            statement.append(text)
            is_text = is_text and kind == token.STRING
    return words


def _tokens(source: str, lines: list[str]) -> Iterator[tuple[int, str]]:
    """Give tokens without layout; a formatted string is one token, as it was before Python 3.12."""
    depth, start = 0, (0, 0)
    for one in tokenize.generate_tokens(io.StringIO(source).readline):
        if _F_STRING_START is not None and one.type == _F_STRING_START:
            start = start if depth else one.start
            depth += 1
        elif _F_STRING_END is not None and one.type == _F_STRING_END:
            depth -= 1
            if not depth:
                yield token.STRING, _between(lines, start, one.end)
        elif not depth and one.type not in _LAYOUT:
            yield one.type, one.string


def _between(lines: list[str], start: tuple[int, int], end: tuple[int, int]) -> str:
    if start[0] == end[0]:
        return lines[start[0] - 1][start[1] : end[1]]
    inner = lines[start[0] : end[0] - 1]
    return "".join([lines[start[0] - 1][start[1] :], *inner, lines[end[0] - 1][: end[1]]])
