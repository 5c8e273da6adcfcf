"""The jobs of a study as the rules of the workflow state them, done here without Snakemake.

Inputs, outputs, parameters and commands are those of ``workflow/rules``. A job is done again as Snakemake does it: if
an output is missing, a parameter or the study has changed, or a job is done again whose output it reads.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

RULES = Path(__file__).resolve().parents[2] / "workflow" / "rules"
MEMORY = Path("remembered.json")
"""What each job depended on when it was done, as Snakemake keeps it in a folder of its own."""

_RULE = re.compile(r"^rule (\w+):\n((?:    .*\n|\n)+)", re.M)
_BLOCK = re.compile(r"^    (input|output|params|log|shell):\n((?:        .*\n)*)", re.M)


class _Named(SimpleNamespace):
    """What a rule gives below one keyword; as a whole it is all of it."""

    def all(self) -> list[Any]:
        """Give the values, lists of them taken apart."""
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
        """Give what it depends on but for the outputs of other jobs."""
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


def jobs_of(study: Any) -> Iterator[Job]:
    """Give all jobs of a planned study, those first whose outputs others read."""
    wildcards = {
        "structure": ("chunk", study.machine_chunks),
        "analysis": ("analysis", study.analyses),
        "simulate": ("batch", study.batches),
        "schedule": ("runs", study.run_chunks),
        "table": ("study", [study.name]),
        "report": ("study", [study.name]),
    }
    texts = {name: body for file in RULES.glob("*.smk") for name, body in _RULE.findall(file.read_text())}
    for rule, (wildcard, values) in wildcards.items():
        blocks = dict(_BLOCK.findall(texts[rule]))
        for value in values:
            yield _job(rule, blocks, study, {"study": study.name, wildcard: value})


def _job(rule: str, blocks: dict[str, str], study: Any, wildcards: dict[str, str]) -> Job:
    names = _names(study)
    given = SimpleNamespace(**wildcards)
    of = {
        block: _values(eval(f"_given({blocks[block]})", names), given) for block in ("input", "output", "params", "log")
    }
    command = ast.literal_eval(f"({blocks['shell']})").format(**of, wildcards=given, threads=1)
    params = vars(of["params"])
    return Job(rule, " ".join(wildcards.values()), tuple(of["input"].all()), tuple(of["output"].all()), params, command)


def _values(given: tuple[tuple[Any, ...], dict[str, Any]], wildcards: SimpleNamespace) -> _Named:
    positional, named = given
    every = {f"_{number}": value for number, value in enumerate(positional)} | named
    return _Named(**{name: _value(value, wildcards) for name, value in every.items()})


def _value(value: Any, wildcards: SimpleNamespace) -> Any:
    value = value(wildcards) if callable(value) else value
    if isinstance(value, list):
        return _Paths(value)
    if isinstance(value, Path):
        return _Path(value)
    return _Path(value.format(**vars(wildcards))) if type(value) is str else value


def _names(study: Any) -> dict[str, Any]:
    """Give what stands in rules: the study, our functions, and those of Snakemake."""
    from fabricstudy.core.source import code_digest
    from fabricstudy.structure.stage import structure_code
    from fabricstudy.workflow.pipeline import BATCH_CPU_S

    def expand(pattern: str, **lists: Any) -> list[str]:
        ((name, values),) = ((name, values) for name, values in lists.items() if not isinstance(values, str))
        rest = {name: values for name, values in lists.items() if isinstance(values, str)}
        return [pattern.format(**rest, **{name: value}) for value in values]

    def same(path: Any, **_: Any) -> Any:
        return path

    return {
        "STUDIES": {study.name: study},
        "SETTINGS": SimpleNamespace(batch_cpu_s=BATCH_CPU_S),
        "code_digest": code_digest,
        "structure_code": structure_code,
        "expand": expand,
        "ancient": lambda path: _Ancient(path),
        **dict.fromkeys(("touch", "directory", "report"), same),
        "_given": lambda *positional, **named: (positional, named),
    }


def due_jobs(jobs: list[Job]) -> list[Job]:
    """Give the jobs that are to be done, in this order."""
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
    from fabricstudy.table import __main__ as table
    from fabricstudy.workflow import stages
    from fabricstudy.workflow.pipeline import pipelines

    (study,) = pipelines(study_file).values()
    vars(stages)["_pipeline"] = lambda args: study
    vars(table).update(load_study=lambda file: study.plan.study, plan=lambda loaded: study.plan)
    return study


def rerun(study: Any) -> list[str]:
    """Do what is due of a study in this folder, and give the rules of the jobs."""
    from fabricstudy.workflow import snakefile as ours

    if MEMORY.exists():
        ours.forget_what_is_gone(study, Path("results"))
    jobs = list(jobs_of(study))
    due = due_jobs(jobs)
    for job in due:
        job.do()
    MEMORY.write_text(json.dumps({f"{job.rule} {job.name}": job.remembered() for job in jobs}))
    return [job.rule for job in due]


def due_after(study: Any, changes: list[tuple[str, str, str]]) -> list[list[str]]:
    """Give the rules of the jobs that would be due after each change of a file of ours: its path, old and new text.

    Nothing is imported anew: digests are of texts.
    """
    from fabricstudy.workflow.pipeline import Pipeline

    # As a name of its package, `validity` is a function.
    modules = [importlib.import_module(f"fabricstudy.{name}") for name in ("core.source", "engine.validity")]
    caches = [one for module in modules for one in vars(module).values() if hasattr(one, "cache_clear")]
    found = []
    for path, old, new in changes:
        text = Path(path).read_text()
        try:
            Path(path).write_text(text.replace(old, new))
            for cache in caches:
                cache.cache_clear()
            found.append([job.rule for job in due_jobs(list(jobs_of(Pipeline(study.file, study.plan))))])
        finally:
            Path(path).write_text(text)
    return found
