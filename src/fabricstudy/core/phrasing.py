"""Phrases for counts, times and lists."""

from collections.abc import Iterable, Sequence
from typing import Any

_MOST_NAMES = 6


def count_noun(count: int, noun: str) -> str:
    """Return a count with its noun.

    Examples
    --------
    >>> count_noun(1, "seed"), count_noun(1962, "simulation")
    ('1 seed', '1,962 simulations')
    """
    return f"{count:,} {noun}{'s' * (count != 1)}"


def points_done(done: int, count: int) -> str:
    """Return the progress of a study as a phrase."""
    return f"{done} of {count} points done"


def cpu_time(cpu_s: float) -> str:
    """Return processor time in the unit that fits.

    Examples
    --------
    >>> cpu_time(0.03), cpu_time(87), cpu_time(4.5e6)
    ('0.03 CPU-seconds', '1.4 CPU-minutes', '1,250 CPU-hours')
    """
    unit, size = ("seconds", 1) if cpu_s < 60 else ("minutes", 60) if cpu_s < 3600 else ("hours", 3600)
    value = cpu_s / size
    return f"{f'{value:,.0f}' if value >= 10 else f'{value:.2g}'} CPU-{unit}"


def duration(seconds: float) -> str:
    """Return a time in the unit that fits.

    Examples
    --------
    >>> duration(0.4), duration(119), duration(150), duration(8 * 3600)
    ('0 s', '119 s', '2.5 min', '8.0 hours')
    """
    for unit, size in (("days", 86400.0), ("hours", 3600.0), ("min", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.{0 if seconds >= 10 * size else 1}f} {unit}"
    return f"{seconds:.0f} s"


_PREFIXED = {
    "nanosecond": ("ns", "us", "ms", "s"), "byte": ("B", "kB", "MB", "GB", "TB"),
    "byte/second": ("B/s", "kB/s", "MB/s", "GB/s", "TB/s"),
}  # fmt: skip


def quantity(value: float, unit: str, digits: int = 6) -> str:
    """Return a number of nanoseconds, bytes or bytes per second with the prefix that fits; of other units the number.

    Examples
    --------
    >>> quantity(64_000, "byte"), quantity(2.5e10, "byte/second"), quantity(1500, "nanosecond")
    ('64 kB', '25 GB/s', '1.5 us')
    """
    units = _PREFIXED.get(unit)
    if units is None:
        return f"{value:.{digits}g}"
    power = min(len(units) - 1, max(0, (len(f"{value:.0f}") - 1) // 3))
    return f"{value / 1000**power:.{digits}g} {units[power]}"


def join_words(parts: Sequence[Any]) -> str:
    """Join with commas and an "and".

    Examples
    --------
    >>> join_words(["a", "b", "c"]), join_words(["a"])
    ('a, b and c', 'a')
    """
    return " and ".join([", ".join(map(str, parts[:-1])), str(parts[-1])] if len(parts) > 1 else map(str, parts))


def named(labels: Sequence[str]) -> str:
    """Join the first labels of a list and count the rest.

    Examples
    --------
    >>> named(["a", "b"]), named(list("abcdefgh"))
    ('a and b', 'a, b, c, d, e, f and 2 more')
    """
    rest = len(labels) - _MOST_NAMES
    return join_words([*labels[:_MOST_NAMES], *[f"{rest} more"] * (rest > 0)])


def quoted(labels: Iterable[str]) -> str:
    """Return `named` of labels in quotation marks, for those with commas."""
    return named([f"\u201c{label}\u201d" for label in labels])
