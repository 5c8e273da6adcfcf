"""What ``fabricstudy schedule`` takes; apart from its work, whose libraries take a second to import."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes, beside the study."""
    parser.add_argument("--schedule", metavar="NAME", help="schedule of the study (default: the first one)")
    parser.add_argument(
        "--where", nargs="+", default=[], metavar="AXIS=LABEL", help="which run (default: the first one that fits)"
    )
    parser.add_argument("--seed", type=int, help="seed (default: the first one)")
    parser.add_argument("--gantt", type=Path, metavar="FILE", help="draw midplanes over time: .svg, .pdf or .png")
    parser.add_argument("--days", nargs=2, type=float, metavar=("FROM", "TO"), help="part of the trace to draw")
    parser.add_argument("--swf", type=Path, metavar="FILE", help="write the jobs with waits and partitions (SWF)")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write the jobs as Batsim does, for evalys")
