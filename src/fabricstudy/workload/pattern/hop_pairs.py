"""Pairs a stated number of hops apart along a dimension."""

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from fabricstudy.core.kinds import register
from fabricstudy.core.model import ConfigError, Flag, Whole
from fabricstudy.machine.base import Topology

from ..messages import Indices, WorkloadError
from .base import MessagePattern, TrafficEstimate
from .job_placement import JobPlacement
from .pairs import request_and_reply
from .sends import Sends, one_phase


@register
class HopPairs(MessagePattern):
    """Ranks exchange that are a number of hops apart along one dimension, as in WICON2 (Bhatele and Kalé 2008).

    Along each line, from coordinate 0 up, a router is paired with the one `hops` further while both are free; who is
    left is idle. On a ring of 16, 3, 5, 6 or 7 hops leave 2, 4, 4 and 2 of them. The bottleneck link carries `hops`
    messages of each rank of a router, so times go with the hops where messages are large.
    """

    follows_placement: ClassVar[bool] = True

    kind: Literal["hop-pairs"] = "hop-pairs"
    dimension: str = Field("z", min_length=1, max_length=1, description="link class of the dimension, such as z")
    hops: Whole = Field(ge=1, description="hops between the two of a pair; on a ring at most half of it")
    reply: Flag = Field(False, description="whether the higher coordinate answers, rather than both sending at once")

    def traffic(self, ranks: int) -> tuple[TrafficEstimate, ...]:
        """Count the messages by size (upper estimate: nobody is idle)."""
        return (TrafficEstimate(float(ranks) * self.iterations, int(self.message_bytes), 2 if self.reply else 1),)

    def check_machine(self, machine: Topology) -> None:
        """Refuse a machine without this dimension, and more hops than a shortest way along it has."""
        names = [str(name).lower() for name in getattr(machine, "axis_names", ())]
        grid = getattr(machine, "grid", ())
        if "dimensions" not in machine.traits or self.dimension.lower() not in names[: len(grid)]:
            problem = f"a machine of kind {machine.kind} has no such dimension"
            dimensions = ", ".join(names[: len(grid)]) or "none here"
            raise ConfigError(problem, f"known: {dimensions}", ("dimension",), self.dimension, "unsupported")
        dimension = grid[names.index(self.dimension.lower())]
        longest = int(dimension.hops().max())
        if self.hops > longest or dimension.gap is not None:
            problem = f"no shortest way along this dimension has so many hops (the longest has {longest})"
            remedy = "take fewer hops, on a torus or a mesh"
            raise ConfigError(problem, remedy, ("hops",), self.hops, "unsupported")

    def sends_at(self, site: JobPlacement) -> Sends:
        """Send between the k-th ranks of the two routers of a pair."""
        lower, higher = self._pairs(site)
        if not len(lower):
            apart = f"{self.hops} hops apart along {self.dimension}"
            raise WorkloadError(f"no two ranks are {apart}; give the job more nodes")
        if self.reply:
            return request_and_reply(lower, higher, self.iterations)
        ends = np.concatenate([lower, higher]), np.concatenate([higher, lower])
        return one_phase(*ends, self.iterations)

    def _pairs(self, site: JobPlacement) -> tuple[Indices, Indices]:
        machine, router = site.machine, site.router_of_rank
        names = [link.name for link in machine.classes[: len(machine.dimensions)]]
        if self.dimension.lower() not in names or machine.coordinates is None:
            raise WorkloadError(f"the machine has no dimension {self.dimension}")
        along = names.index(self.dimension.lower())
        stride = int(np.prod([one.length for one in machine.dimensions[:along]]))
        order = np.argsort(router, kind="stable")
        first = np.searchsorted(router[order], np.arange(machine.routers))
        count = np.bincount(router, minlength=machine.routers)
        free = count > 0
        lower, higher = [], []
        for start in np.flatnonzero(machine.coordinates[:, along] == 0):
            line = start + stride * np.arange(machine.dimensions[along].length)
            for here, there in zip(line, line[self.hops :], strict=False):
                if free[here] and free[there]:
                    free[[here, there]] = False
                    both = range(min(count[here], count[there]))
                    lower += [order[first[here] + k] for k in both]
                    higher += [order[first[there] + k] for k in both]
        return np.array(lower, dtype=np.int32), np.array(higher, dtype=np.int32)
