"""Pairs of ranks, independent of their placement."""

import numpy as np
from pydantic import Field

from fabricstudy.core.model import ConfigError, Flag, Whole

from .base import MessagePattern, Sends, TrafficEstimate, both_ways, request_and_reply


class Pairs(MessagePattern, kind="pairs"):
    """Each rank exchanges with the rank half the job later (Jain et al., IPDPS 2017), or with a random one.

    With `reply` the lower rank of a pair sends, and the other replies once it has received everything, as in the
    benchmark WICON (Bhatele and Kalé 2008), with neighbours in rank (`distance: 1`) or random partners (`shuffled`).
    """

    shuffled: Flag = Field(False, description="draw the pairs at random, once for all iterations")
    distance: Whole | None = Field(None, ge=1, description="distance of a pair in ranks; default: half the job")
    reply: Flag = Field(False, description="the higher rank replies, instead of both sending at once")

    def traffic(self, ranks: int) -> tuple[TrafficEstimate, ...]:
        messages = float(ranks) * self.iterations
        return (TrafficEstimate(messages, int(self.message_bytes), 2 if self.reply else 1),)

    def check_ranks(self, ranks: int) -> None:
        if ranks % 2:
            problem = f"pairs need an even number of ranks, not {ranks}"
            raise ConfigError(problem, "change the job's size", code="does-not-fit")
        if ranks % (2 * (self.distance or 1)):
            problem = f"{ranks} ranks cannot be paired at this distance"
            remedy = "use a multiple of twice the distance"
            raise ConfigError(problem, remedy, ("distance",), self.distance, "does-not-fit")

    def sends(self, ranks: int, rng: np.random.Generator) -> Sends:
        order = np.arange(ranks, dtype=np.int32)
        if self.shuffled:
            order = rng.permutation(order)
        distance = self.distance or ranks // 2
        is_first = np.arange(ranks) % (2 * distance) < distance
        first, second = order[is_first], order[np.roll(is_first, distance)]
        if self.reply:
            return request_and_reply(np.minimum(first, second), np.maximum(first, second), self.iterations)
        return both_ways(first, second, self.iterations)
