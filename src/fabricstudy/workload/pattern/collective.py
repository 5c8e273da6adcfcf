"""Steps of collective operations, as MPI libraries do them: who sends which bytes to whom.

Ranks are counted from the root: rank 0 here is the root of the study, rank 1 the one after it. A vector of n bytes is
divided among p ranks into blocks that differ by at most a byte: block i is from n i // p to n (i + 1) // p.

References
----------
Thakur, Rabenseifner, Gropp: Optimization of collective communication operations in MPICH. Int. J. High Performance
Computing Applications 19(1), 2005, doi:10.1177/1094342005051521.
Chan, Heimlich, Purkayastha, van de Geijn: Collective communication: theory, practice, and experience. Concurrency and
Computation 19(13), 2007, doi:10.1002/cpe.1206.
Hensgen, Finkel, Manber: Two algorithms for barrier synchronization. Int. J. Parallel Programming 17(1), 1988,
doi:10.1007/BF01379320.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from pydantic import Field

from fabricstudy.core.model import ConfigError, Whole

from .base import MessagePattern, TrafficEstimate
from .sends import Sends, repeat

Ints = npt.NDArray[np.int64]
Step = tuple[Ints, Ints, Ints]
"""Sources, destinations and bytes of what is sent in one phase, int64 [messages]."""


def power_below(ranks: int) -> int:
    """Return the largest power of two that is not above `ranks`.

    Examples
    --------
    >>> power_below(13), power_below(16)
    (8, 16)
    """
    return 1 << (ranks.bit_length() - 1)


def ends_of_blocks(total_bytes: int, ranks: int) -> Ints:
    """Where each block begins, and the last one ends, int64 [ranks + 1].

    Examples
    --------
    >>> ends_of_blocks(10, 4).tolist()
    [0, 2, 5, 7, 10]
    """
    return np.array([total_bytes * rank // ranks for rank in range(ranks + 1)], dtype=np.int64)


def exchange(mine: Ints, other: Ints, size_bytes: Ints | int) -> Step:
    """Send from each rank to another one."""
    return mine, other, np.broadcast_to(np.asarray(size_bytes, dtype=np.int64), mine.shape)


def fold(ranks: int, size_bytes: int) -> tuple[list[Step], Ints, list[Step]]:
    """Bring ranks down to a power of two: return the steps before, the ranks that work, int64, and the steps after.

    Of the first 2 r ranks, r being those above the power, each even one sends its vector to the next, which works for
    it and sends it the result.
    """
    power = power_below(ranks)
    even = 2 * np.arange(ranks - power)
    workers = np.concatenate([even + 1, np.arange(2 * len(even), ranks)])
    if not len(even):
        return [], workers, []
    return [exchange(even, even + 1, size_bytes)], workers, [exchange(even + 1, even, size_bytes)]


def recursive_doubling(ranks: int, size_bytes: int) -> list[Step]:
    """All-reduce: in step k exchange the whole vector with the rank 2^k away."""
    before, workers, after = fold(ranks, size_bytes)
    number = np.arange(len(workers))
    steps = [
        exchange(workers, workers[number ^ (1 << step)], size_bytes) for step in range(len(workers).bit_length() - 1)
    ]
    return [*before, *steps, *after]


def halving(workers: Ints, ends: Ints) -> list[Step]:
    """Reduce-scatter among a power of two of ranks: exchange halves, then quarters, each time of what is left.

    Worker i ends with what lies from ``ends[i]`` to ``ends[i + 1]``.
    """
    number = np.arange(len(workers))
    steps = []
    distance = len(workers) // 2
    while distance:
        other = number ^ distance
        first = other // distance * distance
        steps.append(exchange(workers, workers[other], ends[first + distance] - ends[first]))
        distance //= 2
    return steps


def reverse_steps(steps: Iterable[Step]) -> list[Step]:
    """Send everything back, last step first: what scatters then gathers, what reduces up a tree broadcasts down."""
    return [(to, at, size) for at, to, size in reversed(list(steps))]


@dataclass(frozen=True)
class Rounds:
    """Steps that all send the same sizes, as often each."""

    count: int
    step: Callable[[int], Step]

    def __iter__(self) -> Iterator[Step]:
        return map(self.step, range(self.count))


def ring(ranks: int, total_bytes: int, first: int) -> Rounds:
    """Pass blocks on to the next rank, p - 1 times: rank i sends block i + `first`, then each time the one it got."""
    size, rank = np.diff(ends_of_blocks(total_bytes, ranks)), np.arange(ranks)
    return Rounds(ranks - 1, lambda step: exchange(rank, (rank + 1) % ranks, size[(rank + first - step) % ranks]))


def pairwise(ranks: int, total_bytes: int) -> Rounds:
    """Reduce-scatter: in step k send the rank k + 1 away its block."""
    size, rank = np.diff(ends_of_blocks(total_bytes, ranks)), np.arange(ranks)

    def step(number: int) -> Step:
        other = (rank + number + 1) % ranks
        return exchange(rank, other, size[other])

    return Rounds(ranks - 1, step)


def tree_down(ends: Ints, whole_bytes: int = 0) -> list[Step]:
    """Send down a binomial tree, to the farthest child first: each subtree its blocks by `ends`, and `whole_bytes`."""
    ranks = len(ends) - 1
    steps = []
    for level in reversed(range((ranks - 1).bit_length())):
        parent = np.arange(0, ranks, 2 << level)
        parent = parent[parent + (1 << level) < ranks]
        child = parent + (1 << level)
        below = ends[np.minimum(child + (1 << level), ranks)] - ends[child]
        steps.append(exchange(parent, child, below + whole_bytes))
    return steps


def dissemination(ranks: int, size_bytes: int) -> list[Step]:
    """Barrier: in step k tell the rank 2^k away."""
    rank = np.arange(ranks)
    return [exchange(rank, (rank + (1 << step)) % ranks, size_bytes) for step in range((ranks - 1).bit_length())]


def scattered(ranks: int, size_bytes: int, algorithm: str) -> list[Step]:
    """Send each rank its block from rank 0, "linear" (straight and all at once) or down a binomial tree."""
    if algorithm == "linear":
        return [exchange(np.zeros(ranks - 1, dtype=np.int64), np.arange(1, ranks), size_bytes)]
    return tree_down(np.arange(ranks + 1) * size_bytes)


CollectivePart = list[Step] | Rounds


class Collective(MessagePattern):
    """What collective operations have: they state their steps, and their messages and traffic follow."""

    root: Whole = Field(
        0, ge=0, description="the rank from which ranks are counted: the one that has, or gets, the data"
    )

    def parts(self, ranks: int) -> list[CollectivePart]:
        """Return the steps, one after the other; ranks counted from the root."""
        raise NotImplementedError

    def check_ranks(self, ranks: int) -> None:
        """Refuse a root that is no rank."""
        if self.root >= ranks:
            remedy = f"take 0 to {ranks - 1}"
            raise ConfigError(f"there is no such rank among {ranks}", remedy, ("root",), self.root, "does-not-fit")

    def check_blocks(self, ranks: int, algorithm: str) -> None:
        """Refuse a vector with less bytes than ranks, which cannot be divided."""
        if self.message_bytes < ranks:
            problem = f"{algorithm} divides the message among {ranks} ranks"
            remedy = f"take {ranks} B or more, or an algorithm that sends it whole"
            raise ConfigError(problem, remedy, ("message",), f"{self.message_bytes} B", "does-not-fit")

    def traffic(self, ranks: int) -> tuple[TrafficEstimate, ...]:
        """Count the messages by size, each size spread over the steps in which it is sent."""
        messages: Counter[int] = Counter()
        phases: Counter[int] = Counter()
        for part in self.parts(ranks):
            times, steps = (part.count, [part.step(0)]) if isinstance(part, Rounds) else (1, part)
            for _, _, size_bytes in steps if times else []:
                sizes, numbers = np.unique(size_bytes, return_counts=True)
                for size, number in zip(sizes.tolist(), numbers.tolist(), strict=True):
                    messages[size] += number * times
                    phases[size] += times
        return tuple(
            TrafficEstimate(float(messages[size]) * self.iterations, size, phases[size]) for size in sorted(messages)
        )

    def sends(self, ranks: int, rng: np.random.Generator) -> Sends:
        steps = [step for part in self.parts(ranks) for step in part]
        phase = np.repeat(np.arange(len(steps), dtype=np.int32), [len(step[0]) for step in steps])
        source, destination, size_bytes = (np.concatenate(column) for column in zip(*steps, strict=True))
        source, destination = (((end + self.root) % ranks).astype(np.int32) for end in (source, destination))
        return repeat(Sends(phase, source, destination, size_bytes), self.iterations)
