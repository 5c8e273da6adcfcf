"""Digest of the code that decides what is simulated, so that a stored point of older code is not taken for new."""

from __future__ import annotations

import ast
import hashlib
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent


@cache
def source_digest(*names: str) -> str:
    """Give 12 hexadecimal digits over modules or packages of ours; comments, layout and docstrings do not count.

    Examples
    --------
    >>> source_digest("errors.py") == source_digest("errors.py") != source_digest("store.py")
    True
    """
    digest = hashlib.sha256()
    for name in names:
        path = PACKAGE / name
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
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
