"""Summaries of schedules for the page: use of the machine, waits by job size, reasons of idle midplanes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from fabricstudy.core.columns import DONE
from fabricstudy.core.phrasing import count_noun
from fabricstudy.core.quantities import HOUR_S
from fabricstudy.study.model import Study
from fabricstudy.table.files import Tables
from fabricstudy.table.schemas import axes_of
from fabricstudy.table.select import label_text

from .text import NO_NUMBER, TextTable, VaryingAxis, number, varying_axes

_SHARES = ("utilisation", "useful_utilisation", "idle_no_cables", "idle_reserved", "idle_fragmented", "idle_no_jobs")
_LIST_FACTS = (
    "class_nodes", "partitions", "concurrent_max", "concurrent_share", "cables", "conflicts", "bisection_links",
)  # fmt: skip


@dataclass(frozen=True)
class ScheduleSummary:
    """Summary of one schedule, with the numbers of its runs that are done and saturated.

    `waits` has a row for each combination of labels: use of the machine and mean wait of each size class, medians over
    seeds. `lists` has the partition lists by size class, `reasons` why runs are not done, `repairs` the trace clean-up.
    """

    name: str
    runs: int
    done: int
    seeds: int
    saturated: int
    varies: list[VaryingAxis]
    waits: TextTable
    lists: TextTable
    reasons: list[str]
    repairs: list[str]

    @property
    def row(self) -> tuple[str, int, int, list[VaryingAxis]]:
        """Name, runs, seeds and varying axes, as of an experiment."""
        return self.name, self.runs, self.seeds, self.varies


def schedule_summaries(study: Study, tables: Tables) -> list[ScheduleSummary]:
    """Summarise each schedule of a study."""
    schedules = tables.schedules.groupby("schedule", sort=False) if len(tables.schedules) else ()
    return [_summary(str(name), part, tables, study.meanings) for name, part in schedules]


def _summary(name: str, runs: pd.DataFrame, tables: Tables, meanings: Mapping[str, str]) -> ScheduleSummary:
    axes = [axis for axis in axes_of(runs) if runs[axis].notna().any()]
    done = runs[runs["status"] == DONE]
    return ScheduleSummary(
        name=name,
        runs=len(runs),
        done=len(done),
        seeds=runs["seed"].nunique(),
        saturated=int(done["saturated"].fillna(False).sum()),
        varies=varying_axes(runs, axes, meanings),
        waits=_waits(name, done, axes, tables.size_classes),
        lists=_lists(name, axes, tables.partition_lists),
        reasons=_by_frequency(runs.loc[runs["status"] != DONE, "reason"]),
        repairs=_by_frequency(runs["trace_repairs"].dropna()),
    )


def _by_frequency(texts: pd.Series[Any]) -> list[str]:
    return [f"{text} ({count_noun(count, 'run')})" for text, count in texts.value_counts().items()]


def _waits(name: str, runs: pd.DataFrame, axes: list[str], classes: pd.DataFrame) -> TextTable:
    of_classes = classes[classes["schedule"] == name]
    sizes = sorted(of_classes["class_nodes"].unique())
    by_run = of_classes.pivot_table(index=[*axes, "seed"], columns="class_nodes", values="wait_mean_s", dropna=False)
    keys = axes or ["schedule"]
    rows = []
    for key, part in runs.groupby(keys, sort=False, dropna=False):
        labels = [label_text(label) for label in key][: len(axes)]
        shares = [f"{100 * part[share].median():.1f}" for share in _SHARES]
        hours = [number(part[column].median() / HOUR_S, 3) for column in ("wait_mean_s", "response_mean_s")]
        wanted = pd.MultiIndex.from_frame(part[[*axes, "seed"]]) if axes else pd.Index(part["seed"])
        medians = by_run.reindex(wanted).median()
        each = [NO_NUMBER if pd.isna(medians.get(size)) else number(medians[size] / HOUR_S, 3) for size in sizes]
        rows.append([*labels, *shares, *hours, *each])
    head = [
        *axes, "busy %", "useful %", "no cables %", "reserved %", "fragmented %", "empty %", "mean wait (h)",
        "mean response (h)", *(f"wait of {size:,}" for size in sizes),
    ]  # fmt: skip
    return TextTable(head, rows, frozenset(range(len(axes), len(head))))


def _lists(name: str, axes: list[str], lists: pd.DataFrame) -> TextTable:
    of_schedule = lists[lists["schedule"] == name]
    shown = [axis for axis in axes if of_schedule[axis].notna().any()]
    rows = [
        [*(label_text(row[axis]) for axis in shown), *(number(row[fact]) for fact in _LIST_FACTS)]
        for row in of_schedule.to_dict("records")
    ]
    head = [*shown, *(fact.replace("_", " ") for fact in _LIST_FACTS)]
    return TextTable(head, rows, frozenset(range(len(shown), len(head))))
