"""Hops between routers, on grids without a matrix over all pairs."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from fabricstudy.core.arrays import Int16s, Int32s, Integers, Ints

from .distances import distances
from .graph import Machine


@dataclass(frozen=True, eq=False)
class HopDistances:
    """Hops between routers: the sum of one distance table per dimension.

    A grid has small tables: 65,536 routers of a 3D torus need 10 kB. Any other machine has one dimension, whose table
    is the matrix over all pairs.
    """

    place: Int32s
    """Coordinates of the routers; int32 [routers, dimensions]."""
    table: Int16s
    """Tables of all dimensions, flattened and concatenated; int16 [sum of squared lengths]."""
    first: Ints
    """Offset of each dimension's table; int64 [dimensions]."""
    length: Ints
    """Length of each dimension; int64 [dimensions]."""

    @property
    def routers(self) -> int:
        """Number of routers."""
        return len(self.place)

    def between(self, tail: Integers, head: Integers) -> Ints:
        """Return the hops from routers `tail` to routers `head`; the arrays are broadcast.

        Examples
        --------
        >>> from fabricstudy.machine.grids import TorusConfig
        >>> torus = hop_distances(TorusConfig.model_validate({"shape": [8, 8, 8], "bandwidth": "1 GB/s"}).build())
        >>> torus.between(np.array([0, 0]), np.array([4 + 8 * 4 + 64 * 4, 7])).tolist()
        [12, 1]
        """
        total = np.zeros(np.broadcast_shapes(np.shape(tail), np.shape(head)), dtype=np.int64)
        for k in range(len(self.length)):
            coordinate = self.place[:, k].astype(np.int64)
            total += self.table[self.first[k] + coordinate[tail] * self.length[k] + coordinate[head]]
        return total

    def matrix(self) -> Int16s:
        """Return the hops between all routers, int16 [routers, routers]."""
        if len(self.length) == 1 and np.array_equal(self.place[:, 0], np.arange(self.routers)):
            return self.table.reshape(self.routers, self.routers)
        total = np.zeros((self.routers, self.routers), dtype=np.int16)
        for k, length in enumerate(self.length):
            end = self.first[k] + length**2
            total += self.table[self.first[k] : end].reshape(length, length)[np.ix_(self.place[:, k], self.place[:, k])]
        return total


@lru_cache(maxsize=2)
def hop_distances(machine: Machine) -> HopDistances:
    """Return the hops of a machine, cached; raises ValueError if the machine is not connected."""
    if machine.coordinates is None or not machine.dimensions:
        tables, coordinates = [distances(machine)], np.arange(machine.routers, dtype=np.int32)[:, None]
    else:
        tables, coordinates = [dimension.hops() for dimension in machine.dimensions], machine.coordinates
    length = np.array([len(table) for table in tables], dtype=np.int64)
    first = np.concatenate([[0], np.cumsum(length**2)[:-1]]).astype(np.int64)
    return HopDistances(
        np.ascontiguousarray(coordinates), np.concatenate([table.reshape(-1) for table in tables]), first, length
    )
