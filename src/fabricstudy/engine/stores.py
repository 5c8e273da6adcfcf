"""Where the stages keep their results, and a machine with its stored facts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from fabricstudy.core.store import POINTS, Record, Store
from fabricstudy.machine.base import Topology
from fabricstudy.machine.graph import Machine
from fabricstudy.machine.stage import keep_machine, load_machine
from fabricstudy.structure.stage import keep_structure, load_structure


@dataclass(frozen=True, eq=False)
class AnalysedMachine:
    """A machine with what a simulation needs of its analysis.

    Parameters
    ----------
    cut_side : bool array [routers]
        One side of the best cut found.
    """

    machine: Machine
    cut_side: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Stores:
    """Where the stages keep what they made, under one folder (``results``)."""

    results: Path

    @property
    def points(self) -> Store:
        """Finished simulations."""
        return Store(self.results / POINTS, "point_id")

    def point(self, point_id: str) -> Record | None:
        """Return the record of a point; None if there is none as it was written."""
        return self.points.record(point_id)

    def machine(self, machine_id: str, config: Topology) -> AnalysedMachine:
        """Load a machine with its analysis, made anew if they were removed.

        The points of a batch come machine by machine, so one is kept.
        """
        return _analysed(self.results, machine_id, config)


@lru_cache(maxsize=1)
def _analysed(results: Path, machine_id: str, config: Topology) -> AnalysedMachine:
    keep_machine(results, machine_id, config)
    keep_structure(results, machine_id)
    machine = load_machine(results, machine_id)
    return AnalysedMachine(machine, load_structure(results, machine_id)[1])
