"""Grids: torus, mesh, Blue Gene, hypercube, HyperX and express mesh.

Router `sum_i c_i prod_{j<i} k_j` stands at coordinates c in a grid of lengths k: the first coordinate of
consecutive routers goes fastest. Two routers are joined if they differ in one coordinate only, and there

* neighbour each other on the ring or line, or
* with a gap g differ by 1 + m g, m >= 1; so g = 1 joins all routers of a line (HyperX, Hamming graph).

The cables of a dimension are a link class; both cables of a pair that closes to a ring share a row.

With N routers, p nodes on each, and dimensions of lengths k:

* degree: 2 for each dimension of a torus (k >= 3), at most 2 + floor((k - 3) / g) with gap g;
* diameter: sum of floor(k/2) for rings, of k - 1 for lines, the number of dimensions with gap 1;
* mean distance of two coordinates, equal ones counted: k/4 on a ring of even k, (k^2 - 1) / (4k) of odd k,
  (k^2 - 1) / (3k) on a line, 1 - 1/k with gap 1; over dimensions they add up.

References
----------
Dally, Towles: Principles and Practices of Interconnection Networks. Morgan Kaufmann 2004, chapter 5.
Chen et al.: The IBM Blue Gene/Q interconnection network and message unit. SC 2011.
Ahn et al.: HyperX: topology, routing, and packaging of efficient large-scale networks. SC 2009.
Jain et al.: Partitioning low-diameter networks to eliminate inter-job interference. IPDPS 2017.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..study.machines import Grid, GridConfig
from .graph import Dimension, LinkClass, Machine

IntArray = npt.NDArray[np.int32]


def build(config: GridConfig) -> Machine:
    """Build a grid.

    Parameters
    ----------
    config : GridConfig
        Any grid of the study's union.

    Returns
    -------
    Machine
        One class a dimension; rows stand by dimension.

    Examples
    --------
    >>> from fabricstudy.study import TorusConfig
    >>> machine = build(TorusConfig.model_validate({"shape": [8, 8, 8], "bandwidth": "425 MB/s"}))
    >>> machine.routers, machine.links, machine.radix
    (512, 3072, 7)
    >>> machine.coordinates[9].tolist()
    [1, 1, 0]
    """
    grid = config.grid
    tail, head = zip(*(_cables(grid, number) for number in range(len(grid.lengths))), strict=True)
    rows = [len(part) for part in tail]
    counts = [_parallel(grid, number) for number in range(len(rows))]
    quantities = zip(grid.names, config.link_bandwidths_Bps, config.link_latencies_ns, strict=False)
    return Machine(
        kind=config.kind,
        node_router=np.repeat(np.arange(grid.routers, dtype=np.int32), config.nodes_per_router),
        cable_tail=np.concatenate(tail),
        cable_head=np.concatenate(head),
        cable_class=np.repeat(np.arange(len(rows), dtype=np.int32), rows),
        cable_count=np.repeat(np.array(counts, dtype=np.int32), rows),
        classes=tuple(LinkClass(*quantity) for quantity in quantities),
        host=LinkClass("host", config.bandwidth.host_Bps, config.latency.host_ns),
        routers=grid.routers,
        cores_per_node=config.cores_per_node,
        coordinates=_coordinates(grid.lengths),
        dimensions=tuple(
            Dimension(length, wrap, grid.gap) for length, wrap in zip(grid.lengths, grid.wraps, strict=True)
        ),
    )


def _coordinates(lengths: tuple[int, ...]) -> IntArray:
    """Coordinates of each router, [routers, dimensions]."""
    return np.indices(lengths[::-1], dtype=np.int32).reshape(len(lengths), -1)[::-1].T.copy()


def _cables(grid: Grid, number: int) -> tuple[IntArray, IntArray]:
    """Routers at both ends of the cables along a dimension."""
    router = np.arange(grid.routers, dtype=np.int32).reshape(grid.lengths[::-1])
    along = np.moveaxis(router, len(grid.lengths) - 1 - number, 0)
    low, high = line_pairs(grid.lengths[number], grid.wraps[number], grid.gap)
    return along[low].reshape(-1), along[high].reshape(-1)


def line_pairs(length: int, wrap: bool, gap: int | None) -> tuple[IntArray, IntArray]:
    """Coordinates along one dimension that are joined, each pair once.

    Examples
    --------
    >>> [array.tolist() for array in line_pairs(3, True, None)]
    [[0, 1, 0], [1, 2, 2]]
    """
    spans = [1] + ([] if gap is None else list(range(1 + gap, length, gap)))
    low = np.concatenate([np.arange(length - span) for span in spans])
    high = low + np.repeat(spans, [length - span for span in spans])
    if wrap and length > 2:
        low, high = np.append(low, 0), np.append(high, length - 1)
    return low.astype(np.int32), high.astype(np.int32)


def _parallel(grid: Grid, number: int) -> int:
    """Cables between two routers that are joined along a dimension."""
    return grid.pair_cables if grid.wraps[number] and grid.lengths[number] == 2 else 1
