"""Pairs of ranks, wherever they sit."""

from typing import Literal

import numpy as np
from pydantic import Field

from fabricstudy.core.kinds import register
from fabricstudy.core.model import ConfigError, Flag, Whole

from ..messages import Indices
from .base import MessagePattern, TrafficEstimate
from .sends import Sends, concatenate_phases, one_phase


@register
class Pairs(MessagePattern):
    """Each rank exchanges with the rank half the job later (Jain et al., IPDPS 2017), or with one drawn at random.

    With `reply` the lower rank of a pair sends, and the other one answers when it has all: so the benchmark WICON runs
    (Bhatele and Kalé 2008), with neighbours in rank (`distance: 1`) or with random ones (`shuffled`).
    """

    kind: Literal["pairs"] = "pairs"
    shuffled: Flag = Field(False, description="whether the pairs are drawn at random, once for all iterations")
    distance: Whole | None = Field(None, ge=1, description="ranks between the two of a pair; left out: half the job")
    reply: Flag = Field(False, description="whether the higher rank answers, rather than both sending at once")

    def traffic(self, ranks: int) -> tuple[TrafficEstimate, ...]:
        messages = float(ranks) * self.iterations
        return (TrafficEstimate(messages, int(self.message_bytes), 2 if self.reply else 1),)

    def check_ranks(self, ranks: int) -> None:
        """Refuse an odd number of ranks, and one that the distance does not pair."""
        if ranks % 2:
            problem = f"pairs need an even number of ranks and get {ranks}"
            raise ConfigError(problem, "change the job's size", code="does-not-fit")
        if ranks % (2 * (self.distance or 1)):
            problem = f"{ranks} ranks cannot be paired at this distance"
            remedy = "let twice the distance divide the ranks"
            raise ConfigError(problem, remedy, ("distance",), self.distance, "does-not-fit")

    def sends(self, ranks: int, rng: np.random.Generator) -> Sends:
        """Send once from each rank to its partner, at once or as question and answer."""
        order = np.arange(ranks, dtype=np.int32)
        if self.shuffled:
            order = rng.permutation(order)
        apart = self.distance or ranks // 2
        lower = np.arange(ranks) % (2 * apart) < apart
        one, other = order[lower], order[np.roll(lower, apart)]
        if self.reply:
            return request_and_reply(np.minimum(one, other), np.maximum(one, other), self.iterations)
        if self.distance is None:
            return one_phase(order, np.roll(order, ranks // 2), self.iterations)
        return one_phase(np.concatenate([one, other]), np.concatenate([other, one]), self.iterations)


def request_and_reply(lower: Indices, higher: Indices, iterations: int) -> Sends:
    """Send from the lower ranks in one phase, and back in the next.

    Examples
    --------
    >>> sends = request_and_reply(np.array([0]), np.array([1]), 2)
    >>> sends.phase.tolist(), sends.source.tolist()
    ([0, 1, 2, 3], [0, 1, 0, 1])
    """
    return concatenate_phases([one_phase(lower, higher), one_phase(higher, lower)], iterations)
