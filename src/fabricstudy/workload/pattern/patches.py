"""Patches and computes, as in NAMD."""

import itertools
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from fabricstudy.core.arrays import Ints
from fabricstudy.core.model import Whole
from fabricstudy.core.quantities import Size

from .base import MessagePattern, Sends, TrafficEstimate, between_ranks, concatenate_phases


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
