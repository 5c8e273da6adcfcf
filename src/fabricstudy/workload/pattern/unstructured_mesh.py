"""Random partners in a neighbourhood of a grid of ranks."""

from typing import Literal

import numpy as np
from pydantic import Field

from fabricstudy.core.kinds import register
from fabricstudy.core.model import Whole

from ..messages import IntArray
from .partners import RandomPartners
from .rank_grid import RankGrid


@register
class UnstructuredMesh(RankGrid, RandomPartners):
    """Each rank sends to partners drawn from its neighbourhood in a periodic rank grid (Jain et al., IPDPS 2017).

    A partner may be drawn twice, and then gets two messages. The source does not state `degree` and `neighbourhood`.
    """

    kind: Literal["unstructured-mesh"] = "unstructured-mesh"
    neighbourhood: Whole = Field(2, ge=1, description="how far partners are in each dimension at most")

    def draw(self, source: IntArray, ranks: int, rng: np.random.Generator) -> IntArray:
        """Draw partners at most `neighbourhood` away in each dimension, counted round; each step has the same chance.

        Ranks stand in the grid in row-major order.
        """
        shape, reach = self.grid(ranks), self.neighbourhood
        steps = rng.integers(-reach, reach + 1, size=(len(shape), len(source)))
        places = [(at + step) % n for at, step, n in zip(np.unravel_index(source, shape), steps, shape, strict=True)]
        partner: IntArray = np.ravel_multi_index(places, shape).astype(np.int32)
        return partner
