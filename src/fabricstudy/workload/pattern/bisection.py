"""Complete bipartite exchange across the machine's best cut."""

import numpy as np

from ..messages import WorkloadError
from .base import JobPlacement, MessagePattern, Sends, both_ways


class Bisection(MessagePattern, kind="bisection"):
    """Every rank in one half of the machine's best known bisection exchanges with every rank in the other half."""

    follows_placement = True

    def traffic_messages(self, ranks: int) -> float:
        """Return the messages in all iterations, both ways, for two equal halves."""
        return 2.0 * (ranks // 2) * (ranks - ranks // 2) * self.iterations

    def sends_at(self, site: JobPlacement) -> Sends:
        side = site.cut_side[site.router_of_rank]
        near, far = (np.flatnonzero(mask).astype(np.int32) for mask in (side, ~side))
        if not len(near) or not len(far):
            raise WorkloadError(
                "the bisection pattern needs ranks on both sides of the machine's best cut, but all nodes of the job "
                "are on one side; use more nodes or another allocation"
            )
        return both_ways(np.repeat(near, len(far)), np.tile(far, len(near)), self.iterations)
