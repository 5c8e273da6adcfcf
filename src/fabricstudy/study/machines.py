"""What a study may say about machines; `fabricstudy.machine` builds them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, GetJsonSchemaHandler, model_validator
from pydantic_core import CoreSchema

from .base import ByKind, ConfigError, Model, Whole
from .units import Bandwidth, Latency

# What the arrays of a machine may need on a workstation.
LARGEST_NODES = 10_000_000
LARGEST_CABLES = 100_000_000


class EachClass(Model):
    """A quantity for each link class; one quantity alone stands for all of them."""

    @classmethod
    def from_shorthand(cls, value: Any) -> Any:
        """Let one quantity stand for all link classes."""
        if isinstance(value, str | int | float):
            return {field.alias: value for field in cls.model_fields.values()}
        return value

    @model_validator(mode="before")
    @classmethod
    def _expand(cls, value: Any) -> Any:
        return cls.from_shorthand(value)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Describe both ways of writing."""
        return {"anyOf": [{"type": "string"}, handler(schema)]}


class ClassBandwidths(EachClass):
    """Bandwidth per direction of one cable of each link class."""

    local_Bps: Bandwidth = Field(alias="local", description="between routers of a group")
    global_Bps: Bandwidth = Field(alias="global", description="between groups")
    host_Bps: Bandwidth = Field(alias="host", description="between a node and its router")


class ClassLatencies(EachClass):
    """Time a bit takes along one cable of each link class."""

    local_ns: Latency = Field("40 ns", alias="local", validate_default=True, description="between routers of a group")
    global_ns: Latency = Field("40 ns", alias="global", validate_default=True, description="between groups")
    host_ns: Latency = Field("40 ns", alias="host", validate_default=True, description="between a node and its router")


class DragonflyConfig(Model):
    """Dragonfly: fully connected groups of fully connected routers (Kim et al., ISCA 2008)."""

    kind: Literal["dragonfly"] = "dragonfly"
    groups: Whole = Field(ge=2, le=100_000, description="groups (g)")
    routers_per_group: Whole = Field(ge=1, le=100_000, description="routers in a group (a)")
    nodes_per_router: Whole = Field(ge=1, le=10_000, description="nodes on a router (p)")
    cores_per_node: Whole = Field(1, ge=1, le=10_000, description="cores of a node; a rank needs one")
    arrangement: Literal["absolute", "relative", "circulant"] = Field(
        "absolute", description="which port of a group leads to which group; circulant needs an odd number of groups"
    )
    links_per_group_pair: Whole = Field(1, ge=1, le=10_000, description="parallel cables between two groups")
    bandwidth: ClassBandwidths = Field(description="bandwidth of a cable in one direction; one value or one a class")
    latency: ClassLatencies = Field(
        default_factory=ClassLatencies, description="latency of a cable; one value or one a class"
    )

    @property
    def routers(self) -> int:
        """Number of routers."""
        return self.groups * self.routers_per_group

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return self.routers * self.nodes_per_router

    @property
    def cables(self) -> int:
        """Number of cables between routers, local and global."""
        local = self.groups * self.routers_per_group * (self.routers_per_group - 1) // 2
        return local + self.groups * (self.groups - 1) // 2 * self.links_per_group_pair

    @property
    def global_ports_per_router(self) -> int:
        """Global ports a router needs at most (h in the literature)."""
        return -(-self.links_per_group_pair * (self.groups - 1) // self.routers_per_group)

    @model_validator(mode="after")
    def _circulant_needs_port_pairs(self) -> DragonflyConfig:
        if self.arrangement == "circulant" and (self.groups % 2 == 0 or self.global_ports_per_router % 2):
            raise ConfigError(
                "the circulant arrangement pairs the global ports of a router, so it needs an odd number of groups "
                f"and an even number of global ports per router (here {self.groups} groups and "
                f"{self.global_ports_per_router} ports)",
                "change groups or routers_per_group, or take 'relative'",
                ("arrangement",),
                self.arrangement,
            )
        return self

    @model_validator(mode="after")
    def _can_be_held(self) -> DragonflyConfig:
        if self.nodes > LARGEST_NODES or self.cables > LARGEST_CABLES:
            raise ValueError(
                f"a machine of {self.nodes:,} nodes and {self.cables:,} cables is too large; stay below "
                f"{LARGEST_NODES:,} nodes and {LARGEST_CABLES:,} cables"
            )
        return self


# One entry a topology: Annotated[DragonflyConfig | Other, ByKind()].
MachineConfig = Annotated[DragonflyConfig, ByKind()]
