"""Patches and computes placed by the machine, as NAMD places them."""

from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from fabricstudy.core.kinds import register
from fabricstudy.machine.hops import hop_distances

from ..mapping.orb import across, pairing
from .job_placement import JobPlacement
from .patches import Ints, PatchGrid
from .sends import Sends

_FULL = 2**30
"""More hops than any."""


@register
class PlacedPatches(PatchGrid):
    """The traffic of `patches`, with patches and computes placed by where the job lies.

    Three ways are the source's (Bhatele 2009). Topology oblivious: both dealt `evenly` in the order of the ranks.
    TopoPlace patches: patches by `orb`, computes evenly, each about where its first patch is in the order of the ranks.
    TopoAware LDBs: patches by `orb`, and a compute where its patches come to by the fewest new hops: on a rank that has
    both already, else one of them, else in the `brick` that the two span, and as near as there is room where that is
    full. No rank gets more computes than an even share, rounded up. The source does not tell the rules of its balancer,
    so this is like it, not it.
    """

    follows_placement: ClassVar[bool] = True

    kind: Literal["placed-patches"] = "placed-patches"
    place: Literal["evenly", "orb"] = Field(
        "orb", description="where patches are: every so many ranks, or in boxes of the machine that match their grid"
    )
    place_computes: Literal["evenly", "brick"] = Field(
        "brick", description="where computes are: evenly in the order of the ranks, or between their two patches"
    )

    def sends_at(self, site: JobPlacement) -> Sends:
        ranks = len(site.node_of_rank)
        first, second = (np.repeat(ends, self.split) for ends in self.computes())
        home = self._orb_homes(site) if self.place == "orb" else self.even_homes(ranks)
        if self.place_computes == "brick":
            at = _in_bricks(site, home, first, second)
        else:
            at = np.empty(len(first), dtype=np.int64)
            at[np.argsort(home[first], kind="stable")] = np.arange(len(first)) * ranks // len(first)
        return self.between(home, first, second, at, ranks)

    def _orb_homes(self, site: JobPlacement) -> Ints:
        """Return the rank of each patch: one in the middle of its box, where grid and machine are halved together."""
        place, patch = _places(site), np.indices(self.patches).reshape(3, -1).T
        partner = pairing(place, patch)
        home = np.empty(len(patch), dtype=np.int64)
        parts = [(np.arange(len(place)), np.arange(len(patch)))]
        while parts:
            ranks, patches = parts.pop()
            if len(patches) == 1 or len(ranks) == 1:
                home[patches] = ranks[len(ranks) // 2]
                continue
            along = int(np.argmax(np.ptp(place[ranks], axis=0)))
            box = ranks[np.argsort(place[ranks, along], kind="stable")]
            order = patches[across(patch[patches], partner.get(along))]
            low = len(order) // 2
            cut = max(1, len(box) * low // len(order))
            parts += [(np.sort(box[:cut]), order[:low]), (np.sort(box[cut:]), order[low:])]
        return home


def _places(site: JobPlacement) -> npt.NDArray[np.int64]:
    """Coordinates of the router of each rank; off a grid the router's number is the only one."""
    where = site.machine.coordinates
    router = site.router_of_rank
    return (router[:, None] if where is None else where[router]).astype(np.int64)


def _in_bricks(site: JobPlacement, home: Ints, first: Ints, second: Ints) -> Ints:
    """Return the rank of each compute: where there is room, and its patches come to by the fewest new hops."""
    router = site.router_of_rank.astype(np.int64)
    share = -(-len(first) // len(router))
    # Hops that a patch needs to each rank; none once the rank has it.
    hops_to = hop_distances(site.machine).between(router[home][:, None], router).astype(np.int32)
    hops_to[np.arange(len(home)), home] = 0
    full = np.zeros(len(router), dtype=np.int32)
    computes = np.zeros(len(router), dtype=np.int64)
    chosen = np.empty(len(first), dtype=np.int64)
    for compute, (one, other) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
        cost = hops_to[one] + full if one == other else hops_to[one] + hops_to[other] + full
        rank = int(np.argmin(cost))
        chosen[compute] = rank
        hops_to[[one, other], rank] = 0
        computes[rank] += 1
        if computes[rank] == share:
            full[rank] = _FULL
    return chosen
