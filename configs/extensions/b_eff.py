"""Rings in rank order and shuffled, as in the effective bandwidth benchmark."""

from typing import Literal

import numpy as np
from pydantic import Field

from fabricstudy.core.arrays import Int32s
from fabricstudy.workload.pattern.base import MessagePattern, Sends, TrafficEstimate, concatenate_phases, one_phase


class BEff(MessagePattern, kind="b-eff"):
    """Rings as in the effective bandwidth benchmark b_eff (Rabenseifner and Koniges 2001), one message size.

    Six phases in which ranks exchange with both neighbours in rings of 2, 4, 8, a quarter of, half of and all ranks
    (the fourth at least 16, the fifth at least 32), in rank order; then six with the ranks shuffled for each. The
    benchmark averages over the two halves, which `rings` selects, by a geometric mean.
    """

    rings: Literal["both", "natural", "shuffled"] = Field(
        "both", description="both halves, the six phases in rank order (natural), or the six shuffled ones"
    )

    def ring_sizes(self, ranks: int) -> tuple[int, ...]:
        """Return the ranks of a ring in each phase of either half."""
        return tuple(min(size, ranks) for size in (2, 4, 8, max(16, ranks // 4), max(32, ranks // 2), ranks))

    def traffic(self, ranks: int) -> tuple[TrafficEstimate, ...]:
        phases = len(self.ring_sizes(ranks)) * (2 if self.rings == "both" else 1)
        return (TrafficEstimate(2.0 * phases * ranks * self.iterations, int(self.message_bytes), phases),)

    def sends(self, ranks: int, rng: np.random.Generator) -> Sends:
        rank, sizes = np.arange(ranks, dtype=np.int32), self.ring_sizes(ranks)
        natural = [] if self.rings == "shuffled" else [_rings(rank, size) for size in sizes]
        shuffled = [] if self.rings == "natural" else [_rings(rng.permutation(rank), size) for size in sizes]
        return concatenate_phases(natural + shuffled, self.iterations)


def _rings(order: Int32s, size: int) -> Sends:
    """Sends to both neighbours in rings of about `size` ranks, equal to within one rank."""
    rings = np.array_split(order, len(order) // size)
    neighbours = [np.roll(ring, shift) for shift in (-1, 1) for ring in rings]
    return one_phase(np.tile(order, 2), np.concatenate(neighbours))
