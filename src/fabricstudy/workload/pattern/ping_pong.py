"""A ping-pong between the two furthest nodes."""

import numpy as np
from pydantic import Field

from fabricstudy.core.quantities import MessageSize

from ..messages import WorkloadError
from .base import JobPlacement, MessagePattern, Sends, TrafficEstimate, repeat


class PingPong(MessagePattern, kind="ping-pong"):
    """A ping-pong between ranks on the job's two furthest nodes; the other ranks are idle.

    Half of an iteration is the latency of a message, which may have 0 bytes.
    """

    message_bytes: MessageSize = Field(alias="message", description="size of each message, from 0 B")

    follows_placement = True

    def traffic(self, ranks: int) -> tuple[TrafficEstimate, ...]:
        return (TrafficEstimate(2.0 * self.iterations, int(self.message_bytes), 2),)

    def sends_at(self, site: JobPlacement) -> Sends:
        """Send between the lowest ranks of the lowest two routers at the largest distance, or of two nodes."""
        router, lowest = np.unique(site.router_of_rank, return_index=True)
        ends = np.array([0, 1])
        if len(router) < 2:
            _, lowest = np.unique(site.node_of_rank, return_index=True)
        else:
            hops = site.distances[np.ix_(router, router)]
            ends = np.array(np.unravel_index(np.argmax(hops), hops.shape))
        if len(lowest) < 2:
            raise WorkloadError("ping-pong needs ranks on two nodes; give the job more nodes")
        rank = lowest[ends].astype(np.int32)
        return repeat(Sends(np.array([0, 1], dtype=np.int32), rank, rank[::-1]), self.iterations)
