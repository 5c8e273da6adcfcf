"""One attempt at a point: place, prepare, run and read it in a folder."""

import logging
import time
import traceback
from dataclasses import replace
from pathlib import Path

from fabricstudy.core.files import remove
from fabricstudy.core.returned import failure_reason
from fabricstudy.core.store import Record
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.base import RouteError
from fabricstudy.workload.messages import PlacedJob, WorkloadError
from fabricstudy.workload.phases import operations_of
from fabricstudy.workload.placing import generate_messages
from fabricstudy.workload.software_cost import SoftwareCost, with_software_cost

from .built_point import BuiltPoint
from .definitions import AnalysedMachine
from .engine import Engine
from .failures import BackgroundMismatch, EngineFailure
from .offered_traffic import RUN_FILES, attempt_offered
from .outcome import STORED, store_result
from .point import Point
from .process import NotDone, check_memory, run_program
from .records import describe_jobs, describe_links, lower_bound_ns
from .settings import Limits
from .validity import input_digest

# Of each output of a failed run; `fabricstudy point` writes the input again.
MAX_FAILURE_LOG_BYTES = 100_000

TRACEBACK_FILE = "error.txt"
"""Traceback of an unexpected error, in the folder of the record."""

INITIAL_BACKGROUND_FACTOR = 4.0
"""Duration of background jobs in the first run, over the highest lower bound of the other jobs."""

MAX_BACKGROUND_RUNS = 8
"""Runs of one point, each with the background duration that the previous one required."""

_LOG = logging.getLogger(__name__)


def attempt_point(point: Point, engine: Engine, analysed: AnalysedMachine, limits: Limits, folder: Path) -> Record:
    """Place, prepare, run and read one point in the empty `folder`; return its record."""
    start = time.process_time()
    record: Record = {"status": "done"}
    try:
        _run(point, engine, analysed, limits, folder, record)
    except WorkloadError as error:
        record |= {"status": "unsupported", "reason": str(error)}
    except RouteError as error:
        reason = f"{point.routing.kind} routing: {error}; correct its routes"
        record |= {"status": "unsupported", "reason": reason}
    except NotDone as error:
        record |= {"status": error.status, "reason": str(error)}
    except EngineFailure as error:
        record |= {"status": "failed", "reason": str(error)}
    except (Exception, SystemExit) as error:
        reason = failure_reason(error, f"{TRACEBACK_FILE} in the folder of its record")
        (folder / TRACEBACK_FILE).write_text(traceback.format_exc(), errors="backslashreplace")
        record |= {"status": "failed", "reason": reason}
        _LOG.info("unexpected error", exc_info=True)
    record["overhead_cpu_s"] = time.process_time() - start
    return record


def _run(point: Point, engine: Engine, analysed: AnalysedMachine, limits: Limits, folder: Path, record: Record) -> None:
    """Fill `record` step by step, so that it keeps what was known before a failure."""
    check_supported(point, engine, analysed.machine)
    check_memory(engine.predict_memory_bytes(point), limits)
    if point.offered is not None:
        attempt_offered(point, engine, analysed, limits, folder, record)
        describe_links(folder, analysed.machine, record)
        return
    for _ in range(MAX_BACKGROUND_RUNS):
        jobs, command = prepare(point, engine, analysed, folder, record)
        _LOG.info("%d jobs placed for %s; running %s", len(jobs), engine.name, " ".join(command) or "nothing")
        if command and point.engine.processes > 1:
            command = engine.on_cores(command, point)
        exit_code = run_program(command, folder, limits, record) if command else 0
        try:
            result = engine.result(BuiltPoint(point, analysed.machine, jobs), folder, exit_code)
        except BackgroundMismatch as mismatch:
            record["background_ns"] = mismatch.needed_ns
            _LOG.info("repeat with a background of %.4g ns", mismatch.needed_ns)
            for path in folder.iterdir():
                remove(path)
            continue
        describe_jobs(jobs, point, analysed, record)
        store_result(result, folder, record)
        describe_links(folder, analysed.machine, record)
        return
    raise EngineFailure(f"in {MAX_BACKGROUND_RUNS} runs the background jobs did not last as long as the others")


def prepare(
    point: Point, engine: Engine, analysed: AnalysedMachine, folder: Path, record: Record
) -> tuple[list[PlacedJob], list[str]]:
    """Place the jobs of a point, and write the engine's input to the empty `folder`; return them and the command."""
    machine = analysed.machine
    jobs = generate_messages(point, machine, analysed.cut_side, analysed.placements(point))
    cost = point.network.software_cost
    if cost.exists:
        jobs = [job if job.load is not None else _with_cost(job, cost) for job in jobs]
    jobs = _with_background(jobs, point, analysed, record)
    command = engine.write(BuiltPoint(point, machine, jobs), folder)
    record["input"] = input_digest(folder, command, machine, jobs)
    return jobs, command


def _with_cost(job: PlacedJob, cost: SoftwareCost) -> PlacedJob:
    return replace(job, operations=with_software_cost(operations_of(job), cost), computing=None)


def _with_background(jobs: list[PlacedJob], point: Point, analysed: AnalysedMachine, record: Record) -> list[PlacedJob]:
    """Return the jobs with the background duration of `record`, or with a first guess, which is added to it."""
    if not any(job.background for job in jobs):
        return jobs
    if "background_ns" not in record:
        bounds_ns = (lower_bound_ns(job, point, analysed) for job in jobs if not job.background)
        record["background_ns"] = INITIAL_BACKGROUND_FACTOR * max(bounds_ns, default=0.0)
    duration_ns = record["background_ns"]
    return [replace(job, background_duration_ns=duration_ns) if job.background else job for job in jobs]


def check_supported(point: Point, engine: Engine, machine: Machine) -> None:
    """Raise `NotDone` if the engine cannot simulate the point."""
    if point.offered is not None and engine.simulates and not engine.runs_offered:
        raise NotDone("unsupported", f"the engine {engine.name} does not support offered traffic; use packet")
    refusal = engine.unsupported(point, machine)
    if refusal is not None:
        raise NotDone("unsupported", refusal)


def strip(folder: Path, status: str) -> None:
    """Remove the files of a run, except for its arrays or, if it failed, the ends of its outputs."""
    retained = (*STORED, RUN_FILES) if status == "done" else ("stdout", "stderr", TRACEBACK_FILE)
    for path in folder.iterdir():
        if path.is_dir() or not any(map(path.match, retained)):
            remove(path)
        elif status != "done":
            with path.open("rb") as file:
                file.seek(max(0, path.stat().st_size - MAX_FAILURE_LOG_BYTES))
                end = file.read()
            path.write_bytes(end)
