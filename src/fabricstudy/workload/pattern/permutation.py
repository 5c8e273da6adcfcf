"""A random permutation of the ranks."""

from typing import Literal

import numpy as np

from fabricstudy.core.kinds import register

from .base import MessagePattern, Sends, one_phase


@register
class Permutation(MessagePattern):
    """Each rank sends to one other rank and receives from one (a random derangement, drawn once for all iterations)."""

    kind: Literal["permutation"] = "permutation"

    def traffic_messages(self, ranks: int) -> float:
        return float(ranks) * self.iterations

    def sends(self, ranks: int, rng: np.random.Generator) -> Sends:
        rank = np.arange(ranks, dtype=np.int32)
        image = rng.permutation(rank)
        # One permutation in e has no fixed point, so this takes three draws on average.
        while np.any(image == rank):
            image = rng.permutation(rank)
        return one_phase(rank, image, self.iterations)
