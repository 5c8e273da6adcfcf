"""What the page says of an engine whose times need a check by another one."""

from fabricstudy.core.columns import DONE, RESOLUTION_CHECK, SPOT_CHECK
from fabricstudy.core.phrasing import count_noun, join_words
from fabricstudy.engine.registry import engine_named
from fabricstudy.engine.settings import EngineSettings
from fabricstudy.study.model import Study
from fabricstudy.table.files import Tables

from .text import number

LARGE_ERROR = 0.05
"""Error of the resolution above which points are named."""


def _checked_engines(tables: Tables) -> dict[str, str]:
    """Name each engine of the points that asks for a check, and the one that checks it."""
    kinds = {name: EngineSettings.FAMILY.find(name) for name in sorted(tables.points["engine"].unique())}
    checked_by = {name: kind.checked_by for name, kind in kinds.items() if kind and issubclass(kind, EngineSettings)}
    return {name: by for name, by in checked_by.items() if by is not None}


def spot_check_summary(tables: Tables) -> list[str]:
    """Return for each engine that asks for a check how its times compare with those of the other one."""
    done = tables.points[tables.points["status"] == DONE].groupby("engine")["point_id"].nunique()
    return [
        f"Spot check: {done.get(name, 0):,} points were simulated on {name}. {_checked(tables, name, by)}"
        for name, by in _checked_engines(tables).items()
    ]


def _checked(tables: Tables, name: str, by: str) -> str:
    """Return the ratio of the times on the points of the spot check."""
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


def resolution_check_summary(tables: Tables) -> list[str]:
    """Return a sentence on how far the times of points change if the phit is halved; none without such a check."""
    checked = tables.points[tables.points["experiment"] == RESOLUTION_CHECK]
    if checked.empty:
        return []
    # The plan has each point and then its check.
    points, checks = checked.iloc[::2], checked.iloc[1::2]
    runtime_ns = tables.jobs.groupby("point_id")["runtime_ns"].max()
    fine_ns = runtime_ns.reindex(checks["point_id"]).to_numpy()
    error = (runtime_ns.reindex(points["point_id"]) / fine_ns - 1).dropna()
    # Where delays are long, CAMINOS takes no smaller phit.
    finer = checks["phit_bytes"].to_numpy() < points["phit_bytes"].to_numpy()
    error = error[error.index.isin(points.loc[finer, "point_id"])]
    if error.empty:
        return [f"Resolution check: none of {count_noun(len(points), 'point')} was simulated at both phits."]
    large = [f"{name} ({percent})" for name, percent in error[error.abs() > LARGE_ERROR].map("{:+.1%}".format).items()]
    sentence = (
        f"Resolution check: of {count_noun(len(error), 'point')} drawn, times differ from those with half the phit by "
        f"{error.abs().median():.1%} in the median and {error.abs().max():.1%} at most"
    )
    return [f"{sentence}; by more than {LARGE_ERROR:.0%}: {join_words(large)}." if large else f"{sentence}."]


def judged_unchecked(study: Study, tables: Tables) -> dict[str, str]:
    """Return the claims judged by the times of one engine alone that asks for a check, and that engine."""
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
