"""What the stages before the tables do: ``python -m fabricstudy.workflow.stages structure|analysis|simulate|...``.

A job plans its study again, which takes less than reading a file of points would, and refuses to go on if the study
is no longer the one that Snakemake saw.
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
from fabricstudy.core.log import tell

if TYPE_CHECKING:
    from fabricstudy.workflow.pipeline import Pipeline

# Each stage imports what it needs: to import all takes longer than most stages of a small study.
AGAIN_S = 0.1


def build_machines(args: argparse.Namespace) -> None:
    """Build the machines of one chunk, find the structure and bisection of each, and write one JSON object a line."""
    from fabricstudy.machine.stage import keep_machine
    from fabricstudy.structure.stage import keep_structure

    pipeline = _pipeline(args)
    _check(args, pipeline.machine_digest(args.name))
    with atomic_text(args.out) as out:
        for key in pipeline.machine_chunks[args.name].keys:
            keep_machine(args.results, f"m{key}", pipeline.plan.machines[f"m{key}"])
            out.write(json.dumps(keep_structure(args.results, f"m{key}")) + "\n")


def make_analysis(args: argparse.Namespace) -> None:
    """Compute the rows of one named analysis and write one JSON object a line."""
    from fabricstudy.analysis.stage import write_rows

    pipeline = _pipeline(args)
    _check(args, pipeline.analysis_digest(args.name))
    write_rows(pipeline.plan.study.analyses[args.name], args.out)


def simulate_batch(args: argparse.Namespace) -> None:
    """Simulate the points of one batch that the store does not have, and write the records of all."""
    from fabricstudy.engine.batch import run_batch
    from fabricstudy.engine.stores import Stores

    batch = _pipeline(args).batches[args.name]
    _check(args, batch.digest)
    run_batch(batch, Stores(args.results), args.out, args.cores)


def run_schedules(args: argparse.Namespace) -> None:
    """Do the runs of one chunk of a schedule, and write their records and the jobs of some."""
    from fabricstudy.schedule.stage import read_ratios, run_chunk

    chunk = _pipeline(args).run_chunks[args.name]
    _check(args, chunk.digest)
    start_s = time.process_time()
    run_chunk(chunk.runs, chunk.digest, read_ratios(args.points, chunk.points), args.out, args.jobs)
    print(f"{len(chunk.runs)} runs in {time.process_time() - start_s:.2f} s of processor time")


def _pipeline(args: argparse.Namespace) -> Pipeline:
    from fabricstudy.study.file import load_study
    from fabricstudy.study.plan import plan
    from fabricstudy.workflow.pipeline import BATCH_CPU_S, Pipeline

    return Pipeline(args.study, plan(load_study(args.study)), getattr(args, "batch_cpu_s", BATCH_CPU_S))


def _check(args: argparse.Namespace, digest: str) -> None:
    if digest != args.digest:
        raise FabricstudyError(
            f"{args.study}: the study was changed while it ran; start Snakemake again", "study-changed"
        )


def _end_when_asked() -> None:
    # A cluster that cancels a job asks first, and so does Ctrl-C: end the simulator and clear away what is half done.
    signal.signal(signal.SIGINT, _stop)
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGALRM, _stop)
    sys.unraisablehook = _stop_again


def _stop(number: int, frame: object) -> None:
    raise SystemExit(128 + signal.SIGTERM)


def _stop_again(lost: sys.UnraisableHookArgs) -> None:
    # Python drops what is raised while it forks, and we fork for each simulation.
    sys.__unraisablehook__(lost)
    if isinstance(lost.exc_value, SystemExit):
        signal.setitimer(signal.ITIMER_REAL, AGAIN_S)


def main(arguments: list[str] | None = None) -> None:
    """Do one job."""
    parser = argparse.ArgumentParser(prog="python -m fabricstudy.workflow.stages", description=__doc__.splitlines()[0])
    stages = parser.add_subparsers(required=True, metavar="STAGE")
    jobs = {
        "structure": build_machines, "analysis": make_analysis, "simulate": simulate_batch, "schedule": run_schedules,
    }  # fmt: skip
    for name, work in jobs.items():
        stage = stages.add_parser(name, help=work.__doc__, description=work.__doc__)
        stage.set_defaults(work=work)
        stage.add_argument("--results", type=Path, required=True, help="folder of the stores")
        stage.add_argument("--out", type=Path, required=True, help="file to write")
        stage.add_argument("--study", type=Path, required=True, help="study file")
        if name == "schedule":
            stage.add_argument("--points", type=Path, nargs="*", default=[], help="records of points, JSON lines")
            stage.add_argument("--jobs", type=Path, required=True, help="file for jobs, Parquet")
        if name == "simulate":
            stage.add_argument("--cores", type=int, default=1, help="cores that Snakemake grants")
        if name in ("simulate", "schedule"):
            stage.add_argument("--batch-cpu-s", type=float, required=True, help="predicted seconds a batch")
        stage.add_argument("--name", required=True, help="chunk, batch, analysis or runs of the plan")
        stage.add_argument("--digest", required=True, help="what Snakemake saw of it")
        stage.add_argument("--verbose", action="store_true", help="say on standard error what is done")
    args = parser.parse_args(arguments)
    if args.verbose:
        tell()
    _end_when_asked()
    args.work(args)


if __name__ == "__main__":
    sys.exit(exit_code_of(main))
