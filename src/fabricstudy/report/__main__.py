"""``python -m fabricstudy.report``: tables of one study -> its page and figures."""

import argparse
import sys
from pathlib import Path

from fabricstudy.core.columns import DONE
from fabricstudy.core.errors import exit_code_of
from fabricstudy.core.phrasing import points_done
from fabricstudy.study.file import load_study
from fabricstudy.study.plan_file import read_plan
from fabricstudy.table.files import read_tables

from .figure_style import InputFiles
from .page import write_report


def main(arguments: list[str] | None = None) -> None:
    """Draw the figures of a study and write its page."""
    parser = argparse.ArgumentParser(prog="python -m fabricstudy.report", description=main.__doc__)
    parser.add_argument("--study", type=Path, required=True, help="the study file")
    parser.add_argument("--plan", type=Path, required=True, help="folder of the plan, results/STUDY")
    parser.add_argument("--tables", type=Path, required=True, help="folder of the tables")
    parser.add_argument("--out", type=Path, required=True, help="folder for the report")
    parser.add_argument("--machines", type=Path, nargs="*", default=[], help="folders of machine definitions")
    parser.add_argument("--workloads", type=Path, nargs="*", default=[], help="workload definitions, Parquet")
    parser.add_argument("--histories", type=Path, nargs="*", default=[], help="histories of scheduled runs, Parquet")
    args = parser.parse_args(arguments)
    plan = read_plan(load_study(args.study), args.plan)
    inputs = InputFiles(tuple(args.machines), tuple(args.workloads), tuple(args.histories))
    source = args.study.read_bytes()
    tables = read_tables(args.tables)
    write_report(plan, tables, source, str(args.study), args.out, inputs)
    counts = tables.points.drop_duplicates("point_id")["status"].value_counts()
    lost = ", ".join(f"{count} {status}" for status, count in counts.drop(DONE, errors="ignore").items())
    ending = points_done(counts.get(DONE, 0), counts.sum()) + f" ({lost}: see Failures)" * bool(lost)
    print(f"{plan.study.study}: {ending if plan.study.simulates else 'analyses done'}; {args.out}/index.html")


if __name__ == "__main__":
    sys.exit(exit_code_of(main))
