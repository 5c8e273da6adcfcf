"""Tables and numbers as text for the page."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from fabricstudy.core.phrasing import count_noun
from fabricstudy.table.select import label_text


@dataclass(frozen=True)
class TextTable:
    """A table of text; `numeric` columns are right-aligned."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    numeric: frozenset[int] = frozenset()


NO_NUMBER = "\N{EN DASH}"
_RANGES = {"source": "source", "accepted": "accept"}
SummaryColumn = tuple[str, Callable[[pd.DataFrame], Any]]


def summarise(
    rows: pd.DataFrame, keys: Mapping[str, str], columns: Sequence[SummaryColumn], texts: int = 0
) -> TextTable:
    """Summarise the rows with equal keys: one row of text for each group.

    `keys` are columns of `rows` and their headings; `columns` are the heading of each further column and its value for
    the rows of a group. The last columns, as many as `texts`, are not numeric.

    Examples
    --------
    >>> rows = pd.DataFrame({"engine": ["sst", "sst"], "ratio": [1.25, 2.0]})
    >>> summarise(rows, {"engine": "engine"}, [("jobs", len), *min_median_max("ratio")]).rows
    [['sst', '2', '1.25', '1.625', '2']]
    """
    groups = rows.groupby(list(keys), sort=False, dropna=False)
    written = [[*map(label_text, key), *(str(value(part)) for _, value in columns)] for key, part in groups]
    head = (*keys.values(), *(name for name, _ in columns))
    return TextTable(head, written, frozenset(range(len(keys), len(head) - texts)))


def frame_table(frame: pd.DataFrame, axes: Sequence[str], columns: Sequence[str]) -> TextTable:
    """Return the labels on axes and the values of further columns of a frame as text."""
    rows = [
        [
            *(label_text(row[axis]) for axis in axes),
            *(row[name] if isinstance(row[name], str) else number(row[name]) for name in columns),
        ]
        for row in frame.to_dict("records")
    ]
    head = (*axes, *(name.replace("_ns", " (ns)").replace("_", " ") for name in columns))
    texts = {index for index, name in enumerate(columns, len(axes)) if frame.dtypes.get(name) in ("str", object)}
    return TextTable(head, rows, frozenset(range(len(axes), len(head))) - texts)


def min_median_max(column: str, digits: int = 4) -> list[SummaryColumn]:
    """Return the columns min, median and max of a summary."""
    return [(how, reduced(column, how, digits)) for how in ("min", "median", "max")]


def reduced(column: str, how: str, digits: int, factor: float = 1.0) -> Callable[[pd.DataFrame], str]:
    """Return a function that writes a statistic of a column."""
    return lambda part: number(factor * part[column].agg(how), digits)


def seeds_of(part: pd.DataFrame) -> int:
    """Return the number of seeds of the rows."""
    return int(part["seed"].nunique())


def number(value: Any, digits: int = 4) -> str:
    """Write a number with a few significant digits, a missing one as a dash.

    Examples
    --------
    >>> number(1234.567), number(0.00012345), number(float("nan")), number(20592), number(21741.2, 3)
    ('1235', '0.0001234', '–', '20592', '21700')
    """
    if value is None or pd.isna(value):
        return NO_NUMBER
    if float(value).is_integer() and abs(value) < 1e9:
        return f"{int(value)}"
    text = f"{float(value):.{digits}g}"
    return f"{float(text):.0f}" if "e+" in text and abs(value) < 1e9 else text


def format_number(value: Any, how: str | None) -> str:
    """Write the number of a claim as a number or in percent.

    Examples
    --------
    >>> format_number(1.4391, "number"), format_number(-2, "number")
    ('1.439', '−2')
    >>> format_number(0.1234, "percent") == "12.3\N{NO-BREAK SPACE}%"
    True
    """
    if value is None or pd.isna(value):
        return NO_NUMBER
    text = f"{round(100 * value, 1):g}\N{NO-BREAK SPACE}%" if how == "percent" else number(value)
    return text.replace("-", "\N{MINUS SIGN}")


def claim_numbers(row: Mapping[Any, Any]) -> dict[str, str]:
    """Write the numbers of a part of a claim: stated by the source, accepted and measured."""
    unreached = pd.isna(row["measured"]) and not pd.isna(row["low"])
    ranges = {key: range_text(row[f"{end}_low"], row[f"{end}_high"], row["show"]) for key, end in _RANGES.items()}
    return {**ranges, "measured": "not reached" if unreached else format_number(row["measured"], row["show"])}


class VaryingAxis(NamedTuple):
    """An axis that varies, the key that it sets if the name differs, and its labels."""

    axis: str
    sets: str
    labels: list[str]


def varying_axes(frame: pd.DataFrame, axes: Iterable[str], meanings: Mapping[str, str]) -> list[VaryingAxis]:
    """Return the axes with several labels in these rows.

    Examples
    --------
    >>> varying_axes(pd.DataFrame({"alpha": [1, 2]}), ["alpha"], {"alpha": "machine.bandwidth.global"})
    [VaryingAxis(axis='alpha', sets='machine.bandwidth.global', labels=['1', '2'])]
    """
    return [
        VaryingAxis(axis, meanings.get(axis, ""), [label_text(label) for label in frame[axis].unique()])
        for axis in axes
        if frame[axis].nunique() > 1
    ]


def comparison_count_text(made: int, planned: int) -> str:
    """Count the comparisons made, of those planned if some are missing.

    Examples
    --------
    >>> comparison_count_text(3, 3), comparison_count_text(2, 3), comparison_count_text(1, 1)
    ('3 comparisons', '2 of 3 comparisons', '1 comparison')
    """
    return count_noun(made, "comparison") if made == planned else f"{made} of {planned} comparisons"


def range_text(low: Any, high: Any, how: str | None) -> str:
    """Write a range, of which an end may be open.

    Examples
    --------
    >>> range_text(1.2, 1.7, "number"), range_text(1, None, "number"), range_text(0, 0, "number")
    ('1.2 to 1.7', 'at least 1', 'exactly 0')
    """
    least, most = format_number(low, how), format_number(high, how)
    if pd.isna(low):
        return NO_NUMBER if pd.isna(high) else f"at most {most}"
    if pd.isna(high):
        return f"at least {least}"
    return f"exactly {least}" if low == high else f"{least} to {most}"
