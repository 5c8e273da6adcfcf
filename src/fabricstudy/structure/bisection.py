"""Bisection of a machine as an interval, with the best cut found.

The bisection is the least capacity, one direction of each cable, between two halves with equal numbers of nodes
(as equal as whole routers allow: they differ by at most the nodes of the router with most). Of some grids and fat trees
theorems give it: `fabricstudy.structure.closed_form`.
Every cut bounds it from above: `fabricstudy.structure.cut`. From below there are

* *spectral*: a cut of n1 and n2 nodes has at least lambda2 n1 n2 / (n1 + n2), lambda2 the second eigenvalue of the
  Laplacian L against the nodes W of the routers, L x = lambda W x (Fiedler 1973; Donath, Hoffman 1973);
* *all-to-all*: if one byte between all ordered pairs of nodes takes T seconds on some routes, no cut has less than
  n1 n2 / T, the bytes that cross it over that time (Leighton, Rao: J. ACM 46(6), 1999);
* *milp*: for small machines the search for any better cut, by HiGHS; finding none proves the cut (Huangfu, Hall:
  Math. Programming Computation 10, 2018).

Each bound is raised to the next multiple of the step that all cuts share.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fabricstudy.machine.graph import Machine
from fabricstudy.routing.minimal import Minimal

from .closed_form import closed_form, dimension_capacities_Bps
from .cut import best_cut, capacity_step_Bps, cut_capacity_Bps, router_weights, weight_per_side
from .load import router_link_loads

ROUTERS_FOR_MILP = 48
ROUTERS_FOR_ALL_TO_ALL = 2500
ROUTERS_FOR_DENSE_EIGENVALUES = 1000


@dataclass(frozen=True, eq=False)
class BisectionBounds:
    """What is known of a machine's bisection."""

    lower_Bps: float
    upper_Bps: float
    """The bisection lies between them, in bytes per second, one direction of each cable."""
    exact: bool
    """Whether both are proven equal; to one part in 100,000 where cuts have no common step."""
    method: str
    """How the lower and the upper end were found."""
    cut_side: npt.NDArray[np.bool_]
    """One half of the cut whose capacity is `upper_Bps`; the one with fewer nodes, if they differ; bool [routers]."""

    def to_json(self) -> dict[str, Any]:
        """Everything but the cut itself."""
        return {name: value for name, value in vars(self).items() if name != "cut_side"}


def bisection_bounds(machine: Machine, quickly: bool = False) -> BisectionBounds:
    """Bracket the bisection of a connected machine; the same each time for the same one.

    Parameters
    ----------
    quickly : bool, optional
        In some ms for a hundred routers: cuts from fewer starts above, and below no more than theorems and the
        spectral bound. The interval is as proven, and may be wider.

    Raises
    ------
    ValueError
        If fewer than two routers have nodes.
    """
    form = closed_form(machine)
    if form is not None and form.cut_side is not None:
        upper_Bps = cut_capacity_Bps(machine, form.cut_side)
        return BisectionBounds(upper_Bps, upper_Bps, True, f"closed form: {form.name}", form.cut_side)
    cut_side, upper = best_cut(machine, quickly), "metis and Kernighan-Lin"
    upper_Bps = cut_capacity_Bps(machine, cut_side)
    lower_Bps, lower = _lower_bound(machine, quickly)
    if not quickly and lower_Bps < upper_Bps and machine.routers <= ROUTERS_FOR_MILP:
        from .exact_cut import better_cut

        searched = better_cut(machine, upper_Bps)
        if searched.cut_side is not None:
            cut_side, upper, upper_Bps = searched.cut_side, "milp", cut_capacity_Bps(machine, searched.cut_side)
        if searched.lower_Bps > lower_Bps:
            lower, lower_Bps = "milp", searched.lower_Bps
    exact = lower_Bps >= upper_Bps * (1 - 1e-9)
    return BisectionBounds(
        lower_Bps=upper_Bps if exact else lower_Bps,
        upper_Bps=upper_Bps,
        exact=exact,
        method=f"lower: {lower}; upper: {upper}",
        cut_side=cut_side,
    )


