"""Checks of a sample: points of an engine that asks for it on an engine with packets, and points with half the phit.

They are drawn among the points that are cheapest to check. Point and check are rows of a separate experiment, so that
tables compare them; a check that the study has as a point anyway is the same point, and costs nothing.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from math import ceil

from fabricstudy.core.columns import RESOLUTION_CHECK, SPOT_CHECK
from fabricstudy.engine.caminos import CaminosSettings, phit_bytes
from fabricstudy.engine.point import PlannedPoint, Point, point_id
from fabricstudy.engine.registry import engine_named
from fabricstudy.engine.settings import EngineSettings

from .sweep import PointRow
from .virtual_channels import VirtualChannels

FEWEST, PART = 10, 0.03
"""Points drawn of each engine: at least so many, if there are, and this part of them."""

CHEAP = 4
"""The drawing is among this many times as many points, the cheapest ones."""


def plan_spot_check(
    rows: Sequence[PointRow], points: Mapping[str, PlannedPoint], engine_axes: set[str], channels: VirtualChannels
) -> tuple[list[PointRow], list[PlannedPoint]]:
    """Draw points; return the rows of both engines, and the points that are simulated for it.

    Both rows leave out the labels of `engine_axes`, the axes that vary the engine.
    """
    checks: list[_Check] = []
    row_of = {row.point_id: row for row in reversed(rows) if points[row.point_id].point.engine.checked_by}
    for engine in dict.fromkeys(points[name].point.engine for name in row_of):
        twins = {
            name: _on_checking_engine(points[name], channels) for name in row_of if points[name].point.engine == engine
        }
        drawn = _drawn(points, twins)
        for name, twin in drawn.items():
            labels = {axis: None if axis in engine_axes else label for axis, label in row_of[name].labels.items()}
            checks.append((replace(row_of[name], labels=labels), twin))
    return _rows_of_both(SPOT_CHECK, checks)


def plan_resolution_check(
    rows: Sequence[PointRow], points: Mapping[str, PlannedPoint]
) -> tuple[list[PointRow], list[PlannedPoint]]:
    """Draw points of CAMINOS; return the rows of both resolutions, and the points with half the phit."""
    row_of = {
        row.point_id: row for row in reversed(rows) if isinstance(points[row.point_id].point.engine, CaminosSettings)
    }
    twins = {name: _with_half_the_phit(points[name]) for name in row_of}
    drawn = _drawn(points, {name: twin for name, twin in twins.items() if twin is not None})
    return _rows_of_both(RESOLUTION_CHECK, [(row_of[name], twin) for name, twin in drawn.items()])


_Check = tuple[PointRow, PlannedPoint]


def _rows_of_both(experiment: str, checks: list[_Check]) -> tuple[list[PointRow], list[PlannedPoint]]:
    """Return the rows of the points that were drawn and of those that check them, pair by pair, and the latter."""
    rows: list[PointRow] = []
    for row, twin in checks:
        first = replace(row, experiment=experiment, baseline_ids=(None,) * len(row.job_names))
        rows += [first, replace(first, point_id=twin.point_id)]
    return rows, [twin for _, twin in checks]


def _on_checking_engine(planned: PlannedPoint, channels: VirtualChannels) -> PlannedPoint:
    """Return the same point on the engine that checks it."""
    name = planned.point.engine.checked_by
    checking = EngineSettings.FAMILY.members[str(name)].model_validate({"kind": name})
    point = channels.of_point(planned.point.model_copy(update={"engine": checking}))
    return PlannedPoint(point_id(point), planned.machine_id, point)


def _with_half_the_phit(planned: PlannedPoint) -> PlannedPoint | None:
    """Return the same point with half the phit; None where the phit is too small to be divided."""
    phit = phit_bytes(planned.point)
    if phit < 2:
        return None
    half = planned.point.engine.model_copy(update={"phit_bytes": None, "inherited_phit_bytes": phit // 2})
    point = planned.point.model_copy(update={"engine": half})
    return PlannedPoint(point_id(point), planned.machine_id, point)


def _drawn(points: Mapping[str, PlannedPoint], twins: Mapping[str, PlannedPoint]) -> dict[str, PlannedPoint]:
    """Draw among the cheapest checks, by the digests of ids and seeds: always the same ones of the same points."""
    wanted = max(FEWEST, ceil(PART * len(twins)))
    cost = {name: engine_named(twin.point.engine.kind).predict_cpu_s(twin.point) for name, twin in twins.items()}
    by_cost = sorted(twins, key=lambda name: (cost[name], name))
    cheap = islice((name for name in by_cost if not _is_refused(points[name].point)), CHEAP * wanted)
    # Digests follow no axis, and those of points that differ in the seed differ.
    lots = sorted(cheap, key=lambda name: hashlib.sha256(name.encode()).hexdigest())
    return {name: twins[name] for name in lots[:wanted]}


def _is_refused(point: Point) -> bool:
    """Return whether the engine cannot simulate the point."""
    return engine_named(point.engine.kind).unsupported(point, point.machine.build()) is not None
