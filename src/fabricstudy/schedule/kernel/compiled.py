"""How the kernel is compiled, and what its modules share.

What numba has compiled it keeps for as long as the file of the function stays as it is; files of functions that are
called do not count. So it keeps what is ours in a folder whose name has a digest of all the sources.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba import cfunc, njit, types

from fabricstudy.core.source import extension_package

from ..order.base import Order

F = TypeVar("F", bound=Callable[..., Any])

FIRST, LAST, RUNNING, STAMP, SPANS = range(5)
"""Indices into `ScheduleState.counter`."""

GONE = -1
"""Stands in the queue where a job has left it."""

_FLOATS = types.Array(types.float64, 1, "C")
SCORE = types.void(types.float64, _FLOATS, _FLOATS, _FLOATS, _FLOATS)
"""Type of an order's `score`."""


def jit_inner(function: F) -> F:
    """Compile what only compiled code calls, and what makes no arrays: none of them are counted as used then."""
    options: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "_nrt": False}
    compiled: F = njit(**options)(function)
    return compiled


def jit_allocating(function: F) -> F:
    """Compile what only compiled code calls, and what may make arrays."""
    options: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    compiled: F = njit(**options)(function)
    return compiled


_SCHEDULE = Path(__file__).parents[1]
_config: Any = numba.config
SOURCES = (*_SCHEDULE.glob("kernel/*.py"), *_SCHEDULE.glob("order/*.py"), _SCHEDULE / "state.py")
"""All files whose code is compiled."""


def cache_folder(sources: Iterable[Path] = SOURCES) -> Path:
    """Return the folder of what is compiled of these sources: below that of numba's own, if it may write there."""
    digest = sha256(b"".join(path.read_bytes() for path in sorted(sources))).hexdigest()[:12]
    of_user = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "fabricstudy")
    usual = _SCHEDULE / "__pycache__" if os.access(_SCHEDULE, os.W_OK) else of_user
    return Path(_config.CACHE_DIR or usual, f"kernel-{digest}")


@contextmanager
def _caching() -> Iterator[None]:
    """Let numba keep the functions that are decorated meanwhile in our folder."""
    before, _config.CACHE_DIR = _config.CACHE_DIR, str(cache_folder())
    try:
        yield
    finally:
        _config.CACHE_DIR = before


def jit_cached(function: F) -> F:
    """Compile what Python calls, once for the sources as they are."""
    options: dict[str, Any] = {"cache": True}
    with _caching():
        compiled: F = njit(**options)(function)
    return compiled


@cache
def compiled_score(order: type[Order]) -> Any:
    """Compile the score of an order for the loops; that of an extension again in each process."""
    with _caching():
        return cfunc(SCORE, cache=not extension_package(order.__module__))(order.score)
