"""Digests of the project's files, which record the code that a computed result depends on.

A digest covers a package and all those that it may import, since a package imports from earlier ones only
(``tests/test_architecture.py``). Where a narrower digest pays, `sources_digest` follows the imports within one package.
"""

import ast
import hashlib
from collections.abc import Iterable
from functools import cache
from importlib.util import find_spec, resolve_name
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parents[1]
OURS = PACKAGE.name
EXTENSIONS = f"{OURS}_extensions_"
"""Prefix of the names of packages of extensions; the rest is a digest of their files."""

PACKAGES = (
    "core", "machine", "routing", "structure", "workload", "engine", "schedule", "analysis", "study", "table", "report",
    "artifact", "workflow", "commands",
)  # fmt: skip
"""The packages of the project; each imports from earlier ones only."""


@cache
def code_digest(package: str) -> str:
    """Return 12 hexadecimal digits over all files of a package and of those that it may import.

    Examples
    --------
    >>> code_digest("machine") != code_digest("routing")
    True
    """
    folders = [PACKAGE / name for name in PACKAGES[: PACKAGES.index(package) + 1]]
    files = (path for folder in folders for path in sorted(folder.rglob("*")) if "__pycache__" not in path.parts)
    return digest_of((str(file.relative_to(PACKAGE)), file.read_bytes()) for file in files if file.is_file())


def digest_of(parts: Iterable[tuple[str, bytes]]) -> str:
    """Return 12 hexadecimal digits over texts with their names."""
    digest = hashlib.sha256()
    for name, content in parts:
        digest.update(f"{name} {hashlib.sha256(content).hexdigest()};".encode())
    return digest.hexdigest()[:12]


@cache
def sources_digest(*modules: str) -> str:
    """Return 12 hexadecimal digits over modules and those of their packages that they import, directly or not."""
    sources = {name: text for module in modules for name, text in package_sources(module).items()}
    return digest_of((name, sources[name].encode()) for name in sorted(sources))


@cache
def package_sources(module: str) -> dict[str, str]:
    """Return the text of a module and of those of its package that it imports relatively, directly or not."""
    package = module.rpartition(".")[0]
    sources: dict[str, str] = {}
    left = [module]
    while left:
        name = left.pop()
        if name not in sources and name.startswith(f"{package}.") and (spec := _spec(name)) is not None:
            sources[name] = source_of(name)
            left += _relative_imports(sources[name], spec.parent)
    return sources


def source_of(module: str) -> str:
    """Return the text of a module; of an extension as it was imported, even if its file has changed."""
    text: str = _spec(module).loader.get_source(module)
    return text


def _spec(name: str) -> Any:
    try:
        return find_spec(name)
    except ModuleNotFoundError:  # a name in a module
        return None


def _relative_imports(text: str, package: str) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.level:
            origin = resolve_name("." * node.level + (node.module or ""), package)
            found += [origin, *(f"{origin}.{alias.name}" for alias in node.names)]
    return found


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
    if not extension_package(module):
        return ""
    sources = package_sources(module)
    loaders: list[Any] = [_spec(name).loader for name in sources]
    if all(loader.is_bundled for loader in loaders):
        return ""
    return digest_of((name.rpartition(".")[2], sources[name].encode()) for name in sorted(sources))
