"""``python -m fabricstudy.report``: tables of one study -> its page and figures."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from fabricstudy.core.columns import DONE
from fabricstudy.core.errors import exit_code_of
from fabricstudy.study.file import load_study
from fabricstudy.study.model import Study
from fabricstudy.study.plan_file import read_plan
from fabricstudy.table.store import Tables, read_tables

from .page import write_report


def main(arguments: list[str] | None = None) -> None:
    """Draw the figures of a study and write its page."""
    parser = argparse.ArgumentParser(prog="python -m fabricstudy.report", description=main.__doc__)
    parser.add_argument("--study", type=Path, required=True, help="the study file")
    parser.add_argument("--plan", type=Path, required=True, help="folder of the plan, results/STUDY")
    parser.add_argument("--tables", type=Path, required=True, help="folder of the tables")
    parser.add_argument("--out", type=Path, required=True, help="folder for the report")
    args = parser.parse_args(arguments)
    plan = read_plan(load_study(args.study), args.plan)
    source = args.study.read_bytes()
    tables = read_tables(args.tables)
    write_report(plan, tables, source, str(args.study), args.out)
    print(_ending(plan.study, tables, args.out))


def _ending(study: Study, tables: Tables, folder: Path) -> str:
    """Say in a line how the points of a study ended."""
    counts = tables.points.drop_duplicates("point_id")["status"].value_counts().to_dict()
    done, others = counts.pop(DONE, 0), ", ".join(f"{count} {status}" for status, count in counts.items())
    counted = f"{done} of {done + sum(counts.values())} points done" + (f" ({others}: see Failures)" if others else "")
    return f"{study.study}: {counted if study.simulates else 'analyses done'}; {folder}/index.html"


if __name__ == "__main__":
    sys.exit(exit_code_of(main))
