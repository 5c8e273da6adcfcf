"""What all machines of a study have, and the quantities that they give by link class."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, log
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field, GetJsonSchemaHandler, model_validator
from pydantic_core import CoreSchema

from fabricstudy.core.errors import suggestion
from fabricstudy.core.kinds import Family, Kind
from fabricstudy.core.model import ConfigError, QuantityOrMapping, Whole
from fabricstudy.core.quantities import Bandwidth, Latency

from .graph import LinkClass, Machine
from .instances import INSTANCES
from .requirements import MachineRequirements

# What the arrays of a machine may need on a workstation.
MAX_NODES = 10_000_000
MAX_CABLES = 100_000_000

LinkClasses = tuple[tuple[LinkClass, ...], LinkClass]
"""The classes of the cables between routers, and that of the host links."""

LATENCY = "latency of a cable; one value or one a class"
"""Describes the key."""

Ints = npt.NDArray[np.int64]
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
            raise ConfigError("no machine of this name", remedy, code="unknown-value")
        if isinstance(value, dict) and "instance" in value and value["instance"] not in list(INSTANCES):
            name = value["instance"]
            remedy = suggestion(name, INSTANCES)
            raise ConfigError("no machine of this name", remedy, ("instance",), name, code="unknown-value")

    @classmethod
    def configurations(cls, wanted: MachineRequirements) -> Iterator[dict[str, Any]]:
        """Return what a study would write of the machines of this kind that fit, without bandwidth and latency.

        They have at most so many ports as are wanted, and may have more routers. Of a kind that none is chosen of, such
        as that of one product, there are none.
        """
        return iter(())

    def build(self) -> Machine:
        """Build the machine: the same arrays each time for the same description."""
        raise NotImplementedError

    def assemble(
        self, ends: npt.ArrayLike, cable_class: npt.ArrayLike, count: npt.ArrayLike, links: LinkClasses, **more: Any
    ) -> Machine:
        """Return the arrays of the machine, with equally many nodes on each router unless `more` says otherwise.

        Parameters
        ----------
        ends : integer array [2, rows]
            Routers at both ends of the cables of each row.
        cable_class, count : integer arrays [rows] or integers
            Their class, and how many they are.
        links : LinkClasses
            As `link_classes` gives them.
        """
        tail, head = np.ascontiguousarray(ends, dtype=np.int32)
        if "node_router" not in more:
            more["node_router"] = np.repeat(np.arange(self.routers, dtype=np.int32), self.nodes // self.routers)
        return Machine(
            kind=self.kind,
            cable_tail=tail,
            cable_head=head,
            cable_class=np.full(len(tail), cable_class, dtype=np.int32),
            cable_count=np.full(len(tail), count, dtype=np.int32),
            classes=links[0],
            host=links[1],
            routers=self.routers,
            cores_per_node=self.cores_per_node,
            **more,
        )

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
        """Refuse what cannot be built; raises ConfigError, with the path below the machine."""

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
                raise ConfigError(problem, f"fix {name}", (), self.kind, "extension")
        if self.nodes > MAX_NODES or self.cables > MAX_CABLES:
            problem = f"a machine of {self.nodes:,} nodes and {self.cables:,} cables is too large"
            remedy = f"stay below {MAX_NODES:,} nodes and {MAX_CABLES:,} cables"
            raise ConfigError(problem, remedy, code="out-of-range")
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


def link_classes(bandwidth: EachClass, latency: EachClass) -> LinkClasses:
    """Return the classes of the cables between routers, and that of the host links, which both name last."""
    names = [str(field.alias) for field in type(bandwidth).model_fields.values()]
    *classes, host = map(LinkClass, names, vars(bandwidth).values(), vars(latency).values())
    return tuple(classes), host


def assemble_groups(
    config: Topology, links: LinkClasses, local: Ints, across: Ints, count: Ints, group_routers: int, **more: Any
) -> Machine:
    """Return a machine of groups of equally many routers: single local cables first, then `count` parallel global ones.

    `local` and `across` are the pairs of routers, [rows, 2].
    """
    kinds, ones = np.repeat([0, 1], [len(local), len(across)]), np.ones(len(local), dtype=np.int64)
    group = np.arange(config.routers, dtype=np.int32) // group_routers
    ends = np.concatenate([local, across]).T
    return config.assemble(ends, kinds, np.concatenate([ones, count]), links, group=group, **more)


def published_machine(name: str) -> Topology:
    """Return the published machine of this name; raises KeyError if there is none in `INSTANCES`.

    Examples
    --------
    >>> published_machine("mira").nodes
    49152
    """
    machine: Topology = Topology.model_validate(INSTANCES[name].description)
    return machine
