"""Random partners in a neighbourhood of a grid of ranks."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from fabricstudy.core.kinds import register
from fabricstudy.core.model import Whole

from ..messages import IntArray
from .partners import RandomPartners, sends_to_partners
from .rank_grid import RankGrid
from .sends import Sends


@register
class UnstructuredMesh(RankGrid, RandomPartners):
    """Each rank sends to partners drawn from its neighbourhood in a periodic rank grid (Jain et al., IPDPS 2017).

    A partner may be drawn twice, and then gets two messages. The source does not state `degree` and `neighbourhood`.
    """

    kind: Literal["unstructured-mesh"] = "unstructured-mesh"
    neighbourhood: Whole = Field(2, ge=1, description="how far partners are in each dimension at most")

    def sends(self, ranks: int, rng: np.random.Generator) -> Sends:
        """Send once from each rank to partners at most `neighbourhood` away in each dimension, counted round.

        Ranks stand in the grid in row-major order; each step of the neighbourhood has the same chance.
        """
        shape, reach = self.grid(ranks), self.neighbourhood

        def draw(source: IntArray, rng: np.random.Generator) -> IntArray:
            steps = rng.integers(-reach, reach + 1, size=(len(shape), len(source)))
            places = [
                (at + step) % n for at, step, n in zip(np.unravel_index(source, shape), steps, shape, strict=True)
            ]
            partner: IntArray = np.ravel_multi_index(places, shape).astype(np.int32)
            return partner

        return sends_to_partners(self, ranks, rng, draw)
