"""``fabricstudy schedule``: execute one run of a schedule, draw it, write its jobs, print waits by size class."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console

from fabricstudy.core.errors import FabricstudyError, suggestion
from fabricstudy.core.quantities import HOUR_S
from fabricstudy.core.store import point_store
from fabricstudy.schedule.partitions import Partitions
from fabricstudy.schedule.trace.swf_log import swf_text
from fabricstudy.study.figures import JobsFigure
from fabricstudy.study.file import study_files
from fabricstudy.study.plan import Plan
from fabricstudy.study.schedules import RunRow

from .common import add_study, check_output_path, load_pipeline, results_folder, text_table

if TYPE_CHECKING:
    from fabricstudy.schedule.stage import ScheduleRun

MAX_DAYS = 100_000
_BATSIM = (
    "job_id", "workload_name", "profile", "submission_time", "requested_number_of_resources", "requested_time",
    "success", "final_state", "starting_time", "execution_time", "finish_time", "waiting_time", "turnaround_time",
    "stretch", "allocated_resources", "consumed_energy", "metadata",
)  # fmt: skip
_SHARES = {
    "utilisation": "busy", "useful_utilisation": "useful", "idle_no_cables": "idle, no cables",
    "idle_reserved": "idle, reserved", "idle_fragmented": "idle, fragmented", "idle_no_jobs": "idle, no jobs",
}  # fmt: skip


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


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Execute one run of a study's schedule in the foreground."""
    from fabricstudy.schedule.stage import MissingRatio, ScheduleRun, run_metrics

    planned, store = load_pipeline(args.study).plan, point_store(results_folder(args))
    written = [path for path in (args.gantt, args.swf, args.csv) if path is not None]
    _check_files(planned, written, args.days)
    row = _selected(args, planned)
    run = planned.runs[f"{row.schedule} {row.run_id}"]
    points = {point_id: record for point_id in run.points if (record := store.record(point_id)) is not None}
    try:
        done = ScheduleRun(run, points)
    except MissingRatio as reason:
        problem = f"{reason}; run snakemake --config study={args.study} first"
        raise FabricstudyError(f"{row.schedule}: {problem}", "unknown-name") from None
    if args.gantt is not None:
        _write_gantt(args.gantt, done, row, args.days)
    if args.swf is not None:
        args.swf.write_text(swf_text(done.jobs, done.result), encoding="utf-8")
    if args.csv is not None:
        with args.csv.open("w", encoding="utf-8", newline="") as out:
            csv.writer(out).writerows([_BATSIM, *_batsim_rows(done, row)])
    labels = {axis: label for axis, label in row.labels.items() if label is not None}
    files = [str(path) for path in written]
    return {"schedule": row.schedule, "labels": labels, "seed": row.seed, **run_metrics(done), "files": files}


def _check_files(planned: Plan, written: Sequence[Path], days: Sequence[float] | None) -> None:
    """Refuse to overwrite a file of the study, to write two outputs to one file, and an empty part of the trace."""
    read = [] if planned.study.file is None else study_files(planned.study.file)
    for path in written:
        check_output_path(path, *read)
    if len({path.resolve() for path in written}) < len(written):
        raise FabricstudyError("two outputs have one file; use distinct names", "usage")
    if days is not None and not 0 <= days[0] < days[1] <= MAX_DAYS:
        problem = f"--days {days[0]:g} {days[1]:g}: not a part of a trace"
        raise FabricstudyError(f"{problem}; write a first day and a later one, up to {MAX_DAYS:,}", "usage")