def _lower_bound(machine: Machine, quickly: bool) -> tuple[float, str]:
    """Best of the cheap lower bounds and its name, raised to a possible capacity."""
    form = closed_form(machine)
    if form is not None:  # at least as large as the others
        bounds = {form.name: form.lower_Bps}
    elif not quickly and machine.routers <= ROUTERS_FOR_ALL_TO_ALL:
        bounds = {"spectral": spectral_bound_Bps(machine), "all-to-all": all_to_all_bound_Bps(machine)}
    else:
        bounds = {"spectral": spectral_bound_Bps(machine)}
    name = max(bounds, key=lambda name: bounds[name])
    lower_Bps, step = bounds[name], capacity_step_Bps(machine)
    # The tolerances keep rounding errors from lifting a bound by a whole step.
    lower_Bps *= 1 - 1e-9
    return (float(np.ceil(lower_Bps / step - 1e-6) * step) if step else lower_Bps), name


def all_to_all_bound_Bps(machine: Machine) -> float:
    """Lower bound from the link loads of all-to-all under minimal routing, in bytes per second."""
    weight = router_weights(machine).astype(np.float64)
    loads = router_link_loads(machine, np.outer(weight, weight), Minimal())
    smaller, larger = weight_per_side(machine)
    return float(smaller * larger / np.max(loads / machine.link_capacity_Bps))


def spectral_bound_Bps(machine: Machine) -> float:
    """Lower bound from the second eigenvalue of the Laplacian, in bytes per second."""
    smaller, larger = weight_per_side(machine)
    return _second_eigenvalue(machine) * smaller * larger / (smaller + larger)


def _second_eigenvalue(machine: Machine) -> float:
    """Second eigenvalue of the Laplacian on the routers with nodes; the others settle where they cost least.

    The eigenvalues of a grid are the sums of those of its dimensions (Fiedler 1973).
    """
    capacity_Bps = dimension_capacities_Bps(machine) if machine.dimensions else None
    if capacity_Bps is not None and machine.nodes_of_router.all():
        joined = [dimension.joined().astype(np.float64) for dimension in machine.dimensions]
        second = [float(np.linalg.eigvalsh(np.diag(line.sum(axis=1)) - line)[1]) for line in joined]
        return min(capacity * eigenvalue for capacity, eigenvalue in zip(capacity_Bps, second, strict=True))
    from scipy.sparse import csr_array, diags_array
    from scipy.sparse.linalg import spsolve

    shape = (machine.routers, machine.routers)
    weight = csr_array((machine.link_capacity_Bps, (machine.link_tail, machine.link_head)), shape=shape)
    laplacian: Any = (diags_array(weight.sum(axis=1)) - weight).tocsr()
    edge_router = np.flatnonzero(machine.nodes_of_router)
    free = np.flatnonzero(machine.nodes_of_router == 0)
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


def _second_eigenvalue_by_lanczos(laplacian: Any, first_vector: npt.NDArray[np.float64]) -> float:
    """Second eigenvalue less its residual, so that the approximation does not exceed it.

    The first one is 0, and `first_vector` belongs to it.
    """
    from scipy.sparse.linalg import LinearOperator, eigsh

    routers = laplacian.shape[0]
    # Lifting the first vector out of the way makes the second eigenvalue the smallest.
    lift = 2.0 * laplacian.diagonal().max() * first_vector / np.mean(first_vector**2)

    def lifted(vector: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        product: npt.NDArray[np.float64] = laplacian @ vector + lift * np.mean(first_vector * vector)
        return product

    operator = LinearOperator((routers, routers), matvec=lifted, dtype=np.float64)
    start = np.random.default_rng(0).standard_normal(routers)
    values, vectors = eigsh(operator, k=1, which="SA", tol=1e-6, v0=start, ncv=40)
    residual = np.linalg.norm(lifted(vectors[:, 0]) - values[0] * vectors[:, 0])
    return max(0.0, float(values[0] - residual))
