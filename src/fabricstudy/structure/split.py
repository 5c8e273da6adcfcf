"""The least time in which links carry flows that may split over their paths: a linear program, bounded from below.

Where a routing allows several paths, the best split minimises the load of the bottleneck link (minimum congestion, or
maximum concurrent flow). By linear programming duality any non-negative lengths w of the links yield a lower bound:
each flow needs at least its shortest path, so sum(bytes * shortest length) <= time * sum(w * capacity)
(Shahrokhi and Matula: The maximum concurrent flow problem, J. ACM 37(2), 1990, doi:10.1145/77600.77620).

Good lengths grow exponentially with the load of a link, and flows move step by step to the paths that are shortest by
them, as far as that lessens the load (Fratta, Gerla and Kleinrock: The flow deviation method, Networks 3(2), 1973,
doi:10.1002/net.3230030202; Plotkin, Shmoys and Tardos: Fast approximation algorithms for fractional packing and
covering problems, Math. of OR 20(2), 1995, doi:10.1287/moor.20.2.257). On a small machine the lengths are then the dual
solution of the program over mixtures of known splits, each of which yields another split (Dantzig and Wolfe:
Decomposition principle for linear programs, Operations Research 8(1), 1960, doi:10.1287/opre.8.1.101); on a large one
the mean of the lengths of all steps. The result is a lower bound at any step.
"""

from dataclasses import dataclass

import numpy as np

from fabricstudy.core.arrays import Floats
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.base import Flows, PathGraph

EXPONENT = 50.0
"""Growth of the lengths: a link of 2 % less load has a length of 1/e."""

CLOSE = 0.99
"""Share of the best split at which the search ends."""

MAX_SPLIT_STEPS, WORK = 30, 1 << 24
"""Limits of steps, and of hops of all paths over all steps (0.1 s)."""

ANY_EXPONENT, ANY_STEPS = 20.0, 100
"""The same over any paths, which split into more ways."""

MAX_LP_LINKS, MAX_LP_SOLVES = 512, 15
"""Limits of links of a small machine, and of linear programs for it (some ms each)."""

WORK_OF_LINK = 16
"""Work of the shortest paths from a router, for each link, in hops of a path graph (which take a third of the time)."""

_HALVINGS = 15


@dataclass(frozen=True, eq=False)
class AnyPaths:
    """Flows between routers, all apart, over any paths of a machine, such as detours of adaptive routing."""

    machine: Machine
    flows: Flows

    @property
    def work(self) -> int:
        """Work of `shortest`."""
        return WORK_OF_LINK * len(np.unique(self.flows.source)) * self.machine.links

    def shortest(self, length: Floats) -> Floats:
        """Return the bytes on each link, float64 [links], if flows take paths of least total `length` [links]."""
        # Planning does not need it.
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import dijkstra

        tail, head, routers = self.machine.link_tail, self.machine.link_head, self.machine.routers
        # Any length above 0 keeps the order of routers of a path; it changes the result by less than rounding does.
        length = np.maximum(length, 1e-13 * length.max())
        longest_first = np.argsort(-length, kind="stable")
        shortest_link = np.full((routers, routers), -1)
        shortest_link[tail[longest_first], head[longest_first]] = longest_first
        used = shortest_link[shortest_link >= 0]
        graph = csr_array((length[used], (tail[used], head[used])), (routers, routers))
        sources, row = np.unique(self.flows.source, return_inverse=True)
        distance, before = dijkstra(graph, indices=sources, return_predecessors=True)
        flow = np.zeros((len(sources), routers))
        np.add.at(flow, (row, self.flows.goal), self.flows.size_bytes)
        load, rows = np.zeros(self.machine.links), np.arange(len(sources))
        for at in np.argsort(-distance, axis=1).T:
            previous = before[rows, at]
            moved = np.flatnonzero((previous >= 0) & (flow[rows, at] > 0))
            size_bytes = flow[moved, at[moved]]
            np.add.at(load, shortest_link[previous[moved], at[moved]], size_bytes)
            flow[moved, previous[moved]] += size_bytes
        return load


