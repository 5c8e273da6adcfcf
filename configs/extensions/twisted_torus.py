"""Twisted tori: wrap-around cables shifted along the other dimensions.

Router `sum_i c_i prod_{j<i} k_j` has the coordinates c in a box of lengths k, as in a `grid`. A step from coordinate
k_i - 1 of dimension i leads to coordinate 0, shifted by `twist[i][j]` along each dimension j > i. Routers are the
points of space modulo the lattice of the rows k_i e_i - twist_i, so the graph is vertex-transitive. With lengths of
1 : 2 a twist makes it symmetric in all dimensions, unlike a torus:

* a x 2a, the rectangular twisted torus: the short ring closes a further along the long one;
* a x a x 2a, face-centred cubic: both short rings close a further along the long one;
* a x 2a x 2a, body-centred cubic: the short ring closes a further along both long ones.

These are the default twists; slices of a TPU v4 have such lengths (Jouppi et al. 2023).

References
----------
Cámara, Moretó, Vallejo, Beivide, Miguel-Alonso, Martínez, Navaridas: Twisted torus topologies for enhanced
interconnection networks. IEEE TPDS 21(12), 2010, doi:10.1109/TPDS.2010.30.
Camarero, Martínez, Beivide: Lattice graphs for high-scale interconnection topologies. IEEE TPDS 26(9), 2015,
doi:10.1109/TPDS.2014.2355827.
Jouppi et al.: TPU v4: an optically reconfigurable supercomputer for machine learning with hardware support for
embeddings. ISCA 2023, doi:10.1145/3579371.3589350.
"""

import math
from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from fabricstudy.core.arrays import Ints
from fabricstudy.core.model import ConfigError, Whole
from fabricstudy.machine.base import LATENCY_DESCRIPTION, NodesPerRouter, Topology
from fabricstudy.machine.graph import Machine
from fabricstudy.machine.grid import (
    AXES,
    GridBandwidths,
    GridLatencies,
    Length,
    check_length,
    classes_in_turn,
    coordinates,
)
from fabricstudy.machine.requirements import MachineRequirements

TorusRows = tuple[tuple[int, ...], ...]


def symmetric_twist(shape: tuple[int, ...]) -> TorusRows | None:
    """Return the twist that makes lengths of 1 : 2 symmetric in all dimensions; None for other lengths.

    Examples
    --------
    >>> symmetric_twist((4, 4, 8)), symmetric_twist((4, 8, 8)), symmetric_twist((4, 4, 4))
    (((0, 0, 4), (0, 0, 4), (0, 0, 0)), ((0, 4, 4), (0, 0, 0), (0, 0, 0)), None)
    """
    short = shape[0]
    long = [length == 2 * short for length in shape]
    if len(shape) not in (2, 3) or not any(long) or set(shape) != {short, 2 * short} or sorted(long) != long:
        return None
    return tuple(tuple(0 if is_long else short * target for target in long) for is_long in long)


def modulo(points: Ints, shape: tuple[int, ...], twist: TorusRows) -> Ints:
    """Return the coordinates within the box of points of space, both int64 [points, dimensions]."""
    inside = points.copy()
    for along, length in enumerate(shape):
        turns, inside[:, along] = np.divmod(inside[:, along], length)
        inside += turns[:, None] * np.array(twist[along])
    return inside


class TwistedTorusConfig(Topology, kind="twisted-torus"):
    """Twisted torus: a torus with shifted wrap-around cables (Cámara et al. 2010; Camarero et al. 2015)."""

    shape: Annotated[tuple[Annotated[Length, Field(ge=2)], ...], Field(min_length=2, max_length=len(AXES))] = Field(
        description="routers along each dimension; cables are shifted along later dimensions"
    )
    twist: tuple[tuple[Whole, ...], ...] | None = Field(
        None,
        max_length=len(AXES),
        description="for each dimension, the shift of its wrap-around cables along all dimensions, 0 except for later "
        "ones; default: the symmetric twist of lengths a, 2a or a, a, 2a or a, 2a, 2a",
    )
    nodes_per_router: NodesPerRouter = 1
    bandwidth: GridBandwidths = Field(description="bandwidth of a cable in one direction; one value or one per class")
    latency: GridLatencies = Field(default_factory=GridLatencies, description=LATENCY_DESCRIPTION)

    @classmethod
    def configurations(cls, wanted: MachineRequirements) -> Iterator[dict[str, Any]]:
        # Those with a symmetric twist.
        for short in range(2, wanted.max_nodes):
            for shape in ([short, 2 * short], [short, short, 2 * short], [short, 2 * short, 2 * short]):
                for nodes in wanted.shares(math.prod(shape), wanted.radix - 2 * len(shape)):
                    yield {"shape": shape, "nodes_per_router": nodes}

    @property
    def rows(self) -> TorusRows:
        """The twist, as written or symmetric."""
        rows = self.twist or symmetric_twist(self.shape)
        assert rows is not None  # checked when it was made
        return rows

    @property
    def routers(self) -> int:
        return math.prod(self.shape)

    @property
    def nodes(self) -> int:
        return self.routers * self.nodes_per_router

    @property
    def cables(self) -> int:
        # Each router has one upwards along each dimension.
        return self.routers * len(self.shape)

    @property
    def typical_hops(self) -> float:
        """Approximate mean hops between routers: those of a cubic torus of as many routers."""
        return float(len(self.shape) * self.routers ** (1 / len(self.shape)) / 4)

    def _check(self) -> None:
        dimensions = len(self.shape)
        check_length(self.bandwidth.links_Bps, dimensions, ("bandwidth", "links"))
        check_length(self.latency.links_ns, dimensions, ("latency", "links"))
        if self.twist is None:
            if symmetric_twist(self.shape) is None:
                problem = "no symmetric twist is known for these lengths"
                remedy = "add a twist, or use lengths a, 2a or a, a, 2a or a, 2a, 2a in this order"
                raise ConfigError(problem, remedy, ("shape",), list(self.shape), "invalid-machine")
            return
        if len(self.twist) != dimensions or any(len(row) != dimensions for row in self.twist):
            problem = f"not {dimensions} rows of {dimensions} numbers"
            raise ConfigError(problem, "write one row per dimension", ("twist",), self.twist, "out-of-range")
        for along, row in enumerate(self.twist):
            for target, shift in enumerate(row):
                most = self.shape[target] - 1 if target > along else 0
                if not 0 <= shift <= most:
                    problem = f"wrap-around cables of {AXES[along]} cannot be shifted by {shift} along {AXES[target]}"
                    path = ("twist", str(along), str(target))
                    raise ConfigError(problem, f"use 0 to {most}", path, shift, "invalid-machine")

    def build(self) -> Machine:
        """Build a twisted torus with one link class per dimension, and rows by dimension."""
        dimensions = len(self.shape)
        points = coordinates(self.shape).astype(np.int64)
        stride = np.cumprod([1, *self.shape[:-1]])
        rows = []
        for along, step in enumerate(np.eye(dimensions, dtype=np.int64)):
            ends = np.stack([points @ stride, modulo(points + step, self.shape, self.rows) @ stride], axis=1)
            pairs, count = np.unique(np.sort(ends, axis=1), axis=0, return_counts=True)
            rows.append(np.column_stack([pairs, np.full(len(pairs), along), count]))
        tail, head, kind, count = np.concatenate(rows).T
        return self.assemble((tail, head), kind, count, classes_in_turn(AXES, dimensions, self.bandwidth, self.latency))
