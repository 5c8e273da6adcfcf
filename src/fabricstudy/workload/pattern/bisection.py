"""Complete bipartite exchange across the machine's best cut."""

from __future__ import annotations

import numpy as np

from fabricstudy.study import Bisection
from fabricstudy.workload.placed import WorkloadError

from .sends import Sends, one_phase
from .site import Site


def sends(config: Bisection, site: Site) -> Sends:
    """Send once from each rank to each rank on the other side of the cut, both ways, in one phase.

    Raises
    ------
    WorkloadError
        If all ranks lie on one side.
    """
    side = site.half[site.router_of_rank]
    here, there = (np.flatnonzero(mask).astype(np.int32) for mask in (side, ~side))
    if not len(here) or not len(there):
        raise WorkloadError(
            "the bisection pattern needs ranks on both sides of the machine's best cut, and all nodes of the "
            "job lie on one side; give it more nodes or another allocation"
        )
    first, second = np.repeat(here, len(there)), np.tile(there, len(here))
    return one_phase(np.concatenate([first, second]), np.concatenate([second, first]), config.iterations)
