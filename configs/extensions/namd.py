"""Patches and computes, as in NAMD."""

import itertools
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from fabricstudy.core.arrays import Ints
from fabricstudy.core.model import Whole
from fabricstudy.core.quantities import Size
from fabricstudy.machine.distances import hop_distances
from fabricstudy.workload.mapping.orb import across, pairing
from fabricstudy.workload.pattern.base import (
    JobPlacement,
    MessagePattern,
    Sends,
    TrafficEstimate,
    between_ranks,
    concatenate_phases,
)


class PatchGrid(MessagePattern):
    """Base of NAMD-like patterns: a periodic grid of patches, and computes for each pair of near patches."""

    message_bytes: Size = Field(alias="message", description="size of each message")
    patches: Annotated[tuple[Annotated[Whole, Field(ge=1, le=1000)], ...], Field(min_length=3, max_length=3)] = Field(
        description="patches along each of three dimensions"
    )
    away: Literal[1, 2] = Field(1, description="interaction range, in patches along a dimension")
    split: Whole = Field(1, ge=1, le=1000, description="number of computes into which each compute is split")
    forces_bytes: Size | None = Field(None, alias="forces", description="size of a patch's forces; default: message")

    def traffic(self, ranks: int) -> tuple[TrafficEstimate, ...]:
        """Count the messages by size; an upper estimate, as if no two computes shared a rank."""
        first, _ = self.computes()
        messages = min(2.0 * len(first) * self.split, float(ranks) * (ranks - 1)) * self.iterations
        back = int(self.forces_bytes or self.message_bytes)
        return (TrafficEstimate(messages, int(self.message_bytes), 2), TrafficEstimate(messages, back, 2))

    def computes(self) -> tuple[Ints, Ints]:
        """Return the two patches of each compute, equal for the self-interaction of a patch.

        Examples
        --------
        >>> first, second = Patches.model_validate({"message": "1 kB", "patches": [6, 6, 4]}).computes()
        >>> len(first) / 144, int((first == second).sum())
        (14.0, 144)
        """
        coordinates = np.indices(self.patches).reshape(3, -1)
        patch = np.arange(coordinates.shape[1])
        pairs = [np.stack([patch, patch])]
        for shift in itertools.product(range(-self.away, self.away + 1), repeat=3):
            shifted = tuple(coordinates + np.array(shift)[:, None])
            neighbour = np.ravel_multi_index(shifted, self.patches, mode="wrap")
            pairs.append(np.sort(np.stack([patch, neighbour]), axis=0))
        distinct = np.unique(np.concatenate(pairs, axis=1), axis=1)
        return distinct[0].astype(np.int64), distinct[1].astype(np.int64)

    def even_homes(self, ranks: int) -> Ints:
        """Return the rank of each patch in an even distribution."""
        count = int(np.prod(self.patches))
        return np.arange(count) * ranks // count

    def between(self, home: Ints, first: Ints, second: Ints, rank: Ints, ranks: int) -> Sends:
        """Send from the homes of the patches `first` and `second` to their computes on `rank`, and back."""
        patch = np.concatenate([first, second])
        # A rank receives a patch once, regardless of how many of its computes it has.
        sent = np.unique(np.stack([home[patch], np.tile(rank, 2), patch]), axis=1)
        out = between_ranks(sent[0], sent[1], int(self.message_bytes), ranks)
        back = between_ranks(sent[1], sent[0], int(self.forces_bytes or self.message_bytes), ranks)
        return concatenate_phases([out, back], self.iterations)


class Patches(PatchGrid, kind="patches"):
    """NAMD-like traffic: a periodic grid of patches, and compute objects per patch and per pair of near patches.

    Each patch sends its atoms once to every rank with one of its computes (proxies); forces return in the next
    phase. Patches and computes are distributed evenly over the ranks, each compute near its first patch, so every
    mapping applies. A grid of 6 x 6 x 4 is that of ApoA1 in Bhatele and Kalé 2008, who do not state sizes and the load
    balancer, so this is an approximation.
    """

    def sends(self, ranks: int, rng: np.random.Generator) -> Sends:
        first, second = (np.repeat(ends, self.split) for ends in self.computes())
        rank = np.arange(len(first)) * ranks // len(first)
        return self.between(self.even_homes(ranks), first, second, rank, ranks)


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
