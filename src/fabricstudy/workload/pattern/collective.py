"""Steps of collective operations as implemented in MPI libraries.

Ranks are counted from the root: rank 0 here is the root of the study. A vector of n bytes is divided among p ranks
into blocks that differ by at most one byte: block i extends from n i // p to n (i + 1) // p.

References
----------
Thakur, Rabenseifner, Gropp: Optimization of collective communication operations in MPICH. Int. J. High Performance
Computing Applications 19(1), 2005, doi:10.1177/1094342005051521.
Chan, Heimlich, Purkayastha, van de Geijn: Collective communication: theory, practice, and experience. Concurrency and
Computation 19(13), 2007, doi:10.1002/cpe.1206.
Hensgen, Finkel, Manber: Two algorithms for barrier synchronization. Int. J. Parallel Programming 17(1), 1988,
doi:10.1007/BF01379320.
Sanders, Speck, Träff: Two-tree algorithms for full bandwidth broadcast, reduction and scan. Parallel Computing 35(12),
2009, doi:10.1016/j.parco.2009.09.001; as in NCCL since 2.4 (src/graph/trees.cc).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from pydantic import Field

from fabricstudy.core.arrays import Ints
from fabricstudy.core.model import ConfigError, Whole
from fabricstudy.core.quantities import Size

from .base import MessagePattern, Sends, TrafficEstimate, repeat, without_empty

SEGMENT_BYTES, MAX_SEGMENTS = 2**17, 16
"""Least size and largest number of the segments of a tree."""

Step = tuple[Ints, Ints, Ints]
"""Sources, destinations and bytes of the messages of one phase, int64 [messages]."""


def largest_power_of_two(ranks: int) -> int:
    """Return the largest power of two that is at most `ranks`.

    Examples
    --------
    >>> largest_power_of_two(13), largest_power_of_two(16)
    (8, 16)
    """
    return 1 << (ranks.bit_length() - 1)


def ends_of_blocks(total_bytes: int, ranks: int) -> Ints:
    """Return the offset of each block, and the end of the last, int64 [ranks + 1].

    Examples
    --------
    >>> ends_of_blocks(10, 4).tolist()
    [0, 2, 5, 7, 10]
    """
    return np.array([total_bytes * rank // ranks for rank in range(ranks + 1)], dtype=np.int64)


def exchange(source: Ints, destination: Ints, size_bytes: Ints | int) -> Step:
    """Return a step in which each source sends to its destination."""
    return source, destination, np.broadcast_to(np.asarray(size_bytes, dtype=np.int64), source.shape)


def fold(ranks: int, size_bytes: int) -> tuple[list[Step], Ints, list[Step]]:
    """Reduce the ranks to a power of two: return the steps before, the active ranks, int64, and the steps after.

    Of the first 2 r ranks, r being the excess over the power, each even one sends its vector to the next rank, which
    acts for both and returns the result.
    """
    excess = ranks - largest_power_of_two(ranks)
    even = 2 * np.arange(excess)
    workers = np.concatenate([even + 1, np.arange(2 * excess, ranks)])
    if not excess:
        return [], workers, []
    return [exchange(even, even + 1, size_bytes)], workers, [exchange(even + 1, even, size_bytes)]


def halving(workers: Ints, ends: Ints) -> list[Step]:
    """Reduce-scatter among a power of two of ranks: exchange half of the vector, then a quarter, and so on.

    Worker i ends with the part from ``ends[i]`` to ``ends[i + 1]``.
    """
    number = np.arange(len(workers))
    steps = []
    distance = len(workers) // 2
    while distance:
        partner = number ^ distance
        first = partner // distance * distance
        steps.append(exchange(workers, workers[partner], ends[first + distance] - ends[first]))
        distance //= 2
    return steps


def reverse_steps(steps: Iterable[Step]) -> list[Step]:
    """Reverse all sends, last step first: a scatter becomes a gather, a reduction up a tree a broadcast down."""
    return [(destination, source, size) for source, destination, size in reversed(list(steps))]


@dataclass(frozen=True)
class Rounds:
    """Steps that all send the same sizes, each equally often."""

    count: int
    step: Callable[[int], Step]

    def __iter__(self) -> Iterator[Step]:
        return map(self.step, range(self.count))


def ring(ranks: int, total_bytes: int, first: int) -> Rounds:
    """Forward blocks to the next rank, p - 1 times: rank i sends block i + `first`, then the one received last."""
    size, rank = np.diff(ends_of_blocks(total_bytes, ranks)), np.arange(ranks)
    return Rounds(ranks - 1, lambda step: exchange(rank, (rank + 1) % ranks, size[(rank + first - step) % ranks]))


def tree_down(ends: Ints, whole_bytes: int = 0) -> list[Step]:
    """Send down a binomial tree, farthest child first: to each subtree its blocks by `ends`, plus `whole_bytes`."""
    ranks = len(ends) - 1
    steps = []
    for level in reversed(range((ranks - 1).bit_length())):
        parent = np.arange(0, ranks, 2 << level)
        parent = parent[parent + (1 << level) < ranks]
        child = parent + (1 << level)
        below = ends[np.minimum(child + (1 << level), ranks)] - ends[child]
        steps.append(exchange(parent, child, below + whole_bytes))
    return steps


def direct(ranks: int, total_bytes: int) -> list[Step]:
    """Send each block directly to its rank, all at once: a reduce-scatter; reversed, an all-gather."""
    source = np.repeat(np.arange(ranks), ranks - 1)
    destination = (source + np.tile(np.arange(1, ranks), ranks)) % ranks
    return [exchange(source, destination, np.diff(ends_of_blocks(total_bytes, ranks))[destination])]


def two_trees(ranks: int) -> list[tuple[Ints, Ints]]:
    """Return parent, -1 for a root, and depth of each rank in two binary trees.

    The second tree is the first with ranks mirrored, or shifted by one if their number is odd. Only rank 0 of an odd
    number of ranks has children in both.
    """
    rank, parent = np.arange(ranks), np.full(ranks, -1, dtype=np.int64)
    low = rank[1:] & -rank[1:]
    above = (rank[1:] ^ low) | (low << 1)
    parent[1:] = np.where(above < ranks, above, rank[1:] ^ low)
    number = (rank + 1) % ranks if ranks % 2 else ranks - 1 - rank
    second = np.full(ranks, -1, dtype=np.int64)
    second[number] = np.where(parent < 0, -1, number[parent])
    trees = []
    for up in (parent, second):
        depth, at = np.zeros(ranks, dtype=np.int64), rank
        while (at := np.where(at < 0, -1, up[at])).max() >= 0:
            depth += at >= 0
        trees.append((up, depth))
    return trees


def double_tree(ranks: int, total_bytes: int) -> list[Step]:
    """Reduce each half of a vector up a tree of its own, in segments that follow each other, then send it down."""
    segments = min(MAX_SEGMENTS, max(1, total_bytes // 2 // SEGMENT_BYTES))
    size = np.diff(ends_of_blocks(total_bytes, 2 * segments)).reshape(2, segments)
    trees = two_trees(ranks)
    deepest = max(int(depth.max()) for _, depth in trees)
    steps = []
    for step in range(segments + 2 * deepest - 1):
        parts = []
        for half, (parent, depth) in enumerate(trees):
            child = np.flatnonzero(parent >= 0)
            up, below = parent[child], depth[child]
            # A segment leaves the deepest ranks first; it is sent down as soon as the root has all of it.
            for start, source, destination in ((deepest - below, child, up), (deepest + below - 1, up, child)):
                segment = step - start
                sent = (segment >= 0) & (segment < segments)
                parts.append((source[sent], destination[sent], size[half][segment[sent]]))
        columns = (np.concatenate(column) for column in zip(*parts, strict=True))
        steps.append(exchange(*columns))
    return steps


def hierarchical(ranks: int, inside: int, total_bytes: int) -> list[Step]:
    """Reduce-scatter by rings within groups of `inside` consecutive ranks, all-reduce across them, all-gather within.

    Rank i of each group works for block i of the vector across the groups.
    """
    groups, blocks = ranks // inside, np.diff(ends_of_blocks(total_bytes, inside))
    first = np.repeat(np.arange(groups) * inside, inside)

    def within(steps: Rounds) -> list[Step]:
        return [
            (first + np.tile(source, groups), first + np.tile(destination, groups), np.tile(size, groups))
            for source, destination, size in steps
        ]

    of_member = [[*ring(groups, int(size), -1), *ring(groups, int(size), 0)] for size in blocks]
    across: list[Step] = []
    for steps in zip(*of_member, strict=True):
        source, destination = (
            np.concatenate([step[end] * inside + member for member, step in enumerate(steps)]) for end in (0, 1)
        )
        across.append((source, destination, np.concatenate([step[2] for step in steps])))
    return [*within(ring(inside, total_bytes, -1)), *across, *within(ring(inside, total_bytes, 0))]


def scattered(blocks: Ints, algorithm: str) -> list[Step]:
    """Send each rank its block from rank 0: "linear" (directly, all at once) or down a binomial tree."""
    if algorithm == "linear":
        return [exchange(np.zeros(len(blocks) - 1, dtype=np.int64), np.arange(1, len(blocks)), blocks[1:])]
    return tree_down(np.concatenate([[0], np.cumsum(blocks)]))


CollectivePart = list[Step] | Rounds


def count_messages(parts: Iterable[CollectivePart]) -> tuple[Counter[int], Counter[int]]:
    """Return the number of messages of each size, and of the steps that send it; empty ones are not sent."""
    messages: Counter[int] = Counter()
    phases: Counter[int] = Counter()
    for part in parts:
        times, steps = (part.count, [part.step(0)]) if isinstance(part, Rounds) else (1, part)
        for _, _, size_bytes in steps if times else []:
            counted = np.unique(size_bytes[size_bytes > 0], return_counts=True)
            for size, count in zip(*map(np.ndarray.tolist, counted), strict=True):
                messages[size] += count * times
                phases[size] += times
    return messages, phases


class Collective(MessagePattern):
    """Base of collective operations, which define their steps; messages and traffic follow from these."""

    message_bytes: Size = Field(alias="message", description="size of each message")
    root: Whole = Field(0, ge=0, description="root of the operation; ranks are counted from it")

    def parts(self, ranks: int) -> list[CollectivePart]:
        """Return the consecutive steps; ranks are counted from the root."""
        raise NotImplementedError

    def chosen(self, ranks: int) -> str:
        """Return the algorithm used; empty for an operation with a single one."""
        return str(getattr(self, "algorithm", ""))

    def is_near(self, ranks: int) -> bool:
        return self.chosen(ranks) == "ring" and self.numbering == "natural"

    def check_ranks(self, ranks: int) -> None:
        if self.root >= ranks:
            remedy = f"use 0 to {ranks - 1}"
            raise ConfigError(f"there is no such rank among {ranks}", remedy, ("root",), self.root, "does-not-fit")

    def check_blocks(self, ranks: int, algorithm: str) -> None:
        """Raise ConfigError if the vector has fewer bytes than ranks, so that it cannot be divided."""
        if self.message_bytes < ranks:
            problem = f"{algorithm} divides the message among {ranks} ranks"
            remedy = f"use {ranks} B or more, or an algorithm that does not divide it"
            raise ConfigError(problem, remedy, ("message",), f"{self.message_bytes} B", "does-not-fit")

    def traffic(self, ranks: int) -> tuple[TrafficEstimate, ...]:
        """Count the messages by size, each size spread over the steps that send it; empty ones are not sent."""
        messages, phases = count_messages(self.parts(ranks))
        return tuple(
            TrafficEstimate(float(messages[size]) * self.iterations, size, phases[size]) for size in sorted(messages)
        )

    def sends(self, ranks: int, rng: np.random.Generator) -> Sends:
        steps = [step for part in self.parts(ranks) for step in part]
        phase = np.repeat(np.arange(len(steps), dtype=np.int32), [len(step[0]) for step in steps])
        source, destination, size_bytes = (np.concatenate(column) for column in zip(*steps, strict=True))
        source, destination = (((end + self.root) % ranks).astype(np.int32) for end in (source, destination))
        return without_empty(repeat(Sends(phase, source, destination, size_bytes), self.iterations))
