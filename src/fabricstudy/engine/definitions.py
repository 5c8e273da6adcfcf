"""Definitions that a simulation needs: a machine, one side of its best cut, and the nodes of each job's ranks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from fabricstudy.core.arrays import Bools
from fabricstudy.core.errors import FabricstudyError
from fabricstudy.machine.base import Topology
from fabricstudy.machine.definitions import read_machine
from fabricstudy.machine.graph import Machine
from fabricstudy.structure.stage import cut_side
from fabricstudy.workload.definitions import WorkloadIds, read_placements
from fabricstudy.workload.placing import Placement, placements

from .point import PlannedPoint, Point


@dataclass(frozen=True, eq=False)
class AnalysedMachine:
    """A machine with its best cut and, optionally, the placements of a point's jobs."""

    machine: Machine
    cut_side: Bools
    """One side of the best cut found, [routers]."""
    placed: tuple[Placement | FabricstudyError, ...] | None = None
    """Placement of each job, or the reason why it does not fit; computed when left out."""

    def placements(self, point: Point) -> Mapping[int, Placement]:
        """Return the placement of each job of a point; raise the error of one that has none."""
        if self.placed is None:
            return dict(placements(point, self.machine))
        fitting: dict[int, Placement] = {}
        for index, placement in enumerate(self.placed):
            if not isinstance(placement, Placement):
                raise placement
            fitting[index] = placement
        return fitting


def built(config: Topology) -> AnalysedMachine:
    """Build and analyse a machine."""
    from fabricstudy.structure.bisection import bisection_bounds  # jobs of the workflow read the cut

    machine = config.build()
    return AnalysedMachine(machine, bisection_bounds(machine).cut_side)


class Definitions:
    """The definitions of a study: folders of machine definitions, files of structures, and files of workloads."""

    def __init__(self, machines: Sequence[Path], structures: Sequence[Path], workloads: Sequence[Path]) -> None:
        self._machines, self._structures, self._workloads = tuple(machines), tuple(structures), tuple(workloads)
        self._ids = WorkloadIds()
        self._placed: dict[str, Placement | FabricstudyError] = {}

    def of(self, planned: PlannedPoint) -> AnalysedMachine:
        """Return the machine of a point, with the placements of its jobs."""
        machine, side = machine_and_cut(self._machines, self._structures, planned.machine_id)
        ids = self._ids.of(planned.point)
        if not self._placed.keys() >= set(ids):
            self._placed = read_placements(self._workloads, ids)
        return AnalysedMachine(machine, side, tuple(self._placed[identity] for identity in ids))


@lru_cache(maxsize=1)
def machine_and_cut(folders: tuple[Path, ...], structures: tuple[Path, ...], machine_id: str) -> tuple[Machine, Bools]:
    """Return a machine and one side of its best cut, bool [routers], from the files of their rules."""
    machine = read_machine(folders, machine_id)
    return machine, cut_side(structures, machine_id, machine.routers)
