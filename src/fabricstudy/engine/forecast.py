"""Forecasts of planned points, and what finished points say about them."""

from collections import defaultdict
from collections.abc import Mapping
from math import isfinite

from fabricstudy.core.columns import DONE
from fabricstudy.core.errors import FabricstudyError
from fabricstudy.core.store import Store

from .point import PlannedPoint
from .registry import engine_of


def predicted_cpu_s(planned: PlannedPoint) -> float:
    """Return the predicted processor time of a point. Raises FabricstudyError if a kind's closed form is not finite."""
    cpu_s = engine_of(planned.point.engine).predict_cpu_s(planned.point)
    if not isfinite(cpu_s):
        problem = f"{planned.point_id}: its predicted time is {cpu_s}"
        raise FabricstudyError(f"{problem}; fix the closed forms of the extension of its kinds", "extension")
    return cpu_s


def measured_factors(points: Mapping[str, PlannedPoint], store: Store) -> dict[str, float]:
    """Return measured over predicted time by engine: 1 where the prediction was fitted.

    That of an engine of an extension follows from its finished points; without any, it is left out.
    """
    engines = {planned.point.engine.kind: engine_of(planned.point.engine) for planned in points.values()}
    used_s: dict[str, float] = defaultdict(float)
    predicted_s: dict[str, float] = defaultdict(float)
    for key, planned in points.items():
        name = planned.point.engine.kind
        record = None if engines[name].forecasts else store.record(key)
        if record is not None and record["status"] == DONE:
            used_s[name] += record["cpu_s"] + record["overhead_cpu_s"]
            predicted_s[name] += predicted_cpu_s(planned)
    fitted = {name: 1.0 for name, engine in engines.items() if engine.forecasts}
    return fitted | {name: seconds / predicted_s[name] for name, seconds in used_s.items()}
