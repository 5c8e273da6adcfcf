"""All paths that a routing allows, as a graph without cycles."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Int32s = npt.NDArray[np.int32]


class PathGraph(NamedTuple):
    """Paths of flows; a state is a packet at a router with a goal."""

    begin: Ints
    """From state s the ways ``begin[s] : begin[s + 1]`` lead on, none from a goal; int64 [states + 1]."""
    link: Int32s
    to: Int32s
    """Directed link of each way, and the state that it leads to, which has a lower number; int32 [ways] each."""
    start: Ints
    """First state of each flow; int64 [flows]."""
    size_bytes: Floats
    """Bytes of each flow; float64 [flows]."""

    def shortest(self, length: Floats) -> Floats:
        """Return the bytes on each link, float64 [links], if flows take paths of least total `length` [links].

        Their scalar product with `length` is the least of all loads that the ways allow.
        """
        # Loads numba, which planning does without.
        from .kernels import shortest_loads

        load: Floats = shortest_loads(*self, length)
        return load
