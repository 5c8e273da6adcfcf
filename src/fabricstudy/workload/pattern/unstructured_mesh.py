"""Random partners in a neighbourhood of a grid of ranks."""

from __future__ import annotations

import numpy as np

from fabricstudy.study import UnstructuredMesh
from fabricstudy.workload.placed import IntArray

from .partners import sends_to_partners
from .sends import Sends


def sends(config: UnstructuredMesh, ranks: int, rng: np.random.Generator) -> Sends:
    """Send once from each rank to partners at most `neighbourhood` away in each dimension, counted round.

    Ranks stand in the grid in row-major order; each step of the neighbourhood has the same chance.
    """
    shape, reach = config.grid(ranks), config.neighbourhood

    def draw(source: IntArray, rng: np.random.Generator) -> IntArray:
        steps = rng.integers(-reach, reach + 1, size=(len(shape), len(source)))
        places = [(at + step) % n for at, step, n in zip(np.unravel_index(source, shape), steps, shape, strict=True)]
        partner: IntArray = np.ravel_multi_index(places, shape).astype(np.int32)
        return partner

    return sends_to_partners(config, ranks, rng, draw)
