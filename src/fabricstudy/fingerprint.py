"""Digest of the code that decides what is simulated, so that a stored point of older code is not taken for new."""

from __future__ import annotations

import ast
import hashlib
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent


@cache
def source_digest(*names: str, without: str | None = None) -> str:
    """Give 12 hexadecimal digits over modules or packages of ours; comments, layout and docstrings do not count.

    Parameters
    ----------
    names : str
        Paths below the package.
    without : str, optional
        Name of files to leave out, such as those with words alone.

    Examples
    --------
    >>> source_digest("errors.py") == source_digest("errors.py") != source_digest("store.py")
    True
    >>> source_digest("study", without="engines.py") == source_digest("study")
    False
    """
    digest = hashlib.sha256()
    for name in names:
        path = PACKAGE / name
        files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
        for file in (file for file in files if file.name != without):
            digest.update(_meaning(file.read_text()).encode())
    return digest.hexdigest()[:12]


def _meaning(source: str) -> str:
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and _is_docstring(body[0]):
            body[0] = ast.Pass()
    return ast.dump(tree)


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
