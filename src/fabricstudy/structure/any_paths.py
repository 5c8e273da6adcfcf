"""Flows that may take any path of a machine, such as detours of adaptive routing."""

from dataclasses import dataclass

import numpy as np

from fabricstudy.core.arrays import Floats, Ints
from fabricstudy.machine.graph import Machine

WORK_OF_LINK = 16
"""Work of the shortest paths from a router, for each link, in hops of a path graph (which take a third of the time)."""


@dataclass(frozen=True, eq=False)
class AnyPaths:
    """Flows between routers, all apart, over any paths; arrays [flows]."""

    machine: Machine
    source: Ints
    goal: Ints
    size_bytes: Floats

    @property
    def work(self) -> int:
        """Work of `shortest`."""
        return WORK_OF_LINK * len(np.unique(self.source)) * self.machine.links

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
        sources, row = np.unique(self.source, return_inverse=True)
        distance, before = dijkstra(graph, indices=sources, return_predecessors=True)
        flow = np.zeros((len(sources), routers))
        np.add.at(flow, (row, self.goal), self.size_bytes)
        load, rows = np.zeros(self.machine.links), np.arange(len(sources))
        for at in np.argsort(-distance, axis=1).T:
            previous = before[rows, at]
            moved = np.flatnonzero((previous >= 0) & (flow[rows, at] > 0))
            size_bytes = flow[moved, at[moved]]
            np.add.at(load, shortest_link[previous[moved], at[moved]], size_bytes)
            flow[moved, previous[moved]] += size_bytes
        return load
