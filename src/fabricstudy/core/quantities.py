"""Quantities: text with a unit in a study, plain numbers in SI-based units inside."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationInfo, WithJsonSchema

from fabricstudy.core.model import ConfigError

# Validation context of plans and records, where numbers have no units.
BASE_UNITS_CONTEXT = {"our_units": True}

_PREFIXES = {
    "": "1",
    "pico p": "1e-12",
    "nano n": "1e-9",
    "micro u µ μ": "1e-6",
    "milli m": "1e-3",
    "kilo k": "1e3",
    "mega M": "1e6",
    "giga G": "1e9",
    "tera T": "1e12",
    "peta P": "1e15",
    "kibi Ki": "1024",
    "mebi Mi": "1048576",
    "gibi Gi": "1073741824",
    "tebi Ti": "1099511627776",
}
# In seconds, bits and floating-point operations.
_UNITS = {
    "time": {"second seconds s": 1, "minute minutes min mins": 60, "hour hours h": 3600, "day days d": 86400},
    "information": {"bit bits b": 1, "byte bytes B": 8},
    "work": {"FLOP flop": 1},
}
_SCALES = {
    prefix + unit: (dimension, Decimal(multiple) * size)
    for dimension, sizes in _UNITS.items()
    for units, size in sizes.items()
    for unit in units.split()
    for prefixes, multiple in _PREFIXES.items()
    for prefix in prefixes.split() or [""]
}
"""The dimension and size of each unit, by all its names; loading Pint takes longer than reading most studies."""

_TEXT = re.compile(r"([-+]?[0-9.]+(?:[eE][-+]?[0-9]{1,3})?)\s*([A-Za-zµμ]+(?:\s*/\s*[A-Za-zµμ]+)?)")


@lru_cache(maxsize=1024)
def _factor(text: str, unit: str) -> Decimal:
    """Return the size of a unit in `unit`. Raises an error for an unknown unit or another dimension."""
    parts, wanted = ([_SCALES[name.strip()] for name in units.split("/")] for units in (text, unit))
    if [dimension for dimension, _ in parts] != [dimension for dimension, _ in wanted]:
        raise ValueError(text)
    (size, *over), (unit_size, *unit_over) = ([size for _, size in scales] for scales in (parts, wanted))
    return size / unit_size * math.prod(unit_over) / math.prod(over)


@lru_cache(maxsize=65536)
def to_unit(text: str, unit: str, example: str) -> float:
    """Return the magnitude in `unit` of a quantity such as ``"1 GB/s"``.

    The decimal digits are scaled exactly, so that equal quantities yield equal numbers however they are written.

    Raises ConfigError if `text` names no unit, an unknown one, or one of another dimension.

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
    except (ValueError, KeyError, ArithmeticError):  # those of decimal are ArithmeticErrors
        problem = "not a quantity with the right unit"
        raise ConfigError(problem, f"write it like '{example}'", value=text, code="invalid-quantity") from None


_PLAIN_UNITS = {"time": "s", "information": "B", "work": "FLOP"}


def label_number(label: object) -> float:
    """Return the number that a label of an axis states, in bytes, seconds, FLOP or a ratio of two; NaN for words.

    Examples
    --------
    >>> [label_number(label) for label in ("16 kB", "8 Gb/s", "1.5", 2, "absolute")]
    [16000.0, 1000000000.0, 1.5, 2.0, nan]
    """
    try:
        unit = _plain_unit(label)
        return to_unit(str(label), unit, "16 kB") if unit else float(str(label))
    except (ValueError, KeyError):
        return math.nan


def _plain_unit(label: object) -> str:
    """Return the unit of `label_number`, empty for a label without one. Raises KeyError for an unknown unit."""
    match = _TEXT.fullmatch(str(label))
    return "/".join(_PLAIN_UNITS[_SCALES[name.strip()][0]] for name in match[2].split("/")) if match else ""


def label_numbers(labels: Iterable[object]) -> list[float] | None:
    """Return the numbers that distinct labels state, None unless these are distinct and of one dimension.

    Examples
    --------
    >>> label_numbers(["2 kB", "1 MB"]), label_numbers(["2 kB", "1 us"]), label_numbers(["1 kB", "1000 B"])
    ([2000.0, 1000000.0], None, None)
    """
    known = list(labels)
    numbers = [label_number(label) for label in known]
    if not all(map(math.isfinite, numbers)) or len(set(numbers)) < len(known) or len(set(map(_plain_unit, known))) > 1:
        return None
    return numbers


