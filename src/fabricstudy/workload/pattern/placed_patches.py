"""Patches and computes placed by the topology, as in NAMD."""

from typing import Literal

import numpy as np
from pydantic import Field

from fabricstudy.core.arrays import Ints
from fabricstudy.machine.hops import hop_distances

from ..mapping.orb import across, pairing
from .base import JobPlacement, Sends
from .patches import PatchGrid

_FULL = 2**30
"""More hops than any."""


class PlacedPatches(PatchGrid, kind="placed-patches"):
    """The traffic of `patches`, with patches and computes placed by the topology of the job's nodes.

    The source has three methods (Bhatele 2009). Topology oblivious: both distributed `evenly` in rank order.
    TopoPlace patches: patches by `orb`, computes evenly, each near its first patch in rank order. TopoAware LDBs:
    patches by `orb`, and a compute where its patches need the fewest new hops: on a rank that already has both, else
    one of them, else in the `brick` spanned by the two, or the nearest free rank where that is full. No rank gets more
    computes than an even share, rounded up. The source does not state the rules of its load balancer, so this is an
    approximation.
    """

    follows_placement = True
    place: Literal["evenly", "orb"] = Field(
        "orb", description="placement of patches: evenly in rank order, or in boxes of the machine by their grid"
    )
    place_computes: Literal["evenly", "brick"] = Field(
        "brick", description="placement of computes: evenly in rank order, or between their two patches"
    )

    def sends_at(self, site: JobPlacement) -> Sends:
        ranks = len(site.node_of_rank)
        first, second = (np.repeat(ends, self.split) for ends in self.computes())
        home = self._orb_homes(site) if self.place == "orb" else self.even_homes(ranks)
        if self.place_computes == "brick":
            rank = _in_bricks(site, home, first, second)
        else:
            rank = np.empty(len(first), dtype=np.int64)
            rank[np.argsort(home[first], kind="stable")] = np.arange(len(first)) * ranks // len(first)
        return self.between(home, first, second, rank, ranks)

    def _orb_homes(self, site: JobPlacement) -> Ints:
        """Rank of each patch: in the middle of its box, as grid and machine are bisected together."""
        router, coordinates = site.router_of_rank, site.machine.coordinates
        # Off a grid the router's number is the only coordinate.
        place = (router[:, None] if coordinates is None else coordinates[router]).astype(np.int64)
        patch = np.indices(self.patches).reshape(3, -1).T
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


def _in_bricks(site: JobPlacement, home: Ints, first: Ints, second: Ints) -> Ints:
    """Rank of each compute: one with free capacity that its patches reach by the fewest new hops."""
    router = site.router_of_rank.astype(np.int64)
    share = -(-len(first) // len(router))
    # Hops from a patch to each rank; none once the rank has it.
    hops_to = hop_distances(site.machine).between(router[home][:, None], router).astype(np.int32)
    hops_to[np.arange(len(home)), home] = 0
    full = np.zeros(len(router), dtype=np.int32)
    computes = np.zeros(len(router), dtype=np.int64)
    chosen = np.empty(len(first), dtype=np.int64)
    for compute, (patch, partner) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
        cost = hops_to[patch] + full if patch == partner else hops_to[patch] + hops_to[partner] + full
        rank = int(np.argmin(cost))
        chosen[compute] = rank
        hops_to[[patch, partner], rank] = 0
        computes[rank] += 1
        if computes[rank] == share:
            full[rank] = _FULL
    return chosen
