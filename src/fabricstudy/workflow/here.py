"""Run a small study in this process: the stages, files and logs of the workflow, without Snakemake.

Snakemake's records state the parameters and inputs of each file, as JSON in ``.snakemake/metadata``. They are read and
written here, too, so that Snakemake can continue a study, and the reverse.
"""

import json
import shutil
import time
import traceback
from base64 import urlsafe_b64encode
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from fabricstudy.core.errors import FabricstudyError, exit_code_of
from fabricstudy.machine.definitions import MACHINE_FILES
from fabricstudy.study.plan_file import PLAN_FILES, POINTS_FILE

from .display import RunDisplay
from .jobs import FILE, StudyJobs, load_studies, read_jobs, write_jobs
from .pipeline import BATCH_CPU_S
from .snakefile import RESULTS, Inputs, check_timestamps, summary_lines

SNAKEMAKE = Path(".snakemake")
RECORD_FORMAT_VERSION = 6
"""Of Snakemake's records."""
NAME_BYTES = 254
"""Most of a part of a record's path, as Snakemake divides it."""
LAST = ("table", "report")
"""Rules of the tables and the report, which need those before."""
STAGES = "fabricstudy.workflow.stages"


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
        """Return whether the outputs were made from these inputs and parameters, and are not older."""
        paths = [Path(output) for output in self.outputs]
        if not all(path.exists() and self._is_recorded(path) for path in paths):
            return False
        dates = [Path(file).stat().st_mtime_ns for file in self.inputs if file != self.undated]
        return max(dates, default=0) <= min(path.stat().st_mtime_ns for path in paths)

    def _is_recorded(self, output: Path) -> bool:
        try:
            found = json.loads(record_path(output).read_bytes())
        except (OSError, ValueError):
            return False
        return all(found.get(key) == self.record[key] for key in ("input", "params"))

    def run(self) -> bool:
        """Make the outputs; return whether that succeeded. What happens is in the log."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        remove(Path(f"benchmarks/{self.name}.jsonl"))  # an old one would date the outputs for Snakemake
        for output in map(Path, self.outputs):
            remove(output)
            output.parent.mkdir(parents=True, exist_ok=True)
            write_record(output, self.record)  # first: a record without its file is no result
        main: Callable[[list[str]], None] = import_module(self.module).main
        with self.log.open("w", encoding="utf-8") as log, redirect_stdout(log), redirect_stderr(log):
            try:
                return exit_code_of(lambda: main(self.arguments)) == 0
            except Exception:
                traceback.print_exc()
                return False


def record_path(output: Path) -> Path:
    """Return the path of Snakemake's record of an output."""
    name = urlsafe_b64encode(str(output).encode()).decode()
    *folders, last = (name[start : start + NAME_BYTES] for start in range(0, len(name), NAME_BYTES))
    return Path(SNAKEMAKE, "metadata", *(f"@{folder}" for folder in folders), last)


def write_record(output: Path, record: dict[str, Any]) -> None:
    path = record_path(output)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record), encoding="utf-8")


def remove(output: Path) -> None:
    if output.is_dir():
        shutil.rmtree(output)
    else:
        output.unlink(missing_ok=True)


def run_here(name: str, rules: Collection[str] = ()) -> list[str]:
    """Run a study, and continue with other jobs if one fails; return the final lines.

    If `rules` are given, only their jobs run. Raises FabricstudyError if a job failed, or its inputs are missing.
    """
    start_s = time.time()
    if any((SNAKEMAKE / "locks").glob("*.lock")):
        problem = "Snakemake is running in this folder, or was killed"
        raise FabricstudyError(f"{problem}; wait for it, or run: fabricstudy run {name} --unlock", "usage")
    studies = load_studies(name, BATCH_CPU_S)
    check_timestamps(studies.jobs)
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
    if due and not all(_run(due, RunDisplay())):
        raise FabricstudyError(f"{name}: a job failed, see above; the same command continues with the rest")
    return ["Nothing to be done."] * (not due) + summary_lines(studies.jobs, start_s)


