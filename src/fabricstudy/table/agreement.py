"""The same points on several engines: their times, and the verdicts on claims by each."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import pandas as pd

from fabricstudy.core.columns import RESOLUTION_CHECK, SPOT_CHECK, names_of
from fabricstudy.engine.point import canonical_json
from fabricstudy.engine.registry import engine_named
from fabricstudy.engine.settings import EngineSettings
from fabricstudy.study.claims import Claim
from fabricstudy.study.plan import Plan

from .claims import judge
from .files import Tables

_TWIN, _NAME = "(twin)", "(engine)"
_BY_ENGINE = ("points", "jobs", "links", "interference", "predictors")


def agreement(plan: Plan, jobs: pd.DataFrame) -> pd.DataFrame:
    """Return the times and slowdowns of each job on two engines, and ratios over those of the first one by name.

    The plan determines which points differ in their engine only. An engine with other settings, such as another unit of
    data, counts as another engine.
    """
    names = engine_names(plan)
    of_point = {point_id: names[plan.points[point_id].point.engine] for point_id in jobs["point_id"].unique()}
    busy = jobs[(jobs["messages"] > 0) & jobs["runtime_ns"].notna() & (jobs["experiment"] != RESOLUTION_CHECK)]
    busy = busy.assign(**{_NAME: busy["point_id"].map(of_point)})
    engines = sorted(busy[_NAME].unique())
    if len(engines) < 2:
        names_of_columns = set(names_of("agreement")) - set(jobs.columns)
        none: pd.DataFrame = jobs[:0].assign(**{name: [] for name in names_of_columns})
        return none
    twins = {point_id: _without_engine(plan, point_id) for point_id in of_point}
    busy = busy.assign(**{_TWIN: busy["point_id"].map(twins)})
    return pd.concat([_pair(busy, *both) for both in combinations(engines, 2)], ignore_index=True)


def _pair(busy: pd.DataFrame, first: str, second: str) -> pd.DataFrame:
    kept = [name for name in busy.columns if name not in ("engine", "runtime_ns", "point_id", _NAME)]
    left = busy.loc[busy[_NAME] == first, [*kept, "runtime_ns", "point_id"]]
    right = busy.loc[busy[_NAME] == second, ["experiment", _TWIN, "job", "runtime_ns", "slowdown", "point_id"]]
    right = right.drop_duplicates(["experiment", _TWIN, "job"])
    both = left.merge(right, on=["experiment", _TWIN, "job"], suffixes=("_a", "_b"))
    both = both.rename(
        columns={
            "runtime_ns_a": "runtime_a_ns", "runtime_ns_b": "runtime_b_ns",
            "point_id_a": "point_a_id", "point_id_b": "point_b_id",
        }
    )  # fmt: skip
    pair: pd.DataFrame = both.assign(engine_a=first, engine_b=second, pair=f"{second} / {first}")
    for column, a, b in (("ratio", "runtime_a_ns", "runtime_b_ns"), ("slowdown_ratio", "slowdown_a", "slowdown_b")):
        pair[column] = pair[b] / pair[a].where(pair[a] > 0)
    return pair


def engine_names(plan: Plan) -> dict[EngineSettings, str]:
    """Name each engine of a plan by its kind, and one with settings of its own by these, too."""
    names = {}
    for planned in plan.points.values():
        engine = planned.point.engine
        if engine not in names:
            usual = type(engine).model_validate({"kind": engine.kind})
            # The phit of a baseline run, which planning sets, makes no other engine.
            fields = [name for name in type(engine).model_fields if name != "inherited_phit_bytes"]
            set_ones = [name for name in fields if getattr(engine, name) != getattr(usual, name)]
            settings = []
            for name in set_ones:
                value = getattr(engine, name)
                text = f"{value:g}" if isinstance(value, float) else value
                settings.append(f"{type(engine).model_fields[name].alias or name} {text}")
            names[engine] = f"{engine.kind} ({', '.join(settings)})" if settings else engine.kind
    return names


def engine_axes(plan: Plan) -> set[str]:
    return {name for experiment in plan.study.all_experiments.values() for name in experiment.axes_below("engine")}


def verdicts(claims: Sequence[Claim], tables: Tables) -> pd.DataFrame:
    """Judge the claims by the points of each engine; empty unless there are points on two engines."""
    # Engines that simulate nothing, and spot checks, do not count.
    judging = tables.points.loc[tables.points["experiment"] != SPOT_CHECK, "engine"]
    kinds = sorted(kind for kind in set(judging) if engine_named(kind).simulates)
    judged = []
    for kind in kinds if len(kinds) > 1 else ():
        others = [other for other in kinds if other != kind]
        frames = {name: getattr(tables, name) for name in _BY_ENGINE}
        own = replace(tables, **{name: frame[~frame["engine"].isin(others)] for name, frame in frames.items()})
        judged.append(judge(claims, own).assign(engine=kind))
    return pd.concat(judged, ignore_index=True) if judged else judge((), tables).assign(engine=[])


def _without_engine(plan: Plan, point_id: str) -> str:
    physics = plan.points[point_id].point.physics()
    # Only some engines let a study set them.
    network = {name: value for name, value in physics.get("network", {}).items() if name != "virtual_channels"}
    return canonical_json({**physics, "network": network, "engine": None})
