"""``fabricstudy report``: the report of a study."""

import argparse
import sys
import webbrowser
from contextlib import redirect_stdout
from pathlib import Path

from fabricstudy.core.errors import FabricstudyError
from fabricstudy.study.file import load_study
from fabricstudy.workflow.jobs import load_studies, read_jobs
from fabricstudy.workflow.pipeline import BATCH_CPU_S, find_study
from fabricstudy.workflow.small import commands
from fabricstudy.workflow.snakefile import REPORTS, RESULTS, Inputs, lock_studies, unlock
from fabricstudy.workflow.stages import main as do_stage


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("study", help="name of a bundled study, or path to a study file")
    parser.add_argument("--open", action="store_true", help="show it in a browser")


def run(args: argparse.Namespace) -> dict[str, str]:
    """Make the tables and the report of a study that has run, and print the path.

    Raises FabricstudyError if it has not run.
    """
    study = load_study(find_study(args.study)).study
    jobs = load_studies(args.study, BATCH_CPU_S)[study]
    known = read_jobs(RESULTS / study)
    inputs = Inputs({study: jobs})
    needed = [*inputs.machines(study), *inputs.workloads(study), *inputs.simulations(study)]
    missing = [RESULTS / study] if known is None else [path for path in needed if not Path(path).exists()]
    if known is not None and known.identity != jobs.identity:
        problem = f"{RESULTS / study}: the results are those of another study '{study}', or before a change of it"
        raise FabricstudyError(f"{problem}; run this study first", "study-changed")
    if missing:
        raise FabricstudyError(f"{missing[0]}: not there, the study is not done; run it first", "file-not-found")
    locked = lock_studies([study])
    try:
        for stage, arguments in commands(jobs, BATCH_CPU_S, RESULTS / study):
            if stage in ("table", "report"):
                with redirect_stdout(sys.stderr):
                    do_stage([stage, *arguments])
    finally:
        unlock(locked)
    page: Path = REPORTS / study / "index.html"
    if args.open:
        webbrowser.open(page.resolve().as_uri())
    return {"path": str(page)}


def show(result: dict[str, str]) -> None:
    print(result["path"])
