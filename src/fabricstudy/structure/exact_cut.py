"""Small machines: find a better cut or prove that there is none, by mixed-integer programming."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import block_array, csr_array, eye_array

from fabricstudy.machine.graph import Machine

from .cut import capacity_step_Bps, cut_capacity_Bps, router_weights, smaller_side, weight_per_side

# A limit on nodes, unlike one on time, gives the same answer on a busy computer.
SEARCH_NODES = 20_000
# HiGHS takes 1e-6 for a whole number, so capacities of more than 1e5 steps would blur its proofs.
FINEST_STEP = 1e-5


@dataclass(frozen=True, eq=False)
class CutSearch:
    """Outcome of the search: no cut has less than `lower_Bps`; `cut_side` is a better one where there is."""

    lower_Bps: float
    cut_side: npt.NDArray[np.bool_] | None


def better_cut(machine: Machine, known_Bps: float) -> CutSearch:
    """Search a connected machine for a cut of less than `known_Bps`, the capacity of one that exists.

    One variable a router says in which half it is, one variable a row of cables whether the row is cut. One
    router with nodes is fixed, which halves the search. The best known cut enters as a constraint: any better one
    has at least one capacity step less. Where cuts have no common step, or a tiny one, only cuts that are better
    by one part in 100,000 count. Unless the search runs out of nodes, `lower_Bps` is the better cut's capacity, or
    `known_Bps` if there is none.
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


def _constraints(
    machine: Machine, capacity: npt.NDArray[np.float64], router_weight: npt.NDArray[np.float64], most: float
) -> LinearConstraint:
    """Cut rows are those with ends in both halves; halves are balanced; the cut is at most `most`."""
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
