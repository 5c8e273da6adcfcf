"""The tables of two runs of a study, value by value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from fabricstudy.analysis.base import Analysis, keys_of
from fabricstudy.core.columns import TABLES
from fabricstudy.table.files import ANALYSIS_PREFIX, read_tables
from fabricstudy.table.schemas import axes_of
from fabricstudy.table.select import label_text

from .checksums import CHECKSUMS, check
from .completed_study import ArtifactError

_PARTS = ("experiment", "schedule")
"""First columns of tables with axes, of which the names of rows have the value only."""

TOLERANCE = 0.05
"""Allowed relative difference between two versions of an engine."""

ROUNDING = 1e-9
"""Allowed relative difference of floating-point numbers, since processors round sums differently."""


@dataclass(frozen=True, eq=False)
class TableComparison:
    """One table, old against new: the number of common rows, and the names of the others.

    `values` has one row a compared value, with columns ``row``, ``column``, ``old``, ``new``, ``difference`` (relative;
    infinite where there is none), ``allowed`` and ``agrees``.
    """

    name: str
    rows: int
    values: pd.DataFrame
    missing: tuple[str, ...]
    extra: tuple[str, ...]

    @property
    def agrees(self) -> bool:
        return not (self.missing or self.extra) and bool(self.values["agrees"].all())

    @property
    def differing(self) -> pd.DataFrame:
        return self.values[~self.values["agrees"]].drop(columns="agrees").astype(object)

    def to_json(self) -> dict[str, Any]:
        """Return plain values, with the compared values that differ."""
        differing = self.differing
        differing["difference"] = [_finite(value) for value in differing["difference"]]
        equal = int((self.values["difference"] == 0).sum())
        return {
            "agrees": self.agrees, "rows": self.rows, "values": len(self.values), "equal": equal,
            "within": len(self.values) - equal - len(differing),
            "largest": _finite(self.values["difference"].max()) if len(self.values) else 0.0,
            "missing": list(self.missing), "extra": list(self.extra), "differing": differing.to_dict("records"),
        }  # fmt: skip


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two runs of a study, with the versions of each engine and the verdict on each claim in both."""

    old: Path
    new: Path
    tolerance: float
    versions: dict[str, tuple[str, str]]
    tables: dict[str, TableComparison]
    verdicts: pd.DataFrame

    @property
    def agrees(self) -> bool:
        return all(table.agrees for table in self.tables.values())

    def values(self) -> pd.DataFrame:
        """Return every compared value of every table."""
        parts = [table.values.assign(table=name) for name, table in self.tables.items()]
        together = pd.concat(parts, ignore_index=True)
        return together[["table", *together.columns.drop("table")]]

    def to_json(self) -> dict[str, Any]:
        return {
            "old": str(self.old), "new": str(self.new), "agrees": self.agrees, "tolerance": self.tolerance,
            "engines": {name: {"old": old, "new": new} for name, (old, new) in self.versions.items()},
            "tables": {name: table.to_json() for name, table in self.tables.items()},
            "verdicts": self.verdicts.to_dict("records"),
        }  # fmt: skip


def compare(old: Path, new: Path, tolerance: float = TOLERANCE) -> Comparison:
    """Compare the tables of two runs of a study.

    `old` and `new` are folders of tables, or contain exactly one study: an unpacked artifact, or where Snakemake ran.
    Numbers of points that two versions of an engine simulated may differ by `tolerance`; all others must be equal, with
    fractions to `ROUNDING`. Columns on where, when and how fast something ran are left out.

    Raises ArtifactError if there are no tables or several, the files of an artifact were changed, or the tables have
    different axes.
    """
    old, new = _tables_in(old), _tables_in(new)
    before, after = read_tables(old), read_tables(new)
    allowed = _Allowed(_versions(before.points), _versions(after.points), tolerance)
    frames, others = before.frames(), after.frames()
    if set(frames) != set(others):
        odd = ", ".join(sorted(set(frames) ^ set(others)))
        raise ArtifactError(f"only one of the two runs has the tables {odd}; compare two runs of one study")
    tables = {name: _compare_table(name, frame, others[name], allowed) for name, frame in frames.items()}
    names = sorted({*before.points["engine"], *after.points["engine"]})
    engines = {name: (_versions_text(before.points, name), _versions_text(after.points, name)) for name in names}
    sides = [one.claims.drop_duplicates("claim").set_index("claim")["claim_verdict"] for one in (before, after)]
    verdicts = pd.concat(sides, axis=1, keys=["old", "new"]).astype(object)
    verdicts = verdicts.where(verdicts.notna(), None).rename_axis("claim").reset_index()
    return Comparison(old, new, tolerance, engines, tables, verdicts)


def _tables_in(folder: Path) -> Path:
    """Return the folder of the tables; of an artifact, verify the results first."""
    folders = [place for place in (folder, folder / "tables") if (place / "points.parquet").is_file()][:1]
    folders = folders or [file.parent for file in sorted(folder.glob("results/*/tables/points.parquet"))]
    if len(folders) != 1:
        contents = "no tables of a study" if not folders else f"tables of {len(folders)} studies"
        raise ArtifactError(f"{folder}: {contents}; name a folder such as results/quick, or an unpacked artifact")
    if (folder / CHECKSUMS).is_file():
        check(folder, below="results/")
    return folders[0]


