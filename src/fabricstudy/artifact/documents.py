"""The documents of an artifact: README, Makefile, and the draft of the AD/AE appendix."""

import os
import platform
import re
import socket
import tomllib
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd

from fabricstudy.core.checkout import Checkout
from fabricstudy.core.columns import DONE, LINK_LOAD_TABLE, PARQUET_ONLY
from fabricstudy.engine.registry import engine_named
from fabricstudy.report.text import claim_numbers, format_number
from fabricstudy.table.files import ANALYSIS_PREFIX

from .compare import FLOAT_TOLERANCE, TOLERANCE
from .completed_study import CompletedStudy
from .effort import CORES, SETUP_MINUTES, effort


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
