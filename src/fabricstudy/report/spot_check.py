"""Findings on engines whose runtimes are checked by another engine or at a finer resolution."""

from fabricstudy.core.columns import DONE, RESOLUTION_CHECK, SPOT_CHECK
from fabricstudy.core.phrasing import count_noun, join_words
from fabricstudy.engine.registry import engine_named
from fabricstudy.engine.settings import EngineSettings
from fabricstudy.study.model import Study
from fabricstudy.table.files import Tables

from .text import number

LARGE_ERROR = 0.05
"""Relative resolution error above which points are named."""


def _checked_engines(tables: Tables) -> dict[str, str]:
    """Return the engines of the points that need a check, each with the engine that checks it."""
    kinds = {name: EngineSettings.FAMILY.find(name) for name in sorted(tables.points["engine"].unique())}
    checked_by = {name: kind.checked_by for name, kind in kinds.items() if kind and issubclass(kind, EngineSettings)}
    return {name: by for name, by in checked_by.items() if by is not None}


def spot_check_summary(tables: Tables) -> list[str]:
    """Return a sentence for each engine that needs a check: its runtimes relative to the checking engine."""
    done = tables.points[tables.points["status"] == DONE].groupby("engine")["point_id"].nunique()
    return [
        f"Spot check: {done.get(name, 0):,} points were simulated on {name}. {_runtime_ratio(tables, name, by)}"
        for name, by in _checked_engines(tables).items()
    ]


def _runtime_ratio(tables: Tables, name: str, by: str) -> str:
    """Return the ratio of the runtimes on the points of the spot check."""
    rows, pairs = (table[table["experiment"] == SPOT_CHECK] for table in (tables.points, tables.agreement))
    pairs = pairs[(pairs["engine_a"] == by) | (pairs["engine_b"] == by)]
    if pairs.empty:
        drawn = rows.loc[rows["engine"] == by, "point_id"].nunique()
        return f"None of the {drawn} points drawn for {by} was done on both: the error is unknown."
    # The denominator is the first engine in alphabetical order.
    ratio = pairs["ratio"] if by < name else 1 / pairs["ratio"]
    low, middle, high = (number(value, 3) for value in (ratio.min(), ratio.median(), ratio.max()))
    count = pairs["point_a_id"].nunique()
    return f"On a sample of {count} cheap points, runtimes are {middle} ({low} to {high}) times those of {by}."


def resolution_check_summary(tables: Tables) -> list[str]:
    """Return a sentence on the change of runtimes if the phit is halved; none without such a check."""
    checked = tables.points[tables.points["experiment"] == RESOLUTION_CHECK]
    if checked.empty:
        return []
    # Each point is followed by its check.
    points, checks = checked.iloc[::2], checked.iloc[1::2]
    runtime_ns = tables.jobs.groupby("point_id")["runtime_ns"].max()
    fine_ns = runtime_ns.reindex(checks["point_id"]).to_numpy()
    error = (runtime_ns.reindex(points["point_id"]) / fine_ns - 1).dropna()
    # CAMINOS accepts no smaller phit if delays are long.
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
    """Return the claims that rest on one engine that needs a check, and that engine."""
    engines_of = tables.points.groupby("experiment")["engine"].agg(set).to_dict()
    checked = _checked_engines(tables)
    unchecked = {}
    for claim in study.claims:
        experiments = {measure.experiment for part in claim.parts for measure in part.measures() if measure.of_points}
        ran_on = set().union(*(engines_of.get(name, set()) for name in experiments))
        simulators = {name for name in ran_on if engine_named(name).simulates}
        if len(simulators) == 1 and simulators <= checked.keys():
            unchecked[claim.id] = simulators.pop()
    return unchecked
