"""What the Snakefile asks of us: its settings, the files of a study, and what has gone from the stores since."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from fabricstudy.columns import DONE, STATUSES
from fabricstudy.engine.registry import engine_named
from fabricstudy.engine.stores import Stores
from fabricstudy.errors import StudyError
from fabricstudy.machine.stage import has_machine
from fabricstudy.model import ConfigError, Model
from fabricstudy.pipeline import BATCH_CPU_S, Pipeline, Seconds
from fabricstudy.structure.stage import has_structure
from fabricstudy.study.file import validated

WILDCARDS = {
    "study": "[a-z0-9][a-z0-9-]*",
    "chunk": "[01]+|all",
    "batch": "[a-z][a-z0-9-]*-([01]+|all)",
    "analysis": "[a-z0-9][a-z0-9-]*",
    "runs": "[a-z0-9][a-z0-9-]*-([01]+|all)",
}
"""What the parts of our file names look like; a batch is called after its engine."""

# Clocks of file servers are some seconds off.
CLOCKS_DIFFER_S = 60.0


def _names(value: object) -> object:
    # Snakemake reads what is given on the command line as YAML: a study called 2024 is a number to it.
    named = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if named is None or named == "":
        raise ConfigError("no study is named", "write study=NAME, or leave it out for quick", code="no-value")
    return named


class Settings(Model):
    """What a call of Snakemake may set with ``--config``."""

    study: Annotated[str, BeforeValidator(_names)] = Field(
        "quick",
        description="name of a study that comes along, or path to a study file; several with commas between them",
    )
    batch_cpu_s: Seconds = Field(
        BATCH_CPU_S, description="predicted processor seconds of a batch: 60 suits a workstation, 600 a cluster"
    )
    container: str | None = Field(None, description="image in which simulations run, with --sdm apptainer")
    envmodules: Annotated[
        tuple[str, ...], BeforeValidator(lambda value: [value] if isinstance(value, str) else value)
    ] = Field((), description="modules of the site to load for simulations, with --sdm env-modules")


def settings(config: Mapping[str, Any]) -> Settings:
    """Check what Snakemake calls its config.

    Raises
    ------
    StudyError
        At what is unknown or of no use.

    Examples
    --------
    >>> settings({"study": "quick", "envmodules": "codes/1"}).envmodules
    ('codes/1',)
    """
    try:
        return validated(Settings, dict(config), {})
    except StudyError as error:
        raise error.in_file("--config") from None


def check_cores(cores: int | None) -> None:
    """Refuse a number of cores on which nothing runs: with 0 Snakemake waits for ever, with less it takes any number.

    Parameters
    ----------
    cores : int or None
        As Snakemake was given it; None where it was not.

    Raises
    ------
    StudyError
        If it is below 1.
    """
    if cores is not None and cores < 1:
        remedy = "give 1 or more, or all"
        raise StudyError("no core to run on", remedy, path="--cores", value=cores, code="out-of-range")


def check_dates(file: Path, made: Iterable[str] = ()) -> None:
    """Refuse files of tomorrow: Snakemake would make again for ever what follows from them, or fail.

    Parameters
    ----------
    file : Path
        The study.
    made : iterable of str
        What earlier runs made of it, as `products` names it; what is not there is in order.

    Raises
    ------
    StudyError
        If one is dated in the future.
    """
    latest_s = time.time() + CLOCKS_DIFFER_S
    for one in made:
        with suppress(OSError):
            if Path(one).stat().st_mtime > latest_s:
                raise StudyError(
                    "results are dated in the future: this clock was set back, or that of another computer is fast",
                    "set the clock, or date all results now: find results reports -exec touch {} +",
                    one,
                    code="file-from-the-future",
                )
    if file.stat().st_mtime > latest_s:
        raise StudyError(
            "the file is dated in the future, so nothing made from it would ever be newer",
            "give it today's date: touch FILE",
            str(file),
            code="file-from-the-future",
        )


def products(pipeline: Pipeline) -> list[str]:
    """Give all files that a study leaves: whichever of them is removed is made again."""
    made = f"results/{pipeline.name}"
    return [
        *(f"{made}/structure/{chunk}.{end}" for chunk in pipeline.machine_chunks for end in ("jsonl", "stored")),
        *(f"{made}/analysis/{name}.jsonl" for name in pipeline.analyses),
        *(f"{made}/simulate/{batch}.{end}" for batch in pipeline.batches for end in ("jsonl", "stored")),
        *(f"{made}/schedule/{runs}.{end}" for runs in pipeline.run_chunks for end in ("jsonl", "parquet")),
        *(f"{made}/{name}" for name in ("tables", "tables.stored", "figures.stored")),
        *(f"reports/{pipeline.name}/{name}" for name in ("index.html", "figures")),
    ]


def last_words(studies: Mapping[str, Pipeline], results: Path, since_s: float) -> list[str]:
    """Give the lines that a run which began at `since_s` ends with: what became of the points, and the reports."""
    seen: set[bytes] = set()
    counted = [points_told(study, results, since_s, seen) for study in studies.values()]
    return [*filter(None, counted), *(f"The report: {page}" for page in pages(studies))]


def pages(studies: Iterable[str]) -> list[Path]:
    """Give the reports that are there, to be told at the end: what was asked for may have been a table."""
    return [page for name in studies if (page := Path("reports", name, "index.html")).is_file()]


def points_told(pipeline: Pipeline, results: Path, since_s: float, seen: set[bytes]) -> str:
    """Count in a line the points of a study that have ended, and those that this run tried; "" if it has none.

    Parameters
    ----------
    pipeline : Pipeline
        The study.
    results : Path
        Folder of results.
    since_s : float
        When the run began, in seconds since 1970. A record says when its simulation began.
    seen : set of bytes
        Ids of points that were told as new; those of this study are added. Studies that share one tell it once.
    """
    if not pipeline.batches:
        return ""
    start = datetime.fromtimestamp(since_s, UTC).isoformat(timespec="seconds").encode()
    statuses: Counter[str] = Counter()
    before = len(seen)
    for name in pipeline.batches:
        with suppress(FileNotFoundError), (results / pipeline.name / "simulate" / f"{name}.jsonl").open("rb") as lines:
            for record in map(_facts, lines):
                statuses[record[b"status"].decode()] += 1
                if record[b"status"] != b"skipped" and record[b"started"] >= start:
                    seen.add(record[b"point_id"])
    others = "".join(f", {statuses[one]:,} {one}" for one in STATUSES if one != DONE and statuses[one])
    new = len(seen) - before
    kept = statuses.total() - statuses["skipped"] - new
    done = f"{statuses[DONE]:,} of {len(pipeline.plan.points):,} points done"
    return f"{pipeline.name}: {done}{others} ({new:,} new, {kept:,} cached)"


def _facts(line: bytes) -> dict[bytes, bytes]:
    # No other part of a record has such keys, and JSON escapes quotes in texts: a twentieth of the time of json.loads.
    return dict(re.findall(rb'"(point_id|started|status)": "([^"]*)"', line))


def forget_what_is_gone(pipeline: Pipeline, results: Path) -> list[Path]:
    """Remove the marks of jobs of which something that they stored is gone; give those removed.

    Snakemake sees neither what is in stores nor what is in folders. A mark is a file that says that all things of a
    job were stored; without it Snakemake runs the job again, which makes what is gone. A mark holds nothing else, so
    that this costs nothing if the store comes back.

    Parameters
    ----------
    pipeline : Pipeline
        The study.
    results : Path
        Folder of results; that of reports is beside it.
    """

    def there(machine_id: str) -> bool:
        return has_machine(results, machine_id) and has_structure(results, machine_id)

    def whole(point_id: str) -> bool:
        points = Stores(results).points
        # Arrays are read by the table of links alone, whose size is bounded; elsewhere their sizes suffice.
        return points.record(point_id) is not None and not (point_id in read and points.damage(point_id))

    read, made = pipeline.plan.with_links, results / pipeline.name
    folders = {"tables": made / "tables", "figures": results.parent / "reports" / pipeline.name / "figures"}
    gone = [
        *_marks(made / "structure", ".stored", _machines(pipeline), there),
        *_marks(made / "simulate", ".stored", _points(pipeline), whole),
        *_marks(made, ".stored", _listed(made, folders), lambda one: Path(one).is_file()),
    ]
    for mark in gone:
        mark.unlink(missing_ok=True)
    return gone


def _machines(pipeline: Pipeline) -> Iterator[tuple[str, list[str]]]:
    return ((name, [f"m{key}" for key in chunk.keys]) for name, chunk in pipeline.machine_chunks.items())


def _points(pipeline: Pipeline) -> Iterator[tuple[str, list[str]]]:
    for name, batch in pipeline.batches.items():
        # Without its engine a point cannot be made again, and was perhaps never stored.
        if engine_named(batch.engine).probe().found:
            yield name, [point.point_id for point in batch.points]


def _listed(marks: Path, folders: Mapping[str, Path]) -> Iterator[tuple[str, list[str]]]:
    """Give the files that each folder had when its mark was written, which lists them."""
    for name, folder in folders.items():
        with suppress(FileNotFoundError):
            yield name, [str(folder / file) for file in (marks / f"{name}.stored").read_text().splitlines()]


def _marks(
    folder: Path, suffix: str, things: Iterable[tuple[str, list[str]]], is_there: Callable[[str], bool]
) -> Iterator[Path]:
    for name, ids in things:
        mark = folder / f"{name}{suffix}"
        if mark.exists() and not all(map(is_there, ids)):
            yield mark
