"""A ring of ranks."""

import numpy as np

from .base import MessagePattern, Sends, one_phase


class Ring(MessagePattern, kind="ring"):
    """Each rank sends to the next and to the previous rank, all in one phase; two ranks exchange two messages each."""

    def is_near(self, ranks: int) -> bool:
        return self.numbering == "natural"

    def traffic_messages(self, ranks: int) -> float:
        return 2.0 * ranks * self.iterations

    def sends(self, ranks: int, rng: np.random.Generator) -> Sends:
        rank = np.arange(ranks, dtype=np.int32)
        neighbours = np.concatenate([np.roll(rank, -1), np.roll(rank, 1)])
        return one_phase(np.tile(rank, 2), neighbours, self.iterations)
