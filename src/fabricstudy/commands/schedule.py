"""``fabricstudy schedule``: one run of a schedule in the foreground.

The module that runs and draws it takes a second to import, so it is imported on use.
"""

import argparse
from pathlib import Path
from typing import Any

from .common import add_study, load_pipeline, results_folder


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_study(parser)
    parser.add_argument("--schedule", metavar="NAME", help="schedule of the study (default: the first one)")
    words = "labels of the run; of several, the first one"
    parser.add_argument("--where", nargs="+", default=[], metavar="AXIS=LABEL", help=words)
    parser.add_argument("--seed", type=int, help="seed (default: the first one)")
    parser.add_argument("--gantt", type=Path, metavar="FILE", help="draw midplanes over time: .svg, .pdf or .png")
    parser.add_argument("--days", nargs=2, type=float, metavar=("FROM", "TO"), help="part of the trace to draw")
    parser.add_argument("--swf", type=Path, metavar="FILE", help="write the jobs with waits and partitions (SWF)")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write the jobs as Batsim does, for evalys")


def schedule_study(args: argparse.Namespace) -> dict[str, Any]:
    """Execute one run of a study's schedule in the foreground."""
    from .schedule_run import run_once

    return run_once(args, load_pipeline(args.study).plan, results_folder(args))


def show_schedule(outcome: dict[str, Any]) -> None:
    from .schedule_run import print_schedule

    print_schedule(outcome)
