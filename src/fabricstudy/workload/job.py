"""A job: ranks with a pattern, an allocation and a mapping."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from fabricstudy.core.model import ConfigError, Flag, Model, Name, NoPhysics, Number, Whole
from fabricstudy.workload.allocation.base import Allocation
from fabricstudy.workload.mapping.base import Mapping
from fabricstudy.workload.pattern.base import Pattern

from .allocation.cluster import Cluster
from .compute import Compute
from .mapping.linear import LinearMapping

JobName = Annotated[
    str, Name("[A-Za-z0-9][A-Za-z0-9_.-]{0,63}", "take letters, digits, '_', '.' and '-', with a letter or digit first")
]


class Job(Model):
    """Ranks with a pattern, the nodes they get and the order in which they sit there.

    Exactly one of `share` (of the machine's nodes, rounded down) and `nodes` says how large the job is; an
    explicit allocation says it itself.
    """

    name: Annotated[JobName, NoPhysics] = Field("app", description="name in tables and figures")
    share: Number | None = Field(None, gt=0, le=1, description="share of the machine's nodes, rounded down to nodes")
    nodes: Whole | None = Field(None, ge=1, description="number of nodes, instead of share")
    ranks_per_node: Whole | None = Field(None, ge=1, description="ranks on each node; left out: one a core")
    pattern: Pattern = Field(description="who sends what to whom")
    allocation: Allocation = Field(default_factory=Cluster, description="which nodes the job gets")
    mapping: Mapping = Field(default_factory=LinearMapping, description="which rank sits where on these nodes")
    compute: Compute | None = Field(None, description="what its ranks compute, if they do more than send messages")
    background: Flag = Field(
        False,
        description="repeat the job's messages until all other jobs have ended: it disturbs them throughout, and has "
        "no time, bound or slowdown of its own",
    )

    @model_validator(mode="after")
    def _one_size(self) -> Job:
        explicit = self.allocation.node_count() is not None
        sizes = (self.share is not None) + (self.nodes is not None) + explicit
        if sizes != 1:
            remedy = "give it exactly once: as share (like 0.5), as nodes (like 36), or by an explicit allocation"
            raise ConfigError(f"the job's size is given {sizes} times", remedy, code="conflicting-keys")
        return self

    @model_validator(mode="after")
    def _computes_beside_messages(self) -> Job:
        if self.compute is not None and self.pattern.silent:
            problem = f"{self.pattern.kind} has no phases before which it could compute"
            raise ConfigError(problem, "leave compute out", ("compute",), code="conflicting-keys")
        return self

    def node_count(self, machine_nodes: int) -> int:
        """Nodes the job gets on a machine of `machine_nodes` nodes."""
        listed = self.allocation.node_count()
        if listed is not None:
            return listed
        if self.nodes is not None:
            return self.nodes
        assert self.share is not None
        return int(self.share * machine_nodes + 1e-9)

    def rank_count(self, machine_nodes: int, cores_per_node: int) -> int:
        """Ranks of the job on a machine of `machine_nodes` nodes with `cores_per_node` cores each."""
        return self.node_count(machine_nodes) * (self.ranks_per_node or cores_per_node)
