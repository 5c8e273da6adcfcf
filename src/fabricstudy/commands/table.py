"""``fabricstudy report table``: a table of results in a format of other programs."""

import argparse
from typing import Any

from fabricstudy.core.errors import FabricstudyError, suggestion
from fabricstudy.core.files import atomic_text

from .common import add_new_file, add_study, check_new_file, load_pipeline, results_folder
from .export import show as show


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_study(parser)
    parser.add_argument("table", metavar="TABLE", help="table of its results, such as jobs")
    parser.add_argument("--columns", nargs="+", metavar="COLUMN", help="columns of the table (default: all)")
    add_new_file(parser, "file to write: .csv or LaTeX (.tex)")


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Write a table of a study that has run as CSV or LaTeX."""
    from fabricstudy.table.files import check_identity, read_table

    check_new_file(args, (".csv", ".tex"))
    pipeline = load_pipeline(args.study)
    folder = results_folder(args) / pipeline.name / "tables"
    tables = {path.stem: path for path in folder.glob("*.parquet")}
    if args.table not in tables:
        remedy = suggestion(args.table, tables) if tables else "run the study first"
        raise FabricstudyError(f"{args.table}: no such table in {folder}; {remedy}", "unknown-name")
    check_identity(folder, pipeline.name, pipeline.identity)
    frame = read_table(tables[args.table])
    missing = [name for name in args.columns or () if name not in frame]
    if missing:
        remedy = suggestion(missing[0], map(str, frame))
        raise FabricstudyError(f"{missing[0]}: no such column of {args.table}; {remedy}", "unknown-name")
    frame = frame[args.columns] if args.columns else frame
    with atomic_text(args.out) as file:
        file.write(frame.to_csv(index=False) if args.out.suffix == ".csv" else _latex(frame))
    return {"file": str(args.out), "rows": len(frame)}


def _latex(frame: Any) -> str:
    """Return a table as LaTeX, with as many digits of a number as in the report."""
    from fabricstudy.report.text import number

    fractions = frame.select_dtypes("floating").columns
    return str(frame.assign(**{name: frame[name].map(number) for name in fractions}).to_latex(index=False, escape=True))