def best_split_s(
    capacity_Bps: Floats,
    paths: PathGraph | AnyPaths,
    load_bytes: Floats | None,
    known_s: float,
    exponent: float = EXPONENT,
    most_steps: int = MAX_SPLIT_STEPS,
) -> float:
    """Return a lower bound on the transfer time of the flows of `paths` under any split, in s.

    It is exact where each flow has one path, and on small machines mostly within 1 % of the best split. The search
    starts at the loads `load_bytes` [links], if any, and ends when the known bound `known_s` cannot be improved.
    """
    load = paths.shortest(1 / capacity_Bps) if load_bytes is None else load_bytes
    bound_s, best_s, lengths, splits = known_s, np.inf, np.zeros(len(load)), [load]
    steps = int(np.clip(WORK // max(paths.work, 1), 1, most_steps))
    for step in range(steps):
        busy_s = load / capacity_Bps
        most_s = busy_s.max(initial=0.0)
        best_s = min(best_s, most_s)
        # The first step uses bottleneck links only: exact if all flows over them have a single path.
        if bound_s >= best_s * (CLOSE if step else 1.0):
            return bound_s
        relative = busy_s / most_s
        growth = np.where(relative > 1 - 1e-9, 1.0, 0.0) if step == 0 else np.exp(exponent * (relative - 1))
        length = growth / growth.sum() / capacity_Bps
        lengths += length
        splits.append(paths.shortest(length))
        bound_s = max(bound_s, float(splits[-1] @ length))
        load = load + _moved(relative, splits[-1] / capacity_Bps / most_s, exponent) * (splits[-1] - load)
    if len(capacity_Bps) <= MAX_LP_LINKS:
        return _by_programs(capacity_Bps, paths, splits, bound_s)
    return max(bound_s, float(paths.shortest(lengths) @ lengths / steps))


def any_paths_s(machine: Machine, between_bytes: Floats, known_s: float) -> float:
    """Return `best_split_s` for traffic [routers, routers] over any paths, or `known_s` if that takes too long.

    The diagonal is ignored.
    """
    paths = AnyPaths(machine, Flows.between(between_bytes))
    if not 0 < paths.work <= WORK:
        return known_s
    return best_split_s(machine.link_capacity_Bps, paths, None, known_s, ANY_EXPONENT, ANY_STEPS)


def _by_programs(capacity_Bps: Floats, paths: PathGraph | AnyPaths, splits: list[Floats], bound_s: float) -> float:
    from scipy.optimize import linprog

    for _ in range(MAX_LP_SOLVES):
        busy_s = np.array(splits).T / capacity_Bps[:, None]
        scale = busy_s.max()
        solution = linprog(
            c=np.append(np.zeros(len(splits)), 1.0),
            A_ub=np.column_stack([busy_s / scale, -np.ones(len(busy_s))]),
            b_ub=np.zeros(len(busy_s)),
            A_eq=np.append(np.ones(len(splits)), 0.0)[None],
            b_eq=[1.0],
        )
        if solution.fun is None or bound_s >= CLOSE * solution.fun * scale:
            break
        length = np.maximum(-solution.ineqlin.marginals, 0.0) / capacity_Bps
        splits.append(paths.shortest(length))
        bound_s = max(bound_s, float(splits[-1] @ length / (length @ capacity_Bps)))
    return bound_s


def _moved(old: Floats, new: Floats, exponent: float) -> float:
    """Return the share of flows to move, by bisection on the slope of the sum of exponentials."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        share = (low + high) / 2
        busy = old + share * (new - old)
        rises = np.exp(exponent * (busy - busy.max())) @ (new - old) > 0
        low, high = (low, share) if rises else (share, high)
    return (low + high) / 2
