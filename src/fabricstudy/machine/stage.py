"""The machine stage: build each distinct machine once and keep it under its id."""

from __future__ import annotations

import logging
from pathlib import Path

from fabricstudy.core.source import digest_of, imported
from fabricstudy.core.store import MACHINES, Store
from fabricstudy.machine.base import Topology

from .graph import Machine
from .named import load

_LOG = logging.getLogger(__name__)


def machine_store(results: Path) -> Store:
    """Give the store of machines under the folder `results`."""
    return Store(results / MACHINES, "machine_id")


def machine_code(config: Topology) -> str:
    """Digest of the code that builds a machine, and of what keeps it."""
    return digest_of(imported(type(config).__module__) | {__name__})


def keep_machine(results: Path, machine_id: str, config: Topology) -> None:
    """Build a machine and keep it, unless it is there."""
    store, mark = machine_store(results), machine_code(config)
    with store.lock(machine_id):
        if store.finished(machine_id, mark) is not None and store.damage(machine_id) is None:
            return
        _LOG.info("building machine %s", machine_id)
        store.sweep(machine_id)
        with store.workspace(machine_id) as folder:
            config.build().save(folder / "machine.npz")
            store.keep(folder, {"machine_id": machine_id, "status": "done", "fingerprint": mark})


def has_machine(results: Path, machine_id: str) -> bool:
    """Say whether a machine is in the store, whole."""
    return machine_store(results).record(machine_id) is not None


def load_machine(results: Path, machine_id: str) -> Machine:
    """Load a machine that `keep_machine` kept."""
    return load(machine_store(results).folder(machine_id) / "machine.npz")
