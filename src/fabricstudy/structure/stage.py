"""The structure stage: structure and bisection of each distinct machine, kept under its id."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np

from fabricstudy.core.errors import FabricstudyError
from fabricstudy.core.source import digest_of, imported
from fabricstudy.core.store import STRUCTURES, Record, Store
from fabricstudy.machine.stage import load_machine, machine_store

from .summary import structure

CUT_SIDE = "cut_side.npy"

_LOG = logging.getLogger(__name__)


def structure_code() -> str:
    """Digest of the code that analyses a machine, and of what keeps both."""
    return digest_of(imported(structure.__module__) | {__name__, load_machine.__module__})


def structure_store(results: Path) -> Store:
    """Give the store of structures under the folder `results`."""
    return Store(results / STRUCTURES, "machine_id")


def keep_structure(results: Path, machine_id: str) -> Record:
    """Analyse a machine of the store and keep what was found, unless it is there; give its record."""
    built = machine_store(results).record(machine_id)
    store, mark = structure_store(results), f"{structure_code()}-{built and built['fingerprint']}"
    with store.lock(machine_id):
        kept = store.finished(machine_id, mark)
        if kept is not None and store.damage(machine_id) is None:
            return kept
        _LOG.info("finding the structure of machine %s", machine_id)
        store.sweep(machine_id)
        described = structure(load_machine(results, machine_id))
        record = {"machine_id": machine_id, "status": "done", "fingerprint": mark} | described.to_json()
        with store.workspace(machine_id) as folder:
            np.save(folder / CUT_SIDE, described.bisection.cut_side)
            store.keep(folder, record)
    return record


def has_structure(results: Path, machine_id: str) -> bool:
    """Say whether the structure of a machine is in the store, whole."""
    return structure_store(results).record(machine_id) is not None


def load_structure(results: Path, machine_id: str) -> tuple[Record, np.ndarray[Any, np.dtype[np.bool_]]]:
    """Give the record of a machine's structure and the routers in one half of its best cut."""
    store = structure_store(results)
    record = store.record(machine_id)
    if record is None:
        remedy = "run the same command again, which makes it"
        raise FabricstudyError(f"no structure of machine {machine_id} in {store.root}; {remedy}", "gone-from-store")
    return record, np.load(store.folder(machine_id) / CUT_SIDE)
