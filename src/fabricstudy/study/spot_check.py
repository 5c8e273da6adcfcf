"""Checks of a sample on a second engine: of flow on packet and, with `check: engines`, of packet on CAMINOS.

The sample is drawn among the points that are cheapest to check, those first that the study has on both engines. Point
and check are rows of a separate experiment, which tables compare.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from math import ceil

from fabricstudy.core.columns import SPOT_CHECK
from fabricstudy.engine.point import PlannedPoint
from fabricstudy.engine.registry import engine_of
from fabricstudy.engine.settings import EngineSettings

from .screening import on_engine
from .sweep import PointRow

MIN_SAMPLE, SAMPLE_SHARE = 10, 0.03
"""Sample of each engine: this part of its points, and at least so many of them."""

SMALL = 100
"""Points of an engine, below which nothing is checked by default: the checks would cost more than the study."""

CHEAP = 4
"""Size of the pool of cheapest points, as a multiple of the sample size."""


def plan_spot_check(
    rows: Sequence[PointRow],
    points: Mapping[str, PlannedPoint],
    engine_axes: set[str],
    all_engines: bool,
    sample: int | None = None,
) -> tuple[list[PointRow], list[PlannedPoint]]:
    """Return the rows of a sample on both engines, without labels on `engine_axes`, and the points to simulate.

    Engines that need no check have one with `all_engines`. `sample` is the number of points of each engine; by default
    it follows from their number.
    """
    checks: list[tuple[PointRow, PlannedPoint]] = []

    def is_checked(engine: EngineSettings) -> bool:
        return engine.checked_by is not None and (engine.needs_check or all_engines)

    row_of = {row.point_id: row for row in reversed(rows) if is_checked(points[row.point_id].point.engine)}
    for engine in dict.fromkeys(points[name].point.engine for name in row_of):
        of_engine = [name for name in row_of if points[name].point.engine == engine]
        twins = {name: on_engine(points[name], str(engine.checked_by)) for name in of_engine}
        by_default = max(MIN_SAMPLE, ceil(SAMPLE_SHARE * len(twins))) if all_engines or len(twins) >= SMALL else 0
        for name, twin in _drawn(points, twins, by_default if sample is None else sample).items():
            labels = {axis: None if axis in engine_axes else label for axis, label in row_of[name].labels.items()}
            checks.append((replace(row_of[name], labels=labels), twin))
    paired: list[PointRow] = []
    for row, twin in checks:
        first = replace(row, experiment=SPOT_CHECK, baseline_ids=(None,) * len(row.job_names))
        paired += [first, replace(first, point_id=twin.point_id)]
    return paired, [twin for _, twin in checks]


def _drawn(
    points: Mapping[str, PlannedPoint], twins: Mapping[str, PlannedPoint], wanted: int
) -> dict[str, PlannedPoint]:
    """Draw among the cheapest checks by the digests of ids, so that equal points yield the same sample.

    Checks that are points of the study cost nothing more, and are taken first.
    """
    cost = {name: engine_of(twin.point.engine).predict_cpu_s(twin.point) for name, twin in twins.items()}
    new = {name: twin.point_id not in points for name, twin in twins.items()}
    by_cost = sorted(twins, key=lambda name: (new[name], cost[name], name))

    def is_supported(name: str) -> bool:
        machine = points[name].point.machine.build()
        both = (points[name].point, twins[name].point)
        return all(engine_of(point.engine).unsupported(point, machine) is None for point in both)

    possible = islice(filter(is_supported, by_cost), CHEAP * wanted)
    lots = sorted(possible, key=lambda name: (new[name], hashlib.sha256(name.encode()).hexdigest()))
    return {name: twins[name] for name in lots[:wanted]}
