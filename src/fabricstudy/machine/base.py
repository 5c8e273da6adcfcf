"""What all machines of a study have, and the quantities that they give by link class."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, log
from typing import Annotated, Any, ClassVar

from pydantic import Field, GetJsonSchemaHandler, model_validator
from pydantic_core import CoreSchema

from fabricstudy.core.errors import suggestion
from fabricstudy.core.kinds import Family, Kind
from fabricstudy.core.model import ConfigError, QuantityOrMapping, Whole
from fabricstudy.core.quantities import Bandwidth, Latency

from .graph import LinkClass, Machine
from .instances import INSTANCES
from .wanted import Wanted

# What the arrays of a machine may need on a workstation.
LARGEST_NODES = 10_000_000
LARGEST_CABLES = 100_000_000

NodesPerRouter = Annotated[Whole, Field(ge=1, le=10_000, description="nodes on a router (p)")]


class Topology(Kind):
    """What every machine has.

    A member gives `kind`, `routers`, `nodes` and `cables` in closed form, says in `_check` what cannot be built, and
    builds the rest.
    """

    FAMILY: ClassVar[Family] = Family("machine")
    words: ClassVar[str] = "name of a published machine, or mapping of kind"

    # What routings and allocation policies may need: "groups", "dimensions", "levels" or "pods".
    traits: ClassVar[frozenset[str]] = frozenset()

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

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Describe a published machine's name, and one with changes, beside the members."""
        described = super().__get_pydantic_json_schema__(schema, handler)
        if cls.is_family():
            name = {"enum": sorted(INSTANCES)}
            altered = {"type": "object", "properties": {"instance": name}, "required": ["instance"]}
            described = {"anyOf": [name, altered, described]}
        return described

    @classmethod
    def check_written(cls, value: Any) -> None:
        """Refuse the name of a machine that is not published."""
        if isinstance(value, str) and value not in list(INSTANCES) and cls.FAMILY.find(value) is None:
            remedy = suggestion(value, [*INSTANCES, *cls.FAMILY.kinds])
            raise ConfigError("no machine of this name", remedy, code="unknown-kind")
        if isinstance(value, dict) and "instance" in value and value["instance"] not in list(INSTANCES):
            name = value["instance"]
            remedy = suggestion(name, INSTANCES)
            raise ConfigError("no machine of this name", remedy, ("instance",), name, code="unknown-kind")

    @classmethod
    def configurations(cls, wanted: Wanted) -> Iterator[dict[str, Any]]:
        """Give what a study would write of the machines of this kind that fit, without bandwidth and latency.

        They have at most so many ports as are wanted, and may have more routers. Of a kind that none is chosen of, such
        as that of one product, there are none.
        """
        return iter(())

    def build(self) -> Machine:
        """Build the machine: the same arrays each time for the same description."""
        raise NotImplementedError

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

    @property
    def typical_hops(self) -> float:
        """Hops between two routers drawn at random, about, for forecasts: those of a random graph of this degree.

        References
        ----------
        Bollobás, Fernandez de la Vega: The diameter of random regular graphs. Combinatorica 2, 1982.
        """
        others = max(2.0, 2 * self.cables / self.routers - 1)
        return max(1.0, log(self.routers) / log(others))

    def _check(self) -> None:
        """Refuse what cannot be built.

        Raises
        ------
        ConfigError
            With the path below the machine.
        """

    @model_validator(mode="after")
    def _can_be_built(self) -> Topology:
        try:
            self._check()
            counts = {"nodes": self.nodes, "routers": self.routers, "cables": self.cables}
        except ConfigError:
            raise
        except Exception as error:
            raise ConfigError.of_extension(error) from None
        for name, count in counts.items():
            if not 0 <= count < inf:
                problem = f"its closed form gives {count} {name}"
                raise ConfigError(problem, f"mend {name}", (), self.kind, "extension")
        if self.nodes > LARGEST_NODES or self.cables > LARGEST_CABLES:
            problem = f"a machine of {self.nodes:,} nodes and {self.cables:,} cables is too large"
            remedy = f"stay below {LARGEST_NODES:,} nodes and {LARGEST_CABLES:,} cables"
            raise ConfigError(problem, remedy, code="too-large")
        return self


class EachClass(QuantityOrMapping):
    """A quantity for each link class; one quantity alone stands for all of them."""

    @classmethod
    def from_shorthand(cls, value: Any) -> Any:
        """Let one quantity stand for all link classes."""
        if isinstance(value, str | int | float):
            return {field.alias: value for field in cls.model_fields.values()}
        return value


class ClassBandwidths(EachClass):
    """Bandwidth per direction of one cable of each link class, where there are groups of routers."""

    local_Bps: Bandwidth = Field(alias="local", description="between routers of a group")
    global_Bps: Bandwidth = Field(alias="global", description="between groups")
    host_Bps: Bandwidth = Field(alias="host", description="between a node and its router")


class ClassLatencies(EachClass):
    """Time a bit takes along one cable of each link class, where there are groups of routers.

    The default is that of 8 m: light in glass of refractive index 1.5 takes 5 ns a metre.
    """

    local_ns: Latency = Field("40 ns", alias="local", validate_default=True, description="between routers of a group")
    global_ns: Latency = Field("40 ns", alias="global", validate_default=True, description="between groups")
    host_ns: Latency = Field("40 ns", alias="host", validate_default=True, description="between a node and its router")


class LinkBandwidths(EachClass):
    """Bandwidth per direction of one cable, where all cables between routers are of one class."""

    links_Bps: Bandwidth = Field(alias="links", description="between routers")
    host_Bps: Bandwidth = Field(alias="host", description="between a node and its router")


class LinkLatencies(EachClass):
    """Time a bit takes along one cable, where all cables between routers are of one class."""

    links_ns: Latency = Field("40 ns", alias="links", validate_default=True, description="between routers")
    host_ns: Latency = Field("40 ns", alias="host", validate_default=True, description="between a node and its router")


def link_classes(bandwidth: EachClass, latency: EachClass) -> tuple[tuple[LinkClass, ...], LinkClass]:
    """Give the classes of the cables between routers, and the class of the host links, which both name last."""
    names = [str(field.alias) for field in type(bandwidth).model_fields.values()]
    both = zip(names, vars(bandwidth).values(), vars(latency).values(), strict=True)
    *classes, host = (LinkClass(*quantities) for quantities in both)
    return tuple(classes), host


def published(name: str) -> Topology:
    """Give the published machine of this name.

    Raises
    ------
    KeyError
        If there is none in `INSTANCES`.

    Examples
    --------
    >>> published("mira").nodes
    49152
    """
    machine: Topology = Topology.model_validate(INSTANCES[name].description)
    return machine
