"""``fabricstudy compare``: the tables of two runs, value by value."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from rich.console import Console


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("old", type=Path, metavar="OLD", help="folder of a run, its results/STUDY, or an artifact")
    parser.add_argument("new", type=Path, metavar="NEW", help="the same of the other run")
    parser.add_argument(
        "--tolerance",
        type=float,
        default=0.05,
        help="relative difference allowed between two versions of an engine (default: %(default)s)",
    )
    parser.add_argument("--csv", type=Path, help="also write all values, old against new, into this file")
    parser.set_defaults(exit_code=lambda comparison: 0 if comparison["agrees"] else 1)


def compare_runs(args: argparse.Namespace) -> dict[str, Any]:
    """Compare the tables of two runs of a study value by value; the exit code says whether they agree."""
    from fabricstudy.artifact.compare import compare

    comparison = compare(args.old, args.new, args.tolerance)
    if args.csv:
        comparison.values().to_csv(args.csv, index=False)
    return comparison.to_json()


def show_comparison(comparison: dict[str, Any]) -> None:
    """Print the result of `compare_runs`."""
    from fabricstudy.artifact.show import show

    show(comparison, Console(width=140 if not sys.stdout.isatty() else None))
