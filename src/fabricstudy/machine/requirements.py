"""Requirements of a machine to be selected."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from math import prod


@dataclass(frozen=True)
class MachineRequirements:
    """Bounds, inclusive, on nodes, ports per router and routers; the latter keep the number of grids finite."""

    least_nodes: int
    max_nodes: int
    radix: int
    most_routers: int

    def shares(self, parts: int, most: int) -> range:
        """Return the numbers of nodes, at most `most`, that each of `parts` routers may have.

        Examples
        --------
        >>> list(MachineRequirements(100, 120, 16, 120).shares(24, 8))
        [5]
        """
        if parts > self.most_routers:
            return range(0)
        return range(-(-self.least_nodes // parts), min(self.max_nodes // parts, most) + 1)

    def shapes(self, dimensions: range, least_length: int = 2) -> Iterator[tuple[int, ...]]:
        """Return the non-decreasing lengths of grids with enough ports for the nodes and not too many routers.

        Examples
        --------
        >>> list(MachineRequirements(8, 9, 1, 9).shapes(range(2, 4)))
        [(2, 4), (3, 3), (2, 2, 2)]
        """
        for count in dimensions:
            for shape in _rising(count, least_length, self.most_routers):
                if prod(shape) * self.radix >= self.least_nodes:
                    yield shape


def halvings(most: int) -> list[int]:
    """Return a number, its half, quarter and eighth, rounded down, without zeros.

    Examples
    --------
    >>> halvings(40), halvings(3), halvings(0)
    ([40, 20, 10, 5], [3, 1], [])
    """
    return [most >> times for times in range(4) if most >> times]


@cache
def _rising(count: int, least: int, most: int) -> tuple[tuple[int, ...], ...]:
    """Return the non-decreasing tuples of `count` numbers, at least `least`, with a product of at most `most`."""
    if count == 1:
        return tuple((number,) for number in range(least, most + 1))
    tuples: list[tuple[int, ...]] = []
    number = least
    while number**count <= most:
        tuples += [(number, *rest) for rest in _rising(count - 1, number, most // number)]
        number += 1
    return tuple(tuples)
