"""Mapping along a space-filling curve."""

from collections.abc import Callable
from typing import Literal

import numpy as np
from pydantic import Field

from fabricstudy.core.arrays import Integers, Ints
from fabricstudy.machine.distances import hop_distances

from .base import Mapping
from .tasks import Slots, Tasks


class CurveMapping(Mapping, kind="curve"):
    """Ranks and cores are ordered along the same space-filling curve, and matched in this order.

    Off a grid the nodes are in the order of their routers' numbers. The pattern must have coordinates. Hilbert's curve
    after Skilling (Programming the Hilbert curve, AIP Conf. Proc. 707, 2004); Morton's interleaves bits.
    """

    needs_coordinates = True
    curve: Literal["better", "hilbert", "morton"] = Field(
        "better", description="the curve; better: the one with fewer bytes times hops, Hilbert's on ties"
    )

    def map_ranks(self, slots: Slots, tasks: Tasks, rng: np.random.Generator) -> Integers:
        """Map ranks; equal coordinates, such as those of the cores of a node, keep their order."""
        if self.curve != "better":
            return _along(hilbert if self.curve == "hilbert" else morton, slots, tasks)
        cores = [_along(curve, slots, tasks) for curve in (hilbert, morton)]
        if tasks.messages is None:
            return cores[0]
        graph, hops = tasks.graph, hop_distances(slots.machine)
        routers = [slots.router_of_core[core] for core in cores]
        costs = [float(hops.between(ends[graph.row], ends[graph.partner]) @ graph.size_bytes) for ends in routers]
        return cores[int(costs[1] < costs[0])]


def _along(curve: Callable[[Integers], Ints], slots: Slots, tasks: Tasks) -> Ints:
    core = np.empty(slots.ranks, dtype=np.int64)
    ranks, cores = (curve(each) for each in (tasks.known_coordinates, slots.coordinates_of_core))
    core[np.argsort(ranks, kind="stable")] = np.argsort(cores, kind="stable")
    return core


def morton(coordinates: Integers) -> Ints:
    """Return the position along Morton's curve of points [points, dimensions] with coordinates from 0 on.

    Examples
    --------
    >>> morton(np.array([[0, 0], [0, 1], [1, 0], [1, 1], [0, 2]])).tolist()
    [0, 1, 2, 3, 4]
    """
    return _interleaved(np.asarray(coordinates, dtype=np.int64), _bits(coordinates))


def hilbert(coordinates: Integers) -> Ints:
    """Return the position along Hilbert's curve of points [points, dimensions] with coordinates from 0 on.

    Examples
    --------
    >>> hilbert(np.array([[0, 0], [1, 0], [1, 1], [0, 1]])).tolist() in ([0, 1, 2, 3], [0, 3, 2, 1])
    True
    """
    axes, bits = np.array(coordinates, dtype=np.int64), _bits(coordinates)
    for bit in (1 << k for k in range(bits - 1, 0, -1)):
        for k in range(axes.shape[1]):
            flips = (axes[:, k] & bit) != 0
            swapped = np.where(flips, 0, (axes[:, 0] ^ axes[:, k]) & (bit - 1))
            axes[:, 0] ^= np.where(flips, bit - 1, swapped)
            axes[:, k] ^= swapped
    for k in range(1, axes.shape[1]):
        axes[:, k] ^= axes[:, k - 1]
    turn = np.zeros(len(axes), dtype=np.int64)
    for bit in (1 << k for k in range(bits - 1, 0, -1)):
        turn ^= np.where(axes[:, -1] & bit, bit - 1, 0)
    return _interleaved(axes ^ turn[:, None], bits)


def _bits(coordinates: Integers) -> int:
    return max(1, int(np.max(coordinates, initial=0)).bit_length())


def _interleaved(axes: Ints, bits: int) -> Ints:
    """Rank points by the interleaved bits of their coordinates, the highest first."""
    columns = [(axes[:, k] >> bit) & 1 for bit in reversed(range(bits)) for k in range(axes.shape[1])]
    number: Ints = np.unique(np.stack(columns, axis=1).astype(np.int8), axis=0, return_inverse=True)[1]
    return number.reshape(-1)
