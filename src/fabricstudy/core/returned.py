"""Checks of what a method of a kind returns: that of an extension may return anything."""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from fabricstudy.core.arrays import Array, Floats, Integers

from .errors import ConfigError, FabricstudyError, extension_location, first_line
from .kinds import Kind, kind_of

T = TypeVar("T")

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
