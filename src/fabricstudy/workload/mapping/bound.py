"""Lower bounds over all mappings of a job's ranks to its cores.

* *partners*: the heaviest partner of a rank is at best on the nearest other core, the next one on the next. Half of
  the sum over the ranks is a bound (Gilmore 1962, Lawler 1963, of the quadratic assignment problem). Exact for
  stencils that fit and for all-to-all.
* *spectrum*: bytes times hops is half the trace of L X (-D) X', with the Laplacian L of the traffic, the hops D between
  cores and a permutation X; so at least half the scalar product of the ascending eigenvalues of L with the descending
  ones of -D orthogonal to the constant vector (Finke, Burkard and Rendl, Ann. Discrete Math. 31, 1987). Good for nearly
  complete graphs.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from fabricstudy.core.arrays import Bools, Floats, Ints, number_within
from fabricstudy.core.quantities import NS_PER_S
from fabricstudy.machine.distances import hop_distances

from .tasks import Slots, TaskGraph

MAX_SPECTRUM_SIZE = 1024
"""Ranks up to which spectra are computed by default: 0.2 s on one core.

All eigenvalues of two dense matrices take time cubic in the ranks: 13 s for 4096, 14 minutes for 16,384. On a full
torus few eigenvalues of the hops are nonzero, and iterative methods find the few needed sooner; but these converge from
above, and a missed one would invalidate the bound.
"""

MAX_PAIRED_ROUTERS = 4096
"""Routers up to which all pairs are examined if a job has a part of a grid."""

_AT_ONCE = 1 << 22
_ROUNDING = 1e-9


class MappingBound(NamedTuple):
    """Lower bounds of bytes times hops, with its method, and of the link time (ns)."""

    hop_bytes: float
    method: str
    time_ns: float


def mapping_bound(
    graph: TaskGraph, slots: Slots, cut_side: Bools, largest_spectrum: int = MAX_SPECTRUM_SIZE
) -> MappingBound:
    """Return lower bounds of bytes times hops and of the link time over all mappings.

    The time is the maximum of four bounds: bytes times hops over all links; the traffic of the busiest rank beyond the
    ranks of its node over a host link, and beyond those of its router over the router's links; and the traffic across
    the cut `cut_side`, from the second eigenvalue of the traffic (Fiedler 1973).
    """
    best, method = partners_bound(graph, slots), "partners"
    rising = None
    if 2 < graph.ranks <= largest_spectrum:
        eigenvalues = _laplacian_eigenvalues(graph.first.tobytes(), graph.partner.tobytes(), graph.size_bytes.tobytes())
        # Without that of the constant vector, and rounded down.
        rising = np.maximum(eigenvalues[1:] - _ROUNDING * eigenvalues[-1], 0.0)
        spectral = _spectrum_bound(rising, slots)
        if spectral > best:
            best, method = spectral, "spectrum"
    return MappingBound(best, method, _time_ns(graph, slots, best, rising, cut_side))


def partners_bound(graph: TaskGraph, slots: Slots) -> float:
    """Return the bytes times hops if each rank had its partners on the nearest cores, the heaviest first."""
    within = _most_within(slots)
    # Hops from the best-placed core to the nearest other cores.
    nearest = np.repeat(np.arange(len(within)), np.diff(within - 1, prepend=0))
    order = np.lexsort((-graph.size_bytes, graph.row))
    return float(graph.size_bytes[order] @ nearest[number_within(graph.row)]) / 2


def _most_within(slots: Slots) -> Ints:
    """Maximum number of cores within 0, 1, 2, ... hops of any core, itself included."""
    table = hop_distances(slots.machine)
    router, cores = np.unique(slots.router_of_core, return_counts=True)
    far = int(sum(table.table[a : a + n * n].max() for a, n in zip(table.first, table.length, strict=True)))
    plain_grid = bool(slots.machine.dimensions) and all(line.graph for line in slots.machine.dimensions)
    if plain_grid and (len(router) == slots.machine.routers or len(router) > MAX_PAIRED_ROUTERS):
        # If all routers had nodes, the one in the middle would have the most around it.
        every = np.arange(slots.machine.routers)
        middle = np.flatnonzero((table.coordinates == table.length // 2).all(axis=1))[:1]
        at_distance = np.bincount(table.between(middle, every), minlength=far + 1) * int(cores.max())
        return np.minimum(np.cumsum(at_distance), slots.ranks)
    most = np.zeros(far + 1, dtype=np.int64)
    step = max(1, _AT_ONCE // len(router))
    for start in range(0, len(router), step):
        part = router[start : start + step]
        reach = table.between(part[:, None], router) + np.arange(len(part))[:, None] * (far + 1)
        count = np.bincount(reach.ravel(), weights=np.tile(cores, len(part)), minlength=len(part) * (far + 1))
        most = np.maximum(most, np.cumsum(count.reshape(len(part), -1), axis=1).max(axis=0).astype(np.int64))
    return most


@lru_cache(maxsize=8)
def _laplacian_eigenvalues(first: bytes, partner: bytes, size_bytes: bytes) -> Floats:
    """Ascending eigenvalues of the traffic's Laplacian; cached, since points seldom differ in it."""
    starts = np.frombuffer(first, np.int64)
    ranks = len(starts) - 1
    row = np.repeat(np.arange(ranks), starts[1:] - starts[:-1])
    laplacian: Floats = np.zeros((ranks, ranks))
    laplacian[row, np.frombuffer(partner, np.int64)] = -np.frombuffer(size_bytes)
    laplacian[np.diag_indices(ranks)] = -laplacian.sum(axis=1)
    return np.linalg.eigvalsh(laplacian).astype(np.float64)