def has_base_units(context: dict[str, Any] | None) -> bool:
    """Return whether a validation context is `BASE_UNITS_CONTEXT`."""
    return context is not None and bool(context.get("our_units"))


@dataclass(frozen=True)
class Unit:
    """The unit of a quantity inside, for the reference."""

    name: str
    example: str


@dataclass(frozen=True)
class QuantityRange:
    """The range of a quantity, whose ends are text."""

    least: str
    most: str
    unit: str

    def check(self, magnitude: float) -> None:
        """Raise ConfigError for a magnitude outside."""
        least, most = (to_unit(bound, self.unit, bound) for bound in (self.least, self.most))
        if not least <= magnitude <= most:
            raise ConfigError("out of range", f"use {self}", code="out-of-range")

    def __str__(self) -> str:
        return f"{self.least} to {self.most}"


def _reader(limits: QuantityRange, example: str, whole: bool) -> Any:
    def read(value: object, info: ValidationInfo) -> object:
        if has_base_units(info.context):
            return value
        if value is None:
            raise ConfigError("no value", f"write it like '{example}'", code="missing-key")
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise ConfigError("not a quantity", f"write it like '{example}'", code="invalid-quantity")
        if isinstance(value, int | float):
            raise ConfigError("a number without a unit", f"write it like '{example}'", code="invalid-quantity")
        magnitude = to_unit(value.strip(), limits.unit, example)
        limits.check(magnitude)
        if whole and not magnitude.is_integer():
            remedy = f"use {math.floor(magnitude)} B or {math.ceil(magnitude)} B"
            raise ConfigError(f"{magnitude:.15g} bytes, not a whole number", remedy, code="wrong-type")
        return int(magnitude) if whole else magnitude

    return read


def _quantity(kind: type, limits: QuantityRange, example: str, **bounds: float) -> Any:
    return Annotated[
        kind,
        Field(allow_inf_nan=False, **bounds) if kind is float else Field(**bounds),  # type: ignore[call-overload]
        BeforeValidator(_reader(limits, example, kind is int)),
        WithJsonSchema({"type": "string", "examples": [example]}),
        Unit(limits.unit, example),
    ]


NS_PER_S = 1e9
HOUR_S, DAY_S = 3600.0, 86400.0

# Ranges are far wider than anything built: they catch typing errors, and what no engine can count.
BANDWIDTHS = QuantityRange("1 kB/s", "100 TB/s", "byte/second")
"""From a modem to a hundred times a link of 2026 (800 Gb/s)."""

LATENCIES = QuantityRange("0 s", "1 s", "nanosecond")
"""Up to that of a satellite link, twice; 0 leaves a cable out."""

DURATIONS = QuantityRange("1 ms", "10000 h", "second")
"""Of simulations: from the start of a process to a year."""

SIZES = QuantityRange("1 B", "4194304 TiB", "byte")
"""Up to 2^62, which 64 bits hold."""

MEMORIES = QuantityRange("1 MB", "4194304 TiB", "byte")
"""From that of an idle process."""

Bandwidth = _quantity(float, BANDWIDTHS, "1 GB/s", gt=0)
ComputeRate = _quantity(float, QuantityRange("1 MFLOP/s", "1000 PFLOP/s", "FLOP/second"), "400 TFLOP/s", gt=0)
"""From a microcontroller to a thousand times an accelerator of 2026."""
Latency = _quantity(float, LATENCIES, "40 ns", ge=0)
Computation = _quantity(float, QuantityRange("1 ns", "1 h", "nanosecond"), "20 us", gt=0)
"""From a few instructions to the longest step of an application."""
Start = _quantity(float, QuantityRange("0 s", "1 h", "nanosecond"), "50 us", ge=0)
"""Of jobs, from the start of the simulation."""
Duration = _quantity(float, DURATIONS, "10 min", gt=0)
Moment = _quantity(float, QuantityRange("0 s", "100000 days", "second"), "14 days", ge=0)
Span = _quantity(float, QuantityRange("1 ms", "100000 days", "second"), "14 days", gt=0)
"""A moment of a log, or a simulated time, of up to three centuries."""
Size = _quantity(int, SIZES, "100 kB", gt=0, le=2**62)
MessageSize = _quantity(int, QuantityRange("0 B", SIZES.most, "byte"), "8 B", ge=0, le=2**62)
"""Of a message, which may consist of its header alone."""
Memory = _quantity(int, MEMORIES, "2 GB", gt=0, le=2**62)
