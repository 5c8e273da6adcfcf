"""Who sends what to whom.

Each pattern can tell its traffic for a number of ranks in closed form, because costs are predicted before any
workload exists, and what is wrong with a number of ranks.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, NamedTuple

from pydantic import Field, model_validator

from ..base import ByKind, ConfigError, Flag, Model, Whole
from ..units import Size
from .shapes import balanced_shape

SendOrder = Literal["shift", "ascending", "random"]
"""Order in which a rank sends within a phase: to rank+1, rank+2, ...; to rank 0, 1, ...; or shuffled by seed."""


class Traffic(NamedTuple):
    """Messages of one size in all iterations, and over how many phases of an iteration they are spread."""

    messages: float
    size_bytes: int
    phases: int = 1


class Pattern(Model):
    """What every pattern has."""

    # Who sends to whom depends on the nodes of the ranks, so the ranks cannot be placed by their traffic.
    follows_placement: ClassVar[bool] = False

    message_bytes: Size = Field(alias="message", description="size of each message")
    iterations: Whole = Field(1, ge=1, le=1_000_000, description="times the pattern is repeated, one after the other")
    order: SendOrder = Field(
        "random",
        description="order in which a rank sends: shift (to rank+1, rank+2, ...), ascending (to rank 0, 1, ...) or "
        "random (shuffled by seed)",
    )

    def traffic_messages(self, ranks: int) -> float:
        """Messages in all iterations."""
        return sum(part.messages for part in self.traffic(ranks))

    def traffic(self, ranks: int) -> tuple[Traffic, ...]:
        """Tell the messages by size; a pattern has this or `traffic_messages` of its own."""
        return (Traffic(self.traffic_messages(ranks), int(self.message_bytes)),)

    def check_ranks(self, ranks: int) -> None:
        """Refuse a number of ranks, 2 or more, that the pattern cannot have.

        Raises
        ------
        ConfigError
            With the path below the pattern.
        """


class AllToAll(Pattern):
    """Each rank sends one message to every other rank.

    ``linear`` posts all in one phase; ``pairwise`` has one phase per partner (rank + k, or rank xor k where the
    number of ranks is a power of two).
    """

    kind: Literal["all-to-all"] = "all-to-all"
    algorithm: Literal["linear", "pairwise"] = Field(
        "linear", description="linear (all at once) or pairwise (one partner a phase)"
    )

    def traffic(self, ranks: int) -> tuple[Traffic, ...]:
        """Tell the messages by size."""
        phases = ranks - 1 if self.algorithm == "pairwise" else 1
        return (Traffic(float(ranks) * (ranks - 1) * self.iterations, int(self.message_bytes), phases),)


class AllGather(Pattern):
    """Each rank's block of `message` bytes reaches every other rank (Thakur, Rabenseifner and Gropp 2005).

    ``ring``: in each of ranks - 1 phases a rank passes one block on to the next rank. ``recursive-doubling``: in
    phase k a rank exchanges the 2^k blocks it has with rank xor 2^k; the number of ranks is a power of two.
    """

    kind: Literal["all-gather"] = "all-gather"
    algorithm: Literal["ring", "recursive-doubling"] = Field(
        "ring", description="ring (a block a phase to the next rank) or recursive-doubling (twice as much each phase)"
    )

    def traffic(self, ranks: int) -> tuple[Traffic, ...]:
        """Tell the messages by size."""
        block = int(self.message_bytes)
        if self.algorithm == "ring":
            return (Traffic(float(ranks) * (ranks - 1) * self.iterations, block, ranks - 1),)
        phases = (ranks - 1).bit_length()
        return tuple(Traffic(float(ranks) * self.iterations, block << phase) for phase in range(phases))

    def check_ranks(self, ranks: int) -> None:
        """Refuse recursive doubling unless there is a power of two of ranks."""
        if self.algorithm == "recursive-doubling" and ranks & (ranks - 1):
            problem = f"recursive doubling needs a power of two of ranks and gets {ranks}"
            raise ConfigError(problem, "change the job's size, or take ring", ("algorithm",), self.algorithm)


class RankGrid(Pattern):
    """What the patterns have whose ranks stand in a Cartesian grid, the last dimension fastest."""

    dimensions: Whole = Field(3, ge=1, le=8, description="dimensions of the grid of ranks")
    shape: tuple[Annotated[Whole, Field(ge=1)], ...] | None = Field(
        None, description="ranks in each dimension; left out: as cubic as the number of ranks allows"
    )

    @model_validator(mode="after")
    def _shape_has_dimensions(self) -> RankGrid:
        if self.shape is not None and len(self.shape) != self.dimensions:
            raise ValueError(f"shape has {len(self.shape)} numbers, dimensions is {self.dimensions}; make them agree")
        return self

    def grid(self, ranks: int) -> tuple[int, ...]:
        """Ranks in each dimension."""
        return self.shape or balanced_shape(ranks, self.dimensions)

    def check_ranks(self, ranks: int) -> None:
        """Refuse a shape that does not hold exactly the ranks."""
        cells = 1
        for length in self.shape or (ranks,):
            cells *= length
        if cells != ranks:
            raise ConfigError(
                f"the shape has {cells} places for {ranks} ranks",
                "let its product be the ranks, or leave it out",
                ("shape",),
                list(self.shape or ()),
            )


class Stencil(RankGrid):
    """Each rank sends one message to both neighbours in each dimension of a Cartesian rank grid."""

    kind: Literal["stencil"] = "stencil"
    periodic: Flag = Field(False, description="whether the grid wraps around")

    def traffic_messages(self, ranks: int) -> float:
        """Messages in all iterations (upper estimate: every rank has all its neighbours)."""
        return 2.0 * self.dimensions * ranks * self.iterations


class SubAllToAll(RankGrid):
    """All-to-alls along the lines of a rank grid: in the first phase along the last dimension, and so on.

    As in multi-dimensional FFTs; ``MPI_Alltoall`` in sub-communicators (Jain et al., IPDPS 2017).
    """

    kind: Literal["sub-all-to-all"] = "sub-all-to-all"

    def traffic(self, ranks: int) -> tuple[Traffic, ...]:
        """Tell the messages by size."""
        lines = [length for length in self.grid(ranks) if length > 1]
        messages = float(ranks) * sum(length - 1 for length in lines) * self.iterations
        return (Traffic(messages, int(self.message_bytes), max(1, len(lines))),)


Degree = Annotated[Whole, Field(ge=1, le=100_000)]


class RandomPartners(Pattern):
    """What the patterns have whose ranks draw partners once, for all iterations."""

    degree: tuple[Degree, Degree] = Field(
        (6, 20), description="least and most partners of a rank, drawn for each with equal chance"
    )

    @model_validator(mode="after")
    def _degree_ascends(self) -> RandomPartners:
        if self.degree[0] > self.degree[1]:
            raise ConfigError("the least is above the most", "write [least, most]", ("degree",), list(self.degree))
        return self

    def traffic_messages(self, ranks: int) -> float:
        """Messages in all iterations, on average."""
        return ranks * sum(self.degree) / 2 * self.iterations


class UnstructuredMesh(RankGrid, RandomPartners):
    """Each rank sends to partners drawn from its neighbourhood in a periodic rank grid (Jain et al., IPDPS 2017).

    A partner may be drawn twice, and then gets two messages. The source does not state `degree` and `neighbourhood`.
    """

    kind: Literal["unstructured-mesh"] = "unstructured-mesh"
    neighbourhood: Whole = Field(2, ge=1, description="how far partners are in each dimension at most")


class SpreadPattern(RandomPartners):
    """Each rank sends to partners drawn from the next `neighbourhood` ranks (Jain et al., IPDPS 2017).

    A partner may be drawn twice, and then gets two messages. The source does not state `degree` and `neighbourhood`.
    """

    kind: Literal["spread"] = "spread"
    neighbourhood: Whole | None = Field(
        None, ge=1, description="partners are at most so many ranks later, counted round; left out: all ranks"
    )


class Pairs(Pattern):
    """Each rank exchanges with the rank half the job later (Jain et al., IPDPS 2017), or with one drawn at random."""

    kind: Literal["pairs"] = "pairs"
    shuffled: Flag = Field(False, description="whether the pairs are drawn at random, once for all iterations")

    def traffic_messages(self, ranks: int) -> float:
        """Messages in all iterations."""
        return float(ranks) * self.iterations

    def check_ranks(self, ranks: int) -> None:
        """Refuse an odd number of ranks."""
        if ranks % 2:
            raise ConfigError(f"pairs need an even number of ranks and get {ranks}", "change the job's size")


class PencilFft(Pattern):
    """The two transposes of a 3D FFT on pencils, as in P3DFFT (Pekurovsky 2012): all-to-all in rows, then in columns.

    Ranks stand in a grid of rows and columns, those of a row next to each other. In each transpose a rank divides
    its `message` bytes equally among the ranks of its row or column, and keeps its own part.
    """

    kind: Literal["pencil-fft"] = "pencil-fft"
    message_bytes: Size = Field(alias="message", description="data of a rank, divided in each transpose")
    rows: Whole | None = Field(None, ge=1, description="rows of ranks; left out: as square as their number allows")

    def grid(self, ranks: int) -> tuple[int, int]:
        """Rows and columns."""
        if self.rows is not None:
            return self.rows, ranks // self.rows
        columns, rows = balanced_shape(ranks, 2)
        return rows, columns

    def traffic(self, ranks: int) -> tuple[Traffic, ...]:
        """Tell the messages by size."""
        return tuple(
            Traffic(float(ranks) * (length - 1) * self.iterations, self.part_bytes(length))
            for length in self.grid(ranks)
            if length > 1
        )

    def part_bytes(self, length: int) -> int:
        """Bytes to each rank of a row or column of `length` ranks."""
        return max(1, int(self.message_bytes) // length)

    def check_ranks(self, ranks: int) -> None:
        """Refuse rows that do not divide the ranks."""
        if self.rows is not None and ranks % self.rows:
            raise ConfigError(f"{ranks} ranks cannot stand in such rows", "take a divisor", ("rows",), self.rows)


class BEff(Pattern):
    """Rings as in the effective bandwidth benchmark b_eff (Rabenseifner and Koniges 2001), one message size.

    Six phases in which ranks exchange with both neighbours in rings of 2, 4, 8, a quarter of, half of and all ranks
    (the fourth at least 16, the fifth at least 32), in rank order; then six in which the ranks are shuffled for each.
    """

    kind: Literal["b-eff"] = "b-eff"

    def ring_sizes(self, ranks: int) -> tuple[int, ...]:
        """Ranks of a ring in each phase of either half."""
        wanted = (2, 4, 8, max(16, ranks // 4), max(32, ranks // 2), ranks)
        return tuple(min(size, ranks) for size in wanted)

    def traffic(self, ranks: int) -> tuple[Traffic, ...]:
        """Tell the messages by size."""
        phases = 2 * len(self.ring_sizes(ranks))
        return (Traffic(2.0 * phases * ranks * self.iterations, int(self.message_bytes), phases),)


class StrassenBfs(Pattern):
    """What CAPS sends in its breadth-first steps (Ballard, Demmel, Holtz, Lipshitz and Schwartz, SPAA 2012).

    In each step the ranks that work together are split into 7 groups and each exchanges with its 6 counterparts in
    the others: going down factors, each step 7/4 times as much as the one before, and coming back products, half as
    much. So an iteration has 2 `steps` phases. Groups hold consecutive ranks.
    """

    kind: Literal["strassen-bfs"] = "strassen-bfs"
    message_bytes: Size = Field(alias="message", description="size of a message in the first step")
    steps: Whole = Field(1, ge=1, le=10, description="breadth-first steps; the ranks are a multiple of 7 to this power")

    def step_bytes(self, step: int) -> tuple[int, int]:
        """Size of a message with factors, and of one with products, in a step (counted from 0)."""
        factors = int(self.message_bytes) * 7**step / 4**step
        return max(1, round(factors)), max(1, round(factors / 2))

    def traffic(self, ranks: int) -> tuple[Traffic, ...]:
        """Tell the messages by size."""
        messages = 6.0 * ranks * self.iterations
        return tuple(Traffic(messages, size) for step in range(self.steps) for size in self.step_bytes(step))

    def check_ranks(self, ranks: int) -> None:
        """Refuse a number of ranks that is no multiple of 7 to the power of the steps."""
        if ranks % 7**self.steps:
            problem = f"{self.steps} steps need a multiple of {7**self.steps} ranks and get {ranks}"
            raise ConfigError(problem, "change the job's size, or take fewer steps", ("steps",), self.steps)


class Bisection(Pattern):
    """Every rank in one half of the machine's best cut exchanges with every rank in the other half."""

    follows_placement: ClassVar[bool] = True

    kind: Literal["bisection"] = "bisection"

    def traffic_messages(self, ranks: int) -> float:
        """Messages in all iterations (both ways; halves taken as equal)."""
        return 2.0 * (ranks // 2) * (ranks - ranks // 2) * self.iterations


class FurthestPairing(Pattern):
    """Each rank exchanges with one partner on a node as far away as possible; on rings of even length, half-way."""

    follows_placement: ClassVar[bool] = True

    kind: Literal["furthest-pairing"] = "furthest-pairing"

    def traffic_messages(self, ranks: int) -> float:
        """Messages in all iterations."""
        return float(ranks) * self.iterations


class PingPong(Pattern):
    """A rank on one of the job's two furthest nodes sends to one on the other, which then answers; no one else sends.

    Half of an iteration is the latency of a message.
    """

    follows_placement: ClassVar[bool] = True

    kind: Literal["ping-pong"] = "ping-pong"

    def traffic(self, ranks: int) -> tuple[Traffic, ...]:
        """Tell the messages by size."""
        return (Traffic(2.0 * self.iterations, int(self.message_bytes), 2),)


class Ring(Pattern):
    """Each rank sends to the next and to the previous rank."""

    kind: Literal["ring"] = "ring"

    def traffic_messages(self, ranks: int) -> float:
        """Messages in all iterations."""
        return 2.0 * ranks * self.iterations


class Permutation(Pattern):
    """Each rank sends to one other rank and receives from one (random derangement, one for all iterations)."""

    kind: Literal["permutation"] = "permutation"

    def traffic_messages(self, ranks: int) -> float:
        """Messages in all iterations."""
        return float(ranks) * self.iterations


class UniformRandom(Pattern):
    """Each rank sends `messages_per_rank` messages, each to a rank drawn uniformly from the others."""

    kind: Literal["uniform-random"] = "uniform-random"
    messages_per_rank: Whole = Field(1, ge=1, le=1_000_000, description="messages each rank sends in an iteration")

    def traffic_messages(self, ranks: int) -> float:
        """Messages in all iterations."""
        return float(ranks) * self.messages_per_rank * self.iterations


class Idle(Model):
    """The job holds its nodes and sends nothing."""

    kind: Literal["idle"] = "idle"

    def traffic_messages(self, ranks: int) -> float:
        """No messages."""
        return 0.0


PatternConfig = Annotated[
    AllToAll
    | AllGather
    | Stencil
    | UnstructuredMesh
    | SpreadPattern
    | Pairs
    | SubAllToAll
    | PencilFft
    | BEff
    | StrassenBfs
    | Bisection
    | FurthestPairing
    | PingPong
    | Ring
    | Permutation
    | UniformRandom
    | Idle,
    ByKind(),
]
