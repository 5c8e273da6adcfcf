"""Points as the rules after the plan read them: rows of ``plan.parquet``, with the parts of each point as JSON."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from fabricstudy.core.extensions import load_extensions
from fabricstudy.core.kinds import extension_scope
from fabricstudy.core.model import Model
from fabricstudy.core.parquet import read_parquet
from fabricstudy.core.quantities import BASE_UNITS_CONTEXT
from fabricstudy.machine.base import Topology
from fabricstudy.routing.base import Routing
from fabricstudy.workload.job import Job
from fabricstudy.workload.offered import Offered

from .point import PlannedPoint, Point
from .settings import EngineSettings, Limits, Network

SECTIONS: dict[str, type[Model]] = {
    "machine": Topology, "routing": Routing, "network": Network, "engine": EngineSettings,
}  # fmt: skip
"""The parts of every point, besides its jobs or offered traffic."""

POINTS_FILE, WORKLOADS_FILE = "plan.parquet", "plan_workloads.parquet"
SETUP = b"fabricstudy.points"
"""Metadata of the file: the limits of the study, and its extensions."""

Part = Callable[[type[Model], str], Any]


@dataclass(frozen=True)
class PointsOfPlan:
    """Some points of a plan, with the limits of their study."""

    points: dict[str, PlannedPoint]
    limits: Limits
    link_load_points: frozenset[str]
    """Ids of the points whose link loads are stored."""
    drawn_points: frozenset[str]
    """Ids of the points whose operations are stored."""

    @property
    def machines(self) -> dict[str, Topology]:
        return {planned.machine_id: planned.point.machine for planned in self.points.values()}


def setup_of(limits: Limits, extensions: Sequence[str]) -> dict[bytes, bytes]:
    """Return the metadata of a file of points."""
    return {SETUP: json.dumps({"limits": limits.model_dump(mode="json"), "extensions": list(extensions)}).encode()}


def columns_of_point(point: Point, write: Callable[[Model], str]) -> dict[str, Any]:
    """Return the columns of a row that hold a point; `write` returns the JSON of a part."""
    return {
        **{f"point.{name}": write(getattr(point, name)) for name in SECTIONS},
        "point.jobs": [write(job) for job in point.jobs],
        "point.offered": None if point.offered is None else write(point.offered),
    }


def read_points(file: Path, folder: Path, batch: str = "", only: Sequence[str] = ()) -> PointsOfPlan:
    """Read points of a plan, of a `batch` or with the ids `only` if given; `folder` is that of the study file."""
    table = read_points_table(file, batch, only)
    setup = json.loads(table.schema.metadata[SETUP])
    package = load_extensions(setup["extensions"], folder)
    with extension_scope(package):
        part = part_reader(folder)
        rows = table.to_pylist()
        points = dict(points_of(rows, part))
        limits = Limits.model_validate(setup["limits"], context=BASE_UNITS_CONTEXT)
    kept = [frozenset(row["point_id"] for row in rows if row[name]) for name in ("keeps_links", "is_drawn")]
    return PointsOfPlan(points, limits, *kept)


def read_points_table(file: Path, batch: str = "", only: Sequence[str] = ()) -> pa.Table:
    return read_parquet(file, ({"batch": [batch]} if batch else {}) | ({"point_id": set(only)} if only else {}))


def part_reader(folder: Path) -> Part:
    """Return a function that checks each distinct part once: points share most of their parts."""
    context = {**BASE_UNITS_CONTEXT, "files_in": str(folder.resolve())}
    return cache(lambda model, text: model.model_validate(json.loads(text), context=context))


def points_of(rows: Sequence[Mapping[str, Any]], part: Part) -> Iterator[tuple[str, PlannedPoint]]:
    """Yield the id and the point of each row with another point than those before."""
    known: set[str] = set()
    for row in rows:
        name = row["point_id"]
        if name not in known:
            known.add(name)
            yield name, PlannedPoint(name, row["machine_id"], _point(row, part))


def _point(row: Mapping[str, Any], part: Part) -> Point:
    sections: dict[str, Any] = {name: part(model, row[f"point.{name}"]) for name, model in SECTIONS.items()}
    sections["jobs"] = tuple(part(Job, text) for text in row["point.jobs"])
    offered = row["point.offered"]
    sections["offered"] = None if offered is None else part(Offered, offered)
    return Point.model_construct(set(Point.model_fields), **sections, seed=row["seed"])


def read_workloads(file: Path, chunk: str) -> dict[str, dict[int, str]]:
    """Return the workloads of a chunk: by point and by position of the job, its id."""
    workloads: dict[str, dict[int, str]] = {}
    for row in read_parquet(file, {"chunk": [chunk]}).to_pylist():
        workloads.setdefault(row["point_id"], {})[row["job"]] = row["workload_id"]
    return workloads
