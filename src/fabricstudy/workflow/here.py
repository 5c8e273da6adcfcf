"""Run a small study in this process: the stages, files and logs of the workflow, without Snakemake.

Snakemake's records state the parameters and inputs of each file, as JSON in ``.snakemake/metadata``, with the checksums
of small inputs. They are read and
written here, too, so that Snakemake can continue a study, and the reverse.
"""

import hashlib
import json
import shutil
import sys
import time
import traceback
from base64 import urlsafe_b64encode
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from fabricstudy.core.errors import INTERRUPTED_CODE, FabricstudyError, exit_code_of
from fabricstudy.machine.definitions import MACHINE_FILES
from fabricstudy.study.plan_file import PLAN_FILES, POINTS_FILE

from .display import RunDisplay
from .jobs import FILE, Studies, StudyJobs, forecast_of, load_studies, read_jobs, write_jobs
from .pipeline import BATCH_CPU_S
from .snakefile import RESULTS, Inputs, check_points, check_timestamps, lock_studies, summary_lines, unlock

SNAKEMAKE = Path(".snakemake")
RECORD_FORMAT_VERSION = 6
"""Of Snakemake's records."""
CHECKSUM_BYTES = 1_000_000
"""Largest input with a checksum, as in Snakemake."""
NAME_BYTES = 254
"""Most of a part of a record's path, as Snakemake divides it."""
TABLES_AND_REPORT = ("table", "report")
"""Rules of the tables and the report, which need those before."""
STAGES = "fabricstudy.workflow.stages"
_MODULES = {"table": "fabricstudy.table.__main__", "report": "fabricstudy.report.__main__"}
"""Of rules that are no stages."""
_WORDS = {
    "machine": "Building machines of", "structure": "Finding the bisection of machines of",
    "workload": "Placing jobs of", "simulate": "Simulating", "schedule": "Scheduling",
    "analysis": "Computing an analysis of", "table": "Collecting the tables of", "report": "Writing the report of",
}  # fmt: skip


@dataclass(frozen=True)
class Task:
    """A job of the workflow: its rule and name, its files and parameters as the rule has them, and its command."""

    rule: str
    name: str
    words: str
    module: str
    arguments: list[str]
    inputs: list[str]
    outputs: list[str]
    params: list[Any]
    undated: str = ""
    """The input whose date does not count."""

    @property
    def log(self) -> Path:
        return Path(f"logs/{self.name}.log")

    @property
    def record(self) -> dict[str, Any]:
        """What Snakemake compares; it ignores what a record lacks."""
        params = sorted(map(repr, self.params))
        return {
            "rule": self.rule, "input": sorted(self.inputs), "params": params,
            "record_format_version": RECORD_FORMAT_VERSION,
        }  # fmt: skip

    def is_current(self) -> bool:
        """Return whether the outputs were made from these inputs and parameters, and none is newer, unless equal."""
        paths = [Path(output) for output in self.outputs]
        if not all(path.exists() for path in paths):
            return False
        records = [read_record(path) for path in paths]
        if any(record.get(key) != self.record[key] for record in records for key in ("input", "params")):
            return False
        made_ns = min(path.stat().st_mtime_ns for path in paths)
        newer = [file for file in self.inputs if file != self.undated and Path(file).stat().st_mtime_ns > made_ns]
        sums = checksums(newer)
        known = [record.get("input_checksums") or {} for record in records]
        return all(file in sums and all(of.get(file) == sums[file] for of in known) for file in newer)

    def run(self) -> bool:
        """Make the outputs; return whether that succeeded. What happens is in the log."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        remove_output(Path(f"benchmarks/{self.name}.jsonl"))  # an old one would date the outputs for Snakemake
        record = self.record | {"input_checksums": checksums(self.inputs)}
        for output in map(Path, self.outputs):
            remove_output(output)
            output.parent.mkdir(parents=True, exist_ok=True)
            write_record(output, record)  # first: a record without its file is no result
        main: Callable[[list[str]], None] = import_module(self.module).main
        with self.log.open("w", encoding="utf-8") as log, redirect_stdout(log), redirect_stderr(log):
            try:
                code = exit_code_of(lambda: main(self.arguments))
                if code == INTERRUPTED_CODE:
                    raise KeyboardInterrupt
                return code == 0
            except Exception:
                traceback.print_exc()
                return False


def record_path(output: Path) -> Path:
    """Return the path of Snakemake's record of an output."""
    name = urlsafe_b64encode(str(output).encode()).decode()
    *folders, last = (name[start : start + NAME_BYTES] for start in range(0, len(name), NAME_BYTES))
    return Path(SNAKEMAKE, "metadata", *(f"@{folder}" for folder in folders), last)


