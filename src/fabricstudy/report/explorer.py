"""Explorer of the page: the tables as JSON, and Vega-Lite as one script."""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections.abc import Iterator
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fabricstudy.core.columns import ADDED_EXPERIMENTS, DONE, KEYS, METRICS, NAMES, TABLES, column_unit
from fabricstudy.core.files import atomic_text
from fabricstudy.study.figures import AnyFigure, Figure
from fabricstudy.table.files import Tables
from fabricstudy.table.schemas import axes_of
from fabricstudy.table.select import label_text

DATA_BYTES = 1_000_000
"""Most bytes of data in a page; with 0.9 MB of scripts and the figures it stays below 5 MB."""

_LEFT_OUT = frozenset({"operations", "messages", "scheduled_jobs"})
"""Tables too large for any page."""


class Explorer(NamedTuple):
    """Data and scripts of the explorer of a page, and the tables that it reduces to medians or leaves out."""

    data: str
    """JSON: ``{table: {rows, axes: [{name, numeric, labels, codes}], metrics: [{name, about, unit, values}]}}``."""
    libraries: str
    code: str
    reduced: list[str]
    left_out: list[str]


class _Source(NamedTuple):
    """Rows of a table, its key columns and its metrics."""

    name: str
    rows: pd.DataFrame
    keys: list[str]
    metrics: list[str]


def explorer(tables: Tables, data_bytes: int = DATA_BYTES) -> Explorer | None:
    """Return the explorer of a study, or None if there is nothing to draw.

    Each table has all its rows if they fit into `data_bytes`, else medians over seeds, else it is left out.
    """
    texts: list[str] = []
    reduced, left_out = [], []
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
    """Return the choices of the explorer that best reproduce a figure."""
    if not isinstance(figure, Figure) or figure.table not in METRICS:
        return {}
    only = {axis: label for axis, label in figure.where.items() if isinstance(label, str | int | float)}
    return {
        "table": figure.table, "metric": figure.y, "unit": figure.unit, "x": figure.x, "colour": [*figure.hue, None][0],
        "facet": figure.columns or figure.rows, "only": {"experiment": figure.experiment, **only},
        "xscale": {True: "log", False: "linear", None: None}[figure.x_log], "yscale": "log" if figure.y_log else None,
    }  # fmt: skip


def _libraries() -> str:
    """Return the scripts of Vega, from the user's cache since bundling them takes two seconds."""
    release = version("vl-convert-python")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    cached = cache / "fabricstudy" / f"vega-{release}.js"
    if cached.is_file():
        return cached.read_text(encoding="utf-8")
    import vl_convert

    origin = f"Vega, Vega-Lite and Vega-Embed (BSD-3-Clause), from vl-convert-python {release}"
    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    script = f"/* {origin} */\n{bundle}".replace("</script", "<\\/script")
    # Without a writable home the scripts are bundled each time.
    with contextlib.suppress(OSError), atomic_text(cached) as file:
        file.write(script)
    return script


def _sources(tables: Tables) -> Iterator[_Source]:
    """Yield the tables with something to draw, that of the jobs first."""
    for name in sorted((table for table in METRICS if table not in _LEFT_OUT), key="jobs".__ne__):
        rows = _drawable(name, tables)
        metrics = [metric for metric in METRICS[name] if len(rows) and rows[metric].notna().any()]
        if metrics:
            columns = list(rows.columns)
            if name == "machines":
                keys = ["experiment", *columns[columns.index("machine_id") + 1 : columns.index("kind") + 1]]
            else:
                keys = [columns[0], *axes_of(rows), *KEYS[name], *NAMES.get(name, ()), "seed"]
            yield _Source(name, rows, list(dict.fromkeys(keys)), metrics)


def _drawable(name: str, tables: Tables) -> pd.DataFrame:
    """Return the rows to draw: finished simulations, jobs that communicate, machines of each experiment."""
    frame: pd.DataFrame = getattr(tables, name)
    if name == "points":
        return frame[frame["status"] == DONE]
    if name == "machines":
        # Machines of two experiments may differ without an axis.
        used = tables.points.loc[~tables.points["experiment"].isin(ADDED_EXPERIMENTS), ["experiment", "machine_id"]]
        return used.drop_duplicates().merge(frame, on="machine_id")
    return frame[(frame["messages"] > 0) & ~frame["background"]] if name == "jobs" else frame


def _medians(source: _Source) -> _Source:
    """Return medians over seeds."""
    keys = [key for key in source.keys if key != "seed"]
    numbers = source.rows[[*keys, *source.metrics]].astype(dict.fromkeys(source.metrics, float))
    return source._replace(rows=numbers.groupby(keys, sort=False, dropna=False).median().reset_index(), keys=keys)


def _table(source: _Source) -> str:
    about = {column.name: column.about for column in TABLES[source.name]}
    metrics = []
    for name in source.metrics:
        values = source.rows[name].astype(float).to_numpy(dtype=float, na_value=np.nan).tolist()
        # Five digits, and null for missing values.
        short = [_whole(float(f"{value:.5g}")) if math.isfinite(value) else None for value in values]
        metrics.append({"name": name, "about": about[name], "unit": column_unit(name), "values": short})
    axes = [_axis(key, source.rows[key]) for key in source.keys]
    facts = {"rows": len(source.rows), "axes": axes, "metrics": metrics}
    text = f"{json.dumps(source.name)}:{json.dumps(facts, separators=(',', ':'))}"
    # No label of a study can end the script element.
    return text.replace("<", "\\u003c")


def _axis(name: str, column: pd.Series[Any]) -> dict[str, Any]:
    """Return the labels of an axis, numbers sorted and text in the order of the study, and the code of each row.

    Rows of experiments without the axis are labelled "none".
    """
    numeric = bool(pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column))
    codes, labels = pd.factorize(column, sort=numeric, use_na_sentinel=False)
    shown = [label_text(label) if pd.isna(label) or not numeric else _whole(float(label)) for label in labels]
    return {"name": name, "numeric": numeric, "labels": shown, "codes": codes.tolist()}


def _whole(value: float) -> float:
    return int(value) if value.is_integer() else value
