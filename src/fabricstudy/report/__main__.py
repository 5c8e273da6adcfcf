"""``python -m fabricstudy.report``: tables of one study -> its page and figures."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from fabricstudy.errors import exit_code_of
from fabricstudy.study import load_study
from fabricstudy.table import read_tables

from .page import write_report


def main(arguments: list[str] | None = None) -> None:
    """Draw the figures of a study and write its page."""
    parser = argparse.ArgumentParser(prog="python -m fabricstudy.report", description=main.__doc__)
    parser.add_argument("--study", type=Path, required=True, help="the study file")
    parser.add_argument("--tables", type=Path, required=True, help="folder of the tables")
    parser.add_argument("--out", type=Path, required=True, help="folder for the report")
    given = parser.parse_args(arguments)
    study = load_study(given.study)
    source = given.study.read_text(encoding="utf-8")
    write_report(study, read_tables(given.tables), source, str(given.study), given.out)


if __name__ == "__main__":
    sys.exit(exit_code_of(main))
