"""``fabricstudy clean``: remove what no study needs from the store."""

import argparse
import shutil
from pathlib import Path
from typing import Any

from fabricstudy.core.errors import FabricstudyError
from fabricstudy.core.parquet import read_parquet
from fabricstudy.core.phrasing import count_noun
from fabricstudy.core.store import POINTS, STRUCTURES, Store, point_store
from fabricstudy.study.plan_file import POINTS_FILE

from .common import add_results, results_folder


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_results(parser)
    parser.add_argument("--delete", action="store_true", help="remove them (default: only list their number and size)")


def clean_store(args: argparse.Namespace) -> dict[str, Any]:
    """Count the stored points and structures that no study in the folder of results needs, or remove them."""
    results = results_folder(args)
    if not results.exists():
        raise FabricstudyError(f"{results}: no such folder; name the folder `results` of a run", "file-not-found")
    studies = sorted(results.glob(f"*/{POINTS_FILE}"))
    plans = [read_parquet(file, columns=["point_id", "machine_id"]) for file in studies]
    stores = {POINTS: point_store(results), STRUCTURES: Store(results / STRUCTURES, "machine_id")}
    unneeded: dict[str, Any] = {}
    for name, store in stores.items():
        needed = {identity for plan in plans for identity in plan[store.key].to_pylist()}
        stored = store.inodes()
        left = sorted(set(stored) - needed)
        sizes = [_size_bytes(store.folder(identity)) for identity in left]
        unneeded[name] = {"stored": len(stored), "unneeded": len(left), "bytes": sum(sizes)}
        for identity in left if args.delete else ():
            with store.lock(identity):
                shutil.rmtree(store.folder(identity), ignore_errors=True)
    return {"studies": [file.parent.name for file in studies], "deleted": args.delete, "stores": unneeded}


def _size_bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def show_unneeded(found: dict[str, Any]) -> None:
    print(f"studies: {', '.join(found['studies']) or 'none'}")
    for name, store in found["stores"].items():
        size = f"{store['bytes'] / 1e6:.1f} MB"
        print(f"{name}: {store['unneeded']:,} of {store['stored']:,} are needed by none of them, {size}")
    if found["deleted"]:
        print("They were removed.")
    elif any(store["unneeded"] for store in found["stores"].values()):
        count = sum(store["unneeded"] for store in found["stores"].values())
        print(f"Nothing was removed; to remove {count_noun(count, 'entry' if count == 1 else 'entrie')}: --delete")
