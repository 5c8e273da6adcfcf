"""``fabricstudy point``: one point, its stored record, or a simulation of it."""

import argparse
import json
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from fabricstudy.core.errors import FabricstudyError
from fabricstudy.core.store import point_store
from fabricstudy.engine.point import PlannedPoint, machine_id, point_from_json
from fabricstudy.engine.settings import Limits
from fabricstudy.engine.single_point import simulate_in_folder

from .common import add_results, load_pipeline, results_folder


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("point_id", help="id such as p0123456789ab")
    parser.add_argument("--study", help="study of a point that is not simulated yet (name or path)")
    add_results(parser)
    parser.add_argument("--run", action="store_true", help="simulate it, even if it is stored, and keep all files")
    parser.add_argument("--folder", type=Path, help="folder of the simulation (default: the id of the point)")


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Show one point and its record, or simulate it in the foreground."""
    # Load the study first: its extensions may have further kinds.
    limits = load_pipeline(args.study).plan.study.limits if args.study else Limits()
    planned, record = _find_point(args.point_id, args.study, results_folder(args))
    if not args.run:
        folder = point_store(args.results).folder(planned.point_id) if record else None
        return {"point": planned.point.model_dump(mode="json"), "record": record, "folder": folder and str(folder)}
    folder = args.folder or Path(planned.point_id)
    if folder.exists() and any(folder.iterdir()):
        problem = f"{folder}: not empty; name another folder with --folder, or remove it"
        raise FabricstudyError(problem, "invalid-value")
    return {"point": planned.point.model_dump(mode="json")} | simulate_in_folder(planned, folder, limits)


def _find_point(point_id: str, study: str | None, results: Path) -> tuple[PlannedPoint, dict[str, Any] | None]:
    record = point_store(results).record(point_id)
    stored = record and record.pop("point")
    # The study's point has the paths of files that the study names.
    planned = load_pipeline(study).plan.points.get(point_id) if study else None
    if planned is not None:
        return planned, record
    if stored is not None:
        try:
            point = point_from_json(stored)
        except ValidationError:
            problem = f"{point_id}: its record has kinds or keys that are not known here"
            raise FabricstudyError(f"{problem}; name the study with --study, for its extensions") from None
        return PlannedPoint(point_id, machine_id(point.machine), point), record
    where = f"neither in {results}/points nor in the study {study}"
    if study is None:
        where = f"no such point in {results}/points; name its study with --study"
    raise FabricstudyError(f"{point_id}: {where}", "unknown-name")


def show(details: dict[str, Any]) -> None:
    for key, value in details.items():
        text = value if isinstance(value, str) else json.dumps(value, indent=1)
        print(f"{key}: {text}")
