"""Bisections by theorems: grids of rings, lines and cliques, and trees.

**Grids.** Let the routers be all points of a grid of N = k_1 k_2 .. k_D routers, joined along each dimension i to
rings, lines or cliques by cables of capacity w_i. Cutting all N / k_i rings or lines of an even dimension in their
middle gives halves, and costs

* rings: 2 N w_i / k_i (Chen et al., SC 2011, for Blue Gene/Q; 2 N / L with L the longest dimension);
* lines: N w_i / k_i (Leighton 1992, section 1.7);
* cliques: N k_i w_i / 4 (Ahn et al., SC 2009); the hypercube is the case k_i = 2: N w_i / 2 (Harper 1964).

No cut has less than the least of these over all dimensions: send one byte between all ordered pairs of routers, one
dimension after the other. Each link of dimension i carries (N / k_i) l_i bytes, where l_i is what the same traffic
within one ring, line or clique puts on its busiest link (k^2/8 on an even ring, both ways at ties; k^2/4 on an even
line; 1 on a clique). So all is delivered in T = max_i (N / k_i) l_i / w_i, and the N^2 / 4 bytes across any cut into
halves need a capacity of N^2 / (4 T) = min_i N k_i w_i / (4 l_i) (Leighton, Rao: J. ACM 46(6), 1999), which is the
cost above. Where cables of a dimension differ, w_i is the least capacity, and the cost holds if the cut crosses only
these. Where an odd dimension gives the least, l_i = (k^2 - 1)/8 or (k^2 - 1)/4 leaves a bound that no cut need
attain.

**Trees.** Of L leaves, let L_l be below a router of level l, and let cables of capacity C_l lead up from the subtree
of these leaves. Packets that spread evenly over all ways up, and come down as others would go up, deliver any traffic
in which each leaf sends and receives at most s = min_l C_l / L_l at a time (Leiserson 1985; Öhring et al. 1995; for the
fat tree Al-Fares et al. 2008), so also an exchange across the cut. A cut into halves then has at least floor(L/2) s.
Cutting off the leaves of one half costs floor(L/2) C_0, and cutting off half the subtrees of level l, if their number
is even, (L/2) C_l / L_l.
"""

from dataclasses import dataclass

import numpy as np

from fabricstudy.core.arrays import Bools, Ints
from fabricstudy.machine.dimension import Dimension
from fabricstudy.machine.graph import Machine
from fabricstudy.machine.search import component_labels

from .cut import cut_capacity_Bps, weight_per_side

TREES = ("fat-tree", "xgft")
"""Kinds that satisfy the assumptions of the theorem on trees."""


@dataclass(frozen=True, eq=False)
class ClosedForm:
    """A lower bound by a theorem, and the cut that attains it, if known."""

    name: str
    lower_Bps: float
    cut_side: Bools | None


def closed_form(machine: Machine) -> ClosedForm | None:
    """Return the closed form of a machine's bisection, or None if no theorem applies.

    Examples
    --------
    >>> from fabricstudy.machine.base import published_machine
    >>> closed_form(published_machine("intrepid").build()).lower_Bps / 425e6
    2048.0
    """
    return _tree(machine) if machine.kind in TREES and machine.level is not None else _grid(machine)


def _busiest(dimension: Dimension) -> float:
    """Return the bytes on the bottleneck link if all ordered pairs of routers along a dimension exchange one byte."""
    quarter = (dimension.length // 2) * (dimension.length - dimension.length // 2)
    return {"rings": quarter / 2, "lines": quarter, "cliques": 1.0}[str(dimension.graph)]


def dimension_capacities_Bps(machine: Machine) -> dict[int, float]:
    """Return the least capacity between joined routers along each dimension of two or more routers."""
    assert machine.coordinates is not None
    along = np.argmax(machine.coordinates[machine.cable_tail] != machine.coordinates[machine.cable_head], axis=1)
    capacity_Bps = machine.link_capacity_Bps[::2]
    return {int(number): float(capacity_Bps[along == number].min()) for number in np.unique(along)}


def _grid(machine: Machine) -> ClosedForm | None:
    """Return the closed form of a grid; None if a dimension has another graph."""
    dimensions = machine.dimensions
    if not dimensions or machine.nodes_of_router.min() == 0 or any(not dimension.graph for dimension in dimensions):
        return None
    assert machine.coordinates is not None
    smaller, larger = weight_per_side(machine)
    bounds = {
        number: smaller
        * larger
        / (machine.routers // dimensions[number].length * _busiest(dimensions[number]) / capacity_Bps)
        for number, capacity_Bps in dimension_capacities_Bps(machine).items()
    }
    lower_Bps = min(bounds.values())
    least = [number for number, bound in bounds.items() if bound <= lower_Bps * (1 + 1e-12)]
    for number in least:
        dimension = dimensions[number]
        cut_side = machine.coordinates[:, number] < dimension.length // 2
        cut_Bps = cut_capacity_Bps(machine, cut_side)
        if dimension.length % 2 == 0 and cut_Bps <= lower_Bps * (1 + 1e-9):
            name = f"{machine.routers // dimension.length} {dimension.graph} of {dimension.length} routers cut in half"
            return ClosedForm(name, cut_Bps, cut_side)
    return ClosedForm("uniform flow", lower_Bps, None)


def _tree(machine: Machine) -> ClosedForm:
    assert machine.level is not None
    leaves = np.flatnonzero(machine.level == 0)
    smaller, _ = weight_per_side(machine)
    upward = machine.level[machine.link_head] > machine.level[machine.link_tail]
    level = machine.level[machine.link_tail[upward]]
    rates_Bps = np.bincount(level, machine.link_capacity_Bps[upward]) / len(leaves)
    lower_Bps = float(smaller * rates_Bps.min())
    for height in np.flatnonzero(rates_Bps <= rates_Bps.min() * (1 + 1e-12)).tolist():
        subtree = _subtrees(machine, height)
        subtrees = int(subtree[leaves].max()) + 1
        if height == 0 or subtrees % 2 == 0:
            name = f"{smaller * subtrees // len(leaves)} of {subtrees} subtrees of level {height + 1} cut off"
            return ClosedForm(name, lower_Bps, (subtree >= 0) & (subtree < smaller * subtrees // len(leaves)))
    return ClosedForm("any exchange of a tree", lower_Bps, None)


def _subtrees(machine: Machine, height: int) -> Ints:
    """Return the subtree up to this level of each router, numbered by leaves; -1 above the level."""
    assert machine.level is not None
    within = np.maximum(machine.level[machine.cable_tail], machine.level[machine.cable_head]) <= height
    part = component_labels(machine.cable_tail[within], machine.cable_head[within], machine.routers)
    _, first, number = np.unique(part, return_index=True, return_inverse=True)
    rank: Ints = np.argsort(np.argsort(first))[number]
    return np.where(machine.level <= height, rank, -1)
