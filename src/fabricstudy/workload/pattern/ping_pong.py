"""A ping-pong between the two furthest nodes."""

import numpy as np

from ..messages import WorkloadError
from .base import JobPlacement, MessagePattern, Sends, TrafficEstimate, repeat


class PingPong(MessagePattern, kind="ping-pong"):
    """A ping-pong between ranks on the job's two furthest nodes; the other ranks are idle.

    Half of an iteration is the latency of a message.
    """

    follows_placement = True

    def traffic(self, ranks: int) -> tuple[TrafficEstimate, ...]:
        return (TrafficEstimate(2.0 * self.iterations, int(self.message_bytes), 2),)

    def sends_at(self, site: JobPlacement) -> Sends:
        """Send between the lowest ranks of the lowest two routers at the largest distance."""
        router = np.unique(site.router_of_rank)
        if len(router) < 2:
            raise WorkloadError("ping-pong needs ranks on two routers; give the job more nodes")
        hops = site.distances[np.ix_(router, router)]
        ends = router[np.array(np.unravel_index(np.argmax(hops), hops.shape))]
        rank = np.array([np.flatnonzero(site.router_of_rank == end)[0] for end in ends], dtype=np.int32)
        return repeat(Sends(np.array([0, 1], dtype=np.int32), rank, rank[::-1]), self.iterations)
