"""What the page says of the same points on several engines."""

from __future__ import annotations

import pandas as pd

from fabricstudy.core.columns import NOT_RUN, UNDECIDED
from fabricstudy.engine.registry import engines
from fabricstudy.study.plan import Plan
from fabricstudy.table.ranks import rank_correlation
from fabricstudy.table.schemas import axes_of
from fabricstudy.table.select import label_text
from fabricstudy.table.store import Tables

from .text import Grid, number, range_text, shown

MOST_SLOWDOWNS = 200
"""Most rows of the table of slowdowns in a page."""

_ENGINE, _SLOWDOWN, _POINT = "(engine)", "(slowdown)", "(point)"


def differences(plan: Plan, tables: Tables) -> list[tuple[str, str]]:
    """Return the known reasons that concern points which two engines have run."""
    compared = set(tables.agreement["point_a_id"]) | set(tables.agreement["point_b_id"])
    if not compared:
        return []
    points = [plan.points[name].point for name in sorted(compared) if name in plan.points]
    return [
        (name, caveat.says)
        for name, engine in engines().items()
        for caveat in engine.caveats
        if any(point.engine.kind == name and caveat.concerns(point) for point in points)
    ]


def ratios(tables: Tables) -> Grid:
    """Ratios of the times, how far the engines rank the points alike, and what the same points cost on each."""
    cpu_s = tables.points.drop_duplicates("point_id").set_index("point_id")["cpu_s"]
    rows = []
    for (experiment, pair), part in tables.agreement.groupby(["experiment", "pair"], sort=False):
        ratio = part["ratio"]
        rank = rank_correlation("spearman", part["runtime_a_ns"], part["runtime_b_ns"])
        facts = [number(value, 3) for value in (ratio.min(), ratio.median(), ratio.max(), rank)]
        cost = [number(cpu_s.reindex(part[f"point_{side}_id"].unique()).sum(), 3) for side in ("b", "a")]
        rows.append([str(experiment), str(pair), str(len(part)), *facts, " / ".join(cost)])
    head = ("experiment", "engines", "jobs", "least", "median", "largest", "rank correlation", "CPU seconds")
    return Grid(head, rows, frozenset(range(2, 8)))


def slowdown_ratios(tables: Tables) -> Grid:
    """Compare how far engines agree on interference: ratios of the slowdowns of the same jobs."""
    compared = tables.agreement[tables.agreement["slowdown_ratio"].notna()]
    rows = []
    for (experiment, pair), part in compared.groupby(["experiment", "pair"], sort=False):
        ratio = part["slowdown_ratio"]
        rank = rank_correlation("spearman", part["slowdown_a"], part["slowdown_b"])
        facts = [number(value, 3) for value in (ratio.min(), ratio.median(), ratio.max(), rank)]
        rows.append([str(experiment), str(pair), str(len(part)), *facts])
    head = ("experiment", "engines", "jobs", "least", "median", "largest", "rank correlation")
    return Grid(head, rows, frozenset(range(2, 7)))


def slowdowns(tables: Tables) -> Grid:
    """Slowdown of each job by each engine that ran it, medians over seeds; empty if there are too many for a page."""
    compared = tables.agreement[tables.agreement["slowdown_ratio"].notna()]
    sides = []
    for side in ("a", "b"):
        columns = {f"engine_{side}": _ENGINE, f"slowdown_{side}": _SLOWDOWN, f"point_{side}_id": _POINT}
        sides.append(compared[["experiment", *axes_of(compared), "job", *columns]].rename(columns=columns))
    both = pd.concat(sides).drop_duplicates([_POINT, "experiment", "job"])
    engines = sorted(both[_ENGINE].unique())
    keys = ["experiment", *axes_of(compared), "job"]
    rows = []
    for key, part in both.groupby(keys, sort=False, dropna=False):
        experiment, *labels = key
        texts = zip(keys[1:], map(label_text, labels), strict=True)
        at = ", ".join(f"{name} {text}" for name, text in texts if text != label_text(None))
        middle = part.groupby(_ENGINE)[_SLOWDOWN].median()
        rows.append([str(experiment), at, *(number(middle.get(engine), 3) for engine in engines)])
    kept = rows if len(rows) <= MOST_SLOWDOWNS else []
    return Grid(("experiment", "job", *engines), kept, frozenset(range(2, 2 + len(engines))))


def verdicts(tables: Tables) -> Grid:
    """Each part of each claim by the points of one engine alone, and whether all engines give the same verdict.

    An engine that leaves a part undecided contradicts no other one.
    """
    engines = list(dict.fromkeys(tables.verdicts["engine"]))
    head = ("claim", "what was measured", "accepted", *engines, "same verdict")
    rows = []
    both = tables.verdicts.merge(
        tables.claims[["claim", "part", "part_says", "show", "accept_low", "accept_high"]],
        on=["claim", "part"],
        how="left",
    )
    for (claim, _), part in both.groupby(["claim", "part"], sort=False):
        first = part.iloc[0]
        texts = [_verdict_text(part[part["engine"] == engine], first["show"]) for engine in engines]
        kinds = set(part["verdict"])
        differing = UNDECIDED if len(kinds - {UNDECIDED}) == 1 else "no"
        same = "\N{EN DASH}" if NOT_RUN in kinds else "yes" if len(kinds) == 1 else differing
        says = "" if pd.isna(first["part_says"]) else first["part_says"]
        rows.append(
            [str(claim), says, range_text(first["accept_low"], first["accept_high"], first["show"]), *texts, same]
        )
    return Grid(head, rows)


def _verdict_text(rows: pd.DataFrame, how: str | None) -> str:
    row = rows.iloc[0]
    return row["verdict"] if pd.isna(row["measured"]) else f"{shown(row['measured'], how)}, {row['verdict']}"
