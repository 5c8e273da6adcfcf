"""Tables as files, and the shards they come from."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import pandas as pd

from fabricstudy.core.columns import BY_LINK, SCHEDULED
from fabricstudy.core.errors import FabricstudyError
from fabricstudy.core.files import atomic_path


class TableError(FabricstudyError):
    """A shard or table cannot be read."""


@dataclass(frozen=True, eq=False)
class Tables:
    """The tables of one study; see the package's docstring.

    `analyses` holds a frame for each named analysis, in files called ``analysis-<name>``. Those of schedules, and
    `link_loads`, have no columns, and no files, where a study has none.
    """

    points: pd.DataFrame
    jobs: pd.DataFrame
    links: pd.DataFrame
    interference: pd.DataFrame
    machines: pd.DataFrame
    agreement: pd.DataFrame
    predictors: pd.DataFrame
    claims: pd.DataFrame = field(default_factory=pd.DataFrame)
    verdicts: pd.DataFrame = field(default_factory=pd.DataFrame)
    link_loads: pd.DataFrame = field(default_factory=pd.DataFrame)
    schedules: pd.DataFrame = field(default_factory=pd.DataFrame)
    size_classes: pd.DataFrame = field(default_factory=pd.DataFrame)
    partition_lists: pd.DataFrame = field(default_factory=pd.DataFrame)
    scheduled_jobs: pd.DataFrame = field(default_factory=pd.DataFrame)
    analyses: dict[str, pd.DataFrame] = field(default_factory=dict)

    def frames(self) -> dict[str, pd.DataFrame]:
        """All tables by the names of their files."""
        has = {**dict.fromkeys(SCHEDULED, len(self.schedules)), BY_LINK: len(self.link_loads.columns)}
        named = {name: getattr(self, name) for name in _FRAMES if has.get(name, True)}
        return named | {f"{ANALYSIS}{name}": frame for name, frame in self.analyses.items()}


_FRAMES = tuple(item.name for item in fields(Tables) if item.name != "analyses")
PARQUET_ONLY = frozenset({"scheduled_jobs", BY_LINK})
"""Tables too large to be read as text."""

_FORMULA = re.compile(r"[=@\t\r]|[-+](?![0-9.,]*$)")

ANALYSIS = "analysis-"
"""What the names of the tables of analyses begin with."""


def read_shards(paths: Iterable[Path]) -> Iterator[dict[str, Any]]:
    """Read shards, one JSON object a line, in the order of their names.

    Raises
    ------
    TableError
        Naming file and line of what is not a JSON object.
    """
    for path in sorted(paths):
        lines = path.read_text(encoding="utf-8").splitlines()
        try:
            # Read at once, the objects of a shard share the names of their keys, which are half of their memory.
            values = json.loads(f"[{','.join(lines)}]")
        except ValueError:
            values = []
        if len(values) == len(lines) and all(isinstance(value, dict) for value in values):
            yield from values
            continue
        for number, line in enumerate(lines, 1):
            try:
                value = json.loads(line)
            except ValueError:
                value = None
            if not isinstance(value, dict):
                raise TableError(f"{path}: line {number}: not a JSON object; remove the file and run the study again")
            yield value


def write_tables(tables: Tables, folder: Path) -> None:
    """Write each table as ``<name>.parquet`` and ``<name>.csv``; a reader never sees half a file."""
    for name, frame in tables.frames().items():
        with atomic_path(folder / f"{name}.parquet") as path:
            frame.to_parquet(path, index=False)
        if name not in PARQUET_ONLY:
            with atomic_path(folder / f"{name}.csv") as path:
                write_csv(frame, path)


def write_csv(frame: pd.DataFrame, path: Path) -> None:
    """Write a table as CSV; an apostrophe stands before a text that a spreadsheet would take for a formula."""
    safe = frame.copy(deep=False)
    for name, column in frame.select_dtypes(["object", "string"]).items():
        safe[name] = column.map(lambda cell: f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) else cell)
    safe.to_csv(path, index=False)


def read_tables(folder: Path) -> Tables:
    """Read the tables that `write_tables` wrote.

    Raises
    ------
    TableError
        If one is absent or broken.
    """
    analyses = [path.stem for path in sorted(folder.glob(f"{ANALYSIS}*.parquet"))]
    has_schedules = (folder / "schedules.parquet").is_file()
    has = {**dict.fromkeys(SCHEDULED, has_schedules), BY_LINK: (folder / f"{BY_LINK}.parquet").is_file()}
    names = [name for name in _FRAMES if has.get(name, True)]
    frames = {name: _read(folder / f"{name}.parquet") for name in (*names, *analyses)}
    by_name = {name.removeprefix(ANALYSIS): frames.pop(name) for name in analyses}
    return Tables(**frames, analyses=by_name)


def _read(path: Path) -> pd.DataFrame:
    try:
        return pd.read_parquet(path)
    except (OSError, ValueError) as problem:
        raise TableError(f"{path}: cannot be read ({problem}); make the tables again") from None
