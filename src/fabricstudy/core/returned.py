"""Checks of what a method of a kind returns: that of an extension may return anything."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from fabricstudy.core.arrays import Array, Floats, Integers

from .errors import ConfigError, FabricstudyError, extension_location, first_line
from .kinds import Kind, kind_of
from .source import extension_package

T = TypeVar("T")

METHOD_S = 600.0
"""Time within which a method of an extension has to return."""

END_OF_INDEX = 2**31


@dataclass(frozen=True)
class Returned:
    """Checks of what `method` of a kind returns; each raises ConfigError."""

    kind: Kind
    method: str

    def error(self, problem: str) -> ConfigError:
        """Return the error for a problem, with the place to correct."""
        name = f"the method {self.method} of the {self.kind.FAMILY.noun} {kind_of(type(self.kind))}"
        return ConfigError(f"{name} {problem}", "correct this method", code="extension")

    @contextmanager
    def time_limit(self) -> Iterator[None]:
        """Raise ConfigError if a method of an extension does not return; in the main thread alone."""
        in_main = threading.current_thread() is threading.main_thread()
        if not in_main or not extension_package(type(self.kind).__module__):
            yield
            return

        def stop(*_: object) -> None:
            raise self.error(f"has not returned within {METHOD_S:g} s")

        before = signal.signal(signal.SIGALRM, stop)
        # Repeated: the method may catch the first one.
        signal.setitimer(signal.ITIMER_REAL, METHOD_S, 1.0)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def instance(self, value: object, expected: type[T]) -> T:
        """Return a value of the expected type."""
        if not isinstance(value, expected):
            raise self.error(f"returns {type(value).__name__} instead of {expected.__name__}")
        return value

    def integers(
        self, value: object, name: str, rows: int | None = None, end: int = END_OF_INDEX, least: int = 0
    ) -> Integers:
        """Return integers from `least` below `end`, int32 or int64 [rows]."""
        array = self._array(value, name, "iu", "integers", rows)
        if array.size and (array.min() < least or array.max() >= end):
            raise self.error(f"returns {name} outside {least} to {end - 1:,}")
        narrow: Integers = array if array.dtype in (np.int32, np.int64) else array.astype(np.int64)
        return narrow

    def floats(self, value: object, name: str, rows: int | None = None) -> Floats:
        """Return finite numbers that are not negative, float64 [rows]."""
        array = self._array(value, name, "iuf", "numbers", rows)
        if not (np.isfinite(array).all() and (array >= 0).all()):
            raise self.error(f"returns {name} that are negative or no numbers")
        return array.astype(np.float64, copy=False)

    def distinct(self, value: object, name: str, rows: int | None = None, end: int = END_OF_INDEX) -> Integers:
        """Return integers as `integers` does, each once."""
        array = self.integers(value, name, rows, end)
        if len(np.unique(array)) < len(array):
            raise self.error(f"returns some {name} twice")
        return array

    def _array(self, value: object, name: str, kinds: str, noun: str, rows: int | None) -> Array:
        try:
            array = np.asarray(value)
        except ValueError:
            raise self.error(f"returns {name} that are no array") from None
        if array.ndim != 1:
            raise self.error(f"returns {name} of {array.ndim} dimensions instead of 1")
        if array.dtype.kind not in kinds and array.size:
            raise self.error(f"returns {name} of type {array.dtype} instead of {noun}")
        if rows is not None and len(array) != rows:
            raise self.error(f"returns {len(array):,} {name} instead of {rows:,}")
        return array if array.size else np.zeros(0, dtype=np.int64)


def extension_reason(error: BaseException) -> str | None:
    """Return the reason why an extension failed, with file and line; None for any other error."""
    if isinstance(error, FabricstudyError):
        return str(error) if error.code == "extension" else None
    return None if extension_location(error) is None else str(ConfigError.of_extension(error))


def failure_reason(error: BaseException, details: str) -> str:
    """Return the reason why a point failed; `details` says where to read more on an error that no extension made.

    Raises the error itself if it is no property of the point: of the system, such as a full disk, or a signal.
    """
    reason = extension_reason(error)
    if reason is None and isinstance(error, OSError | SystemExit):
        raise error
    return reason or f"{first_line(error)}; see {details}"