def checksums(files: Iterable[str]) -> dict[str, str]:
    """Return the checksums of small files, as Snakemake writes them."""
    small = [file for file in files if Path(file).is_file() and Path(file).stat().st_size <= CHECKSUM_BYTES]
    return {file: f"sha256:{hashlib.sha256(Path(file).read_bytes()).hexdigest()}" for file in small}


def read_record(output: Path) -> dict[str, Any]:
    """Return Snakemake's record of an output; {} if there is none."""
    try:
        found: dict[str, Any] = json.loads(record_path(output).read_bytes())
    except (OSError, ValueError):
        return {}
    return found


def write_record(output: Path, record: dict[str, Any]) -> None:
    path = record_path(output)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record), encoding="utf-8")


def remove_output(output: Path) -> None:
    if output.is_dir():
        shutil.rmtree(output)
    else:
        output.unlink(missing_ok=True)


def run_here(name: str, rules: Collection[str] = ()) -> None:
    """Run a study, and continue with other jobs if one fails; print the final lines.

    If `rules` are given, only their jobs run, and nothing is printed. Raises FabricstudyError if a job failed, its
    inputs are missing, or no point could be simulated.
    """
    start_s = time.time()
    if any((SNAKEMAKE / "locks").glob("*.lock")):
        problem = "Snakemake is running in this folder, or was killed"
        raise FabricstudyError(f"{problem}; wait for it, or run: fabricstudy run {name} --unlock", "usage")
    studies = load_studies(name, BATCH_CPU_S)
    check_timestamps(studies.jobs)
    for study, jobs in studies.jobs.items() if rules else ():
        known = read_jobs(RESULTS / study)
        if known is None:
            raise FabricstudyError(f"{RESULTS / study}: the study is not done; run it first", "file-not-found")
        if known.identity != jobs.identity:
            problem = f"{RESULTS / study}: the results are those of another study '{study}', or before a change of it"
            raise FabricstudyError(f"{problem}; run this study first", "study-changed")
    locked = lock_studies(studies.jobs)
    try:
        _run_studies(name, studies, rules, start_s)
    finally:
        unlock(locked)


def _run_studies(name: str, studies: Studies, rules: Collection[str], start_s: float) -> None:
    studies.renew_plans(RESULTS)
    for study, jobs in studies.jobs.items():
        if read_jobs(RESULTS / study) is None and not rules:
            plan = [RESULTS / study / file for file in (*PLAN_FILES, FILE)]
            for file in plan:
                write_record(file, Task("plan", "", "", "", [], [str(jobs.file)], [], [""]).record)
            (RESULTS / study).mkdir(parents=True, exist_ok=True)
            write_jobs(studies.planned[study], jobs, RESULTS / study)
    every = [task for study, jobs in studies.jobs.items() for task in tasks(study, jobs)]
    due = list(_due([task for task in every if not rules or task.rule in rules]))
    try:
        done = not due or all(_run(due, RunDisplay(forecast_s=partial(forecast_of, studies.jobs.values()))))
    except (KeyboardInterrupt, SystemExit):  # the latter where simulations are ended
        words = "Interrupted. Finished simulations are cached; the same command continues with the rest."
        print(words, file=sys.stderr)
        raise
    if not done:
        raise FabricstudyError(f"{name}: a job failed, see above; the same command continues with the rest")
    if not rules:
        print("\n".join(["Nothing to be done."] * (not due) + summary_lines(studies.jobs, start_s)))
        check_points(studies.jobs)


def _due(every: list[Task]) -> Iterator[Task]:
    """Yield the tasks whose outputs are missing or out of date, or whose inputs another task will make."""
    made: set[str] = set()
    for task in every:
        missing = next((file for file in task.inputs if file not in made and not Path(file).exists()), None)
        if missing is not None and task.rule in TABLES_AND_REPORT:
            raise FabricstudyError(f"{missing}: not there, the study is not done; run it first", "file-not-found")
        if not made.isdisjoint(task.inputs) or not task.is_current():
            made.update(task.outputs)
            yield task


def _run(due: list[Task], display: RunDisplay) -> list[bool]:
    """Run tasks but those that need an output of one that failed; return which succeeded."""
    display.plan(Counter(task.rule for task in due))
    lost: set[str] = set()
    ended = []
    try:
        for task in due:
            done = lost.isdisjoint(task.inputs)
            if done:
                display.start(task.name, task.rule, task.words)
                done = task.run()
                if done:
                    display.finish(task.name)
                else:
                    display.fail(task.name, str(task.log))
            if not done:
                lost.update(task.outputs)
            ended.append(done)
    finally:
        display.close()
    return ended


