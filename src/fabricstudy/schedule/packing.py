"""How many partitions can be in use at one time: set packing, exact."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from fabricstudy.core.errors import FabricstudyError

from .partitions import Partitions


def max_disjoint_partitions(
    partitions: Partitions, chosen: npt.NDArray[np.bool_] | None = None, given: Sequence[int] = ()
) -> tuple[int, ...]:
    """Find a largest set of partitions that do not conflict.

    An integer program, one variable a partition and one constraint a midplane and a cable, solved by HiGHS to the
    optimum: each may be taken by one at most.

    Parameters
    ----------
    chosen : bool array [partitions], optional
        Which of them may be taken; left out: all.
    given : sequence of int, optional
        Partitions that are in use already; they are not counted.

    Raises
    ------
    FabricstudyError
        If the partitions in use conflict, or no optimum is found.

    References
    ----------
    Huangfu, Hall: Parallelizing the dual revised simplex method. Mathematical Programming Computation 10, 2018 (HiGHS).

    Examples
    --------
    >>> from fabricstudy.machine.base import published_machine
    >>> from fabricstudy.schedule.partition_list import PartitionList
    >>> intrepid = PartitionList.model_validate("intrepid-torus").partitions(published_machine("intrepid"))
    >>> [len(max_disjoint_partitions(intrepid, intrepid.nodes == nodes)) for nodes in (512, 1024, 2048, 4096, 8192)]
    [80, 20, 20, 5, 5]
    """
    from scipy import sparse
    from scipy.optimize import Bounds, LinearConstraint, milp

    wanted = np.ones(len(partitions), dtype=bool) if chosen is None else chosen.copy()
    conflicts = partitions.conflicts
    for taken in given:
        rivals = conflicts.other[conflicts.first[taken] : conflicts.first[taken + 1]]
        if len(np.intersect1d(rivals, given)) > 1:
            problem = f"the partition {partitions.names[taken]} conflicts with another that is given"
            raise FabricstudyError(f"{problem}; leave one of them out")
        wanted[rivals] = False
    places = np.flatnonzero(wanted)
    if not len(places):
        return ()
    takes = sparse.hstack([partitions.midplane_table, partitions.cable_table]).tocsr()[places].T
    once = sparse.csr_array(takes)[np.asarray(takes.sum(axis=1)).reshape(-1) > 1]
    limits = [LinearConstraint(once, ub=np.ones(once.shape[0]))] if once.shape[0] else []
    optimum = milp(
        -np.ones(len(places)), integrality=np.ones(len(places), dtype=np.int64), bounds=Bounds(0, 1), constraints=limits
    )
    if optimum.status != 0:
        raise FabricstudyError(f"no optimum was found for {len(places)} partitions: {optimum.message}")
    return tuple(places[optimum.x > 0.5].tolist())
