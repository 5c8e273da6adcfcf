"""``fabricstudy clean``: remove what no study needs from the store."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabricstudy.core.errors import FabricstudyError
from fabricstudy.core.parquet import read_parquet
from fabricstudy.core.phrasing import count_noun
from fabricstudy.core.store import POINTS, STORES, STRUCTURES, Store, point_store
from fabricstudy.engine.point_file import POINTS_FILE
from fabricstudy.study.plan_file import PLAN_FILES
from fabricstudy.workflow.jobs import FILE, digest_of_ids, read_jobs

from .common import add_results, results_folder

if TYPE_CHECKING:
    from pyarrow import Table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_results(parser)
    parser.add_argument("--delete", action="store_true", help="remove them (default: only list their number and size)")


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Count the stored points and structures that no study in the folder of results needs, or remove them."""
    results = results_folder(args)
    if not results.exists():
        raise FabricstudyError(f"{results}: no such folder; name the folder `results` of a run", "file-not-found")
    plans, unproven = _plans(results)
    if args.delete and (unproven or not plans):
        if not plans and not unproven:
            unproven = [f"{results}: no study has a plan"]
        raise FabricstudyError(f"{'; '.join(unproven)}; nothing was removed; {_REMEDY}", "results-damaged")
    stores = {POINTS: point_store(results), STRUCTURES: Store(results / STRUCTURES, "machine_id")}
    unneeded: dict[str, Any] = {}
    for name, store in stores.items():
        needed = {identity for plan in plans.values() for identity in plan[store.key].to_pylist()}
        stored = store.inodes()
        left = sorted(set(stored) - needed)
        sizes = [_size_bytes(store.folder(identity)) for identity in left]
        unneeded[name] = {"stored": len(stored), "unneeded": len(left), "bytes": sum(sizes)}
        for identity in left if args.delete else ():
            with store.lock(identity):
                shutil.rmtree(store.folder(identity), ignore_errors=True)
    return {"studies": list(plans), "deleted": args.delete, "unproven": unproven, "stores": unneeded}


_OF_STUDY = (*PLAN_FILES, FILE, "machine", "simulate", "tables")
"""Of these a folder of results has at least one."""
_REMEDY = "run the study again, or remove its folder if it is no longer needed"


def _plans(results: Path) -> tuple[dict[str, Table], list[str]]:
    """Return the points of each study, and the problems of folders whose points are not known for certain."""
    plans: dict[str, Table] = {}
    problems = []
    of_studies = {file.parent for name in _OF_STUDY for file in results.glob(f"*/{name}")}
    for folder in sorted(folder for folder in of_studies if folder.name not in STORES):
        jobs = read_jobs(folder)
        if jobs is None:
            problems.append(f"{folder}: its plan is missing or incomplete")
            continue
        plan = read_parquet(folder / POINTS_FILE, columns=["point_id", "machine_id"])
        if digest_of_ids(set(plan["point_id"].to_pylist())) != jobs.point_ids:
            problems.append(f"{folder / POINTS_FILE}: not the plan that was written")
        plans[folder.name] = plan
    return plans, problems


def _size_bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def show(found: dict[str, Any]) -> None:
    print(f"studies: {', '.join(found['studies']) or 'none'}")
    for problem in found["unproven"]:
        print(f"{problem}; {_REMEDY}")
    for name, store in found["stores"].items():
        size = f"{store['bytes'] / 1e6:.1f} MB"
        print(f"{name}: {store['unneeded']:,} of {store['stored']:,} are needed by none of them, {size}")
    if found["deleted"]:
        print("They were removed.")
    elif any(store["unneeded"] for store in found["stores"].values()):
        count = sum(store["unneeded"] for store in found["stores"].values())
        print(f"Nothing was removed; to remove {count_noun(count, 'entry' if count == 1 else 'entrie')}: --delete")
