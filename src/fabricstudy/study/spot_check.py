"""The spot check: some points of an engine that asks for it are simulated on an engine with packets, too.

They are drawn among the points that are cheapest there. Both stand as rows of an experiment of their own, so that the
table `agreement` compares them; a point that the study has on both engines anyway is no other point, and costs nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from math import ceil

from fabricstudy.columns import SPOT_CHECK
from fabricstudy.engine.point import PlannedPoint, Point, point_id
from fabricstudy.engine.registry import engine_named
from fabricstudy.engine.settings import EngineSettings

from .sweep import Row

FEWEST, PART = 10, 0.03
"""Points that are drawn of each engine, as far as there are any; and which part of many."""

CHEAP = 4
"""For each point that is drawn so many of the cheapest are looked at."""


def spot_check(
    rows: Sequence[Row], points: Mapping[str, PlannedPoint], engine_axes: set[str]
) -> tuple[list[Row], list[PlannedPoint]]:
    """Draw points; give the rows of both engines, and the points that are simulated for it.

    Parameters
    ----------
    rows, points : sequence of Row, mapping
        All of the plan.
    engine_axes : set of str
        Axes that vary the engine; both rows leave their labels out.
    """
    found: list[Row] = []
    twins: list[PlannedPoint] = []
    row_of = {row.point_id: row for row in reversed(rows) if points[row.point_id].point.engine.checked_by}
    for engine in dict.fromkeys(points[name].point.engine for name in row_of):
        own = {name: points[name] for name in row_of if points[name].point.engine == engine}
        for name, twin in _drawn(own).items():
            labels = {axis: None if axis in engine_axes else label for axis, label in row_of[name].labels.items()}
            nobody = (None,) * len(row_of[name].job_names)
            row = replace(row_of[name], experiment=SPOT_CHECK, labels=labels, alone_ids=nobody)
            found += [row, replace(row, point_id=twin.point_id)]
            twins.append(twin)
    return found, twins


def _twin(planned: PlannedPoint) -> PlannedPoint:
    """Give the same point on the engine that checks it."""
    name = planned.point.engine.checked_by
    checking = EngineSettings.FAMILY.members[str(name)].model_validate({"kind": name})
    point = planned.point.model_copy(update={"engine": checking})
    return PlannedPoint(point_id(point), planned.machine_id, point)


def _drawn(own: Mapping[str, PlannedPoint]) -> dict[str, PlannedPoint]:
    """Draw among the cheapest, by the digests of ids and seeds: always the same ones of the same points."""
    twins = {name: _twin(planned) for name, planned in own.items()}
    wanted = max(FEWEST, ceil(PART * len(twins)))
    by_cost = sorted(twins, key=lambda name: (_cpu_s(twins[name].point), name))
    cheap = islice((name for name in by_cost if not _is_refused(own[name].point)), CHEAP * wanted)
    return {name: twins[name] for name in sorted(cheap, key=_lot)[:wanted]}


def _is_refused(point: Point) -> bool:
    """Say whether there will be nothing to compare with."""
    return engine_named(point.engine.kind).unsupported(point, point.machine.build()) is not None


def _cpu_s(point: Point) -> float:
    return engine_named(point.engine.kind).predict_cpu_s(point)


def _lot(name: str) -> str:
    """Give a number that no axis has a say in: a point's id rests on its seed, too."""
    return hashlib.sha256(name.encode()).hexdigest()
