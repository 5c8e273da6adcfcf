"""Optimal cuts of small machines by mixed-integer programming."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import block_array, csr_array, eye_array

from fabricstudy.core.arrays import Bools, Floats
from fabricstudy.machine.graph import Machine

from .cut import capacity_step_Bps, cut_capacity_Bps, router_weights, smaller_side, weight_per_side

# A limit of nodes, unlike one of time, is deterministic.
SEARCH_NODES = 20_000
# The integrality tolerance of HiGHS, 1e-6, limits capacities to 1e5 steps.
FINEST_STEP = 1e-5


@dataclass(frozen=True, eq=False)
class CutSearch:
    """Result of the search: no cut has less than `lower_Bps`; `cut_side` is a better cut, if there is one."""

    lower_Bps: float
    cut_side: Bools | None


def better_cut(machine: Machine, known_Bps: float) -> CutSearch:
    """Search a connected machine for a cut of less than `known_Bps`, the capacity of a known cut.

    Binary variables are the half of each router, and whether each row of cables is cut; one router is fixed by
    symmetry. A better cut has at least one capacity step less, or one part in 100,000 where there is no common step.
    Unless the search reaches the limit of nodes, `lower_Bps` is the capacity of the better cut, or `known_Bps`.
    """
    step_Bps = max(capacity_step_Bps(machine), FINEST_STEP * known_Bps)
    capacity = machine.link_capacity_Bps[::2] / step_Bps
    routers, rows = machine.routers, len(capacity)
    router_weight = router_weights(machine).astype(np.float64)
    fixed = np.zeros(routers + rows)
    fixed[np.argmax(router_weight > 0)] = 1.0
    result = milp(
        np.concatenate([np.zeros(routers), capacity]),
        constraints=_constraints(machine, capacity, router_weight, known_Bps / step_Bps - 1),
        integrality=np.concatenate([np.ones(routers), np.zeros(rows)]),
        bounds=Bounds(fixed, np.ones(routers + rows)),
        options={"node_limit": SEARCH_NODES, "mip_rel_gap": 0.0},
    )
    infeasible = 2
    if result.status == infeasible:
        return CutSearch(known_Bps, None)
    dual_bound = result.mip_dual_bound
    lower_Bps = 0.0 if dual_bound is None else float(np.ceil(dual_bound - 1e-6)) * step_Bps
    if result.x is None:
        return CutSearch(min(lower_Bps, known_Bps), None)
    cut_side = smaller_side(router_weights(machine), result.x[:routers] > 0.5)
    return CutSearch(min(lower_Bps, cut_capacity_Bps(machine, cut_side)), cut_side)


def _constraints(machine: Machine, capacity: Floats, router_weight: Floats, most: float) -> LinearConstraint:
    """Rows with ends in both halves are cut; halves are balanced; the cut is at most `most`."""
    routers, rows = machine.routers, len(capacity)
    row, one = np.arange(rows), np.ones(rows)
    ends = np.concatenate([machine.cable_tail, machine.cable_head])
    difference = csr_array((np.concatenate([one, -one]), (np.tile(row, 2), ends)), shape=(rows, routers))
    cut = eye_array(rows)
    least, heaviest = weight_per_side(machine)
    return LinearConstraint(
        block_array(
            [
                [difference, cut],
                [-difference, cut],
                [csr_array(router_weight[None]), None],
                [None, csr_array(capacity[None])],
            ],
            format="csr",
        ),
        np.concatenate([np.zeros(2 * rows), [least, 0.0]]),
        np.concatenate([np.full(2 * rows, np.inf), [heaviest, most]]),
    )
