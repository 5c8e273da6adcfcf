"""Tables and numbers as text for the page."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from fabricstudy.core.phrasing import join_words
from fabricstudy.table.select import label_text


@dataclass(frozen=True)
class TextTable:
    """A table of text for the page; `numeric` columns stand to the right."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    numeric: frozenset[int] = frozenset()


NO_NUMBER = "\N{EN DASH}"
SummaryColumn = tuple[str, Callable[[pd.DataFrame], Any]]


def summarise(
    rows: pd.DataFrame, keys: Mapping[str, str], columns: Sequence[SummaryColumn], texts: int = 0
) -> TextTable:
    """Sum up the rows that have the same keys: one row of text for each group.

    Parameters
    ----------
    keys : mapping
        Columns of `rows`, and how the page calls them.
    columns : sequence of (str, function)
        What else the page has: its name, and what it says of the rows of a group.
    texts : int
        How many of the last columns are no numbers.

    Examples
    --------
    >>> rows = pd.DataFrame({"engine": ["sst", "sst"], "ratio": [1.25, 2.0]})
    >>> summarise(rows, {"engine": "engine"}, [("jobs", len), *min_median_max("ratio")]).rows
    [['sst', '2', '1.25', '1.625', '2']]
    """
    groups = rows.groupby(list(keys), sort=False)
    written = [[*map(str, key), *(str(says(part)) for _, says in columns)] for key, part in groups]
    head = (*keys.values(), *(name for name, _ in columns))
    return TextTable(head, written, frozenset(range(len(keys), len(head) - texts)))


def min_median_max(column: str, digits: int = 4) -> list[SummaryColumn]:
    """Return the columns of a summary with the least value of a column, its median and its largest one."""
    return [(name, reduced(column, how, digits)) for name, how in
            (("least", "min"), ("median", "median"), ("largest", "max"))]  # fmt: skip


def reduced(column: str, how: str, digits: int, factor: float = 1.0) -> Callable[[pd.DataFrame], str]:
    """Return what a summary says of a column: its median, least or largest value."""
    return lambda part: number(factor * part[column].agg(how), digits)


def seeds_of(part: pd.DataFrame) -> int:
    """Return how many seeds the rows of a group have."""
    return int(part["seed"].nunique())


def number(value: Any, digits: int = 4) -> str:
    """Write a number with a few significant digits; a missing one as a dash.

    Examples
    --------
    >>> number(1234.567), number(0.00012345), number(float("nan")), number(20592)
    ('1235', '0.0001234', '–', '20592')
    """
    if value is None or pd.isna(value):
        return NO_NUMBER
    if float(value).is_integer() and abs(value) < 1e9:
        return f"{int(value)}"
    return f"{float(value):.{digits}g}"


def format_number(value: Any, how: str | None) -> str:
    """Write a claim's number as it asks for.

    Examples
    --------
    >>> format_number(1.4391, "number"), format_number(-2, "number")
    ('1.439', '−2')
    >>> format_number(0.1234, "percent") == "12.3\N{NO-BREAK SPACE}%"
    True
    """
    if value is None or pd.isna(value):
        return "–"
    text = f"{round(100 * value, 1):g}\N{NO-BREAK SPACE}%" if how == "percent" else number(value)
    return text.replace("-", "\N{MINUS SIGN}")


def claimed(row: Mapping[Any, Any]) -> str:
    """Write the number of a part of a claim."""
    unreached = pd.isna(row["measured"]) and not pd.isna(row["low"])
    return "not reached" if unreached else format_number(row["measured"], row["show"])


class VaryingAxis(NamedTuple):
    """An axis that varies: its name, what it sets where its name does not say so, and its labels."""

    axis: str
    sets: str
    labels: list[str]


def varying_axes(frame: pd.DataFrame, axes: Iterable[str], meanings: Mapping[str, str]) -> list[VaryingAxis]:
    """Return those of the axes that have several labels in these rows.

    Examples
    --------
    >>> varying_axes(pd.DataFrame({"alpha": [1, 2]}), ["alpha"], {"alpha": "machine.bandwidth.global"})
    [Varied(axis='alpha', sets='machine.bandwidth.global', labels=['1', '2'])]
    """
    return [
        VaryingAxis(axis, meanings.get(axis, ""), [label_text(label) for label in frame[axis].unique()])
        for axis in axes
        if frame[axis].nunique() > 1
    ]


_MOST_NAMES = 6


def named(labels: Sequence[str]) -> str:
    """Return the first labels of a list, and how many there are more.

    Examples
    --------
    >>> named(["a", "b"]), named(list("abcdefgh"))
    ('a and b', 'a, b, c, d, e, f and 2 more')
    """
    rest = len(labels) - _MOST_NAMES
    return join_words([*labels[:_MOST_NAMES], *[f"{rest} more"] * (rest > 0)])


def pair_count_text(pairs: int, asked: int) -> str:
    """Count the comparisons made, and those asked for where some have no partner.

    Examples
    --------
    >>> pair_count_text(3, 3), pair_count_text(2, 3), pair_count_text(1, 1)
    ('3 pairs', '2 of 3 pairs', '1 pair')
    """
    return f"{pairs} pair{'s' * (asked != 1)}" if pairs == asked else f"{pairs} of {asked} pairs"


def range_text(low: Any, high: Any, how: str | None) -> str:
    """Write a closed range, of which an end may be open.

    Examples
    --------
    >>> range_text(1.2, 1.7, "number"), range_text(1, None, "number"), range_text(0, 0, "number")
    ('1.2 to 1.7', 'at least 1', 'exactly 0')
    """
    no_low, no_high = pd.isna(low), pd.isna(high)
    if no_low and no_high:
        return "–"
    if no_low or no_high:
        return f"at most {format_number(high, how)}" if no_low else f"at least {format_number(low, how)}"
    return (
        f"exactly {format_number(low, how)}"
        if low == high
        else f"{format_number(low, how)} to {format_number(high, how)}"
    )
