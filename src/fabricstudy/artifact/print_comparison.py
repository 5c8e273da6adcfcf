"""Print a comparison as text."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from .compare import FLOAT_TOLERANCE

MAX_PRINTED_LINES = 20
"""Maximum number of printed entries of a list; all are in ``--json`` and ``--csv``."""

Plain = Mapping[str, Any]


def print_comparison(comparison: Plain, console: Console) -> None:
    """Print the result of `Comparison.to_json`: engines, tables, values that differ, verdicts, and the conclusion."""
    console.print(f"old: {escape(comparison['old'])}\nnew: {escape(comparison['new'])}", soft_wrap=True)
    for engine, versions in comparison["engines"].items():
        old, new = escape(versions["old"]), escape(versions["new"])
        allowed = f"{old} and {new}, so numbers may differ by {100 * comparison['tolerance']:g} %"
        equal = f"{old} in both, so numbers must be equal (to {FLOAT_TOLERANCE:g} of their size)"
        console.print(f"engine {engine}: {equal if old == new else allowed}", soft_wrap=True)
    console.print(_overview(comparison["tables"]))
    for name, table in comparison["tables"].items():
        _list(console, f"{name}: rows only in the old run", table["missing"])
        _list(console, f"{name}: rows only in the new run", table["extra"])
    _list(console, "values that do not agree, the largest differences first", _differing(comparison["tables"]))
    if comparison["verdicts"]:
        table = Table("claim", "old verdict", "new verdict", box=None)
        for row in comparison["verdicts"]:
            style = "bold red" if row["old"] != row["new"] else None
            table.add_row(*(escape(_text(row[name])) for name in ("claim", "old", "new")), style=style)
        console.print(table)
    console.print(_conclusion(comparison), soft_wrap=True)


def _overview(tables: Mapping[str, Plain]) -> Table:
    overview = Table(box=None)
    for name in ("table", "rows", "values", "equal", "within tolerance", "different", "missing", "extra", "largest"):
        overview.add_column(name, justify="left" if name == "table" else "right")
    for name, table in tables.items():
        counts = [table[key] for key in ("rows", "values", "equal", "within")]
        counts += [len(table[key]) for key in ("differing", "missing", "extra")]
        style = None if table["agrees"] else "bold red"
        overview.add_row(name, *map(str, counts), percent(table["largest"]), style=style)
    return overview


def percent(difference: float | None) -> str:
    """Write a relative difference.

    Examples
    --------
    >>> percent(0.0), percent(0.0123), percent(None), percent(float("nan"))
    ('0', '1.2 %', 'no number', 'no number')
    """
    if difference is None or math.isnan(difference):
        return "no number"
    return f"{100 * difference:.2g} %" if difference else "0"


def _list(console: Console, title: str, entries: Sequence[str]) -> None:
    if not entries:
        return
    console.print(f"\n{title} ({len(entries)})", style="bold")
    for entry in entries[:MAX_PRINTED_LINES]:
        console.print(f"  {escape(entry)}", soft_wrap=True)
    if len(entries) > MAX_PRINTED_LINES:
        console.print(f"  and {len(entries) - MAX_PRINTED_LINES} more; --json and --csv have all")


def _differing(tables: Mapping[str, Plain]) -> list[str]:
    values = [{**value, "table": name} for name, table in tables.items() for value in table["differing"]]
    values.sort(key=lambda value: math.inf if value["difference"] is None else value["difference"], reverse=True)
    return [f"{value['table']}.{value['column']} at {value['row']}: {_change(value)}" for value in values]


def _change(value: Plain) -> str:
    change = f"{_text(value['old'])} -> {_text(value['new'])}"
    if value["difference"] is None:
        return change
    allowed = f", allowed {percent(value['allowed'])}" if value["allowed"] > FLOAT_TOLERANCE else ""
    return f"{change} ({percent(value['difference'])}{allowed})"


def _text(value: Any) -> str:
    return "nothing" if value is None else str(value)


def _conclusion(comparison: Plain) -> str:
    tables = comparison["tables"].values()
    rows, values = (sum(table[key] for table in tables) for key in ("rows", "values"))
    if comparison["agrees"]:
        return f"[bold green]They agree[/]: {values} values in {rows} rows."
    differing, missing, extra = (sum(len(table[key]) for table in tables) for key in ("differing", "missing", "extra"))
    counts = f"{differing} of {values} values differ, {missing} rows are missing, {extra} are extra"
    return f"[bold red]They do not agree[/]: {counts}."
