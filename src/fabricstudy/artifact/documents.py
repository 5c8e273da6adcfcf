"""The documents of an artifact: README, Makefile, and the draft of the AD/AE appendix."""

import json
import os
import platform
import re
import socket
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd

from fabricstudy.core.checkout import Checkout
from fabricstudy.core.columns import DONE, LINK_LOAD_TABLE, PARQUET_ONLY
from fabricstudy.engine.registry import engine_named
from fabricstudy.report.text import claim_numbers, format_number
from fabricstudy.study.figures import JobsFigure
from fabricstudy.table.files import ANALYSIS_PREFIX

from .compare import FLOAT_TOLERANCE, TOLERANCE
from .completed_study import CompletedStudy

SETUP_MINUTES = (4, 10)
"""Environment and simulator, mostly downloads and compilation; seven minutes measured on two cores under load."""

JOB_START_S = 3.0
"""Overhead of Snakemake for a job."""

CORES = (1, 4, 16, 64)


def documents(run: CompletedStudy, code: Checkout, contents: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return ``README.md``, ``Makefile`` and ``APPENDIX.md``; `contents` are the other files by path."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("fabricstudy.artifact"), undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    environment.filters["cell"] = cell
    facts = _facts(run, code, contents)
    return {
        name: environment.get_template(f"{name}.j2").render(facts).encode()
        for name in ("README.md", "Makefile", "APPENDIX.md")
    }


def cell(text: Any) -> str:
    """Return text that fits into a cell of a Markdown table.

    Examples
    --------
    >>> cell("a | b\\nc")
    'a \\\\| b c'
    """
    return " ".join(str(text).split()).replace("|", "\\|")


def _facts(run: CompletedStudy, code: Checkout, contents: Mapping[str, bytes]) -> dict[str, Any]:
    points = run.points
    work = effort(run)
    return {
        "study": run.plan.study, "name": run.name, "study_file": run.study_path, "code": code, "engines": run.engines,
        "points": len(points), "rows": len(run.plan.rows), "done": int((points["status"] == DONE).sum()),
        "machines": len(run.plan.machines), "seeds": run.tables.points["seed"].nunique(),
        "foreign": [engine for engine in run.engines if not engine_named(engine).bundled],
        "locks": sorted(path for path in contents if path.endswith(".lock")), "packages": _packages(contents),
        "python": platform.python_version(), "figures": _figures(run),
        "claims": [_part(row) for row in run.tables.claims.to_dict("records")],
        "work": work, "setup_minutes": SETUP_MINUTES, "analysis_minutes": _minutes(work.analysis_s / 60),
        "execution_minutes": {cores: _minutes(work.execution_minutes(cores)) for cores in CORES},
        "hosts": sorted(points["host"].dropna().unique()), "here": _this_machine(), "interval": run.interval,
        "size_mb": sum(map(len, contents.values())) / 1e6, "tolerance": TOLERANCE, "rounding": FLOAT_TOLERANCE,
    }  # fmt: skip


def _minutes(minutes: float) -> str:
    return "less than 1" if minutes < 1 else f"{minutes:.0f}"


def _packages(contents: Mapping[str, bytes]) -> dict[str, str]:
    """Return the installed versions of the Python packages that the project depends on."""
    project = tomllib.loads(contents.get("code/pyproject.toml", b"").decode()).get("project", {})
    versions = {}
    for needed in project.get("dependencies", ()):
        name = re.split(r"[^A-Za-z0-9_.-]", needed, maxsplit=1)[0]
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions


def _figures(run: CompletedStudy) -> list[dict[str, str]]:
    figures = []
    for figure in run.plan.study.report_figures:
        name = figure.table if figure.analysis is None else f"{ANALYSIS_PREFIX}{figure.analysis}"
        name = LINK_LOAD_TABLE if figure.of_links else name
        if isinstance(figure, JobsFigure) and not figure.draws_jobs:
            name = "operations"
        table = f"results/{run.name}/tables/{name}.{'parquet' if name in PARQUET_ONLY else 'csv'}"
        files = f"reports/{run.name}/figures/{figure.id}.svg, .pdf"
        figures.append({"id": figure.id, "title": figure.title, "files": files, "table": table})
    return figures


def _part(row: Mapping[Any, Any]) -> dict[str, str]:
    verdict, of_claim, numbers = row["verdict"], row["claim_verdict"], claim_numbers(row)
    low, high = (format_number(row[end], row["show"]) for end in ("low", "high"))
    if low != high and not pd.isna(row["measured"]):
        numbers["measured"] += f" ({low} to {high})"
    return numbers | {
        "claim": row["claim"],
        "statement": row["statement"] + ("" if pd.isna(row["part_statement"]) else f" ({row['part_statement']})"),
        "verdict": verdict if verdict == of_claim else f"{verdict} (claim: {of_claim})",
    }


def _this_machine() -> dict[str, str]:
    """Return processor and memory of this computer."""
    cpuinfo = Path("/proc/cpuinfo")
    models = re.findall(r"^model name\s*: (.*)$", cpuinfo.read_text() if cpuinfo.is_file() else "", re.MULTILINE)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return {
        "host": socket.gethostname(),
        "processor": models[0] if models else platform.machine(),
        "cores": str(os.cpu_count()),
        "memory": f"{memory:.0f} GB",
        "system": f"{platform.system()} {platform.release()}",
    }


@dataclass(frozen=True)
class Effort:
    """CPU time of the stages and of the longest batch, and peak memory of a process."""

    execution_s: float
    longest_s: float
    analysis_s: float
    memory_bytes: float

    def execution_minutes(self, cores: int) -> float:
        """Return the expected wall time of the simulations, at least that of the longest batch."""
        return max(self.execution_s / cores, self.longest_s) / 60


def effort(run: CompletedStudy) -> Effort:
    """Return the effort of a study.

    Times of simulations are from the records of the points: the benchmark of a batch does not include cached points.
    """
    points = run.points
    used = (points["cpu_s"].fillna(0) + points["overhead_cpu_s"].fillna(0)).astype(float)
    spent_s = dict(zip(points["point_id"], used, strict=True))
    batches_s = [
        sum(spent_s.get(json.loads(line)["point_id"], 0.0) for line in path.read_text().splitlines())
        for path in run.outputs.shards
    ]
    timings = {stage: _timings(paths) for stage, paths in run.outputs.benchmarks.items()}
    machines_s = [seconds for stage in ("structure", "analysis") for seconds, _ in timings[stage]]
    jobs_s = [seconds + JOB_START_S for seconds in (*batches_s, *machines_s)]
    after_s = [seconds + JOB_START_S for stage in ("table", "report") for seconds, _ in timings[stage]]
    if not after_s:  # a small study, of which one job did all
        after_s = [max(seconds - sum(batches_s), 0.0) + JOB_START_S for seconds, _ in timings["small"]]
    peaks = [megabytes * 1e6 for parts in timings.values() for _, megabytes in parts]
    return Effort(
        execution_s=sum(jobs_s),
        longest_s=max(jobs_s, default=0.0),
        analysis_s=sum(after_s),
        memory_bytes=max([*peaks, *points["memory_bytes"].dropna().astype(float)], default=0.0),
    )


def _timings(paths: Iterable[Path]) -> list[tuple[float, float]]:
    """Return wall time (s) and peak resident memory (MB) of jobs, from Snakemake's benchmark files."""
    rows = [json.loads(line) for path in paths for line in path.read_text().splitlines()]
    # Snakemake writes NA for a job that ended before the first sample of its memory.
    memory = pd.to_numeric(pd.Series([row["max_rss"] for row in rows], dtype=object), errors="coerce").fillna(0.0)
    return [(float(row["s"]), float(peak)) for row, peak in zip(rows, memory, strict=True)]
