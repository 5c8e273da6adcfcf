"""Rings in rank order and shuffled, as in the effective bandwidth benchmark."""

from __future__ import annotations

import numpy as np

from fabricstudy.study import BEff
from fabricstudy.workload.placed import IntArray

from .sends import Sends, in_phases, one_phase


def sends(config: BEff, ranks: int, rng: np.random.Generator) -> Sends:
    """Send once from each rank to both neighbours in its ring, one phase a ring size, in order and then shuffled."""
    rank, sizes = np.arange(ranks, dtype=np.int32), config.ring_sizes(ranks)
    parts = [_rings(rank, size) for size in sizes] + [_rings(rng.permutation(rank), size) for size in sizes]
    return in_phases(parts, config.iterations)


def _rings(order: IntArray, size: int) -> Sends:
    """Both neighbours of each rank in rings of about `size` ranks, equal but for one rank."""
    rings = np.array_split(order, len(order) // size)
    neighbours = [np.concatenate([np.roll(ring, turn) for ring in rings]) for turn in (-1, 1)]
    return one_phase(np.tile(order, 2), np.concatenate(neighbours))
