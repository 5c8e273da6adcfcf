"""Comparison of the tables of two runs of a study, value by value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fabricstudy.analysis.base import Analysis, keys_of
from fabricstudy.core.arrays import Floats
from fabricstudy.core.columns import TABLES
from fabricstudy.table.files import ANALYSIS_PREFIX, read_table
from fabricstudy.table.schemas import axes_of
from fabricstudy.table.select import label_text

from .checksums import CHECKSUMS, check
from .completed_study import ArtifactError
from .crate import CRATE_METADATA

_PARTS = ("experiment", "schedule")
"""First columns of tables with axes; names of rows contain their labels without the column."""

TOLERANCE = 0.05
"""Allowed relative difference between two versions of an engine."""

FLOAT_TOLERANCE = 1e-9
"""Allowed relative difference of floating-point numbers, since processors round sums differently."""


@dataclass(frozen=True, eq=False)
class TableComparison:
    """One table, old against new: the number of common rows, and the names of the others.

    `values` has one row a compared value, with columns ``row``, ``column``, ``old``, ``new``, ``difference`` (relative;
    infinite where there is none), ``allowed`` and ``agrees``. `only_old` and `only_new` are columns that the version of
    the other run does not have; they are not compared.
    """

    name: str
    rows: int
    values: pd.DataFrame
    missing: tuple[str, ...]
    extra: tuple[str, ...]
    only_old: tuple[str, ...] = ()
    only_new: tuple[str, ...] = ()

    @property
    def agrees(self) -> bool:
        """Return whether all rows are in both runs, with differences within those allowed."""
        return not (self.missing or self.extra) and bool(self.values["agrees"].all())

    @property
    def differing(self) -> pd.DataFrame:
        """Return the values that do not agree."""
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
            "missing": list(self.missing), "extra": list(self.extra), "only_old": list(self.only_old),
            "only_new": list(self.only_new), "differing": differing.to_dict("records"),
        }  # fmt: skip


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two runs of a study, with the versions of each engine and the verdict on each claim in both."""

    old: Path
    new: Path
    tolerance: float
    versions: dict[str, tuple[str, ...]]
    tables: dict[str, TableComparison]
    verdicts: pd.DataFrame

    @property
    def agrees(self) -> bool:
        """Return whether all tables agree."""
        return all(table.agrees for table in self.tables.values())

    def values(self) -> pd.DataFrame:
        """Return every compared value of every table."""
        parts = [table.values.assign(table=name) for name, table in self.tables.items()]
        together = pd.concat(parts, ignore_index=True)
        return together[["table", *together.columns.drop("table")]]

    def to_json(self) -> dict[str, Any]:
        """Return plain values, with the compared values that differ."""
        return {
            "old": str(self.old), "new": str(self.new), "agrees": self.agrees, "tolerance": self.tolerance,
            "engines": {name: {"old": old, "new": new} for name, (old, new) in self.versions.items()},
            "tables": {name: table.to_json() for name, table in self.tables.items()},
            "verdicts": self.verdicts.to_dict("records"),
        }  # fmt: skip


def compare(old: Path, new: Path, tolerance: float = TOLERANCE) -> Comparison:
    """Compare the tables of two runs of a study.

    `old` and `new` are folders of tables, or have exactly one study in common: unpacked artifacts, folders of results,
    or where Snakemake ran.
    Numbers of points that two versions of an engine simulated may differ by `tolerance`; all others must be equal, with
    fractions to `FLOAT_TOLERANCE`. Columns on where, when and how fast something ran are left out, and so are columns
    that one of two versions of the project does not have; a table that one of them does not have has no rows there, nor
    has an analysis.

    Raises ArtifactError if there are no tables or those of several studies, the files of an artifact were changed, or
    the tables have different axes.
    """
    old, new = _tables_in(old, new)
    try:
        return _compare(old, new, tolerance)
    except ArtifactError as error:
        if _study_of(old) == _study_of(new):
            raise
        problem = f"{_study_of(old)} and {_study_of(new)} seem to be different studies; compare two runs of one study"
        raise ArtifactError(f"{problem} ({error})", error.code) from None


