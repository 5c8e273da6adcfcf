"""``fabricstudy compare``: the tables of two runs, value by value."""

import argparse
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from fabricstudy.artifact.compare import FLOAT_TOLERANCE, TOLERANCE, compare
from fabricstudy.core.errors import FabricstudyError
from fabricstudy.table.files import write_csv

from .common import check_output_path, table_console, text_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("old", type=Path, metavar="OLD", help="results/STUDY of a run, its folder, or an artifact")
    parser.add_argument("new", type=Path, metavar="NEW", help="the same of the other run")
    words = "relative difference allowed between two versions of an engine (default: %(default)s)"
    parser.add_argument("--tolerance", type=_tolerance, default=TOLERANCE, help=words)
    parser.add_argument("--csv", type=Path, help="also write all values, old against new, into this file")
    parser.set_defaults(exit_code=lambda comparison: 0 if comparison["agrees"] else 1)


def _tolerance(text: str) -> float:
    number = float(text)
    if not 0 <= number < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not a relative difference; write one of at least 0, such as 0.05")
    return number


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Compare the tables of two runs of a study value by value; the exit code says whether they agree."""
    check_output_path(args.csv)
    for folder in (args.old, args.new):
        if args.csv and args.csv.exists() and args.csv.resolve().is_relative_to(folder.resolve()):
            raise FabricstudyError(f"{args.csv}: is read as part of {folder}; name another file", "invalid-value")
    comparison = compare(args.old, args.new, args.tolerance)
    if args.csv:
        write_csv(comparison.values(), args.csv)
    return comparison.to_json()


MAX_PRINTED_LINES = 20
"""Maximum number of printed entries of a list; all are in ``--json`` and ``--csv``."""

Plain = Mapping[str, Any]


def show(comparison: Plain) -> None:
    """Print engines, tables, values that differ, verdicts, and the conclusion."""
    console = table_console(140)
    console.print(f"old: {escape(comparison['old'])}\nnew: {escape(comparison['new'])}", soft_wrap=True)
    for engine, versions in comparison["engines"].items():
        old, new = escape(versions["old"]), escape(versions["new"])
        allowed = f"{old} and {new}, so numbers may differ by {100 * comparison['tolerance']:g} %"
        equal = f"{old} in both, so numbers must be equal (to {FLOAT_TOLERANCE:g} of their size)"
        console.print(f"engine {engine}: {equal if old == new else allowed}", soft_wrap=True)
    overview = text_table(
        "table", "rows", "values", "equal", "within tolerance", "different", "missing", "extra", "largest"
    )
    for name, table in comparison["tables"].items():
        counts = [table[key] for key in ("rows", "values", "equal", "within")]
        counts += [len(table[key]) for key in ("differing", "missing", "extra")]
        style = None if table["agrees"] else "bold red"
        overview.add_row(name, *map(str, counts), percent(table["largest"]), style=style)
    console.print(overview)
    for name, table in comparison["tables"].items():
        _list(console, f"{name}: rows only in the old run", table["missing"])
        _list(console, f"{name}: rows only in the new run", table["extra"])
        for side in ("old", "new"):
            if columns := table[f"only_{side}"]:
                console.print(
                    f"{name}: not compared, since only in the {side} run: {', '.join(columns)}", soft_wrap=True
                )
    values = [{**value, "table": name} for name, table in comparison["tables"].items() for value in table["differing"]]
    values.sort(key=lambda value: math.inf if value["difference"] is None else value["difference"], reverse=True)
    differing = [f"{value['table']}.{value['column']} at {value['row']}: {_change(value)}" for value in values]
    _list(console, "values that do not agree, the largest differences first", differing)
    if comparison["verdicts"]:
        verdicts = text_table("claim", "old verdict", "new verdict", left=3)
        for row in comparison["verdicts"]:
            style = "bold red" if row["old"] != row["new"] else None
            verdicts.add_row(*(escape(_text(row[name])) for name in ("claim", "old", "new")), style=style)
        console.print(verdicts)
    console.print(_conclusion(comparison), soft_wrap=True)


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
