"""Tables of the same points on several engines for the page."""

import pandas as pd

from fabricstudy.core.columns import NOT_RUN, UNDECIDED
from fabricstudy.engine.registry import engines
from fabricstudy.study.plan import Plan
from fabricstudy.table.files import Tables
from fabricstudy.table.ranks import rank_correlation
from fabricstudy.table.schemas import axes_of
from fabricstudy.table.select import label_text

from .text import NO_NUMBER, SummaryColumn, TextTable, format_number, min_median_max, number, range_text, summarise

MAX_SLOWDOWNS = 200
"""Largest table of slowdowns in a page, in rows."""

_ENGINE, _SLOWDOWN, _POINT = "(engine)", "(slowdown)", "(point)"


def differences(plan: Plan, tables: Tables) -> list[tuple[str, str]]:
    """Return the known model differences that concern points run by two engines."""
    compared = set(tables.agreement["point_a_id"]) | set(tables.agreement["point_b_id"])
    points = [plan.points[name].point for name in compared if name in plan.points]
    return [
        (name, caveat.text)
        for name, engine in engines().items()
        for caveat in engine.caveats
        if any(point.engine.kind == name and caveat.applies_to(point) for point in points)
    ]


def ratios(tables: Tables) -> TextTable:
    """Return ratios and rank correlation of the runtimes, and the CPU time of the points on both engines."""
    cpu_s = tables.points.drop_duplicates("point_id").set_index("point_id")["cpu_s"]

    def cost(part: pd.DataFrame) -> str:
        sides = (part[f"point_{side}_id"].unique() for side in ("b", "a"))
        return " / ".join(number(cpu_s.reindex(side).sum(), 3) for side in sides)

    return _compared(tables.agreement, "ratio", "runtime_a_ns", "runtime_b_ns", ("CPU seconds", cost))


def slowdown_ratios(tables: Tables) -> TextTable:
    """Return ratios of the slowdowns of the same jobs."""
    compared = tables.agreement[tables.agreement["slowdown_ratio"].notna()]
    return _compared(compared, "slowdown_ratio", "slowdown_a", "slowdown_b")


def _compared(rows: pd.DataFrame, ratio: str, first: str, second: str, *more: SummaryColumn) -> TextTable:
    rank = ("rank correlation", lambda part: number(rank_correlation("spearman", part[first], part[second]), 3))
    keys = {"experiment": "experiment", "pair": "engines"}
    return summarise(rows, keys, [("jobs", len), *min_median_max(ratio, 3), rank, *more])


def slowdowns(tables: Tables) -> TextTable:
    """Return the slowdown of each job on each engine, medians over seeds; empty if there are too many for a page."""
    compared = tables.agreement[tables.agreement["slowdown_ratio"].notna()]
    sides = []
    for side in ("a", "b"):
        columns = {f"engine_{side}": _ENGINE, f"slowdown_{side}": _SLOWDOWN, f"point_{side}_id": _POINT}
        sides.append(compared[["experiment", *axes_of(compared), "job", *columns]].rename(columns=columns))
    by_engine = pd.concat(sides).drop_duplicates([_POINT, "experiment", "job"])
    engines = sorted(by_engine[_ENGINE].unique())
    keys = ["experiment", *axes_of(compared), "job"]
    rows = []
    for key, part in by_engine.groupby(keys, sort=False, dropna=False):
        experiment, *labels = key
        texts = zip(keys[1:], map(label_text, labels), strict=True)
        job = ", ".join(f"{name} {text}" for name, text in texts if text != label_text(None))
        medians = part.groupby(_ENGINE)[_SLOWDOWN].median()
        rows.append([str(experiment), job, *(number(medians.get(engine), 3) for engine in engines)])
    rows = rows if len(rows) <= MAX_SLOWDOWNS else []
    return TextTable(("experiment", "job", *engines), rows, frozenset(range(2, 2 + len(engines))))


def verdict_rows(tables: Tables) -> TextTable:
    """Return the verdict of each engine alone on each part of each claim, and whether all engines agree.

    An undecided verdict contradicts no other.
    """
    engines = list(dict.fromkeys(tables.verdicts["engine"]))
    rows = []
    claims = tables.claims[["claim", "part", "part_statement", "show", "accept_low", "accept_high"]]
    merged = tables.verdicts.merge(claims, on=["claim", "part"], how="left")
    for (claim, _), part in merged.groupby(["claim", "part"], sort=False):
        first, by_engine = part.iloc[0], part.drop_duplicates("engine").set_index("engine")
        texts = []
        for engine in engines:
            measured, verdict = by_engine.loc[engine, ["measured", "verdict"]]
            texts.append(verdict if pd.isna(measured) else f"{format_number(measured, first['show'])}, {verdict}")
        kinds = set(part["verdict"])
        differing = UNDECIDED if len(kinds - {UNDECIDED}) == 1 else "no"
        same = NO_NUMBER if NOT_RUN in kinds else "yes" if len(kinds) == 1 else differing
        quantity = "" if pd.isna(first["part_statement"]) else first["part_statement"]
        accepted = range_text(first["accept_low"], first["accept_high"], first["show"])
        rows.append([str(claim), quantity, accepted, *texts, same])
    return TextTable(("claim", "quantity", "accepted", *engines, "same verdict"), rows)
