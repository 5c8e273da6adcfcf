"""``fabricstudy status``: the progress of a study."""

import argparse
import os
import time
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.text import Text

from fabricstudy.core.phrasing import duration, points_done
from fabricstudy.workflow.progress import PACE_S, Progress

from .common import add_study, load_pipeline, results_folder

WATCH_S = 5.0
WATCH_SHARE = 0.05
"""Polls of a large store, or of a slow file system, use at most this share of the time."""
BAR_COLUMNS = 60


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_study(parser)
    parser.add_argument("--watch", action="store_true", help=f"update every {WATCH_S:g} s until no point is left")


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Count the done, failed and remaining points of a study, and estimate the remaining time."""
    progress = Progress(load_pipeline(args.study), results_folder(args))
    counts, pause_s = _poll(progress)
    if args.watch and _possible(counts):
        # Standard output is for the result; if it is not a terminal, only the end is shown.
        console = Console(stderr=args.json, highlight=False)
        with Live(Text(_progress_text(counts)), console=console, auto_refresh=False, transient=True) as live:
            while _possible(counts):
                time.sleep(pause_s)
                counts, pause_s = _poll(progress)
                live.update(Text(_progress_text(counts)), refresh=True)
    return counts


def _poll(progress: Progress) -> tuple[dict[str, Any], float]:
    """Return the status, and the seconds until the next poll."""
    start = time.monotonic()
    counts = progress.poll()
    return counts, max(WATCH_S, (time.monotonic() - start) / WATCH_SHARE)


def show(counts: dict[str, Any]) -> None:
    print(_progress_text(counts))


def _progress_text(counts: dict[str, Any]) -> str:
    """Return a progress bar and three lines, for a terminal of 80 columns."""
    of_runs = f"{counts['runs_done']} of {counts['runs']} runs of schedules done"
    runs = [f"{counts['study']}: {of_runs}"] if counts["runs"] else []
    if not counts["points"]:
        return runs[0] if runs else f"{counts['study']}: nothing to simulate, only analyses"
    ended = counts["points"] - counts["left"] - counts["unchecked"]
    width = BAR_COLUMNS * ended // counts["points"]
    kinds = ", ".join(f"{count} {status}" for status, count in counts["failures"].items())
    lines = [
        f"[{'#' * width}{'.' * (BAR_COLUMNS - width)}] {100 * ended // counts['points']} %",
        f"{counts['study']}: {points_done(counts['done'], counts['points'])}",
        f"{counts['failed']} failed{f' ({kinds})' if kinds else ''}",
        f"{counts['left']} left{_time_left(counts) if _possible(counts) else ''}",
    ]
    if counts["combinations"]:
        lines.append(f"{counts['decided']} of {counts['combinations']} combinations have all the seeds they need")
    if counts["unchecked"]:
        lines.append(f"{counts['unchecked']} unchecked (code changed: simulated again if the input changed)")
    lines += runs
    if counts["unavailable"]:
        engines = " and ".join(counts["missing_engines"])
        lines.append(f"{counts['unavailable']} of them need {engines}, not found here (fabricstudy list engines)")
    return "\n".join(lines)


def _possible(counts: dict[str, Any]) -> int:
    """Return the number of remaining points whose engine is found."""
    return int(counts["left"] - counts["unavailable"])


def _time_left(counts: dict[str, Any]) -> str:
    work = f", about {duration(counts['left_cpu_s'])} of CPU time"
    if counts["left_s"] is None:  # before the first point ends, or while the study does not run
        cores = os.cpu_count() or 1
        here = duration(counts["left_cpu_s"] / cores)
        return f"{work}, {here} on the {cores} cores here (none ended in the last {duration(PACE_S)})"
    return f"{work}, {duration(counts['left_s'])} at this pace"
