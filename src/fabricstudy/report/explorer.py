"""Tables -> what the page's explorer needs: its data as one JSON text, and Vega-Lite as one script."""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fabricstudy.core.columns import ADDED_EXPERIMENTS, DONE, KEYS, METRICS, NAMES, column_unit
from fabricstudy.core.files import atomic_text
from fabricstudy.study.figures import AnyFigure, Figure
from fabricstudy.table.files import Tables
from fabricstudy.table.schemas import axes_of
from fabricstudy.table.select import label_text

DATA_BYTES = 1_000_000
"""Most bytes of data in a page; with 0.9 MB of scripts and the pictures it stays below 5 MB."""


_LEFT_OUT = frozenset({"scheduled_jobs"})
"""Tables of which no page could hold the rows."""


@dataclass(frozen=True)
class Explorer:
    """What the explorer of a page needs: data, Vega with all its parts, and our own script, which draws.

    Parameters
    ----------
    data : str
        JSON text that may stand inside a script element:
        ``{table: {rows, axes: [{name, numeric, labels, codes}], metrics: [{name, unit, values}]}}``.
    reduced, left_out : list of str
        Tables of which only medians over seeds are in the data, and those that would make the page too large.
    """

    data: str
    libraries: str
    code: str
    reduced: list[str]
    left_out: list[str]


class _Source(NamedTuple):
    """Rows of a table, the columns that tell them apart and those that hold numbers to draw."""

    name: str
    rows: pd.DataFrame
    keys: list[str]
    metrics: list[str]


def explorer(tables: Tables, data_bytes: int = DATA_BYTES) -> Explorer | None:
    """Return the explorer of a study, or None if its tables hold nothing that could be drawn.

    Each table in turn is put in with all its rows, else with medians over seeds, else not at all, as the room
    that is left of `data_bytes` allows.
    """
    texts: list[str] = []
    reduced: list[str] = []
    left_out: list[str] = []
    for source in _sources(tables):
        room = data_bytes - len("{},") - sum(len(text) + 1 for text in texts)
        full = _table(source)
        text = _table(_medians(source)) if len(full) > room and "seed" in source.keys else full
        if len(text) > room:
            left_out.append(source.name)
            continue
        texts.append(text)
        if text is not full:
            reduced.append(source.name)
    if not texts:
        return None
    code = files(__package__).joinpath("templates/explorer.js").read_text("utf-8")
    return Explorer("{" + ",".join(texts) + "}", _libraries(), code, reduced, left_out)


def as_choices(figure: AnyFigure) -> dict[str, Any]:
    """Return what the reader would choose to see what a figure shows, as far as the explorer can show it."""
    if not isinstance(figure, Figure) or figure.table not in METRICS:
        return {}
    only = {axis: label for axis, label in figure.where.items() if isinstance(label, str | int | float)}
    return {
        "table": figure.table, "metric": figure.y, "unit": figure.unit, "x": figure.x, "colour": [*figure.hue, None][0],
        "facet": figure.columns or figure.rows, "only": {"experiment": figure.experiment, **only},
        "xscale": {True: "log", False: "linear", None: None}[figure.x_log], "yscale": "log" if figure.y_log else None,
    }  # fmt: skip


def _libraries() -> str:
    """Vega's scripts. A JavaScript engine bundles them in two seconds, so the user's cache keeps them."""
    release = version("vl-convert-python")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    kept = cache / "fabricstudy" / f"vega-{release}.js"
    if kept.is_file():
        return kept.read_text(encoding="utf-8")
    import vl_convert

    origin = f"Vega, Vega-Lite and Vega-Embed (BSD-3-Clause), from vl-convert-python {release}"
    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    script = f"/* {origin} */\n{bundle}".replace("</script", "<\\/script")
    # A home that cannot be written to costs those seconds each time, and nothing else.
    with contextlib.suppress(OSError), atomic_text(kept) as file:
        file.write(script)
    return script


def _sources(tables: Tables) -> Iterator[_Source]:
    """Tables that hold something to draw; that of the jobs, which most readers want, is given room first."""
    for name in sorted((one for one in METRICS if one not in _LEFT_OUT), key="jobs".__ne__):
        rows = _drawable(name, tables)
        metrics = [metric for metric in METRICS[name] if len(rows) and rows[metric].notna().any()]
        if metrics:
            yield _Source(name, rows, _keys(name, rows), metrics)


def _drawable(name: str, tables: Tables) -> pd.DataFrame:
    """Rows that can be drawn: simulations that are done, jobs that communicate, machines of each experiment."""
    frame: pd.DataFrame = getattr(tables, name)
    if name == "points":
        return frame[frame["status"] == DONE]
    if name == "machines":
        # Two experiments may use machines of different sizes, which no axis tells apart.
        used = tables.points.loc[~tables.points["experiment"].isin(ADDED_EXPERIMENTS), ["experiment", "machine_id"]]
        return used.drop_duplicates().merge(frame, on="machine_id")
    return frame[(frame["messages"] > 0) & ~frame["background"]] if name == "jobs" else frame


def _keys(name: str, rows: pd.DataFrame) -> list[str]:
    """Columns that tell the rows of a table apart."""
    columns = list(rows.columns)
    if name == "machines":
        return ["experiment", *columns[columns.index("machine_id") + 1 : columns.index("kind") + 1]]
    return list(dict.fromkeys((rows.columns[0], *axes_of(rows), *KEYS[name], *NAMES.get(name, ()), "seed")))


def _medians(source: _Source) -> _Source:
    """Medians over seeds of the numbers of otherwise equal rows."""
    keys = [key for key in source.keys if key != "seed"]
    numbers = source.rows[keys].assign(**{metric: source.rows[metric].astype(float) for metric in source.metrics})
    rows: pd.DataFrame = numbers.groupby(keys, sort=False, dropna=False).median().reset_index()
    return source._replace(rows=rows, keys=keys)


def _table(source: _Source) -> str:
    metrics = []
    for name in source.metrics:
        values = source.rows[name].astype(float).to_numpy(dtype=float, na_value=np.nan).tolist()
        metrics.append({"name": name, "unit": column_unit(name), "values": [_number(value) for value in values]})
    axes = [_axis(key, source.rows[key]) for key in source.keys]
    facts = {"rows": len(source.rows), "axes": axes, "metrics": metrics}
    text = f"{json.dumps(source.name)}:{json.dumps(facts, separators=(',', ':'))}"
    # So that no label of a study ends the script element.
    return text.replace("<", "\\u003c")


def _axis(name: str, column: pd.Series[Any]) -> dict[str, Any]:
    """Return an axis' labels, numbers sorted and texts as in the study, and which of them each row has.

    Rows of experiments that do not have the axis are labelled "none", also between numbers.
    """
    numeric = bool(pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column))
    codes, labels = pd.factorize(column, sort=numeric, use_na_sentinel=False)
    shown = [label_text(label) if pd.isna(label) or not numeric else _whole(float(label)) for label in labels]
    return {"name": name, "numeric": numeric, "labels": shown, "codes": codes.tolist()}


def _number(value: float) -> float | None:
    """Round to five digits; what is missing is null, and whole numbers need no decimal point.

    Examples
    --------
    >>> _number(34604321.0), _number(1.35171875), _number(float("nan"))
    (34604000, 1.3517, None)
    """
    return _whole(float(f"{value:.5g}")) if math.isfinite(value) else None


def _whole(value: float) -> float:
    return int(value) if value.is_integer() else value