def _selected(args: argparse.Namespace, planned: Plan) -> RunRow:
    from fabricstudy.table.select import label_text

    schedules = list(dict.fromkeys(row.schedule for row in planned.run_rows))
    if not schedules:
        raise FabricstudyError(f"{args.study}: the study has no schedules", "unknown-name")
    name = args.schedule or schedules[0]
    if name not in schedules:
        raise FabricstudyError(f"{name}: no such schedule; {suggestion(name, schedules)}", "unknown-name")
    rows = [row for row in planned.run_rows if row.schedule == name]
    for condition in args.where:
        axis, equals, wanted = condition.partition("=")
        if not equals:
            problem = f"{condition}: not a condition; write AXIS=LABEL, such as network=mesh"
            raise FabricstudyError(problem, "invalid-value")
        axes = [name for name, label in rows[0].labels.items() if label is not None]
        if axis not in axes:
            raise FabricstudyError(f"{axis}: no such axis; {suggestion(axis, axes)}", "unknown-name")
        labels = {label_text(row.labels[axis]) for row in rows}
        rows = [row for row in rows if label_text(row.labels[axis]) == wanted]
        if not rows:
            raise FabricstudyError(f"{axis}={wanted}: no such label; {suggestion(wanted, labels)}", "unknown-name")
    seeds = [row.seed for row in rows]
    if args.seed is not None and args.seed not in seeds:
        raise FabricstudyError(f"{args.seed}: no such seed; known: {', '.join(map(str, sorted(set(seeds))))}")
    return next(row for row in rows if args.seed in (None, row.seed))


def _write_gantt(path: Path, done: ScheduleRun, row: RunRow, days: Sequence[float] | None) -> None:
    import matplotlib as mpl

    from fabricstudy.report.figure_style import NothingToDraw
    from fabricstudy.report.job_figures import draw_runs

    window = {} if days is None else {"from": f"{days[0]} days", "to": f"{days[1]} days"}
    figure = JobsFigure.model_validate(
        {"id": "gantt", "kind": "gantt", "title": "Midplanes in time", "schedule": row.schedule, **window}
    )
    try:
        with mpl.rc_context({"text.parse_math": False}):
            canvas, _ = draw_runs(figure, {"": [(row, done.history)]})
            canvas.savefig(path)
    except (NothingToDraw, ValueError) as reason:  # such as an unknown format
        raise FabricstudyError(f"{path}: {reason}") from None


def _batsim_rows(done: ScheduleRun, row: RunRow) -> Iterator[list[Any]]:
    """Yield the rows of Batsim for the jobs that ran: resources are building blocks, or nodes without partitions."""
    jobs, result, block = done.jobs, done.result, done.partitions.block_nodes
    for job in np.flatnonzero(result.ran).tolist():
        submit, start, end = jobs.submit_s[job], result.start_s[job], result.end_s[job]
        stretch = (end - submit) / (end - start) if end > start else ""
        yield [
            jobs.number[job], row.schedule, "delay", submit, -(-int(jobs.nodes[job]) // block), jobs.request_s[job],
            1, "COMPLETED_SUCCESSFULLY", start, end - start, end, start - submit, end - submit, stretch,
            _resources(done, job), -1, "",
        ]  # fmt: skip


def _resources(done: ScheduleRun, job: int) -> str:
    """Return the numbers of a job's midplanes or nodes as intervals, such as 0-3 8."""
    if isinstance(done.partitions, Partitions):
        numbers = np.array(done.partitions.midplanes_of(int(done.result.partition[job])))
        ends = [(part[0], part[-1]) for part in np.split(numbers, np.flatnonzero(np.diff(numbers) > 1) + 1)]
    else:
        ends = done.result.nodes_of(job)
    return " ".join(f"{first}-{last}" if first < last else f"{first}" for first, last in ends)


def show(result: dict[str, Any]) -> None:
    from fabricstudy.table.select import label_text

    console = Console(highlight=False)
    labels = ", ".join(f"{axis} {label_text(label)}" for axis, label in result["labels"].items())
    of_labels = f" ({labels})" * bool(labels)
    console.print(f"{result['schedule']}{of_labels}, seed {result['seed']}: {result['jobs']} jobs")
    if result["trace_repairs"]:
        console.print(f"repairs of the log: {result['trace_repairs']}")
    if result["utilisation"] is None:
        console.print("no utilisation: all jobs are submitted at one time")
    else:
        for name, words in _SHARES.items():
            console.print(f"{words:24} {100 * result[name]:6.1f} %")
    table = text_table("nodes", "jobs", "mean wait (h)", "95th percentile (h)", "mean response (h)", left=0)
    every = {**result, "class_nodes": "all"}
    for row in (*result["classes"], every):
        hours = [f"{row[name] / HOUR_S:.2f}" for name in ("wait_mean_s", "wait_p95_s", "response_mean_s")]
        table.add_row(str(row["class_nodes"]), str(row["jobs"]), *hours)
    console.print(table)
    for file in result["files"]:
        console.print(f"written: {file}")
