"""Largest number of partitions in use at one time: exact set packing."""

from collections.abc import Sequence

import numpy as np

from fabricstudy.core.arrays import Bools
from fabricstudy.core.errors import FabricstudyError

from .partitions import Partitions


def max_disjoint_partitions(
    partitions: Partitions, chosen: Bools | None = None, given: Sequence[int] = ()
) -> tuple[int, ...]:
    """Find a largest set of partitions that do not conflict: of the `chosen` ones (bool [partitions]), by default all.

    Those of `given` are in use already, and not part of the result. An integer program, solved by HiGHS to the optimum
    (Huangfu and Hall: Parallelizing the dual revised simplex method, Mathematical Programming Computation 10, 2018):
    a variable for each partition, and a constraint for each midplane and cable, which at most one partition occupies.

    Raises FabricstudyError if the partitions in use conflict, or no optimum is found.

    Examples
    --------
    >>> from fabricstudy.machine.base import published_machine
    >>> from fabricstudy.schedule.partition_list.base import PartitionList
    >>> intrepid = PartitionList.model_validate("intrepid-torus").partitions(published_machine("intrepid"))
    >>> [len(max_disjoint_partitions(intrepid, intrepid.nodes == nodes)) for nodes in (512, 1024, 2048, 4096, 8192)]
    [80, 20, 20, 5, 5]
    """
    from scipy import sparse
    from scipy.optimize import Bounds, LinearConstraint, milp

    wanted = np.ones(len(partitions), dtype=bool) if chosen is None else chosen.copy()
    conflicts = partitions.conflicts
    for number in given:
        rivals = conflicts.other[conflicts.first[number] : conflicts.first[number + 1]]
        if len(np.intersect1d(rivals, given)) > 1:
            problem = f"the partition {partitions.names[number]} conflicts with another that is given"
            raise FabricstudyError(f"{problem}; leave one of them out")
        wanted[rivals] = False
    numbers = np.flatnonzero(wanted)
    if not len(numbers):
        return ()
    occupied = sparse.hstack([partitions.midplane_table, partitions.cable_table]).tocsr()[numbers].T
    contested = sparse.csr_array(occupied)[np.asarray(occupied.sum(axis=1)).reshape(-1) > 1]
    limits = [LinearConstraint(contested, ub=np.ones(contested.shape[0]))] if contested.shape[0] else []
    ones = np.ones(len(numbers), dtype=np.int64)
    optimum = milp(-ones, integrality=ones, bounds=Bounds(0, 1), constraints=limits)
    if optimum.status != 0:
        raise FabricstudyError(f"no optimum was found for {len(numbers)} partitions: {optimum.message}")
    return tuple(numbers[optimum.x > 0.5].tolist())
