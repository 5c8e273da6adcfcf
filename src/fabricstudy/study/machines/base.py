"""What all machines of a study have, and the quantities that they give by link class."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field, GetJsonSchemaHandler, model_validator
from pydantic_core import CoreSchema

from ..base import Model, Whole
from ..units import Bandwidth, Latency
from .instances import INSTANCES

# What the arrays of a machine may need on a workstation.
LARGEST_NODES = 10_000_000
LARGEST_CABLES = 100_000_000

NodesPerRouter = Annotated[Whole, Field(ge=1, le=10_000, description="nodes on a router (p)")]


class Topology(Model):
    """What every machine has.

    A member of the union gives `kind`, `routers`, `nodes` and `cables`, and says in `_check` what cannot be built.
    """

    # What routings and allocation policies may need: "groups", "dimensions" or "levels".
    traits: ClassVar[frozenset[str]] = frozenset()

    kind: str
    cores_per_node: Whole = Field(1, ge=1, le=10_000, description="cores of a node; a rank needs one")

    @classmethod
    def from_shorthand(cls, value: Any) -> Any:
        """Put the description of a published machine in the place of its name; keys beside the name replace its own."""
        if isinstance(value, str) and value in INSTANCES:
            return dict(INSTANCES[value].description)
        if isinstance(value, dict) and isinstance(value.get("instance"), str) and value["instance"] in INSTANCES:
            own = {key: item for key, item in value.items() if key != "instance"}
            return INSTANCES[value["instance"]].description | own
        return super().from_shorthand(value)

    @property
    def routers(self) -> int:
        """Number of routers."""
        raise NotImplementedError

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        raise NotImplementedError

    @property
    def cables(self) -> int:
        """Number of cables between routers."""
        raise NotImplementedError

    @property
    def group_nodes(self) -> int:
        """Number of nodes of a group, on a machine with groups."""
        raise NotImplementedError

    def _check(self) -> None:
        """Refuse what cannot be built.

        Raises
        ------
        ConfigError
            With the path below the machine.
        """

    @model_validator(mode="after")
    def _can_be_built(self) -> Topology:
        self._check()
        if self.nodes > LARGEST_NODES or self.cables > LARGEST_CABLES:
            raise ValueError(
                f"a machine of {self.nodes:,} nodes and {self.cables:,} cables is too large; stay below "
                f"{LARGEST_NODES:,} nodes and {LARGEST_CABLES:,} cables"
            )
        return self


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
    """Bandwidth per direction of one cable of each link class, where there are groups of routers."""

    local_Bps: Bandwidth = Field(alias="local", description="between routers of a group")
    global_Bps: Bandwidth = Field(alias="global", description="between groups")
    host_Bps: Bandwidth = Field(alias="host", description="between a node and its router")


class ClassLatencies(EachClass):
    """Time a bit takes along one cable of each link class, where there are groups of routers."""

    local_ns: Latency = Field("40 ns", alias="local", validate_default=True, description="between routers of a group")
    global_ns: Latency = Field("40 ns", alias="global", validate_default=True, description="between groups")
    host_ns: Latency = Field("40 ns", alias="host", validate_default=True, description="between a node and its router")