def _due(every: list[Task]) -> Iterator[Task]:
    """Yield the tasks whose outputs are missing or out of date, or whose inputs another task will make."""
    made: set[str] = set()
    for task in every:
        missing = next((file for file in task.inputs if file not in made and not Path(file).exists()), None)
        if missing is not None and task.rule in LAST:
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
    plan = f"{base}/{POINTS_FILE}"

    def task(
        rule: str, name: str, words: str, files: list[str], outputs: list[str], params: list[Any], *arguments: str,
        module: str = STAGES, out: str = "",
    ) -> Task:  # fmt: skip
        as_written = module != STAGES
        command = [] if as_written else [rule]
        command += ["--study", file, *arguments, "--out", out or outputs[0]]
        where = f"{study}/{rule}" + f"/{name}" * bool(name)
        return Task(rule, where, words, module, command, files, outputs, params, "" if as_written else file)

    def folders(files: list[str]) -> list[str]:
        return inputs.folders(None, SimpleNamespace(machines=files))

    for name, machine in jobs.machines.items():
        folder = f"{base}/machine/{name}"
        outputs = [f"{folder}/{written}" for written in MACHINE_FILES]
        words = f"Building machines of {study} (chunk {name})"
        arguments = ["--plan", base, "--ids", *machine.machines]
        params = [machine.machines, machine.digest]
        yield task("machine", name, words, [file, plan], outputs, params, *arguments, out=folder)
        words = f"Finding the bisection of machines of {study} (chunk {name})"
        arguments += ["--machines", folder, "--results", "results"]
        params = [machine.machines, jobs.structure]
        needed = [file, plan, f"{folder}/machines.json"]
        yield task("structure", name, words, needed, [f"{base}/structure/{name}.jsonl"], params, *arguments)
    for name, workload in jobs.workloads.items():
        job = SimpleNamespace(study=study, placed=name)
        machines, structures = inputs.machines_of(job), inputs.structures_of(job)
        words = f"Placing jobs of {study} (chunk {name})"
        arguments = ["--plan", base, "--machines", *folders(machines), "--structures", *structures, "--name", name]
        needed = [file, plan, *machines, *structures]
        output = f"{base}/workload/{name}.parquet"
        yield task("workload", name, words, needed, [output], [workload.digest], *arguments)
    for name, batch in jobs.batches.items():
        job = SimpleNamespace(study=study, batch=name)
        machines, structures = inputs.machines_of(job), inputs.structures_of(job)
        placed = inputs.workloads_of_batch(job)
        output, links = f"{base}/simulate/{name}.jsonl", f"{base}/simulate/{name}.links.parquet"
        arguments = ["--plan", base, "--machines", *folders(machines), "--structures", *structures]
        arguments += ["--workloads", *placed]
        arguments += ["--name", name, "--cores", str(batch.processes), "--results", "results", "--links", links]
        needed = [file, plan, *machines, *structures, *placed]
        words = f"Simulating {study}: batch {name}"
        yield task("simulate", name, words, needed, [output, links], [batch.digest], *arguments)
    for name, runs in jobs.schedules.items():
        points = inputs.points_of_runs(SimpleNamespace(study=study, runs=name))
        stem = f"{base}/schedule/{name}"
        outputs = [f"{stem}.jsonl", f"{stem}.parquet", f"{stem}.history.parquet"]
        arguments = ["--plan", base, "--batch-cpu-s", str(BATCH_CPU_S), "--name", name, "--points", *points]
        arguments += ["--jobs", outputs[1], "--histories", outputs[2]]
        words = f"Scheduling {study}: runs {name}"
        yield task("schedule", name, words, [file, plan, *points], outputs, [runs.digest, BATCH_CPU_S], *arguments)
    for name, digest in jobs.analyses.items():
        stem = f"{base}/tables/analysis-{name}"
        words = f"Computing the analysis {name} of {study}"
        yield task("analysis", name, words, [file], [f"{stem}.parquet", f"{stem}.csv"], [digest], "--name", name)
    yield from _last(study, jobs, inputs, task)


def _last(study: str, jobs: StudyJobs, inputs: Inputs, task: Callable[..., Task]) -> Iterator[Task]:
    """Yield the jobs that make the tables and the report of a study."""
    file, base, own = str(jobs.file), f"results/{study}", SimpleNamespace(study=study)
    plan, tables = f"{base}/{POINTS_FILE}", f"{base}/tables"
    shards, links = inputs.every("simulate", ".jsonl")(own), inputs.every("simulate", ".links.parquet")(own)
    structures, analyses = inputs.every("structure", ".jsonl")(own), inputs.analyses(own)
    schedules, scheduled = inputs.every("schedule", ".jsonl")(own), inputs.every("schedule", ".parquet")(own)
    made = [path for path in inputs.tables(study) if not path.startswith(f"{tables}/analysis-")]
    needed = [file, plan, *shards, *links, *structures, *analyses, *schedules, *scheduled]
    arguments = ["--plan", base, "--shards", *shards, "--links", *links, "--structures", *structures]
    arguments += ["--analyses", *analyses, "--schedules", *schedules]
    words = f"Collecting the tables of {study}"
    yield task(
        "table", "", words, needed, made, [jobs.table], *arguments, module="fabricstudy.table.__main__", out=tables
    )
    machines, workloads, histories = inputs.drawn_machines(own), inputs.drawn_workloads(own), inputs.drawn_runs(own)
    needed = [file, plan, *inputs.tables(study), *machines, *workloads, *histories]
    outputs = [f"reports/{study}/index.html", f"reports/{study}/figures"]
    folders = inputs.folders(None, SimpleNamespace(machines=machines))
    arguments = ["--plan", base, "--tables", tables, "--machines", *folders, "--workloads", *workloads]
    arguments += ["--histories", *histories]
    words, report = f"Writing the report of {study}", "fabricstudy.report.__main__"
    yield task(
        "report", "", words, needed, outputs, [jobs.report.digest], *arguments, module=report, out=f"reports/{study}"
    )
