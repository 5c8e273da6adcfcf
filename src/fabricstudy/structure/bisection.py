"""Bisection of a machine as an interval, with the best cut found.

The bisection is the least capacity, one direction of each cable, between two halves with equal numbers of nodes
(they differ by at most the nodes of the router with most). Theorems determine it for some grids and fat trees:
`fabricstudy.structure.closed_form`. Every cut is an upper bound: `fabricstudy.structure.cut`. Lower bounds are

* *spectral*: a cut of n1 and n2 nodes has at least lambda2 n1 n2 / (n1 + n2), lambda2 the second eigenvalue of the
  Laplacian L against the nodes W of the routers, L x = lambda W x (Fiedler 1973; Donath, Hoffman 1973);
* *all-to-all*: if one byte between all ordered pairs of nodes takes T seconds on some routes, no cut has less than
  n1 n2 / T, the bytes that cross it over that time (Leighton, Rao: J. ACM 46(6), 1999);
* *milp*: for small machines, an exhaustive search for a better cut by HiGHS (Huangfu, Hall: Math. Programming
  Computation 10, 2018).

Each bound is raised to the next multiple of the common step of all cuts.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from fabricstudy.core.arrays import Bools, Floats
from fabricstudy.machine.dimension import Dimension
from fabricstudy.machine.graph import Machine
from fabricstudy.machine.search import component_labels
from fabricstudy.routing.minimal import Minimal

from .closed_form import closed_form, dimension_capacities_Bps
from .cut import best_cut, capacity_step_Bps, cut_capacity_Bps, router_weights, weight_per_side
from .load import router_link_loads

ROUTERS_FOR_MILP = 48
ROUTERS_FOR_ALL_TO_ALL = 2500
ROUTERS_FOR_DENSE_EIGENVALUES = 1000


@dataclass(frozen=True, eq=False)
class BisectionBounds:
    """Bounds of a machine's bisection, in bytes per second, one direction of each cable."""

    lower_Bps: float
    upper_Bps: float
    exact: bool
    """True if both are proven equal; to one part in 100,000 where cuts have no common step."""
    method: str
    cut_side: Bools
    """The half with fewer nodes of the cut of capacity `upper_Bps`; bool [routers]."""

    def to_json(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "cut_side"}


def bisection_bounds(
    machine: Machine, quickly: bool = False, proven: bool = True, exhaustive: bool = True
) -> BisectionBounds:
    """Return bounds of the bisection of a connected machine; deterministic.

    `quickly` needs some ms for a hundred routers: fewer starts for cuts, and only theorems and the spectral lower
    bound; the interval may be wider. Without `proven` the lower bound is 0 where no theorem has the bisection; without
    `exhaustive` there is no search by HiGHS. If one router has all nodes, only host links separate them.
    """
    if np.count_nonzero(machine.nodes_of_router) < 2:
        half_Bps = machine.nodes // 2 * machine.host.bandwidth_Bps
        no_routers = np.zeros(machine.routers, dtype=np.bool_)
        return BisectionBounds(half_Bps, half_Bps, True, "closed form: host links of half of the nodes", no_routers)
    form = closed_form(machine)
    if form is not None and form.cut_side is not None:
        upper_Bps = cut_capacity_Bps(machine, form.cut_side)
        return BisectionBounds(upper_Bps, upper_Bps, True, f"closed form: {form.name}", form.cut_side)
    cut_side, upper = best_cut(machine, quickly), "metis and Kernighan-Lin"
    upper_Bps = cut_capacity_Bps(machine, cut_side)
    lower_Bps, lower = _lower_bound(machine, quickly) if proven else (0.0, "none")
    small = exhaustive and not quickly and machine.routers <= ROUTERS_FOR_MILP
    if small and lower_Bps < upper_Bps:
        from .exact_cut import better_cut

        searched = better_cut(machine, upper_Bps)
        if searched.cut_side is not None:
            cut_side, upper, upper_Bps = searched.cut_side, "milp", cut_capacity_Bps(machine, searched.cut_side)
        if searched.lower_Bps > lower_Bps:
            lower, lower_Bps = "milp", searched.lower_Bps
    exact = lower_Bps >= upper_Bps * (1 - 1e-9)
    method = f"lower: {lower}; upper: {upper}"
    return BisectionBounds(upper_Bps if exact else lower_Bps, upper_Bps, exact, method, cut_side)


