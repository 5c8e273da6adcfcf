"""Random partners in a neighbourhood of a rank grid."""

import numpy as np
from pydantic import Field

from fabricstudy.core.arrays import Int32s
from fabricstudy.core.model import Whole

from .spread import RandomPartners
from .stencil import RankGrid


class UnstructuredMesh(RankGrid, RandomPartners, kind="unstructured-mesh"):
    """Each rank sends to partners drawn from its neighbourhood in a periodic rank grid (Jain et al., IPDPS 2017).

    A partner drawn twice receives two messages. The source does not state `degree` and `neighbourhood`.
    """

    neighbourhood: Whole = Field(2, ge=1, description="maximum distance of partners in each dimension")

    def draw(self, source: Int32s, ranks: int, rng: np.random.Generator) -> Int32s:
        shape, reach = self.grid(ranks), self.neighbourhood
        steps = rng.integers(-reach, reach + 1, size=(len(shape), len(source)))
        coordinates = tuple(np.array(np.unravel_index(source, shape)) + steps)
        partner: Int32s = np.ravel_multi_index(coordinates, shape, mode="wrap").astype(np.int32)
        return partner
