"""Compilation of the kernel, and constants of its modules.

numba caches a compiled function until its own file changes, even if a function that it calls has changed. Therefore the
cache is in a folder named by a digest of all sources.
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
from numba.core.errors import NumbaError

from fabricstudy.core.errors import ConfigError, first_line
from fabricstudy.core.kinds import kind_of
from fabricstudy.core.source import extension_package

from ..order.base import Order

F = TypeVar("F", bound=Callable[..., Any])

FIRST, LAST, RUNNING, STAMP, SPANS = range(5)
"""Indices into `ScheduleState.counter`."""

_FLOATS = types.Array(types.float64, 1, "C")
SCORE = types.void(types.float64, _FLOATS, _FLOATS, _FLOATS, _FLOATS)
"""Type of an order's `score`."""


_config: Any = numba.config
_njit: Any = njit
_options: Any = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}

jit_allocating: Callable[[F], F] = _njit(**_options)
"""Compile a function that only compiled code calls."""

jit_inner: Callable[[F], F] = _njit(**_options, _nrt=False)
"""Compile a function that only compiled code calls, and that allocates no arrays, without counting references."""

_SCHEDULE = Path(__file__).parents[1]
SOURCES = (*_SCHEDULE.glob("kernel/*.py"), *_SCHEDULE.glob("order/*.py"), _SCHEDULE / "state.py")
"""All files with compiled code."""


def cache_folder(sources: Iterable[Path] = SOURCES) -> Path:
    """Return the cache folder of these sources: below numba's, this package's or, where read-only, the user's."""
    digest = sha256(b"".join(path.read_bytes() for path in sorted(sources))).hexdigest()[:12]
    of_user = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "fabricstudy")
    usual = _SCHEDULE / "__pycache__" if os.access(_SCHEDULE, os.W_OK) else of_user
    return Path(_config.CACHE_DIR or usual, f"kernel-{digest}")


@contextmanager
def _caching() -> Iterator[None]:
    """Cache the functions that are decorated within this context in `cache_folder`."""
    before, _config.CACHE_DIR = _config.CACHE_DIR, str(cache_folder())
    try:
        yield
    finally:
        _config.CACHE_DIR = before


def jit_cached(function: F) -> F:
    """Compile a function that Python calls, once for these sources."""
    with _caching():
        compiled: F = _njit(cache=True)(function)
    return compiled


@cache
def compiled_score(order: type[Order]) -> Any:
    """Compile the score of an order for the event loop; that of an extension in each process."""
    own = extension_package(order.__module__)
    try:
        with _caching():
            return cfunc(SCORE, cache=not own)(order.score)
    except NumbaError as error:
        if not own:
            raise
        problem = f"score of the order {kind_of(order)} cannot be compiled by numba: {first_line(error)}"
        raise ConfigError(problem, "use what numba supports", code="extension") from None
