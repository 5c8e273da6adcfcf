"""How the kernel is compiled, and what its modules share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

from numba import njit, types

F = TypeVar("F", bound=Callable[..., Any])

FIRST, LAST, RUNNING, STAMP, SPANS = range(5)
"""Places in `Task.counter`."""

GONE = -1
"""Stands in the queue where a job has left it."""

_FLOATS = types.Array(types.float64, 1, "C")
SCORE = types.void(types.float64, _FLOATS, _FLOATS, _FLOATS, _FLOATS)
"""Type of an order's `score`."""


def inner(function: F) -> F:
    """Compile what only compiled code calls, and what makes no arrays: none of them are counted as used then."""
    options: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "_nrt": False}
    compiled: F = njit(**options)(function)
    return compiled


def making(function: F) -> F:
    """Compile what only compiled code calls, and what may make arrays."""
    options: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    compiled: F = njit(**options)(function)
    return compiled


def digest_of(files: Iterable[Path]) -> int:
    """Give a number that changes with any of some files."""
    found = sha256()
    for path in sorted(files):
        found.update(path.read_bytes())
    return int.from_bytes(found.digest()[:7], "big")