def tasks(study: str, jobs: StudyJobs) -> Iterator[Task]:
    """Yield all jobs of a study but its plan, in an order in which they can run: those of ``workflow/rules``."""
    inputs, file, base = Inputs({study: jobs}), str(jobs.file), f"results/{study}"
    own, planned = SimpleNamespace(study=study), [file, f"{base}/{POINTS_FILE}"]

    options: dict[str, str | list[str]]

    def task(
        rule: str, chunk: str, needed: list[str], outputs: list[str], params: list[Any],
        options: dict[str, str | list[str]], out: str = "",
    ) -> Task:  # fmt: skip
        module = _MODULES.get(rule, STAGES)
        arguments = [] if rule in TABLES_AND_REPORT else [rule]
        for option, values in {"study": file, **options, "out": out or outputs[0]}.items():
            arguments += [f"--{option.replace('_', '-')}", *([values] if isinstance(values, str) else values)]
        name, words = (f"{study}/{rule}/{chunk}", f", {chunk}") if chunk else (f"{study}/{rule}", "")
        undated = "" if rule in TABLES_AND_REPORT else file
        return Task(rule, name, f"{_WORDS[rule]} {study}{words}", module, arguments, needed, outputs, params, undated)

    def folders(machines: list[str]) -> list[str]:
        return inputs.folders(None, SimpleNamespace(machines=machines))

    for name, machine in jobs.machines.items():
        folder, ids = f"{base}/machine/{name}", machine.machines
        outputs = [f"{folder}/{written}" for written in MACHINE_FILES]
        yield task("machine", name, planned, outputs, [ids, machine.digest], {"plan": base, "ids": ids}, folder)
        needed, output = [*planned, f"{folder}/machines.json"], f"{base}/structure/{name}.jsonl"
        options = {"plan": base, "machines": folder, "ids": ids, "results": "results"}
        yield task("structure", name, needed, [output], [ids, machine.structure], options)
    for name, workload in jobs.workloads.items():
        job = SimpleNamespace(study=study, placed=name)
        machines, structures = inputs.machines_of(job), inputs.structures_of(job)
        options = {"plan": base, "machines": folders(machines), "structures": structures, "name": name}
        needed, output = [*planned, *machines, *structures], f"{base}/workload/{name}.parquet"
        yield task("workload", name, needed, [output], [workload.digest], options)
    for name, batch in jobs.batches.items():
        job = SimpleNamespace(study=study, batch=name)
        machines, structures = inputs.machines_of(job), inputs.structures_of(job)
        placed, stem = inputs.workloads_of_batch(job), f"{base}/simulate/{name}"
        options = {"plan": base, "machines": folders(machines), "structures": structures, "workloads": placed}
        options |= {"name": name, "cores": str(batch.processes), "results": "results", "links": f"{stem}.links.parquet"}
        outputs = [f"{stem}.jsonl", f"{stem}.links.parquet"]
        yield task("simulate", name, [*planned, *machines, *structures, *placed], outputs, [batch.digest], options)
    for name, runs in jobs.schedules.items():
        points, stem = inputs.points_of_runs(SimpleNamespace(study=study, runs=name)), f"{base}/schedule/{name}"
        outputs = [f"{stem}.jsonl", f"{stem}.parquet", f"{stem}.history.parquet"]
        options = {"plan": base, "batch_cpu_s": str(BATCH_CPU_S), "name": name, "points": points}
        options |= {"jobs": outputs[1], "histories": outputs[2]}
        yield task("schedule", name, [*planned, *points], outputs, [runs.digest, BATCH_CPU_S], options)
    tables = f"{base}/tables"
    for name, digest in jobs.analyses.items():
        outputs = [f"{tables}/analysis-{name}.{end}" for end in ("parquet", "csv")]
        yield task("analysis", name, [file], outputs, [digest], {"name": name})
    shards, links = inputs.every("simulate", ".jsonl")(own), inputs.every("simulate", ".links.parquet")(own)
    structures, analyses = inputs.every("structure", ".jsonl")(own), inputs.analyses(own)
    schedules, scheduled = inputs.every("schedule", ".jsonl")(own), inputs.every("schedule", ".parquet")(own)
    outputs = [path for path in inputs.tables(study) if not path.startswith(f"{tables}/analysis-")]
    needed = [*planned, *shards, *links, *structures, *analyses, *schedules, *scheduled]
    options = {"plan": base, "shards": shards, "links": links, "structures": structures, "analyses": analyses}
    yield task("table", "", needed, outputs, [jobs.table], options | {"schedules": schedules}, tables)
    machines, placed, histories = inputs.drawn_machines(own), inputs.drawn_workloads(own), inputs.drawn_runs(own)
    needed = [*planned, *inputs.tables(study), *machines, *placed, *histories]
    outputs = [f"reports/{study}/index.html", f"reports/{study}/figures"]
    options = {"plan": base, "tables": tables, "machines": folders(machines), "workloads": placed}
    options |= {"histories": histories}
    yield task("report", "", needed, outputs, [jobs.report.digest], options, f"reports/{study}")
