"""What a study may say about jobs: pattern, allocation, mapping; `fabricstudy.workload` makes them.

Each pattern can tell its traffic for a number of ranks in closed form (`traffic_bytes`, `traffic_messages`),
because costs are predicted before any workload exists.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, ValidationInfo, model_validator
from pydantic.json_schema import SkipJsonSchema

from .base import ByKind, ConfigError, Flag, Model, Name, Number, Whole
from .units import Size

SendOrder = Literal["shift", "ascending", "random"]
"""Order in which a rank sends within a phase: to rank+1, rank+2, ...; to rank 0, 1, ...; or shuffled by seed."""


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


class AllToAll(Pattern):
    """Each rank sends one message to every other rank.

    ``linear`` posts all in one phase; ``pairwise`` has one phase per partner (rank + k, or rank xor k where the
    number of ranks is a power of two).
    """

    kind: Literal["all-to-all"] = "all-to-all"
    algorithm: Literal["linear", "pairwise"] = Field(
        "linear", description="linear (all at once) or pairwise (one partner a phase)"
    )

    def traffic_messages(self, ranks: int) -> float:
        """Messages in all iterations."""
        return float(ranks) * (ranks - 1) * self.iterations


class Stencil(Pattern):
    """Each rank sends one message to both neighbours in each dimension of a Cartesian rank grid."""

    kind: Literal["stencil"] = "stencil"
    dimensions: Whole = Field(3, ge=1, le=8, description="dimensions of the grid of ranks")
    shape: tuple[Annotated[Whole, Field(ge=1)], ...] | None = Field(
        None, description="ranks in each dimension; left out: as cubic as the number of ranks allows"
    )
    periodic: Flag = Field(False, description="whether the grid wraps around")

    @model_validator(mode="after")
    def _shape_has_dimensions(self) -> Stencil:
        if self.shape is not None and len(self.shape) != self.dimensions:
            raise ValueError(f"shape has {len(self.shape)} numbers, dimensions is {self.dimensions}; make them agree")
        return self

    def traffic_messages(self, ranks: int) -> float:
        """Messages in all iterations (upper estimate: every rank has all its neighbours)."""
        return 2.0 * self.dimensions * ranks * self.iterations


class Bisection(Pattern):
    """Every rank in one half of the machine's best cut exchanges with every rank in the other half."""

    follows_placement: ClassVar[bool] = True

    kind: Literal["bisection"] = "bisection"

    def traffic_messages(self, ranks: int) -> float:
        """Messages in all iterations (both ways; halves taken as equal)."""
        return 2.0 * (ranks // 2) * (ranks - ranks // 2) * self.iterations


class FurthestPairing(Pattern):
    """Each rank exchanges with one partner on a node as far away as possible."""

    follows_placement: ClassVar[bool] = True

    kind: Literal["furthest-pairing"] = "furthest-pairing"

    def traffic_messages(self, ranks: int) -> float:
        """Messages in all iterations."""
        return float(ranks) * self.iterations


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
    AllToAll | Stencil | Bisection | FurthestPairing | Ring | Permutation | UniformRandom | Idle, ByKind()
]


class Cluster(Model):
    """The first free nodes in order of node number."""

    kind: Literal["cluster"] = "cluster"


class Spread(Model):
    """Free nodes taken from one group after the other, round robin, first routers first."""

    kind: Literal["spread"] = "spread"


class RandomAllocation(Model):
    """Free nodes drawn at random."""

    kind: Literal["random"] = "random"


class ExplicitNodes(Model):
    """The nodes listed, in that order."""

    kind: Literal["explicit"] = "explicit"
    nodes: tuple[Annotated[Whole, Field(ge=0)], ...] = Field(
        min_length=1, description="node numbers, from 0; rank order follows the list"
    )

    @model_validator(mode="after")
    def _no_node_twice(self) -> ExplicitNodes:
        if len(set(self.nodes)) != len(self.nodes):
            twice = next(node for index, node in enumerate(self.nodes) if node in self.nodes[:index])
            raise ConfigError("a node is listed twice", "list each node once", ("nodes",), twice)
        return self


AllocationConfig = Annotated[Cluster | Spread | RandomAllocation | ExplicitNodes, ByKind()]


