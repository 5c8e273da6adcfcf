"""``fabricstudy plan validate``: check studies."""

import argparse
from functools import partial
from typing import Any

from fabricstudy.core.model import check_all
from fabricstudy.core.phrasing import count_noun

from .common import load_pipeline


def add_arguments(parser: argparse.ArgumentParser) -> None:
    words = "name of a bundled study, or path to a study file"
    parser.add_argument("studies", nargs="+", metavar="STUDY", help=words)


def run(args: argparse.Namespace) -> list[dict[str, Any]]:
    """Check studies as a run would, and report all mistakes; nothing is written or simulated."""
    valid: list[dict[str, Any]] = []

    def check(name: str) -> None:
        plan = load_pipeline(name).plan
        valid.append({"study": name, "points": len(plan.points), "runs": len(plan.runs)})

    check_all(partial(check, name) for name in args.studies)
    return valid


def show(studies: list[dict[str, Any]]) -> None:
    for study in studies:
        runs = f", {count_noun(study['runs'], 'run')} of schedules" if study["runs"] else ""
        print(f"{study['study']}: valid, {count_noun(study['points'], 'point')}{runs}")
