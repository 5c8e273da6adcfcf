"""``fabricstudy compare``: the tables of two runs, value by value."""

import argparse
import math
from pathlib import Path
from typing import Any

from fabricstudy.core.errors import FabricstudyError

from .common import check_output_path, table_console


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("old", type=Path, metavar="OLD", help="results/STUDY of a run, its folder, or an artifact")
    parser.add_argument("new", type=Path, metavar="NEW", help="the same of the other run")
    words = "relative difference allowed between two versions of an engine (default: %(default)s)"
    parser.add_argument("--tolerance", type=_tolerance, default=0.05, help=words)
    parser.add_argument("--csv", type=Path, help="also write all values, old against new, into this file")
    parser.set_defaults(exit_code=lambda comparison: 0 if comparison["agrees"] else 1)


def _tolerance(text: str) -> float:
    number = float(text)
    if not 0 <= number < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not a relative difference; write one of at least 0, such as 0.05")
    return number


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Compare the tables of two runs of a study value by value; the exit code says whether they agree."""
    from fabricstudy.artifact.compare import compare
    from fabricstudy.table.files import write_csv

    check_output_path(args.csv)
    for folder in (args.old, args.new):
        if args.csv and args.csv.exists() and args.csv.resolve().is_relative_to(folder.resolve()):
            raise FabricstudyError(f"{args.csv}: is read as part of {folder}; name another file", "invalid-value")
    comparison = compare(args.old, args.new, args.tolerance)
    if args.csv:
        write_csv(comparison.values(), args.csv)
    return comparison.to_json()


def show(comparison: dict[str, Any]) -> None:
    from fabricstudy.artifact.compare import print_comparison

    print_comparison(comparison, table_console(140))
