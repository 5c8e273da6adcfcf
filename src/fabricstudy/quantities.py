"""Quantities as text at the boundary, plain numbers in SI-based units inside."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationInfo, WithJsonSchema

from fabricstudy.model import ConfigError

# Validation context under which numbers are taken as they are: for what we wrote ourselves.
OUR_UNITS = {"our_units": True}

# A library for units takes half a second to load, in each of our processes, and knows units that mislead here (its b is
# a barn).
_PREFIXES = {
    "": "1", "p": "1e-12", "n": "1e-9", "u": "1e-6", "µ": "1e-6", "μ": "1e-6", "m": "1e-3", "k": "1e3", "M": "1e6",
    "G": "1e9", "T": "1e12", "Ki": "1024", "Mi": "1048576", "Gi": "1073741824", "Ti": "1099511627776", "pico": "1e-12",
    "nano": "1e-9", "micro": "1e-6", "milli": "1e-3", "kilo": "1e3", "mega": "1e6", "giga": "1e9", "tera": "1e12",
    "kibi": "1024", "mebi": "1048576", "gibi": "1073741824", "tebi": "1099511627776",
}  # fmt: skip
_TIME, _DATA = "time", "data"
_UNITS = {
    "s": (_TIME, "1"), "second": (_TIME, "1"), "min": (_TIME, "60"), "minute": (_TIME, "60"), "h": (_TIME, "3600"),
    "hour": (_TIME, "3600"), "d": (_TIME, "86400"), "day": (_TIME, "86400"), "b": (_DATA, "1"), "bit": (_DATA, "1"),
    "B": (_DATA, "8"), "byte": (_DATA, "8"),
}  # fmt: skip
_TEXT = re.compile(r"([-+]?[0-9.]+(?:[eE][-+]?[0-9]{1,3})?)\s*([A-Za-zµμ]+(?:\s*/\s*[A-Za-zµμ]+)?)")


def _words() -> dict[str, tuple[str, Decimal]]:
    """Each word for a unit, with its dimension and how many seconds or bits it is; a unit alone wins over a prefix."""
    found: dict[str, tuple[str, Decimal]] = {}
    for prefix, times in _PREFIXES.items():
        for unit, (dimension, size) in _UNITS.items():
            for word in (f"{prefix}{unit}", *([f"{prefix}{unit}s"] if len(unit) > 1 else [])):
                found.setdefault(word, (dimension, Decimal(times) * Decimal(size)))
    return found


_WORDS = _words()


@lru_cache(maxsize=1024)
def _size(text: str) -> tuple[tuple[str, ...], Decimal]:
    """Give the dimensions of a unit, as (data, time) for a bandwidth, and its size in bits and seconds."""
    found = [_WORDS[word.strip()] for word in text.split("/")]
    return tuple(dimension for dimension, _ in found), found[0][1] / (found[1][1] if found[1:] else 1)


def _factor(text: str, unit: str) -> Decimal:
    (dimensions, size), (wanted, own) = _size(text), _size(unit)
    if dimensions != wanted:
        raise ValueError(text)
    return size / own


@lru_cache(maxsize=65536)
def to_unit(text: str, unit: str, example: str) -> float:
    """Read a quantity such as ``"1 GB/s"`` and give its magnitude in `unit`.

    The decimal digits are scaled exactly, so that equal quantities give equal numbers however they are written.

    Raises
    ------
    ConfigError
        If `text` names no unit, an unknown one, or one of another dimension.

    Examples
    --------
    >>> to_unit("1 GB/s", "byte/second", "1 GB/s")
    1000000000.0
    >>> to_unit("8 Gb/s", "byte/second", "1 GB/s") == to_unit("1000 MB/s", "byte/second", "1 GB/s")
    True
    """
    match = _TEXT.fullmatch(text)
    try:
        if match is None:
            raise ValueError(text)
        return float(Decimal(match[1]) * _factor(match[2], unit))
    except (KeyError, ValueError, ArithmeticError):
        problem = "not a quantity with the right unit"
        raise ConfigError(problem, f"write it like '{example}'", value=text, code="not-a-quantity") from None


def is_ours(context: dict[str, Any] | None) -> bool:
    """Tell whether a validation context is `OUR_UNITS`."""
    return context is not None and bool(context.get("our_units"))


@dataclass(frozen=True)
class Unit:
    """The unit of a quantity inside, for the documentation of keys."""

    name: str
    example: str


@dataclass(frozen=True)
class Range:
    """What a quantity may be, as text, with the magnitudes inside."""

    least: str
    most: str
    unit: str

    def check(self, magnitude: float) -> None:
        """Refuse what lies outside.

        Raises
        ------
        ConfigError
            If it does.
        """
        least, most = (to_unit(bound, self.unit, bound) for bound in (self.least, self.most))
        if not least <= magnitude <= most:
            raise ConfigError("out of range", f"take {self}", code="out-of-range")

    def __str__(self) -> str:
        return f"{self.least} to {self.most}"


def _reader(limits: Range, example: str, whole: bool) -> Any:
    def read(value: object, info: ValidationInfo) -> object:
        if is_ours(info.context):
            return value
        if value is None:
            raise ConfigError("no value", f"write it like '{example}'", code="no-value")
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise ConfigError("not a quantity", f"write it like '{example}'", code="not-a-quantity")
        if isinstance(value, int | float):
            raise ConfigError("a number without a unit", f"write it like '{example}'", code="no-unit")
        magnitude = to_unit(value.strip(), limits.unit, example)
        if whole and not magnitude.is_integer():
            return magnitude  # refused for that
        limits.check(magnitude)
        return int(magnitude) if whole else magnitude

    return read


def _quantity(kind: type, limits: Range, example: str, **bounds: float) -> Any:
    schema = {"type": "string", "examples": [example]}
    return Annotated[
        kind,
        Field(allow_inf_nan=False, **bounds) if kind is float else Field(**bounds),  # type: ignore[call-overload]
        BeforeValidator(_reader(limits, example, kind is int)),
        WithJsonSchema(schema),
        Unit(limits.unit, example),
    ]


# Ranges are far wider than what was ever built: they catch slips of the pen, and what no engine can count.
BANDWIDTHS = Range("1 kB/s", "100 TB/s", "byte/second")
"""From a modem to a hundred times a link of 2026 (800 Gb/s)."""

LATENCIES = Range("0 s", "1 s", "nanosecond")
"""Up to that of a link to a satellite and back, twice; 0 is a cable that is left out."""

DURATIONS = Range("1 ms", "10000 h", "second")
"""A process cannot start in less, and no cluster lends a core for more than a year."""

MOMENTS = Range("0 s", "100000 days", "second")
"""From the start of a log to three centuries later."""

SPANS = Range("1 ms", "100000 days", "second")
"""What is simulated may take longer than what simulates it."""

SIZES = Range("1 B", "4194304 TiB", "byte")
"""What 63 bits hold, with one to spare."""

MEMORIES = Range("1 MB", "4194304 TiB", "byte")
"""A process that does nothing takes a megabyte."""

Bandwidth = _quantity(float, BANDWIDTHS, "1 GB/s", gt=0)
Latency = _quantity(float, LATENCIES, "40 ns", ge=0)
Duration = _quantity(float, DURATIONS, "10 min", gt=0)
Moment = _quantity(float, MOMENTS, "14 days", ge=0)
Span = _quantity(float, SPANS, "14 days", gt=0)
Size = _quantity(int, SIZES, "100 kB", gt=0, le=2**62)
Memory = _quantity(int, MEMORIES, "2 GB", gt=0, le=2**62)
