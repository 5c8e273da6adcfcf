"""Complete bipartite exchange across the machine's best cut."""

from typing import ClassVar, Literal

import numpy as np

from fabricstudy.core.kinds import register

from ..messages import WorkloadError
from .base import MessagePattern
from .job_placement import JobPlacement
from .sends import Sends, one_phase


@register
class Bisection(MessagePattern):
    """Every rank in one half of the machine's best cut exchanges with every rank in the other half."""

    follows_placement: ClassVar[bool] = True

    kind: Literal["bisection"] = "bisection"

    def traffic_messages(self, ranks: int) -> float:
        """Messages in all iterations (both ways; halves taken as equal)."""
        return 2.0 * (ranks // 2) * (ranks - ranks // 2) * self.iterations

    def sends_at(self, site: JobPlacement) -> Sends:
        """Send once from each rank to each rank on the other side of the cut, both ways, in one phase."""
        side = site.cut_side[site.router_of_rank]
        here, there = (np.flatnonzero(mask).astype(np.int32) for mask in (side, ~side))
        if not len(here) or not len(there):
            raise WorkloadError(
                "the bisection pattern needs ranks on both sides of the machine's best cut, and all nodes of the "
                "job lie on one side; give it more nodes or another allocation"
            )
        first, second = np.repeat(here, len(there)), np.tile(there, len(here))
        return one_phase(np.concatenate([first, second]), np.concatenate([second, first]), self.iterations)
