"""What a simulation is made from: a machine, one side of its best cut, and the nodes of the ranks of each job."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from fabricstudy.machine.base import Topology
from fabricstudy.machine.definitions import read_machine
from fabricstudy.machine.graph import Machine
from fabricstudy.structure.bisection import bisection_bounds
from fabricstudy.structure.stage import cut_side
from fabricstudy.workload.definitions import WorkloadIds, read_placements
from fabricstudy.workload.messages import WorkloadError
from fabricstudy.workload.placing import Placement, placements

from .point import PlannedPoint, Point


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

    def placements(self, point: Point) -> Mapping[int, Placement]:
        """Return where the ranks of each job of a point run.

        Raises
        ------
        WorkloadError
            If a job does not fit.
        """
        return dict(placements(point, self.machine))


def built(config: Topology) -> AnalysedMachine:
    """Build and analyse a machine here and now."""
    machine = config.build()
    return AnalysedMachine(machine, bisection_bounds(machine).cut_side)


@dataclass(frozen=True, eq=False)
class DefinedMachine(AnalysedMachine):
    """A machine whose workloads were placed before."""

    workloads: Mapping[str, Placement | str] = field(default_factory=dict)
    ids: WorkloadIds = field(default_factory=WorkloadIds)

    def placements(self, point: Point) -> Mapping[int, Placement]:
        """Return where the ranks of each job of a point run, as its workloads say."""
        placed = [self.workloads[identity] for identity in self.ids.of(point)]
        for one in placed:
            if isinstance(one, str):
                raise WorkloadError(one)
        return {index: one for index, one in enumerate(placed) if isinstance(one, Placement)}


class Definitions:
    """The definitions of a study as its rules wrote them.

    Parameters
    ----------
    machines, structures, workloads : sequence of Path
        Folders of machine definitions, files of structures, and files of workloads.
    """

    def __init__(self, machines: Sequence[Path], structures: Sequence[Path], workloads: Sequence[Path]) -> None:
        self._machines, self._structures, self._workloads = tuple(machines), tuple(structures), tuple(workloads)
        self._ids = WorkloadIds()
        self._placed: dict[str, Placement | str] = {}

    def of(self, planned: PlannedPoint) -> AnalysedMachine:
        """Return the machine of a point, with where its jobs run."""
        machine, side = machine_and_cut(self._machines, self._structures, planned.machine_id)
        ids = self._ids.of(planned.point)
        if not self._placed.keys() >= set(ids):
            self._placed = read_placements(self._workloads, ids)
        return DefinedMachine(machine, side, self._placed, self._ids)


@lru_cache(maxsize=1)
def machine_and_cut(
    folders: tuple[Path, ...], structures: tuple[Path, ...], machine_id: str
) -> tuple[Machine, npt.NDArray[np.bool_]]:
    """Return a machine and one side of its best cut, bool [routers], as their rules wrote them."""
    machine = read_machine(folders, machine_id)
    return machine, cut_side(structures, machine_id, machine.routers)
