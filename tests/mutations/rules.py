"""The jobs of a study as the rules of the workflow state them, done here without Snakemake.

Inputs, outputs, parameters and commands are those of ``workflow/rules``. A job is done again as Snakemake does it: if
an output is missing, a parameter or the study has changed, or a job is done again whose output it reads.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
import inspect
import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from snakemake.io import expand, is_flagged

RULES = Path(__file__).resolve().parents[2] / "workflow" / "rules"
MEMORY = Path("remembered.json")
"""What each job depended on when it was done, as Snakemake keeps it in a folder of its own."""

_RULE = re.compile(r"^rule (\w+):\n((?:    .*\n|\n)+)", re.M)
_BLOCK = re.compile(r"^    (input|output|params|log|shell):\n((?:        .*\n)*)", re.M)


class _Named(SimpleNamespace):
    """What a rule gives below one keyword; as a whole it is all of it."""

    def all(self) -> list[Any]:
        """Return the values, lists of them taken apart."""
        return [one for value in vars(self).values() for one in (value if isinstance(value, list) else [value])]

    def __format__(self, spec: str) -> str:
        return " ".join(map(str, self.all()))


class _Paths(list[str]):
    def __format__(self, spec: str) -> str:
        return " ".join(self)


class _Path(str):
    def __format__(self, spec: str) -> str:
        return str(self)


class _Ancient(_Path):
    """An input whose changes do not count."""


@dataclass(frozen=True)
class Job:
    """A job of the workflow: its rule, what it reads and leaves, its parameters, and its command."""

    rule: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    params: dict[str, Any]
    command: str

    def remembered(self) -> dict[str, Any]:
        """Return what it depends on but for the outputs of other jobs."""
        files = {name: Path(name) for name in self.inputs if not isinstance(name, _Ancient)}
        digests = {
            name: hashlib.sha256(path.read_bytes()).hexdigest()
            for name, path in files.items()
            if path.suffix == ".yaml"
        }
        return {"params": self.params, "files": digests}

    def do(self) -> None:
        """Do it in this process; a report is not drawn, but counts as done."""
        for output in self.outputs:
            Path(output).parent.mkdir(parents=True, exist_ok=True)
        if self.rule != "report":
            _, _, module, *arguments = shlex.split(self.command.split(" > ")[0])
            _main_of(module)(arguments)
        for output in self.outputs:
            Path(output).touch()


def _main_of(module: str) -> Any:
    is_package = bool(getattr(importlib.util.find_spec(module), "submodule_search_locations", None))
    return importlib.import_module(f"{module}.__main__" if is_package else module).main


def jobs_of(name: str, jobs: Any, batch_cpu_s: float | None = None) -> Iterator[Job]:
    """Return all jobs of a planned study but its plan, those first whose outputs others read."""
    wildcards = {
        "machine": ("chunk", jobs.machines),
        "structure": ("chunk", jobs.machines),
        "workload": ("placed", jobs.workloads),
        "analysis": ("analysis", jobs.analyses),
        "simulate": ("batch", jobs.batches),
        "schedule": ("runs", jobs.schedules),
        "table": ("study", [name]),
        "report": ("study", [name]),
    }
    texts = {rule: body for file in RULES.glob("*.smk") for rule, body in _RULE.findall(file.read_text())}
    names = _names(name, jobs, batch_cpu_s)
    for rule, (wildcard, values) in wildcards.items():
        blocks = dict(_BLOCK.findall(texts[rule]))
        for value in values:
            yield _job(rule, blocks, names, {"study": name, wildcard: value})


def _job(rule: str, blocks: dict[str, str], names: dict[str, Any], wildcards: dict[str, str]) -> Job:
    given = SimpleNamespace(**wildcards)
    of: dict[str, _Named] = {}
    for block in ("input", "output", "params", "log"):
        of[block] = _values(eval(f"_given({blocks[block]})", names), given, of.get("input"))
    command = ast.literal_eval(f"({blocks['shell']})").format(**of, wildcards=given, threads=1)
    params = vars(of["params"])
    return Job(rule, " ".join(wildcards.values()), tuple(of["input"].all()), tuple(of["output"].all()), params, command)


def _values(given: tuple[tuple[Any, ...], dict[str, Any]], wildcards: SimpleNamespace, inputs: _Named | None) -> _Named:
    positional, named = given
    every = {f"_{number}": value for number, value in enumerate(positional)} | named
    return _Named(**{name: _value(value, wildcards, inputs) for name, value in every.items()})


def _value(value: Any, wildcards: SimpleNamespace, inputs: _Named | None) -> Any:
    if callable(value):
        value = value(wildcards, inputs) if "input" in inspect.signature(value).parameters else value(wildcards)
    if is_flagged(value, "ancient"):
        return _Ancient(value)
    if isinstance(value, list):
        return _Paths(one.format(**vars(wildcards)) for one in value)
    if isinstance(value, Path):
        return _Path(value)
    return _Path(value.format(**vars(wildcards))) if isinstance(value, str) else value


def _names(name: str, jobs: Any, batch_cpu_s: float | None = None) -> dict[str, Any]:
    """Return the names in rules: the study, the functions of the project, and those of Snakemake."""
    from fabricstudy.core.columns import PARQUET_ONLY, TABLES
    from fabricstudy.machine.definitions import MACHINE_FILES
    from fabricstudy.workflow.pipeline import BATCH_CPU_S
    from fabricstudy.workflow.snakefile import Inputs

    def same(path: Any, **_: Any) -> Any:
        return path

    return {
        "STUDIES": {name: jobs},
        "INPUTS": Inputs({name: jobs}),
        "SETTINGS": SimpleNamespace(batch_cpu_s=batch_cpu_s or BATCH_CPU_S),
        "MACHINE_FILES": MACHINE_FILES,
        "PARQUET_ONLY": PARQUET_ONLY,
        "TABLES": TABLES,
        "expand": expand,
        "multiext": lambda start, **ends: {key: start + end for key, end in ends.items()},
        **dict.fromkeys(("directory", "report"), same),
        "_given": _given,
    }


def _given(*positional: Any, **named: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    for one in [one for one in positional if isinstance(one, dict)]:  # what `multiext` names
        named |= one
    return tuple(one for one in positional if not isinstance(one, dict)), named


def due_jobs(jobs: list[Job]) -> list[Job]:
    """Return the jobs that are to be done, in this order."""
    memory = json.loads(MEMORY.read_text()) if MEMORY.exists() else {}
    due: list[Job] = []
    for job in jobs:
        made_anew = {output for other in due for output in other.outputs}
        if (
            not all(Path(output).exists() for output in job.outputs)
            or memory.get(f"{job.rule} {job.name}") != json.loads(json.dumps(job.remembered()))
            or made_anew.intersection(job.inputs)
        ):
            due.append(job)
    return due


def planned(study_file: str) -> Any:
    """Plan a study of this folder, once for all its jobs."""
    from fabricstudy.study.file import load_study
    from fabricstudy.workflow.jobs import load_studies

    studies = load_studies(study_file, 60.0)
    loaded = load_study(study_file)
    # Each job reads it again, which takes longer than most jobs of this study.
    for module in ("fabricstudy.workflow.stages", "fabricstudy.table.__main__"):
        found = importlib.import_module(module)
        vars(found)["_study" if module.endswith("stages") else "load_study"] = lambda _: loaded
    return studies


def rerun(studies: Any) -> list[str]:
    """Do what is due of a study in this folder, and give the rules of the jobs."""
    from fabricstudy.workflow.jobs import write_jobs

    ((name, pipeline),) = studies.planned.items()
    results = Path("results")
    studies.renew_plans(results)
    if not (results / name / "plan.parquet").exists():
        write_jobs(pipeline, studies.jobs[name], results / name)
    jobs = list(jobs_of(name, studies.jobs[name]))
    due = due_jobs(jobs)
    for job in due:
        job.do()
    MEMORY.write_text(json.dumps({f"{job.rule} {job.name}": job.remembered() for job in jobs}))
    return [job.rule for job in due]


def due_after(studies: Any, changes: list[tuple[str, str, str]]) -> list[list[str]]:
    """Return the rules of the jobs that would be due after each change of a file of ours: its path, old and new text.

    Nothing is imported anew: digests are of texts.
    """
    from fabricstudy.workflow.jobs import jobs_of as jobs_now
    from fabricstudy.workflow.pipeline import Pipeline

    ((name, study),) = studies.planned.items()
    # As a name of its package, `validity` is a function.
    modules = [importlib.import_module(f"fabricstudy.{one}") for one in ("core.source", "engine.validity")]
    caches = [one for module in modules for one in vars(module).values() if hasattr(one, "cache_clear")]
    found = []
    for path, old, new in changes:
        text = Path(path).read_text()
        try:
            Path(path).write_text(text.replace(old, new))
            for cache in caches:
                cache.cache_clear()
            found.append(
                [job.rule for job in due_jobs(list(jobs_of(name, jobs_now(Pipeline(study.file, study.plan)))))]
            )
        finally:
            Path(path).write_text(text)
    return found
