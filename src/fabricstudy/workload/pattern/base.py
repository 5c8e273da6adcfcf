"""Base classes of communication patterns, their sends, and the order of these.

Each pattern has its traffic for a number of ranks in closed form, because costs are predicted before any workload
exists.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import Field

from fabricstudy.core.arrays import Bools, Floats, Int32s, Integers, Numbers
from fabricstudy.core.errors import ConfigError
from fabricstudy.core.input_files import FromFile
from fabricstudy.core.kinds import Kind
from fabricstudy.core.model import Whole
from fabricstudy.machine.base import ScaleUp, Topology
from fabricstudy.machine.distances import hop_distances
from fabricstudy.machine.graph import Machine

from ..messages import Messages, WorkloadError
from ..operations import Operations
from ..sizes import MessageSizes, SizeOrSizes


@dataclass(frozen=True, eq=False)
class Sends:
    """Phase, source and destination of each message: integer arrays [messages], rows in any order.

    `size_bytes` (integers [messages]) is for patterns whose messages differ in size.
    """

    phase: Integers
    source: Integers
    destination: Integers
    size_bytes: Integers | None = None


def sends_of(operations: Operations) -> Sends:
    """Return the messages of operations, in one phase."""
    sends = operations.sends
    destination = operations.rank[operations.partner[sends]]
    return one_phase(operations.rank[sends], destination, size_bytes=operations.size_bytes[sends])


def without_empty(sends: Sends) -> Sends:
    """Leave out messages of 0 bytes."""
    if sends.size_bytes is None or sends.size_bytes.all():
        return sends
    sent = sends.size_bytes > 0
    return Sends(sends.phase[sent], sends.source[sent], sends.destination[sent], sends.size_bytes[sent])


def repeat(sends: Sends, iterations: int) -> Sends:
    """Repeat all phases `iterations` times, with ascending phase numbers."""
    if iterations == 1:
        return sends
    first_phase = np.arange(iterations)[:, None] * (int(sends.phase.max(initial=-1)) + 1)
    source, destination = (np.tile(ends, iterations) for ends in (sends.source, sends.destination))
    size_bytes = None if sends.size_bytes is None else np.tile(sends.size_bytes, iterations)
    return Sends((first_phase + sends.phase).reshape(-1), source, destination, size_bytes)


def concatenate_phases(parts: list[Sends], iterations: int) -> Sends:
    """Concatenate sends, the phases of each part after those of the previous part, and repeat the sequence."""
    first = np.cumsum([0, *(int(part.phase.max(initial=-1)) + 1 for part in parts)])
    phase = np.concatenate([part.phase + start for part, start in zip(parts, first, strict=False)]).astype(np.int32)
    source, destination = (np.concatenate([getattr(part, end) for part in parts]) for end in ("source", "destination"))
    sized = [part.size_bytes for part in parts if part.size_bytes is not None]
    return repeat(Sends(phase, source, destination, np.concatenate(sized) if sized else None), iterations)


def one_phase(
    source: Integers, destination: Integers, iterations: int = 1, size_bytes: Integers | int | None = None
) -> Sends:
    """Return sends of one phase per iteration."""
    size = None if size_bytes is None else np.full(len(source), size_bytes, dtype=np.int64)
    return repeat(Sends(np.zeros(len(source), dtype=np.int32), source, destination, size), iterations)


def both_ways(first: Integers, second: Integers, iterations: int) -> Sends:
    """Send from each of `first` to its partner in `second` and back, all in one phase."""
    return one_phase(np.concatenate([first, second]), np.concatenate([second, first]), iterations)


def request_and_reply(lower: Integers, higher: Integers, iterations: int) -> Sends:
    """Send from the lower ranks in one phase, and back in the next.

    Examples
    --------
    >>> sends = request_and_reply(np.array([0]), np.array([1]), 2)
    >>> sends.phase.tolist(), sends.source.tolist()
    ([0, 1, 2, 3], [0, 1, 0, 1])
    """
    return concatenate_phases([one_phase(lower, higher), one_phase(higher, lower)], iterations)


def all_to_all_along(grid: Integers, axis: int, size_bytes: int | None = None) -> Sends:
    """Send once, in one phase, from each rank to each other rank on its line along `axis`.

    Examples
    --------
    >>> sends = all_to_all_along(np.arange(6, dtype=np.int32).reshape(2, 3), axis=1)
    >>> sends.source.tolist()
    [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    >>> sends.destination.tolist()
    [1, 2, 2, 0, 0, 1, 4, 5, 5, 3, 3, 4]
    """
    length = grid.shape[axis]
    lines = np.moveaxis(grid, axis, -1).reshape(-1, length)
    partner = (np.arange(length)[:, None] + np.arange(1, length)) % length
    source = np.repeat(lines.reshape(-1), length - 1)
    return one_phase(source, lines[:, partner].reshape(-1), size_bytes=size_bytes)


def pair_sums(source: Integers, destination: Integers, weight: Numbers, ranks: int) -> tuple[Int32s, Int32s, Floats]:
    """Return each pair of distinct ranks once, sorted, and the sum of its weights, float64 [pairs]."""
    apart = source != destination
    pairs, number = np.unique(source[apart].astype(np.int64) * ranks + destination[apart], return_inverse=True)
    total = np.bincount(number, weight[apart], len(pairs)).astype(np.float64)
    return (pairs // ranks).astype(np.int32), (pairs % ranks).astype(np.int32), total


def between_ranks(source: Integers, destination: Integers, size_bytes: int, ranks: int) -> Sends:
    """Sum up, in one phase, the messages of `size_bytes` from each rank to each other rank.

    Examples
    --------
    >>> sends = between_ranks(np.array([0, 0, 1, 2]), np.array([1, 1, 1, 0]), 10, 3)
    >>> list(zip(sends.source.tolist(), sends.destination.tolist(), sends.size_bytes.tolist()))
    [(0, 1, 20), (2, 0, 10)]
    """
    sender, receiver, count = pair_sums(source, destination, np.ones(len(source)), ranks)
    return one_phase(sender, receiver, size_bytes=count.astype(np.int64) * size_bytes)


@dataclass(frozen=True, eq=False)
class JobPlacement:
    """A machine, the node of each rank (int32 [ranks]), and one side of the best cut (bool [routers])."""

    machine: Machine
    node_of_rank: Int32s
    cut_side: Bools

    @property
    def router_of_rank(self) -> Int32s:
        """Router of each rank, int32 [ranks]."""
        return self.machine.node_router[self.node_of_rank]

    @cached_property
    def distances(self) -> Integers:
        """Hops between routers, integers [routers, routers]."""
        return hop_distances(self.machine).matrix()


SendOrder = Literal["shift", "ascending", "random", "rounds"]
"""Order of the sends of a rank within a phase; see `in_send_order`."""

SEND_ORDERS = (
    "send order of a rank: shift (to rank+1, rank+2, ...), ascending (to rank 0, 1, ...), random (each rank by itself) "
    "or rounds (random, and in a round of an all-to-all no two ranks send to the same one)"
)


class TrafficEstimate(NamedTuple):
    """Number of messages of one size in all iterations, and the number of phases of an iteration that send them."""

    messages: float
    size_bytes: int
    phases: int = 1


class Pattern(Kind, family="pattern"):
    """A communication pattern.

    A pattern defines `sends`, or, if partners depend on the placement of the ranks, `sends_at`.
    """

    follows_placement: ClassVar[bool] = False
    """It defines `sends_at`; its ranks cannot be mapped by traffic."""

    has_coordinates: ClassVar[bool] = False
    """It defines `coordinates`, used by some mappings."""

    is_idle: ClassVar[bool] = False
    """It never sends anything."""

    has_operations: ClassVar[bool] = False
    """It defines `operations`, in the order of their dependencies, instead of phases."""

    def is_near(self, ranks: int) -> bool:
        """Return whether ranks send most to their neighbours, in the application or by number."""
        return self.has_coordinates

    def traffic_messages(self, ranks: int) -> float:
        """Return the number of messages in all iterations."""
        return sum(part.messages for part in self.traffic(ranks))

    def traffic(self, ranks: int) -> tuple[TrafficEstimate, ...]:
        """Return the number of messages by size."""
        raise NotImplementedError

    def resolved(self, ranks: int) -> dict[str, Any]:
        """Return the values of keys that are left out and follow from the number of ranks."""
        return {}

    def estimates(self, ranks: int, bandwidth_Bps: float, domains: ScaleUp | None) -> dict[str, Any]:
        """Return what `fabricstudy plan` prints of the pattern, for ranks that leave their nodes at this bandwidth.

        If the machine has scale-up domains, consecutive ranks are in them.
        """
        return {}

    def describe(self, estimates: Mapping[str, Any]) -> list[str]:
        """Return the estimates as lines of text."""
        return []

    def check_ranks(self, ranks: int) -> None:
        """Raise ConfigError, with the path below the pattern, for an unsupported number of ranks, 2 or more."""

    def check_machine(self, machine: Topology) -> None:
        """Raise ConfigError, with the path below the pattern, for an unsupported machine."""

    def coordinates(self, ranks: int) -> Integers | None:
        """Return the ranks' coordinates in the application, integers [ranks, dimensions] from 0, or None."""
        return None

    def operations(self) -> Operations:
        """Return what the ranks compute, send and receive, with dependencies."""
        raise NotImplementedError

    def sends(self, ranks: int, rng: np.random.Generator) -> Sends:
        """Return all messages, in any order, none from a rank to itself."""
        raise NotImplementedError

    def sends_at(self, site: JobPlacement) -> Sends:
        """Return all messages of ranks placed at `site`."""
        raise NotImplementedError


class MessagePattern(Pattern):
    """Base of patterns with messages of a given size."""

    message_bytes: SizeOrSizes = Field(
        alias="message", description="size of each message, or the distribution of the sizes"
    )
    iterations: Whole = Field(1, ge=1, le=1_000_000, description="number of consecutive repetitions of the pattern")
    numbering: Literal["natural", "shuffled"] = Field(
        "natural",
        description="numbering of the ranks: natural (that of the pattern) or shuffled (random), since natural "
        "numbering favours mappings that rely on it",
    )
    order: SendOrder = Field("random", description=SEND_ORDERS)

    def traffic(self, ranks: int) -> tuple[TrafficEstimate, ...]:
        """Return the number of messages by size; a pattern overrides this or `traffic_messages`."""
        return (TrafficEstimate(self.traffic_messages(ranks), int(self.message_bytes)),)


def in_send_order(sends: Sends, pattern: Pattern, ranks: int, rng: np.random.Generator) -> Messages:
    """Sort sends by phase and source, and within those by the pattern's `order`, if it has one.

    ``shift`` sorts by (destination - source) mod ranks, ``ascending`` by destination, ``random`` shuffles each rank's
    sends in each phase. ``rounds`` is a shift of randomly numbered ranks; each phase draws the order of the distances.

    Raises WorkloadError if neither the pattern nor its sends define message sizes.

    Examples
    --------
    >>> from fabricstudy.workload.pattern.base import one_phase
    >>> from fabricstudy.workload.pattern.all_to_all import AllToAll
    >>> sends = one_phase(np.array([1, 1, 1, 1]), np.array([0, 2, 3, 4]), 1)
    >>> pattern = AllToAll.model_validate({"message": "1 kB", "order": "shift"})
    >>> in_send_order(sends, pattern, 5, np.random.default_rng(0)).destination.tolist()
    [2, 3, 4, 0]
    """
    # A stable sort gives the same order on every processor even where two random numbers are equal. A combined key
    # would overflow where there are many phases.
    keys: tuple[Integers, ...] = (sends.source, sends.phase)
    size_bytes = 0
    if isinstance(pattern, MessagePattern):
        size_bytes = int(pattern.message_bytes)
        if isinstance(pattern.message_bytes, MessageSizes) and sends.size_bytes is not None:
            raise WorkloadError(f"the pattern {pattern.kind} sets the sizes of its messages; write one size as message")
        if pattern.order == "shift":
            key: Integers = (sends.destination - sends.source) % ranks
        elif pattern.order == "ascending":
            key = sends.destination
        elif pattern.order == "rounds":
            number = rng.permutation(ranks)
            distance = (number[sends.destination] - number[sends.source]) % ranks
            steps, step = np.unique(sends.phase.astype(np.int64) * ranks + distance, return_inverse=True)
            key = rng.permutation(len(steps))[step]
        else:
            key = rng.integers(2**32, size=len(sends.source), dtype=np.uint32)
        keys = (key, *keys)
    elif len(sends.source) and sends.size_bytes is None:
        raise WorkloadError(f"the sends of the pattern {pattern.kind} have no sizes; set Sends.size_bytes")
    order = np.lexsort(keys)
    size = np.full(len(order), size_bytes, dtype=np.int64) if sends.size_bytes is None else sends.size_bytes[order]
    columns = sends.phase, sends.source, sends.destination
    phase, source, destination = (column[order].astype(np.int32, copy=False) for column in columns)
    return Messages(phase, source, destination, size.astype(np.int64, copy=False))


class TrafficFile(FromFile):
    """A file in the study's folder; if it is missing later, the point fails and not its batch."""

    def check_listed_ranks(self, listed: int, contents: str, ranks: int) -> None:
        """Raise ConfigError, with the path of the file, if a job has not the ranks that are listed there."""
        if ranks != listed:
            problem, remedy = f"{contents}, but the job has {ranks} ranks", f"give the job {listed} ranks"
            raise ConfigError(problem, remedy, ("file",), self.file, "does-not-fit")

    def listed(self) -> Any:
        """Return the content of the file.

        Raises WorkloadError if the file is missing or has changed, or this point was read from a record.
        """
        try:
            return self.content()
        except ConfigError as error:
            raise WorkloadError(str(error)) from None
