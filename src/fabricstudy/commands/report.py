"""``fabricstudy report``: the report of a study."""

import argparse
import webbrowser
from pathlib import Path

from fabricstudy.study.file import load_study
from fabricstudy.workflow.pipeline import find_study
from fabricstudy.workflow.small import make_tables_and_report
from fabricstudy.workflow.snakefile import REPORTS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("study", help="name of a bundled study, or path to a study file")
    parser.add_argument("--open", action="store_true", help="show it in a browser")


def run(args: argparse.Namespace) -> dict[str, str]:
    """Make the tables and the report of a study that has run, and print the path."""
    name = load_study(find_study(args.study)).study
    make_tables_and_report(args.study)
    page: Path = REPORTS / name / "index.html"
    if args.open:
        webbrowser.open(page.resolve().as_uri())
    return {"path": str(page)}


def show(result: dict[str, str]) -> None:
    print(result["path"])
