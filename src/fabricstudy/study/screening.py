"""Screening: all combinations on a cheap engine, and the simulator only for those that may be the best."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BeforeValidator, Field

from fabricstudy.core.columns import SCREENING
from fabricstudy.core.model import Model, Whole, Written
from fabricstudy.engine.point import PlannedPoint, point_id
from fabricstudy.engine.settings import EngineSettings

from .seeds import read_percent

if TYPE_CHECKING:
    from .sweep import PointRow


class Screen(Model):
    """Which combinations of an experiment are simulated, by their runtime on another engine."""

    engine: Literal["flow"] = Field("flow", alias="with", description="the engine that all combinations are run on")
    keep: Annotated[float, BeforeValidator(read_percent), Written("such as 10 %")] = Field(
        0.1, description="share of the values of the design axes that is simulated, the fastest ones, for each workload"
    )
    or_: Literal["front"] | None = Field(
        None, alias="or", description="also simulate those that may be on the Pareto front of price per node and "
        "runtime; the first analysis of kind cost has the prices; default: those that may be the fastest"
    )  # fmt: skip
    sample: Whole = Field(
        20,
        ge=5,
        le=10_000,
        description="combinations, drawn at random, that are simulated to find the error",
    )


def on_engine(planned: PlannedPoint, kind: str) -> PlannedPoint:
    """Return the point on an engine with its default settings."""
    engine = EngineSettings.FAMILY.members[kind].model_validate({"kind": kind})
    point = planned.point.model_copy(update={"engine": engine})
    return PlannedPoint(point_id(point), planned.machine_id, point)


def screening_rows(
    screens: Mapping[str, Screen], rows: Sequence[PointRow], points: Mapping[str, PlannedPoint]
) -> Iterator[tuple[PointRow, PlannedPoint]]:
    """Yield the rows of the screening engine, one a combination, with their points."""
    seen: set[tuple[object, ...]] = set()
    for row in rows:
        combination = (row.experiment, *row.labels.values())
        if row.experiment in screens and combination not in seen:
            seen.add(combination)
            twin = on_engine(points[row.point_id], screens[row.experiment].engine)
            nothing = (None,) * len(row.job_names)
            yield replace(row, experiment=SCREENING, point_id=twin.point_id, baseline_ids=nothing), twin


def sampled(screen: Screen, rows: Sequence[PointRow]) -> set[tuple[object, ...]]:
    """Return the labels of the combinations that are simulated in any case, drawn by a digest of them."""
    combinations = {tuple(row.labels.values()) for row in rows}
    lots = sorted(combinations, key=lambda labels: hashlib.sha256(repr(labels).encode()).hexdigest())
    return set(lots[: screen.sample])