class LinearMapping(Model):
    """Rank r on core r of the allocation, filling node after node."""

    kind: Literal["linear"] = "linear"


class RandomMapping(Model):
    """Ranks shuffled over the cores of the allocation."""

    kind: Literal["random"] = "random"


class RecursiveBisection(Model):
    """Ranks and nodes bisected together so that heavy traffic stays close (Hoefler and Snir, ICS 2011)."""

    kind: Literal["recursive-bisection"] = "recursive-bisection"


class MappingFile(Model):
    """A text file with one number a line: line r holds the core (0-based, within the allocation) of rank r.

    The numbers become part of the point, so that it does not matter how the file is called.
    """

    kind: Literal["file"] = "file"
    file: str = Field(min_length=1, description="the file, relative to the study's folder")
    cores: SkipJsonSchema[tuple[Whole, ...]] = ()

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: Any, info: ValidationInfo) -> Any:
        folder = (info.context or {}).get("folder")
        if folder is None or not isinstance(value, dict) or not isinstance(value.get("file"), str):
            return value
        if "cores" in value:
            raise ConfigError("unknown key", "list the cores in the file", ("cores",))
        return {**value, "cores": read_cores(Path(folder), value["file"])}


def read_cores(folder: Path, name: str) -> tuple[int, ...]:
    """Read a mapping file: the core of each rank, each core from 0 on exactly once.

    Raises
    ------
    ConfigError
        If the file cannot be read, or does not hold that.
    """
    remedy = "write one core number a line: line r holds the core of rank r"
    try:
        lines = (folder / name).read_text(encoding="utf-8").split()
        cores = tuple(int(line) for line in lines)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ConfigError(
            f"the mapping file cannot be read ({reason})", f"put it in {folder} or give its path", ("file",), name
        ) from None
    except ValueError:
        raise ConfigError("the mapping file holds something else than whole numbers", remedy, ("file",), name) from None
    if sorted(cores) != list(range(len(cores))) or not cores:
        problem = f"the mapping file does not hold each core from 0 to {max(len(cores) - 1, 0)} exactly once"
        raise ConfigError(problem, remedy, ("file",), name)
    return cores


MappingConfig = Annotated[LinearMapping | RandomMapping | RecursiveBisection | MappingFile, ByKind()]


JobName = Annotated[
    str, Name("[A-Za-z0-9][A-Za-z0-9_.-]{0,63}", "take letters, digits, '_', '.' and '-', with a letter or digit first")
]


class Job(Model):
    """Ranks with a pattern, the nodes they get and the order in which they sit there.

    Exactly one of `share` (of the machine's nodes, rounded down) and `nodes` says how large the job is; an
    explicit allocation says it itself.
    """

    name: JobName = Field("app", description="name in tables and figures")
    share: Number | None = Field(None, gt=0, le=1, description="share of the machine's nodes, rounded down to nodes")
    nodes: Whole | None = Field(None, ge=1, description="number of nodes, instead of share")
    ranks_per_node: Whole | None = Field(None, ge=1, description="ranks on each node; left out: one a core")
    pattern: PatternConfig = Field(description="who sends what to whom")
    allocation: AllocationConfig = Field(default_factory=Cluster, description="which nodes the job gets")
    mapping: MappingConfig = Field(default_factory=LinearMapping, description="which rank sits where on these nodes")

    @model_validator(mode="after")
    def _one_size(self) -> Job:
        explicit = isinstance(self.allocation, ExplicitNodes)
        given = (self.share is not None) + (self.nodes is not None) + explicit
        if given != 1:
            raise ValueError(
                f"the job's size is given {given} times; give it exactly once: as share (like 0.5), as nodes (like "
                "36), or by an explicit allocation"
            )
        return self

    def node_count(self, machine_nodes: int) -> int:
        """Nodes the job gets on a machine of `machine_nodes` nodes."""
        if isinstance(self.allocation, ExplicitNodes):
            return len(self.allocation.nodes)
        if self.nodes is not None:
            return self.nodes
        assert self.share is not None
        return int(self.share * machine_nodes + 1e-9)

    def rank_count(self, machine_nodes: int, cores_per_node: int) -> int:
        """Ranks of the job on a machine of `machine_nodes` nodes with `cores_per_node` cores each."""
        return self.node_count(machine_nodes) * (self.ranks_per_node or cores_per_node)
