"""Hops between routers without a matrix over all pairs where the machine is a grid."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from .distances import distances
from .graph import Machine


@dataclass(frozen=True, eq=False)
class HopDistances:
    """Hops between routers: the sum, over the dimensions of their places, of what a table says of two places.

    A grid has the tables of its dimensions, so 65,536 routers of a 3D torus need 10 kB; any other machine is one
    dimension, whose table is the matrix over all pairs.
    """

    place: npt.NDArray[np.int32]
    """Places of the routers; int32 [routers, dimensions]."""
    table: npt.NDArray[np.int16]
    """The table of each dimension, row by row, one after the other; int16 [sum of squared lengths]."""
    first: npt.NDArray[np.int64]
    """Where the table of each dimension begins; int64 [dimensions]."""
    length: npt.NDArray[np.int64]
    """Places along each dimension; int64 [dimensions]."""

    @property
    def routers(self) -> int:
        """Number of routers."""
        return len(self.place)

    def between(self, tail: npt.NDArray[np.integer], head: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
        """Hops from each router of `tail` to that of `head`; the arrays are broadcast against each other.

        Examples
        --------
        >>> from fabricstudy.machine.torus import TorusConfig
        >>> torus = hop_distances(TorusConfig.model_validate({"shape": [8, 8, 8], "bandwidth": "1 GB/s"}).build())
        >>> torus.between(np.array([0, 0]), np.array([4 + 8 * 4 + 64 * 4, 7])).tolist()
        [12, 1]
        """
        total = np.zeros(np.broadcast_shapes(np.shape(tail), np.shape(head)), dtype=np.int64)
        for k in range(len(self.length)):
            at = self.place[:, k].astype(np.int64)
            total += self.table[self.first[k] + at[tail] * self.length[k] + at[head]]
        return total

    def matrix(self) -> npt.NDArray[np.int16]:
        """Hops between all routers, int16 [routers, routers]; large for large grids."""
        every = np.arange(self.routers)
        if len(self.length) == 1 and np.array_equal(self.place[:, 0], every):
            return self.table.reshape(self.routers, self.routers)
        total = np.zeros((self.routers, self.routers), dtype=np.int16)
        for k, length in enumerate(self.length):
            end = self.first[k] + length**2
            total += self.table[self.first[k] : end].reshape(length, length)[np.ix_(self.place[:, k], self.place[:, k])]
        return total


@lru_cache(maxsize=2)
def hop_distances(machine: Machine) -> HopDistances:
    """Return the hops of a machine; the last ones are kept. Raises ValueError if some router cannot be reached."""
    if machine.coordinates is None or not machine.dimensions:
        tables, place = [distances(machine)], np.arange(machine.routers, dtype=np.int32)[:, None]
    else:
        tables, place = [dimension.hops() for dimension in machine.dimensions], machine.coordinates
    length = np.array([len(table) for table in tables], dtype=np.int64)
    first = np.concatenate([[0], np.cumsum(length**2)[:-1]]).astype(np.int64)
    return HopDistances(
        np.ascontiguousarray(place), np.concatenate([table.reshape(-1) for table in tables]), first, length
    )