def _compare(old: Path, new: Path, tolerance: float) -> Comparison:
    before, after = ({path.stem: read_table(path) for path in sorted(side.glob("*.parquet"))} for side in (old, new))
    for side, other in ((before, after), (after, before)):
        side.update({name: frame.iloc[:0] for name, frame in other.items() if name not in side})
    points = before["points"], after["points"]
    allowed = partial(_allowed, old=_versions(points[0]), new=_versions(points[1]), tolerance=tolerance)
    order = sorted(before, key=[*TABLES, *before].index)
    tables = {name: _compare_table(name, before[name], after[name], allowed) for name in order}
    versions = [side.dropna(subset="version").groupby("engine")["version"].unique() for side in points]
    engines = {
        str(engine): tuple(", ".join(sorted(known.get(engine, ()))) or "none" for known in versions)
        for engine in sorted({*points[0]["engine"], *points[1]["engine"]})
    }
    sides = [side["claims"].drop_duplicates("claim").set_index("claim")["claim_verdict"] for side in (before, after)]
    verdicts = pd.concat(sides, axis=1, keys=["old", "new"]).astype(object)
    verdicts = verdicts.where(verdicts.notna(), None).rename_axis("claim").reset_index()
    return Comparison(old, new, tolerance, engines, tables, verdicts)


def _tables_in(old: Path, new: Path) -> tuple[Path, Path]:
    """Return the folders of the tables of the study of both runs; of artifacts, verify all files first."""
    sides = []
    for folder in (old, new):
        found = [path for path in (folder, folder / "tables") if (path / "points.parquet").is_file()][:1]
        below = ("results/*/tables/points.parquet", "*/tables/points.parquet")
        found = found or [file.parent for pattern in below for file in sorted(folder.glob(pattern))]
        if not found:
            remedy = "name a folder such as results/quick, or an unpacked artifact"
            raise ArtifactError(f"{folder}: no tables of a study; {remedy}", "file-not-found")
        sides.append({_study_of(path): path for path in found})
    pairs = [(sides[0][name], sides[1][name]) for name in sides[0] if name in sides[1]]
    first_old, first_new = (next(iter(side.values())) for side in sides)
    if not pairs and len(sides[0]) == len(sides[1]) == 1:
        pairs = [(first_old, first_new)]
    if len(pairs) != 1:
        names = " and ".join(f"{folder} has {', '.join(side)}" for folder, side in zip((old, new), sides, strict=True))
        first_old, first_new = pairs[0] if pairs else (first_old, first_new)
        example = f"{first_old.parent} {first_new.parent}"
        raise ArtifactError(f"several studies: {names}; name one study, such as: {example}", "not-comparable")
    for tables in pairs[0]:
        base = (tables / "../../..").resolve()  # of results/STUDY/tables
        if any((base / name).exists() for name in (CHECKSUMS, CRATE_METADATA)):
            check(base)
    return pairs[0]


def _study_of(tables: Path) -> str:
    """Return the name of the folder of a study's results, as far as the path has it."""
    return tables.parent.name if tables.name == "tables" else tables.name


def _versions(points: pd.DataFrame) -> dict[str, str]:
    """Return the version of the engine of each simulated point."""
    simulated = points.dropna(subset="version")
    return dict(zip(simulated["point_id"], simulated["version"], strict=True))


def _allowed(
    name: str, frame: pd.DataFrame, old: Mapping[str, str], new: Mapping[str, str], tolerance: float
) -> Floats:
    """Return the allowed relative difference of each row; `old` and `new` are the versions of the engines by point."""
    if name == "machines" or name.startswith(ANALYSIS_PREFIX):
        return np.zeros(len(frame))
    if "point_id" not in frame:  # from many points
        return np.full(len(frame), tolerance * (set(old.values()) != set(new.values())))
    return tolerance * np.array([old.get(point) != new.get(point) for point in frame["point_id"]], dtype=float)


