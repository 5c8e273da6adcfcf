"""Files of tables, and the shards from which they are built."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from fabricstudy.core.columns import FAILURE, PARQUET_ONLY, TABLES
from fabricstudy.core.errors import FabricstudyError
from fabricstudy.core.files import atomic_path
from fabricstudy.core.parquet import read_parquet, write_parquet


class TableError(FabricstudyError):
    """A shard or table cannot be read."""


@dataclass(frozen=True, eq=False)
class Tables:
    """The tables of one study; `analyses` has a frame for each named analysis, in the file ``analysis-<name>``."""

    points: pd.DataFrame
    jobs: pd.DataFrame
    links: pd.DataFrame
    latency: pd.DataFrame
    interference: pd.DataFrame
    machines: pd.DataFrame
    agreement: pd.DataFrame
    predictors: pd.DataFrame
    repetitions: pd.DataFrame = field(default_factory=pd.DataFrame)
    screening: pd.DataFrame = field(default_factory=pd.DataFrame)
    orders: pd.DataFrame = field(default_factory=pd.DataFrame)
    claims: pd.DataFrame = field(default_factory=pd.DataFrame)
    verdicts: pd.DataFrame = field(default_factory=pd.DataFrame)
    marks: pd.DataFrame = field(default_factory=pd.DataFrame)
    operations: pd.DataFrame = field(default_factory=pd.DataFrame)
    messages: pd.DataFrame = field(default_factory=pd.DataFrame)
    link_loads: pd.DataFrame = field(default_factory=pd.DataFrame)
    schedules: pd.DataFrame = field(default_factory=pd.DataFrame)
    size_classes: pd.DataFrame = field(default_factory=pd.DataFrame)
    partition_lists: pd.DataFrame = field(default_factory=pd.DataFrame)
    scheduled_jobs: pd.DataFrame = field(default_factory=pd.DataFrame)
    analyses: dict[str, pd.DataFrame] = field(default_factory=dict)

    def failure_of(self, analysis: str | None) -> str:
        """Return why an analysis failed; empty if it did not."""
        return str(self.analyses[analysis].attrs.get(FAILURE, "")) if analysis in self.analyses else ""

    def frames(self) -> dict[str, pd.DataFrame]:
        """Return all tables by the names of their files."""
        named = {name: getattr(self, name) for name in TABLES}
        return named | {f"{ANALYSIS_PREFIX}{name}": frame for name, frame in self.analyses.items()}


_FORMULA = re.compile(r"[=@\t\r]|[-+](?![0-9.,]*$)")

ANALYSIS_PREFIX = "analysis-"
"""Prefix of the names of tables of analyses."""


def read_shard(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of a shard, one per line. Raises TableError for any other line."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            value = json.loads(line)
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise TableError(f"{path}: line {number}: not a JSON object; remove the file and run the study again")
        yield value


_STUDY = b"fabricstudy.study"
"""Key of the metadata of tables with the identity of their study."""


def write_tables(tables: Tables, folder: Path, identity: str = "") -> None:
    """Write all tables of the study with this identity."""
    for name, frame in tables.frames().items():
        write_table(frame, folder / f"{name}.parquet", name not in PARQUET_ONLY, identity)


def check_identity(folder: Path, study: str, identity: str) -> None:
    """Refuse tables of another study of the same name, or of the study before it was changed."""
    file = folder / "points.parquet"
    metadata = pq.read_schema(file).metadata if file.is_file() else {}
    if (metadata or {}).get(_STUDY) != identity.encode():
        problem = f"{folder}: the tables are those of another study '{study}', or of this one before a change"
        raise FabricstudyError(f"{problem}; run this study first", "study-changed")


def write_table(frame: pd.DataFrame, path: Path, as_text: bool = True, identity: str = "") -> None:
    """Write a table as Parquet, and as CSV next to it; a reader never sees part of a file."""
    write_parquet(pa.Table.from_pandas(frame, preserve_index=False), path, {_STUDY: identity.encode()})
    if as_text:
        with atomic_path(path.with_suffix(".csv")) as text:
            write_csv(frame, text)


def write_csv(frame: pd.DataFrame, path: Path) -> None:
    """Write a table as CSV, with an apostrophe before text that a spreadsheet would interpret as a formula."""
    safe = frame.copy(deep=False)
    for name, column in frame.select_dtypes(["object", "string"]).items():
        safe[name] = column.map(lambda cell: f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) else cell)
    safe.to_csv(path, index=False)


def read_tables(folder: Path) -> Tables:
    """Read the tables that `write_tables` wrote. Raises TableError if one is absent or broken."""
    frames = {name: read_table(folder / f"{name}.parquet") for name in TABLES}
    return Tables(**frames, analyses=read_analyses(folder.glob(f"{ANALYSIS_PREFIX}*.parquet")))


def read_analyses(paths: Iterable[Path]) -> dict[str, pd.DataFrame]:
    """Return the tables of analyses by name; one that failed is empty, with the reason as the attribute `FAILURE`."""
    analyses = {path.stem.removeprefix(ANALYSIS_PREFIX): read_table(path) for path in sorted(paths)}
    for name, frame in analyses.items():
        if FAILURE in frame:
            analyses[name] = frame.drop(columns=FAILURE).iloc[:0]
            analyses[name].attrs[FAILURE] = f"the analysis {name} failed: {frame[FAILURE].iloc[0]}"
    return analyses


def read_table(path: Path) -> pd.DataFrame:
    """Read one table. Raises TableError if it is absent or broken."""
    try:
        frame: pd.DataFrame = read_parquet(path, of_users=True).to_pandas()
        return frame
    except (OSError, ValueError) as problem:
        raise TableError(f"{path}: cannot be read ({problem}); make the tables again") from None
