"""The stages of a study: ``python -m fabricstudy.workflow.stages plan|machine|structure|workload|...``.

Only `plan` plans; the others read its plan, and the outputs of earlier stages.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from fabricstudy.core.errors import FabricstudyError, exit_code_of
from fabricstudy.core.files import atomic_text
from fabricstudy.core.log import enable_logging

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabricstudy.core.store import Record
    from fabricstudy.engine.point_file import PointsOfPlan
    from fabricstudy.study.model import Study
    from fabricstudy.study.plan import Plan

# Each stage imports what it needs: importing everything would take longer than most stages of a small study.
AGAIN_S = 0.1


def plan_study(args: argparse.Namespace) -> None:
    """Plan a study: write its points, its runs of schedules, its workloads, and the jobs of the workflow."""
    from .jobs import jobs_of, write_jobs
    from .pipeline import load_pipelines

    (pipeline,) = load_pipelines(str(args.study), batch_cpu_s=args.batch_cpu_s).values()
    write_jobs(pipeline, jobs_of(pipeline), args.out)


def make_small_study(args: argparse.Namespace) -> None:
    """Do all stages of a small study in one process."""
    from .jobs import jobs_of, write_jobs
    from .pipeline import load_pipelines
    from .small import commands

    (pipeline,) = load_pipelines(str(args.study), batch_cpu_s=args.batch_cpu_s).values()
    jobs = jobs_of(pipeline)
    write_jobs(pipeline, jobs, args.out)
    for stage, arguments in commands(jobs, args.batch_cpu_s, args.out):
        main([stage, *arguments])


def define_machines(args: argparse.Namespace) -> None:
    """Build some machines and write their definitions."""
    from fabricstudy.machine.base import built
    from fabricstudy.machine.definitions import write_machines

    machines = _points(args).machines
    chosen = ((name, machines[name]) for name in args.ids)
    write_machines(((name, machine.model_dump(mode="json"), built(machine)) for name, machine in chosen), args.out)


def analyse_machines(args: argparse.Namespace) -> None:
    """Find distances and bisection of some machines, and write one JSON object a line."""
    from fabricstudy.core.store import checksummed_line
    from fabricstudy.machine.definitions import read_machine
    from fabricstudy.structure.stage import structure_record

    machines = _points(args).machines
    with atomic_text(args.out) as out:
        for machine_id in args.ids:
            machine = read_machine(tuple(args.machines), machine_id)
            record = structure_record(machine_id, machines[machine_id], machine, args.results)
            out.write(checksummed_line(record) + "\n")


def place_workloads(args: argparse.Namespace) -> None:
    """Allocate nodes to jobs and map their ranks, and count what they send."""
    from fabricstudy.engine.definitions import machine_and_cut
    from fabricstudy.engine.point_file import WORKLOADS_FILE, read_workloads
    from fabricstudy.workload.definitions import workload_rows, write_workloads

    wanted = read_workloads(args.plan / WORKLOADS_FILE, args.name)
    points = _points(args, only=list(wanted)).points
    rows = [
        row
        for point_id, jobs in wanted.items()
        for row in workload_rows(
            points[point_id].point,
            *machine_and_cut(tuple(args.machines), tuple(args.structures), points[point_id].machine_id),
            jobs,
        )
    ]
    write_workloads(rows, args.out)


def find_needed_points(args: argparse.Namespace) -> None:
    """Find the points of the second stage that a precision or decision needs, from the records of the first one."""
    from fabricstudy.core.store import read_checksummed
    from fabricstudy.structure.stage import read_structures
    from fabricstudy.table.collect import collect
    from fabricstudy.table.files import read_analyses
    from fabricstudy.table.repetitions import needed_points
    from fabricstudy.table.screening import screened_points

    plan = _plan(args)
    records = (record for path in args.points for _, record in read_checksummed(path) if record is not None)
    structures = (structure for path in args.structures for structure in read_structures(path))
    tables = collect(plan.without(plan.second_stage), records, structures, read_analyses(args.analyses))
    with atomic_text(args.out) as out:
        json.dump(sorted(needed_points(plan, tables) | screened_points(plan, tables)), out)


def simulate_batch(args: argparse.Namespace) -> None:
    """Simulate the points of one batch that are not cached, and write the records of all."""
    from fabricstudy.core.store import point_store
    from fabricstudy.engine.batch import Batch, run_batch
    from fabricstudy.engine.definitions import Definitions

    plan = _points(args, batch=args.name)
    points = tuple(plan.points.values())
    if not points:
        raise _changed(args)
    batch = Batch(args.name, points[0].point.engine.kind, points, 0.0, plan.limits)
    definitions = Definitions(args.machines, args.structures, args.workloads)
    run_batch(
        batch,
        point_store(args.results),
        definitions.of,
        args.out,
        args.links,
        plan.link_load_points,
        plan.drawn_points,
        args.cores,
        json.loads(args.needed[0].read_text(encoding="utf-8")) if args.needed else None,
    )


def make_analysis(args: argparse.Namespace) -> None:
    """Compute the table of one named analysis."""
    from fabricstudy.table.analyses import write_analysis

    write_analysis(_study(args).analyses[args.name], args.out)


def run_schedules(args: argparse.Namespace) -> None:
    """Simulate the runs of one chunk of a schedule, and write their records and the jobs of some."""
    from fabricstudy.schedule.stage import read_ratios, run_chunk

    from .pipeline import Pipeline

    chunk = Pipeline(args.study, _plan(args), args.batch_cpu_s).run_chunks.get(args.name)
    if chunk is None:
        raise _changed(args)
    start_s = time.process_time()
    points = read_ratios(args.points, chunk.points)
    run_chunk(chunk.runs, chunk.digest, points, args.out, args.jobs, args.histories, chunk.drawn)
    print(f"{len(chunk.runs)} runs in {time.process_time() - start_s:.2f} s of processor time")


def make_tables(args: argparse.Namespace) -> None:
    """Collect the records of a study into its tables and measure its claims."""
    from dataclasses import replace

    from fabricstudy.structure.stage import read_structures
    from fabricstudy.study.plan import study_identity
    from fabricstudy.table.collect import collect
    from fabricstudy.table.files import read_analyses, read_shard, write_tables
    from fabricstudy.table.point_records import read_point_records
    from fabricstudy.table.schedules import schedule_of, schedule_tables

    plan = _plan(args)
    analyses = read_analyses(args.analyses)
    runs: dict[str, list[Record]] = {}
    for path in args.schedules:
        runs.setdefault(schedule_of(path), []).extend(read_shard(path))
    schedules = schedule_tables(plan, runs, [path.with_suffix(".parquet") for path in args.schedules])
    structures = (structure for path in args.structures for structure in read_structures(path))
    records = read_point_records(args.points, plan)
    tables = collect(plan, records, structures, analyses, schedules, args.link_loads)
    identity = study_identity(args.study.read_bytes(), plan)
    write_tables(replace(tables, analyses={}), args.out, identity)  # tables of analyses are inputs


def make_report(args: argparse.Namespace) -> None:
    """Draw the figures of a study and write its page."""
    from fabricstudy.core.columns import DONE
    from fabricstudy.core.phrasing import points_done
    from fabricstudy.report.figure_style import InputFiles
    from fabricstudy.report.page import write_report
    from fabricstudy.table.files import read_tables

    plan, tables = _plan(args), read_tables(args.tables)
    inputs = InputFiles(tuple(args.machines), tuple(args.workloads), tuple(args.drawn))
    write_report(plan, tables, args.study.read_bytes(), str(args.study), args.out, inputs)
    counts = tables.points.drop_duplicates("point_id")["status"].value_counts()
    lost = ", ".join(f"{count} {status}" for status, count in counts.drop(DONE, errors="ignore").items())
    ending = points_done(counts.get(DONE, 0), counts.sum()) + f" ({lost}: see Failures)" * bool(lost)
    print(f"{plan.study.study}: {ending if plan.study.simulates else 'analyses done'}; {args.out}/index.html")


def _changed(args: argparse.Namespace) -> FabricstudyError:
    problem = f"{args.study}: the study was changed while it ran, and has no {args.name} now"
    return FabricstudyError(f"{problem}; start Snakemake again", "study-changed")


def _study(args: argparse.Namespace) -> Study:
    from fabricstudy.study.file import load_study

    return load_study(args.study)


def _plan(args: argparse.Namespace) -> Plan:
    from fabricstudy.study.plan_file import read_plan

    return read_plan(_study(args), args.plan)


def _points(args: argparse.Namespace, batch: str = "", only: Sequence[str] = ()) -> PointsOfPlan:
    from fabricstudy.engine.point_file import POINTS_FILE, read_points

    return read_points(args.plan / POINTS_FILE, args.study.parent, batch, only)


def _end_when_asked() -> None:
    # When a job is cancelled, end the simulator and remove incomplete results.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM):
        signal.signal(number, _stop)
    sys.unraisablehook = _stop_again


def _stop(number: int, frame: object) -> None:
    raise SystemExit(128 + (number if number == signal.SIGINT else signal.SIGTERM))


def _stop_again(dropped: sys.UnraisableHookArgs) -> None:
    # Python drops exceptions that are raised during a fork, and each simulation forks.
    sys.__unraisablehook__(dropped)
    if isinstance(dropped.exc_value, SystemExit):
        signal.setitimer(signal.ITIMER_REAL, AGAIN_S)


_STAGES = {
    "plan": (plan_study, ("batch-cpu-s",)),
    "small": (make_small_study, ("batch-cpu-s",)),
    "machine": (define_machines, ("plan", "ids")),
    "structure": (analyse_machines, ("plan", "machines", "ids", "results")),
    "workload": (place_workloads, ("plan", "machines", "structures", "name")),
    "needed": (find_needed_points, ("plan", "structures", "points", "analyses")),
    "simulate": (
        simulate_batch,
        ("plan", "machines", "structures", "workloads", "name", "cores", "results", "links", "needed"),
    ),
    "analysis": (make_analysis, ("name",)),
    "schedule": (run_schedules, ("plan", "batch-cpu-s", "name", "points", "jobs", "histories")),
    "table": (make_tables, ("plan", "points", "link-loads", "structures", "analyses", "schedules")),
    "report": (make_report, ("plan", "tables", "machines", "workloads", "drawn")),
}
"""What each stage does, and its arguments besides ``--study`` and ``--out``."""

_ARGUMENTS: dict[str, dict[str, object]] = {
    "plan": {"type": Path, "required": True, "help": "folder of the plan, results/STUDY"},
    "machines": {"type": Path, "nargs": "*", "default": [], "help": "folders of machine definitions"},
    "structures": {"type": Path, "nargs": "*", "default": [], "help": "structures of machines, JSON lines"},
    "workloads": {"type": Path, "nargs": "*", "default": [], "help": "workload definitions, Parquet"},
    "points": {"type": Path, "nargs": "*", "default": [], "help": "records of points, JSON lines"},
    "needed": {"type": Path, "nargs": "*", "default": [], "help": "ids of the needed points, JSON"},
    "ids": {"nargs": "+", "required": True, "help": "ids of machines"},
    "name": {"required": True, "help": "name of the chunk, batch, analysis or runs"},
    "results": {"type": Path, "required": True, "help": "folder of the caches"},
    "analyses": {"type": Path, "nargs": "*", "default": [], "help": "tables of analyses, Parquet"},
    "schedules": {"type": Path, "nargs": "*", "default": [], "help": "records of runs, JSON lines"},
    "link-loads": {"type": Path, "nargs": "*", "default": [], "help": "links of points, Parquet"},
    "tables": {"type": Path, "required": True, "help": "folder of the tables"},
    "drawn": {"type": Path, "nargs": "*", "default": [], "help": "histories of runs that are drawn, Parquet"},
    "links": {"type": Path, "required": True, "help": "file for the links of points, Parquet"},
    "jobs": {"type": Path, "required": True, "help": "file for the jobs of schedules, Parquet"},
    "histories": {"type": Path, "required": True, "help": "file for the histories of runs that are drawn, Parquet"},
    "cores": {"type": int, "default": 1, "help": "cores that Snakemake grants"},
    "batch-cpu-s": {"type": float, "required": True, "help": "predicted seconds a batch"},
}


def main(arguments: list[str] | None = None) -> None:
    """Do the work of one job of a study."""
    parser = argparse.ArgumentParser(prog="python -m fabricstudy.workflow.stages", description=main.__doc__)
    stages = parser.add_subparsers(required=True, metavar="STAGE")
    for name, (work, options) in _STAGES.items():
        stage = stages.add_parser(name, help=work.__doc__, description=work.__doc__)
        stage.set_defaults(work=work)
        stage.add_argument("--study", type=Path, required=True, help="study file")
        stage.add_argument("--out", type=Path, required=True, help="file or folder to write")
        for option in options:
            stage.add_argument(f"--{option}", **_ARGUMENTS[option])  # type: ignore[arg-type]
        stage.add_argument("--verbose", action="store_true", help="log progress on standard error")
    args = parser.parse_args(arguments)
    if args.verbose:
        enable_logging()
    args.work(args)


if __name__ == "__main__":
    _end_when_asked()
    sys.exit(exit_code_of(main))
