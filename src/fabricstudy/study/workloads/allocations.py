"""Which nodes a job gets."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from ..base import ByKind, ConfigError, Model, Number, Whole
from .boxes import Prefer


class Allocation(Model):
    """What every allocation policy has."""

    # What a machine must have for it: see `traits` of the machines.
    needs: ClassVar[str | None] = None


class Cluster(Allocation):
    """The first free nodes in order of node number."""

    kind: Literal["cluster"] = "cluster"


class SwappedCluster(Allocation):
    """The first free nodes in an order in which pairs of nodes have swapped places (Jain et al., IPDPS 2017)."""

    kind: Literal["swapped-cluster"] = "swapped-cluster"
    swaps: Number = Field(
        0.05,
        ge=0,
        le=10,
        description="pairs of nodes drawn, as a share of the machine's nodes, one after the other and the same for "
        "all jobs; 0.05 displaces 9.5 % of the nodes",
    )


class Spread(Allocation):
    """Free nodes taken from one group after the other, round robin, first routers first."""

    kind: Literal["spread"] = "spread"


class RandomAllocation(Allocation):
    """Free nodes drawn at random."""

    kind: Literal["random"] = "random"


class ExplicitNodes(Allocation):
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


Side = Annotated[Whole, Field(ge=1)]


class Box(Allocation):
    """What the policies have that give a job a free cuboid of routers in a grid."""

    needs: ClassVar[str | None] = "dimensions"

    prefer: Prefer = Field(
        "best-bisection",
        description="which of equally large cuboids come first: by their bisection, or those longest in the first "
        "dimensions (planes), which leave whole planes to other jobs",
    )


class Cuboid(Box):
    """A free cuboid of exactly the routers needed, which may lie across the end of a ring; the job holds all of it."""

    kind: Literal["cuboid"] = "cuboid"
    shape: tuple[Side, ...] | None = Field(
        None, min_length=1, description="routers along each dimension, at least what the job needs; left out: chosen"
    )


class ConvexBlock(Box):
    """The smallest free cuboid of routers in a grid that holds the job.

    Dimension-order and adaptive routes do not leave it, so such jobs share no links (Jain et al., IPDPS 2017): on a
    ring its side is the whole ring or at most half. The job holds all of it.
    """

    kind: Literal["convex-block"] = "convex-block"


class BuildingBlocks(Box):
    """A convex block made of whole blocks of one shape, into which the grid is divided (Jain et al., IPDPS 2017)."""

    kind: Literal["building-blocks"] = "building-blocks"
    block: tuple[Side, ...] = Field(
        min_length=1, description="routers of a block along each dimension, a divisor of the dimension's length"
    )


class OneGroup(Allocation):
    """A group (of a dragonfly or Slim Fly; pod of a fat tree) that no other job uses; the job holds all of it.

    Minimal routes do not leave it, so such jobs share no links.
    """

    needs: ClassVar[str | None] = "groups"

    kind: Literal["one-group"] = "one-group"


class WholeGroups(Allocation):
    """As many whole groups, or pods of a fat tree, as the job needs, which it holds.

    On dragonflies and fat trees minimal routes do not meet those of other such jobs; on a Slim Fly only the routes
    within one group keep to themselves.
    """

    needs: ClassVar[str | None] = "groups"

    kind: Literal["whole-groups"] = "whole-groups"


class TreePartition(Allocation):
    """Nodes of a fat tree by the rules under which jobs share no links (Jain et al., IPDPS 2017).

    one-leaf (i): nodes of one leaf. whole-leaves (ii): whole leaves of one pod, which the job holds. shared-pods
    (iii): nodes of any pods in which every other job keeps (i) or (ii) where it lies; jobs allocated later do so if
    they follow this policy. whole-pods (iv): whole pods, which the job holds. auto: the first of i, ii, iii that the
    job fits.
    """

    needs: ClassVar[str | None] = "levels"

    kind: Literal["tree-partition"] = "tree-partition"
    rule: Literal["auto", "one-leaf", "whole-leaves", "shared-pods", "whole-pods"] = Field(
        "auto", description="the rule to keep"
    )


AllocationConfig = Annotated[
    Cluster
    | SwappedCluster
    | Spread
    | RandomAllocation
    | ExplicitNodes
    | Cuboid
    | ConvexBlock
    | BuildingBlocks
    | OneGroup
    | WholeGroups
    | TreePartition,
    ByKind(),
]
