"""Every rank's block to every other rank."""

from __future__ import annotations

import numpy as np

from fabricstudy.study import AllGather

from .sends import Sends, in_phases, one_phase, repeat


def sends(config: AllGather, ranks: int, rng: np.random.Generator) -> Sends:
    """Send by the algorithm of the study: see the model."""
    return _ring(config, ranks) if config.algorithm == "ring" else _doubling(config, ranks)


def _ring(config: AllGather, ranks: int) -> Sends:
    rank = np.arange(ranks, dtype=np.int32)
    phase = np.repeat(np.arange(ranks - 1, dtype=np.int32), ranks)
    return repeat(Sends(phase, np.tile(rank, ranks - 1), np.tile(np.roll(rank, -1), ranks - 1)), config.iterations)


def _doubling(config: AllGather, ranks: int) -> Sends:
    rank = np.arange(ranks, dtype=np.int32)
    block, phases = int(config.message_bytes), (ranks - 1).bit_length()
    parts = [one_phase(rank, rank ^ np.int32(1 << k), size_bytes=block << k) for k in range(phases)]
    return in_phases(parts, config.iterations)
