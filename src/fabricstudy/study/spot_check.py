"""The spot check: some points of an engine that asks for it are simulated on an engine with packets, too.

They are drawn among the points that are cheapest there. Both are rows of a separate experiment, so that the table
`agreement` compares them; a point that the study has on both engines anyway is the same point, and costs nothing.
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
"""Points drawn of each engine: at least so many, if there are, and this part of them."""

CHEAP = 4
"""The drawing is among this many times as many points, the cheapest ones."""


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
    both_rows: list[Row] = []
    twins: list[PlannedPoint] = []
    row_of = {row.point_id: row for row in reversed(rows) if points[row.point_id].point.engine.checked_by}
    for engine in dict.fromkeys(points[name].point.engine for name in row_of):
        checked = {name: points[name] for name in row_of if points[name].point.engine == engine}
        for name, twin in _drawn(checked).items():
            labels = {axis: None if axis in engine_axes else label for axis, label in row_of[name].labels.items()}
            nobody = (None,) * len(row_of[name].job_names)
            row = replace(row_of[name], experiment=SPOT_CHECK, labels=labels, alone_ids=nobody)
            both_rows += [row, replace(row, point_id=twin.point_id)]
            twins.append(twin)
    return both_rows, twins


def _twin(planned: PlannedPoint) -> PlannedPoint:
    """Give the same point on the engine that checks it."""
    name = planned.point.engine.checked_by
    checking = EngineSettings.FAMILY.members[str(name)].model_validate({"kind": name})
    point = planned.point.model_copy(update={"engine": checking})
    return PlannedPoint(point_id(point), planned.machine_id, point)


def _drawn(points: Mapping[str, PlannedPoint]) -> dict[str, PlannedPoint]:
    """Draw among the cheapest, by the digests of ids and seeds: always the same ones of the same points."""
    twins = {name: _twin(planned) for name, planned in points.items()}
    wanted = max(FEWEST, ceil(PART * len(twins)))
    by_cost = sorted(twins, key=lambda name: (_cpu_s(twins[name].point), name))
    cheap = islice((name for name in by_cost if not _is_refused(points[name].point)), CHEAP * wanted)
    return {name: twins[name] for name in sorted(cheap, key=_lot)[:wanted]}


def _is_refused(point: Point) -> bool:
    """Say whether the engine cannot simulate the point."""
    return engine_named(point.engine.kind).unsupported(point, point.machine.build()) is not None


def _cpu_s(point: Point) -> float:
    return engine_named(point.engine.kind).predict_cpu_s(point)


def _lot(name: str) -> str:
    """Give a sort key that does not follow any axis; points of different seeds have different ones."""
    return hashlib.sha256(name.encode()).hexdigest()