def _versions(points: pd.DataFrame) -> dict[str, str]:
    """Return the version of the engine of each simulated point."""
    simulated = points.dropna(subset="version")
    return dict(zip(simulated["point_id"], simulated["version"], strict=True))


def _versions_text(points: pd.DataFrame, engine: str) -> str:
    versions = points.loc[points["engine"] == engine, "version"].dropna()
    return ", ".join(sorted(versions.unique())) or "none"


class _Allowed:
    """The allowed relative difference of the rows of a table."""

    def __init__(self, old: Mapping[str, str], new: Mapping[str, str], tolerance: float) -> None:
        self._old, self._new, self._tolerance = old, new, tolerance
        self._same = set(old.values()) == set(new.values())

    def rows(self, name: str, frame: pd.DataFrame) -> npt.NDArray[np.float64]:
        """Return the allowed difference of each row; 0 for an exact one."""
        if name == "machines" or name.startswith(ANALYSIS_PREFIX):
            exact = np.ones(len(frame), dtype=bool)
        elif "point_id" in frame:
            exact = np.array([self._old.get(one) == self._new.get(one) for one in frame["point_id"]], dtype=bool)
        else:  # from many points
            exact = np.full(len(frame), self._same)
        return np.where(exact, 0.0, self._tolerance)


def _compare_table(name: str, old: pd.DataFrame, new: pd.DataFrame, allowed: _Allowed) -> TableComparison:
    if set(old.columns) != set(new.columns):
        odd = ", ".join(sorted(set(old.columns) ^ set(new.columns)))
        raise ArtifactError(f"table {name}: only one of both has the columns {odd}; compare two runs of one study")
    first = old.columns[0]
    keys = [*([first, *axes_of(old)] if first in _PARTS else []), *_keys(name, old)]
    old, new = old.set_index(_row_names(old, keys)), new.set_index(_row_names(new, keys))
    common = old.index[old.index.isin(new.index)]
    left_out = {column.name for column in TABLES.get(name, ()) if not column.compared}
    columns = [column for column in old.columns if column not in left_out and column not in keys]
    bound = allowed.rows(name, old.loc[common])
    parts = [_compare_column(column, old.loc[common, column], new.loc[common, column], bound) for column in columns]
    missing, extra = (tuple(one.index[~one.index.isin(other.index)]) for one, other in ((old, new), (new, old)))
    return TableComparison(name, len(common), pd.concat(parts, ignore_index=True), missing, extra)


def _keys(name: str, frame: pd.DataFrame) -> tuple[str, ...]:
    if name.startswith(ANALYSIS_PREFIX):
        kind = frame["kind"].iloc[0] if len(frame) else ""
        # The keys of an extension's analysis are unknown here: its rows are compared in order.
        return keys_of(kind) if kind in Analysis.FAMILY.kinds else ("kind",)
    return tuple(column.name for column in TABLES[name] if column.identity)


def _row_names(frame: pd.DataFrame, keys: Iterable[str]) -> pd.Index[str]:
    """Return the name of each row from its keys; rows of the same name are numbered."""
    parts = [
        [f"{key} {label_text(value)}" for value in frame[key]] if key not in _PARTS else list(frame[key])
        for key in keys
    ]
    names = pd.Series([", ".join(row) for row in zip(*parts, strict=True)], dtype=object)
    again = names.groupby(names).cumcount()
    return pd.Index(names.where(again == 0, names + " #" + (again + 1).astype(str)))


def _compare_column(
    column: str, old: pd.Series[Any], new: pd.Series[Any], allowed: npt.NDArray[np.float64]
) -> pd.DataFrame:
    if _is_number(old) and _is_number(new):
        before, after = (side.to_numpy(dtype=np.float64, na_value=np.nan) for side in (old, new))
        fraction = pd.api.types.is_float_dtype(old) or pd.api.types.is_float_dtype(new)
        allowed = np.maximum(allowed, ROUNDING) if fraction else allowed
        difference = relative_difference(before, after)
    else:
        before, after = (side.astype(object).where(side.notna(), None).to_numpy() for side in (old, new))
        allowed = np.zeros(len(old))
        difference = np.where([a == b for a, b in zip(before, after, strict=True)], 0.0, np.inf)
    values = {"old": pd.Series(_plain(old), dtype=object), "new": pd.Series(_plain(new), dtype=object)}
    found = {"difference": difference, "allowed": allowed, "agrees": difference <= allowed}
    return pd.DataFrame({"row": old.index, "column": column, **values, **found})


def _is_number(column: pd.Series[Any]) -> bool:
    return pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)


def _plain(column: pd.Series[Any]) -> list[Any]:
    """Return Python's own numbers and texts, and None for missing values."""
    return [None if missing else value for value, missing in zip(column.tolist(), column.isna(), strict=True)]


def relative_difference(old: npt.NDArray[np.float64], new: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the difference of numbers over the larger one; 0 for two missing ones, infinite for one.

    Examples
    --------
    >>> relative_difference(np.array([1.0, 0.0, np.nan, np.nan]), np.array([2.0, 0.0, np.nan, 1.0])).tolist()
    [0.5, 0.0, 0.0, inf]
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        difference = np.abs(old - new) / np.maximum(np.abs(old), np.abs(new))
    difference = np.where(np.isnan(old) != np.isnan(new), np.inf, difference)
    return np.where((old == new) | (np.isnan(old) & np.isnan(new)), 0.0, difference)
