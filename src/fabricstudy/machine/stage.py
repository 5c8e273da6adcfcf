"""The machine stage: build each distinct machine once and keep it under its id."""

from __future__ import annotations

from pathlib import Path

from fabricstudy.machine.base import Topology
from fabricstudy.source import code_digest
from fabricstudy.store import Store

from .graph import Machine


def machine_store(results: Path) -> Store:
    """Give the store of machines under the folder `results`."""
    return Store(results / "machines", "machine_id")


def machine_code(config: Topology) -> str:
    """Digest of the code that builds a machine."""
    return code_digest(type(config).__module__)


def keep_machine(results: Path, machine_id: str, config: Topology) -> None:
    """Build a machine and keep it, unless it is there."""
    store, mark = machine_store(results), machine_code(config)
    with store.lock(machine_id):
        if store.finished(machine_id, mark) is not None:
            return
        store.sweep(machine_id)
        with store.workspace(machine_id) as folder:
            config.build().save(folder / "machine.npz")
            store.keep(folder, {"machine_id": machine_id, "status": "done", "fingerprint": mark})


def load_machine(results: Path, machine_id: str) -> Machine:
    """Load a machine that `keep_machine` kept."""
    return Machine.load(machine_store(results).folder(machine_id) / "machine.npz")
