"""Structure stage: sizes, distances and bisection of a machine, cached since a bisection may take minutes."""

import logging
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from fabricstudy.core.arrays import Bools
from fabricstudy.core.errors import FabricstudyError
from fabricstudy.core.kinds import code_of
from fabricstudy.core.store import FILES, FORMAT_KEY, STRUCTURES, Record, Store, read_checksummed
from fabricstudy.machine.base import Topology
from fabricstudy.machine.graph import Machine

HALF = "half"
"""Key of the routers of one half of the best cut."""

_LOG = logging.getLogger(__name__)


def structure_record(machine_id: str, topology: Topology, machine: Machine, results: Path) -> Record:
    """Return the structure of a machine, built from `topology`, cached under `results`."""
    store, code = Store(results / STRUCTURES, "machine_id"), code_of("structure", topology)
    with store.lock(machine_id):
        stored = store.finished(machine_id, code)
        if stored is not None:
            return {name: value for name, value in stored.items() if name not in (FORMAT_KEY, FILES)}
        _LOG.info("computing the bisection of machine %s", machine_id)
        store.sweep(machine_id)
        from .summary import describe_machine  # simulations read structures only

        structure = describe_machine(machine)
        half = np.flatnonzero(structure.bisection.cut_side).tolist()
        record = {"machine_id": machine_id, "status": "done", "fingerprint": code, **structure.to_json(), HALF: half}
        with store.workspace(machine_id) as folder:
            store.keep(folder, record)
        return record


def read_structures(path: Path) -> Iterator[Record]:
    """Read the structures of a chunk of machines; raises FabricstudyError if one is damaged."""
    for number, record in read_checksummed(path):
        if record is None:
            problem = f"{path}, line {number}: damaged; remove the file and run the same command again"
            raise FabricstudyError(problem, "results-damaged")
        yield record


def cut_side(files: Iterable[Path], machine_id: str, routers: int) -> Bools:
    """Return one half of a machine's best cut, bool [routers], from files of structures.

    Raises FabricstudyError if no file has the machine, or a structure is damaged.
    """
    for path in files:
        for record in read_structures(path):
            if record["machine_id"] == machine_id:
                side = np.zeros(routers, dtype=np.bool_)
                side[record[HALF]] = True
                return side
    raise FabricstudyError(f"no structure of machine {machine_id}; run the same command again", "results-damaged")
