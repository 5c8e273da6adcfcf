"""Runtimes of the same points on several engines, and verdicts on claims by engine."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import pandas as pd

from fabricstudy.core.columns import SPOT_CHECK, names_of
from fabricstudy.engine.point import Point, canonical_json
from fabricstudy.engine.registry import simulates
from fabricstudy.engine.settings import EngineSettings
from fabricstudy.study.claims import Claim
from fabricstudy.study.figures import Label
from fabricstudy.study.plan import Plan

from .claims import judge
from .files import Tables
from .select import label_text

_TWIN, _NAME = "(twin)", "(engine)"
_BY_ENGINE = ("points", "jobs", "links", "interference", "predictors")


def agreement(plan: Plan, jobs: pd.DataFrame) -> pd.DataFrame:
    """Return the runtimes and slowdowns of each job on two engines, and their ratios over the first engine by name.

    Points are compared if they differ in their engine only. An engine with other settings, such as another phit, counts
    as another engine. A job that takes no time, since its messages stay inside nodes, has no row.
    """
    names = engine_names(plan)
    of_point = {point_id: names[plan.points[point_id].point.engine] for point_id in jobs["point_id"].unique()}
    busy = jobs[(jobs["messages"] > 0) & (jobs["runtime_ns"] > 0)]
    busy = busy.assign(**{_NAME: busy["point_id"].map(of_point)})
    engines = sorted(busy[_NAME].unique())
    if len(engines) < 2:
        return jobs[:0].reindex(columns=list(dict.fromkeys([*jobs, *names_of("agreement")])))
    twins = {point_id: _without_engine(plan.points[point_id].point) for point_id in of_point}
    busy = busy.assign(**{_TWIN: busy["point_id"].map(twins)})
    return pd.concat([_pair(busy, *pair) for pair in combinations(engines, 2)], ignore_index=True)


def _pair(busy: pd.DataFrame, first: str, second: str) -> pd.DataFrame:
    keys = ["experiment", _TWIN, "job"]
    left = busy[busy[_NAME] == first].drop(columns=["engine", _NAME])
    right = busy.loc[busy[_NAME] == second, [*keys, "runtime_ns", "slowdown", "point_id"]].drop_duplicates(keys)
    names = {"runtime_ns": "runtime_{}_ns", "slowdown": "slowdown_{}", "point_id": "point_{}_id"}
    sides = [
        frame.rename(columns={name: text.format(side) for name, text in names.items()})
        for side, frame in (("a", left), ("b", right))
    ]
    pair = sides[0].merge(sides[1], on=keys).assign(engine_a=first, engine_b=second, pair=f"{second} / {first}")
    for column, name in (("ratio", "runtime_{}_ns"), ("slowdown_ratio", "slowdown_{}")):
        denominator = pair[name.format("a")]
        pair[column] = pair[name.format("b")] / denominator.where(denominator > 0)
    return pair


def engine_names(plan: Plan) -> dict[EngineSettings, str]:
    """Return the name of each engine of a plan: its kind, with its label or settings if they are not the defaults.

    Labels are those of axes that set whole engines, if an engine has one label and no other engine has it.
    """
    engines = list(dict.fromkeys(planned.point.engine for planned in plan.points.values()))
    labels = _engine_labels(plan)
    names = {}
    for engine in engines:
        settings, changed = [], engine.physics().keys() - {"kind"}
        for name, field in type(engine).model_fields.items():
            if name in changed:
                value = getattr(engine, name)
                settings.append(f"{field.alias or name} {f'{value:g}' if isinstance(value, float) else value}")
        own = labels.get(engine, set())
        is_unique = len(own) == 1 and not any(own & labels.get(other, set()) for other in engines if other != engine)
        text = label_text(*own) if is_unique else ", ".join(settings)
        names[engine] = f"{engine.kind} ({text})" if settings else engine.kind
    return names


def _engine_labels(plan: Plan) -> dict[EngineSettings, set[Label]]:
    """Return the labels of each engine, on axes that set the key `engine`."""
    axes = {
        (name, axis)
        for name, experiment in plan.study.all_experiments.items()
        for axis, changes in experiment.changes.items()
        if all(any(path.text == "engine" for path, _ in change) for change in changes)
    }
    labels: dict[EngineSettings, set[Label]] = defaultdict(set)
    for row in plan.rows:
        own = (label for axis, label in row.labels.items() if (row.experiment, axis) in axes)
        labels[plan.points[row.point_id].point.engine].update(label for label in own if label is not None)
    return labels


def engine_axes(plan: Plan) -> set[str]:
    """Return the axes that set an engine or a setting of one."""
    return {name for experiment in plan.study.all_experiments.values() for name in experiment.axes_below("engine")}


def verdicts(claims: Sequence[Claim], tables: Tables) -> pd.DataFrame:
    """Judge the claims by the points of each engine; empty unless there are points on two engines."""
    # Engines that simulate nothing, and spot checks, do not count.
    judging = tables.points.loc[tables.points["experiment"] != SPOT_CHECK, "engine"]
    kinds = sorted(kind for kind in set(judging) if simulates(kind))
    judged = []
    for kind in kinds if len(kinds) > 1 else ():
        others = [engine for engine in kinds if engine != kind]
        frames = {name: getattr(tables, name) for name in _BY_ENGINE}
        of_kind = replace(tables, **{name: frame[~frame["engine"].isin(others)] for name, frame in frames.items()})
        judged.append(judge(claims, of_kind).assign(engine=kind))
    return pd.concat(judged, ignore_index=True) if judged else judge((), tables).assign(engine=[])


def _without_engine(point: Point) -> str:
    physics = point.physics()
    # Not all engines have this setting.
    network = {name: value for name, value in physics.get("network", {}).items() if name != "virtual_channels"}
    return canonical_json({**physics, "network": network, "engine": None})
