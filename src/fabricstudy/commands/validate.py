"""``fabricstudy plan validate``: check studies."""

import argparse
from typing import Any

from fabricstudy.core.errors import ConfigError, combine_errors
from fabricstudy.core.phrasing import count_noun

from .common import load_pipeline


def add_arguments(parser: argparse.ArgumentParser) -> None:
    words = "name of a bundled study, or path to a study file"
    parser.add_argument("studies", nargs="+", metavar="STUDY", help=words)


def run(args: argparse.Namespace) -> list[dict[str, Any]]:
    """Check studies as a run would, and report all mistakes; nothing is written or simulated."""
    valid, mistakes = [], []
    for name in args.studies:
        try:
            pipeline = load_pipeline(name)
        except ConfigError as error:
            mistakes.append(error)
        else:
            valid.append({"study": name, "points": len(pipeline.plan.points), "runs": len(pipeline.plan.runs)})
    if mistakes:
        raise combine_errors(mistakes)
    return valid


def show(studies: list[dict[str, Any]]) -> None:
    for study in studies:
        runs = f", {count_noun(study['runs'], 'run')} of schedules" if study["runs"] else ""
        print(f"{study['study']}: valid, {count_noun(study['points'], 'point')}{runs}")
