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
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
OURS = PACKAGE.name

WORDS = frozenset({"caveats"})
"""Modules, by the last part of their name, that hold words alone: changing these changes no result."""

_LAYOUT = frozenset({token.NL, token.COMMENT, token.ENCODING, token.ENDMARKER})
_F_STRING_START = getattr(token, "FSTRING_START", None)
_F_STRING_END = getattr(token, "FSTRING_END", None)


@cache
def code_digest(*modules: str) -> str:
    """Give 12 hexadecimal digits over modules and all of ours that they import.

    Examples
    --------
    >>> code_digest("fabricstudy.store") == code_digest("fabricstudy.store") != code_digest("fabricstudy.errors")
    True
    """
    return digest_of(frozenset[str]().union(*(imported(module) for module in modules)))


def digest_of(modules: frozenset[str]) -> str:
    """Give 12 hexadecimal digits over these modules alone."""
    digest = hashlib.sha256()
    for module in sorted(modules):
        # An extension's file counts with its content, wherever it lies.
        name = module if module.split(".")[0] == OURS else "extension"
        digest.update(f"{name} {file_digest(_file(module))};".encode())
    return digest.hexdigest()[:12]


@cache
def imported(module: str) -> frozenset[str]:
    """Give a module and all modules of ours that it imports, directly or not; modules with words alone are left out.

    Examples
    --------
    >>> sorted(imported("fabricstudy.errors"))
    ['fabricstudy.errors']
    """
    found: set[str] = set()
    left = [module]
    while left:
        name = left.pop()
        if name not in found and name.rsplit(".", 1)[-1] not in WORDS:
            found.add(name)
            left += direct_imports(name)
    return frozenset(found)


@cache
def direct_imports(module: str) -> frozenset[str]:
    """Give the modules of ours whose names a module uses; what is for type checkers alone does not count."""
    file = _file(module)
    return frozenset(
        _home(origin, name)
        for origin, name in _imported_names(ast.parse(file.read_bytes()), module, file.name == "__init__.py")
    )


def _imported_names(tree: ast.Module, module: str, is_package: bool) -> Iterator[tuple[str, str | None]]:
    """Give each import of ours as module and name."""
    hidden = {
        id(node)
        for guard in ast.walk(tree)
        if isinstance(guard, ast.If) and ast.unparse(guard.test).endswith("TYPE_CHECKING")
        for node in ast.walk(guard)
    }
    for node in ast.walk(tree):
        if id(node) in hidden:
            continue
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names if alias.name.split(".")[0] == OURS)
        elif isinstance(node, ast.ImportFrom):
            base = module.split(".") if is_package else module.split(".")[:-1]
            start = base[: len(base) - node.level + 1] if node.level else []
            origin = ".".join([*start, *(node.module or "").split(".")]).strip(".")
            if origin.split(".")[0] == OURS:
                yield from ((origin, alias.name) for alias in node.names)


@cache
def _home(origin: str, name: str | None) -> str:
    """Give the module where an imported name stands: a module of a package, or where the package has it from."""
    file = _file(origin)
    if name is None or file.name != "__init__.py":
        return origin
    if (file.parent / f"{name}.py").is_file() or (file.parent / name / "__init__.py").is_file():
        return f"{origin}.{name}"
    for node in ast.parse(file.read_bytes()).body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    base = origin.split(".")
                    start = base[: len(base) - node.level + 1] if node.level else []
                    return _home(".".join([*start, *(node.module or "").split(".")]).strip("."), alias.name)
    return origin


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


@cache
def file_digest(file: Path) -> str:
    """Give 12 hexadecimal digits over the tokens of a Python file."""
    return hashlib.sha256("\n".join(meaning(file.read_text(encoding="utf-8"))).encode()).hexdigest()[:12]


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
    for found in tokenize.generate_tokens(io.StringIO(source).readline):
        if _F_STRING_START is not None and found.type == _F_STRING_START:
            start = start if depth else found.start
            depth += 1
        elif _F_STRING_END is not None and found.type == _F_STRING_END:
            depth -= 1
            if not depth:
                yield token.STRING, _between(lines, start, found.end)
        elif not depth and found.type not in _LAYOUT:
            yield found.type, found.string


def _between(lines: list[str], start: tuple[int, int], end: tuple[int, int]) -> str:
    if start[0] == end[0]:
        return lines[start[0] - 1][start[1] : end[1]]
    inner = lines[start[0] : end[0] - 1]
    return "".join([lines[start[0] - 1][start[1] :], *inner, lines[end[0] - 1][: end[1]]])
