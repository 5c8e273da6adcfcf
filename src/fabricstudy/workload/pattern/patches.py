"""Patches and computes, like NAMD."""

import itertools
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from fabricstudy.core.kinds import register
from fabricstudy.core.model import Whole
from fabricstudy.core.quantities import Size

from .base import MessagePattern, TrafficEstimate
from .sends import Sends, between_ranks, concatenate_phases

Ints = npt.NDArray[np.int64]


class PatchGrid(MessagePattern):
    """What the patterns have that are like NAMD: a periodic grid of patches, and computes for each two near ones."""

    patches: Annotated[tuple[Annotated[Whole, Field(ge=1, le=1000)], ...], Field(min_length=3, max_length=3)] = Field(
        description="patches along each of three dimensions"
    )
    away: Literal[1, 2] = Field(1, description="patches along a dimension across which atoms interact")
    split: Whole = Field(1, ge=1, le=1000, description="computes into which each is divided")
    forces_bytes: Size | None = Field(None, alias="forces", description="size of forces on a patch; left out: message")

    def traffic(self, ranks: int) -> tuple[TrafficEstimate, ...]:
        """Count the messages by size (upper estimate: no two computes share a rank)."""
        first, _ = self.computes()
        messages = min(2.0 * len(first) * self.split, float(ranks) * (ranks - 1)) * self.iterations
        back = int(self.forces_bytes or self.message_bytes)
        return (TrafficEstimate(messages, int(self.message_bytes), 2), TrafficEstimate(messages, back, 2))

    def computes(self) -> tuple[Ints, Ints]:
        """Return the two patches of each compute, the same one twice for those of a patch with itself.

        Examples
        --------
        >>> first, second = Patches.model_validate({"message": "1 kB", "patches": [6, 6, 4]}).computes()
        >>> len(first) / 144, int((first == second).sum())
        (14.0, 144)
        """
        place = np.indices(self.patches).reshape(3, -1)
        patch = np.arange(place.shape[1])
        pairs = [np.stack([patch, patch])]
        for shift in itertools.product(range(-self.away, self.away + 1), repeat=3):
            moved = [(at + by) % length for at, by, length in zip(place, shift, self.patches, strict=True)]
            other = np.ravel_multi_index(tuple(moved), self.patches)
            pairs.append(np.sort(np.stack([patch, other]), axis=0))
        distinct = np.unique(np.concatenate(pairs, axis=1), axis=1)
        return distinct[0].astype(np.int64), distinct[1].astype(np.int64)

    def even_homes(self, ranks: int) -> Ints:
        """Rank of each patch, where they are dealt evenly."""
        count = int(np.prod(self.patches))
        return np.arange(count) * ranks // count

    def between(self, home: Ints, first: Ints, second: Ints, at: Ints, ranks: int) -> Sends:
        """Send from patches at their homes to computes, whose two patches and rank are given, and back."""
        ends = np.concatenate([home[first], home[second]]), np.concatenate([at, at])
        which = np.concatenate([first, second])
        # A rank gets a patch once, however many of its computes it has.
        sent = np.unique(np.stack([*ends, which]), axis=1)
        out = between_ranks(sent[0], sent[1], int(self.message_bytes), ranks)
        back = between_ranks(sent[1], sent[0], int(self.forces_bytes or self.message_bytes), ranks)
        return concatenate_phases([out, back], self.iterations)


@register
class Patches(PatchGrid):
    """Like NAMD: a periodic grid of patches, and computes for each patch and each two that are near each other.

    Each patch sends its atoms to every rank that has a compute of it, once (proxies); forces come back in the next
    phase. Patches and computes are dealt evenly to the ranks, each compute about where its first patch is, so every
    mapping can take the ranks. A grid of 6 x 6 x 4 is that of ApoA1 in Bhatele and Kalé 2008, who do not tell sizes
    and the balancer, so this is like it, not it.
    """

    kind: Literal["patches"] = "patches"

    def sends(self, ranks: int, rng: np.random.Generator) -> Sends:
        first, second = (np.repeat(ends, self.split) for ends in self.computes())
        at = np.arange(len(first)) * ranks // len(first)
        return self.between(self.even_homes(ranks), first, second, at, ranks)