def _lower_bound(machine: Machine, quickly: bool) -> tuple[float, str]:
    """Return the best of the cheap lower bounds, raised to a possible capacity, and its name."""
    form = closed_form(machine)
    if form is not None:  # not below the others
        bounds = {form.name: form.lower_Bps}
    elif not quickly and machine.routers <= ROUTERS_FOR_ALL_TO_ALL:
        bounds = {"spectral": spectral_bound_Bps(machine), "uniform flow": all_to_all_bound_Bps(machine)}
    else:
        bounds = {"spectral": spectral_bound_Bps(machine)}
    name = max(bounds, key=lambda name: bounds[name])
    lower_Bps, step = bounds[name], capacity_step_Bps(machine)
    # Tolerances prevent that rounding errors raise a bound by a step.
    lower_Bps *= 1 - 1e-9
    return (float(np.ceil(lower_Bps / step - 1e-6) * step) if step else lower_Bps), name


def all_to_all_bound_Bps(machine: Machine) -> float:
    """Return the lower bound from all-to-all under minimal routing, in bytes per second."""
    weight = router_weights(machine).astype(np.float64)
    loads = router_link_loads(machine, np.outer(weight, weight), Minimal())
    smaller, larger = weight_per_side(machine)
    return float(smaller * larger / np.max(loads / machine.link_capacity_Bps))


def spectral_bound_Bps(machine: Machine) -> float:
    """Return the lower bound from the second eigenvalue of the Laplacian, in bytes per second."""
    smaller, larger = weight_per_side(machine)
    return _second_eigenvalue(machine) * smaller * larger / (smaller + larger)


def _second_eigenvalue(machine: Machine) -> float:
    """Return the second eigenvalue of the Laplacian, reduced to the routers with nodes by a Schur complement.

    The eigenvalues of a grid are the sums of those of its dimensions (Fiedler 1973), where capacities within a
    dimension differ at least those of its least capacity.
    """
    if machine.dimensions and machine.nodes_of_router.all():
        capacity_Bps = dimension_capacities_Bps(machine)
        seconds = (_second_of_dimension(machine.dimensions[number]) * capacity_Bps[number] for number in capacity_Bps)
        return float(min(seconds))
    from scipy.sparse import csr_array, diags_array
    from scipy.sparse.linalg import spsolve

    shape = (machine.routers, machine.routers)
    weight = csr_array((machine.link_capacity_Bps, (machine.link_tail, machine.link_head)), shape=shape)
    laplacian: Any = (diags_array(weight.sum(axis=1)) - weight).tocsr()
    edge_router = np.flatnonzero(machine.nodes_of_router)
    component = component_labels(machine.link_tail, machine.link_head, machine.routers)
    free = np.flatnonzero((machine.nodes_of_router == 0) & np.isin(component, component[edge_router]))
    if len(free) and machine.routers <= ROUTERS_FOR_DENSE_EIGENVALUES:
        full = laplacian.toarray()
        outer = full[np.ix_(free, edge_router)]
        settled = outer.T @ np.linalg.solve(full[np.ix_(free, free)], outer)
        laplacian = csr_array(full[np.ix_(edge_router, edge_router)] - settled)
    elif len(free):
        inner = laplacian[free][:, free].tocsc()
        laplacian = laplacian[edge_router][:, edge_router] - csr_array(
            laplacian[edge_router][:, free] @ spsolve(inner, laplacian[free][:, edge_router].tocsc())
        )
    root = np.sqrt(router_weights(machine)[edge_router])
    if root.max() > 1:
        laplacian = diags_array(1 / root) @ laplacian @ diags_array(1 / root)
    if len(edge_router) <= ROUTERS_FOR_DENSE_EIGENVALUES:
        return float(np.linalg.eigvalsh(laplacian.toarray())[1])
    return _second_eigenvalue_by_lanczos(laplacian, root)


@cache
def _second_of_dimension(dimension: Dimension) -> float:
    joined = dimension.joined().astype(np.float64)
    return float(np.linalg.eigvalsh(np.diag(joined.sum(axis=1)) - joined)[1])


def _second_eigenvalue_by_lanczos(laplacian: Any, first_vector: Floats) -> float:
    """Return the second eigenvalue minus its residual, a lower bound; `first_vector` has the eigenvalue 0."""
    from scipy.sparse.linalg import LinearOperator, eigsh

    routers = laplacian.shape[0]
    # Shifting the first eigenvalue makes the second one the smallest.
    lift = 2.0 * laplacian.diagonal().max() * first_vector / np.mean(first_vector**2)

    def lifted(vector: Floats) -> Floats:
        product: Floats = laplacian @ vector + lift * np.mean(first_vector * vector)
        return product

    operator = LinearOperator((routers, routers), matvec=lifted, dtype=np.float64)
    start = np.random.default_rng(0).standard_normal(routers)
    values, vectors = eigsh(operator, k=1, which="SA", tol=1e-6, v0=start, ncv=40)
    residual = np.linalg.norm(lifted(vectors[:, 0]) - values[0] * vectors[:, 0])
    return max(0.0, float(values[0] - residual))
