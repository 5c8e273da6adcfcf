"""A random permutation of the ranks."""

import numpy as np

from .base import MessagePattern, Sends, one_phase


class Permutation(MessagePattern, kind="permutation"):
    """Each rank sends to one other rank and receives from one (a random derangement, drawn once for all iterations)."""

    def traffic_messages(self, ranks: int) -> float:
        return float(ranks) * self.iterations

    def sends(self, ranks: int, rng: np.random.Generator) -> Sends:
        rank = np.arange(ranks, dtype=np.int32)
        image = rng.permutation(rank)
        # One permutation in e has no fixed point, so this takes three draws on average.
        while np.any(image == rank):
            image = rng.permutation(rank)
        return one_phase(rank, image, self.iterations)
