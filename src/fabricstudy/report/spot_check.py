"""What the page says of an engine whose times need a check by another one."""

from __future__ import annotations

from fabricstudy.columns import DONE, SPOT_CHECK
from fabricstudy.engine.registry import engine_named
from fabricstudy.engine.settings import EngineSettings
from fabricstudy.study.model import Study
from fabricstudy.table.store import Tables

from .text import number


def _checked_engines(tables: Tables) -> dict[str, str]:
    """Name each engine of the points that asks for a check, and the one that checks it."""
    kinds = {name: EngineSettings.FAMILY.find(name) for name in sorted(tables.points["engine"].unique())}
    checked_by = {name: kind.checked_by for name, kind in kinds.items() if kind and issubclass(kind, EngineSettings)}
    return {name: by for name, by in checked_by.items() if by is not None}


def spot_check(tables: Tables) -> list[str]:
    """Say of each engine that asks for a check how its times compare with those of the other one."""
    done = tables.points[tables.points["status"] == DONE]
    return [
        f"Spot check: {done.loc[done['engine'] == name, 'point_id'].nunique():,} points were simulated on {name}. "
        f"{_checked(tables, name, by)}"
        for name, by in _checked_engines(tables).items()
    ]


def _checked(tables: Tables, name: str, by: str) -> str:
    """Give the ratio of the times on the points of the spot check."""
    rows, both = (table[table["experiment"] == SPOT_CHECK] for table in (tables.points, tables.agreement))
    both = both[(both["engine_a"] == by) | (both["engine_b"] == by)]
    if both.empty:
        drawn = rows.loc[rows["engine"] == by, "point_id"].nunique()
        return f"Of {drawn} drawn for {by} none was done on both: nothing tells how far to believe the times."
    # The first in the alphabet stands under the fraction.
    ratio = both["ratio"] if by < name else 1 / both["ratio"]
    low, middle, high = (number(value, 3) for value in (ratio.min(), ratio.median(), ratio.max()))
    count = both["point_a_id"].nunique()
    return f"On {count} of the cheap ones, as drawn, they have {middle} ({low} to {high}) of the time of {by}."


def judged_unchecked(study: Study, tables: Tables) -> dict[str, str]:
    """Give the claims judged by the times of one engine alone that asks for a check, and that engine."""
    engines_of = tables.points.groupby("experiment")["engine"].agg(set).to_dict()
    checked = _checked_engines(tables)
    unchecked = {}
    for claim in study.claims:
        experiments = {one.experiment for part in claim.parts for one in part.measures() if one.of_points}
        ran_on = set().union(*(engines_of.get(name, set()) for name in experiments))
        simulators = {name for name in ran_on if engine_named(name).simulates}
        if len(simulators) == 1 and simulators <= checked.keys():
            unchecked[claim.id] = simulators.pop()
    return unchecked