def _spectrum_bound(rising: Floats, slots: Slots) -> float:
    # Cores of one router are equally far from all others, so the hops between n cores on r routers have n - r more
    # eigenvalues of 0 than the hops between the routers, each weighted by the root of its cores.
    router, cores = np.unique(slots.router_of_core, return_counts=True)
    distance = hop_distances(slots.machine).between(router[:, None], router).astype(np.float64)
    constant = np.sqrt(cores / slots.ranks)
    around = np.eye(len(router)) - np.outer(constant, constant)
    weighted = np.sqrt(np.outer(cores, cores)) * distance
    # The eigenvalue 0 of the constant vector is lifted above all others, so it is the last one.
    lift = 2 * slots.ranks * distance.max() * np.outer(constant, constant)
    router_values = np.linalg.eigvalsh(lift - around @ weighted @ around)[:-1]
    falling = np.sort(np.concatenate([router_values, np.zeros(slots.ranks - len(router))]))[::-1]
    falling = falling - _ROUNDING * np.abs(falling).max(initial=0.0)
    return max(0.0, float(rising @ falling) / 2)


def _time_ns(graph: TaskGraph, slots: Slots, hop_bytes: float, rising: Floats | None, cut_side: Bools) -> float:
    machine = slots.machine
    capacity_Bps = machine.link_capacity_Bps
    out_Bps = np.bincount(machine.link_tail, weights=capacity_Bps, minlength=machine.routers)
    on_router = int(np.unique(slots.router_of_core, return_counts=True)[1].max())
    times = [
        hop_bytes / max(capacity_Bps.sum(), 1e-300),
        _beyond(graph, slots.ranks_per_node) / machine.host.bandwidth_Bps,
        _beyond(graph, on_router) / max(out_Bps[slots.router_of_core].max(), 1e-300),
    ]
    across = cut_side[machine.link_tail] & ~cut_side[machine.link_head]
    if rising is not None and across.any():
        low = int(np.count_nonzero(cut_side[slots.router_of_core]))
        crossing = rising[0] * low * (slots.ranks - low) / slots.ranks
        times.append(crossing / 2 / capacity_Bps[across].sum())
    return float(max(times)) * NS_PER_S


def _beyond(graph: TaskGraph, together: int) -> float:
    """Minimum bytes that the busiest rank sends to, or receives from, ranks beyond the `together` nearest."""
    most = 0.0
    for size in (graph.sent_bytes, graph.size_bytes - graph.sent_bytes):
        order = np.lexsort((-size, graph.row))
        outside = np.where(number_within(graph.row) >= together - 1, size[order], 0.0)
        most = max(most, np.bincount(graph.row, weights=outside, minlength=graph.ranks).max(initial=0.0))
    return float(most)