def _compare_table(
    name: str, old: pd.DataFrame, new: pd.DataFrame, allowed: Callable[[str, pd.DataFrame], Floats]
) -> TableComparison:
    only_old, only_new = (tuple(str(a) for a in one if a not in other) for one, other in ((old, new), (new, old)))
    if unknown := {*only_old, *only_new} - {column.name for column in TABLES.get(name, ())}:
        names = ", ".join(sorted(unknown))
        raise ArtifactError(f"table {name}: only one of the two runs has the columns {names}", "not-comparable")
    first = old.columns[0]
    keys = [*([first, *axes_of(old)] if first in _PARTS else []), *_keys(name, old)]
    old, new = old.set_index(_row_names(old, keys)), new.set_index(_row_names(new, keys))
    common = old.index[old.index.isin(new.index)]
    left_out = {column.name for column in TABLES.get(name, ()) if not column.compared}
    left_out.update(keys, only_old)
    columns = [column for column in old.columns if column not in left_out]
    limit = allowed(name, old.loc[common])
    parts = [_compare_column(column, old.loc[common, column], new.loc[common, column], limit) for column in columns]
    missing, extra = (tuple(a.index[~a.index.isin(b.index)]) for a, b in ((old, new), (new, old)))
    values = pd.concat(parts, ignore_index=True)
    return TableComparison(name, len(common), values, missing, extra, only_old, only_new)


def _keys(name: str, frame: pd.DataFrame) -> tuple[str, ...]:
    if name.startswith(ANALYSIS_PREFIX):
        kind = frame["kind"].iloc[0] if len(frame) else ""
        # The keys of an analysis of an extension are unknown, so that its rows are compared in order.
        return keys_of(kind) if kind in Analysis.FAMILY.kinds else ("kind",)
    return tuple(column.name for column in TABLES[name] if column.identity)


def _row_names(frame: pd.DataFrame, keys: Iterable[str]) -> pd.Index[str]:
    """Return the name of each row from its keys; rows of the same name are numbered."""
    parts = [
        [f"{key} {label_text(value)}" for value in frame[key]] if key not in _PARTS else list(frame[key])
        for key in keys
    ]
    names = pd.Series([", ".join(row) for row in zip(*parts, strict=True)], dtype=object)
    repetition = names.groupby(names).cumcount()
    return pd.Index(names.where(repetition == 0, names + " #" + (repetition + 1).astype(str)))


def _compare_column(column: str, old: pd.Series[Any], new: pd.Series[Any], allowed: Floats) -> pd.DataFrame:
    if _is_number(old) and _is_number(new):
        before, after = (side.to_numpy(dtype=np.float64, na_value=np.nan) for side in (old, new))
        fraction = pd.api.types.is_float_dtype(old) or pd.api.types.is_float_dtype(new)
        allowed = np.maximum(allowed, FLOAT_TOLERANCE) if fraction else allowed
        difference = relative_difference(before, after)
    else:
        before, after = (side.astype(object).where(side.notna(), None).to_numpy() for side in (old, new))
        allowed = np.zeros(len(old))
        difference = np.where([a == b for a, b in zip(before, after, strict=True)], 0.0, np.inf)
    values = {
        side: pd.Series([None if pd.isna(value) else value for value in column.tolist()], dtype=object)
        for side, column in (("old", old), ("new", new))
    }
    result = {"difference": difference, "allowed": allowed, "agrees": difference <= allowed}
    return pd.DataFrame({"row": old.index, "column": column, **values, **result})


def _is_number(column: pd.Series[Any]) -> bool:
    return pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)


def relative_difference(old: Floats, new: Floats) -> Floats:
    """Return the difference over the larger absolute value; 0 if both are missing, infinite if one is.

    Examples
    --------
    >>> relative_difference(np.array([1.0, 0.0, np.nan, np.nan]), np.array([2.0, 0.0, np.nan, 1.0])).tolist()
    [0.5, 0.0, 0.0, inf]
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        difference = np.abs(old - new) / np.maximum(np.abs(old), np.abs(new))
    difference = np.where(np.isnan(old) != np.isnan(new), np.inf, difference)
    return np.where((old == new) | (np.isnan(old) & np.isnan(new)), 0.0, difference)
