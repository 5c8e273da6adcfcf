"""Pairs of ranks a fixed number of hops apart along a dimension, as in the benchmark WICON2."""

import numpy as np
from pydantic import Field

from fabricstudy.core.arrays import Integers
from fabricstudy.core.model import ConfigError, Flag, Whole
from fabricstudy.machine.base import Topology
from fabricstudy.workload.messages import WorkloadError
from fabricstudy.workload.pattern.base import (
    JobPlacement,
    MessagePattern,
    Sends,
    TrafficEstimate,
    both_ways,
    request_and_reply,
)


class HopPairs(MessagePattern, kind="hop-pairs"):
    """Pairs of ranks `hops` apart along one dimension exchange messages, as in WICON2 (Bhatele and Kalé 2008).

    Along each line, from coordinate 0 up, a router is paired with the one `hops` further while both are free; routers
    left over are idle. On a ring of 16, 3, 5, 6 or 7 hops leave 2, 4, 4 and 2 of them idle. The bottleneck link then
    carries `hops` messages of each rank of a router, so the runtime of large messages is proportional to the hops.
    """

    follows_placement = True
    dimension: str = Field("z", min_length=1, max_length=1, description="link class of the dimension, such as z")
    hops: Whole = Field(ge=1, description="hops between the ranks of a pair; on a ring at most half its length")
    reply: Flag = Field(False, description="the higher coordinate replies, instead of both sending at once")

    def traffic(self, ranks: int) -> tuple[TrafficEstimate, ...]:
        """Count the messages by size; an upper estimate, as if no rank were idle."""
        return (TrafficEstimate(float(ranks) * self.iterations, int(self.message_bytes), 2 if self.reply else 1),)

    def check_machine(self, machine: Topology) -> None:
        names = [str(name).lower() for name in getattr(machine, "axis_names", ())]
        grid = getattr(machine, "grid", ())
        if "dimensions" not in machine.traits or self.dimension.lower() not in names[: len(grid)]:
            problem = f"a machine of kind {machine.kind} has no such dimension"
            known = ", ".join(names[: len(grid)]) or "none"
            raise ConfigError(problem, f"known: {known}", ("dimension",), self.dimension, "unsupported")
        dimension = grid[names.index(self.dimension.lower())]
        longest = int(dimension.hops().max())
        if self.hops > longest or dimension.gap is not None:
            problem = f"no shortest path along this dimension has so many hops (the longest has {longest})"
            remedy = "use fewer hops, on a torus or a mesh"
            raise ConfigError(problem, remedy, ("hops",), self.hops, "unsupported")

    def sends_at(self, site: JobPlacement) -> Sends:
        lower, higher = self._pairs(site)
        if not len(lower):
            distance = f"{self.hops} hops apart along {self.dimension}"
            raise WorkloadError(f"no two ranks are {distance}; give the job more nodes")
        return (request_and_reply if self.reply else both_ways)(lower, higher, self.iterations)

    def _pairs(self, site: JobPlacement) -> tuple[Integers, Integers]:
        """The k-th ranks of the two routers of each pair."""
        machine, router = site.machine, site.router_of_rank
        names = [link.name for link in machine.classes[: len(machine.dimensions)]]
        if self.dimension.lower() not in names or machine.coordinates is None:
            raise WorkloadError(f"the machine has no dimension {self.dimension}")
        axis = names.index(self.dimension.lower())
        stride = int(np.prod([dimension.length for dimension in machine.dimensions[:axis]]))
        order = np.argsort(router, kind="stable")
        first = np.searchsorted(router[order], np.arange(machine.routers))
        count = np.bincount(router, minlength=machine.routers)
        free = count > 0
        pairs = []
        for start in np.flatnonzero(machine.coordinates[:, axis] == 0):
            line = start + stride * np.arange(machine.dimensions[axis].length)
            for low, high in zip(line, line[self.hops :], strict=False):
                if free[low] and free[high]:
                    free[[low, high]] = False
                    ranks = range(min(count[low], count[high]))
                    pairs += [(order[first[low] + k], order[first[high] + k]) for k in ranks]
        lower, higher = np.array(pairs, dtype=np.int32).reshape(-1, 2).T
        return lower, higher
