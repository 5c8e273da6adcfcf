"""Base class of topologies, and quantities by link class."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property, lru_cache
from math import inf, log
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic import Field, GetJsonSchemaHandler, SerializationInfo, ValidationInfo, model_serializer
from pydantic_core import CoreSchema

from fabricstudy.core.arrays import Ints
from fabricstudy.core.errors import suggestion
from fabricstudy.core.kinds import Kind
from fabricstudy.core.model import ConfigError, QuantityOrMapping, Whole, at_path, model_check
from fabricstudy.core.quantities import Bandwidth, Latency, has_base_units
from fabricstudy.core.returned import Returned

from .faults import MachineFaults, with_faults
from .graph import LinkClass, Machine
from .instances import INSTANCES
from .requirements import MachineRequirements

# Bound the memory of a machine's arrays.
MAX_NODES = 10_000_000
MAX_CABLES = 100_000_000

LinkClasses = tuple[tuple[LinkClass, ...], LinkClass]
"""The classes of the cables between routers, and that of the host links."""

LATENCY_DESCRIPTION = "latency of a cable; one value or one per class"
"""Description of the key."""

NodesPerRouter = Annotated[Whole, Field(ge=1, le=10_000, description="nodes per router (p)")]


class ScaleUp(NamedTuple):
    """Domains of accelerators with fast links: consecutive nodes of each, and what an accelerator sends at."""

    accelerators: int
    inside_Bps: float
    outside_Bps: float


class Topology(Kind, family="machine"):
    """Base class of topologies.

    A subclass defines `kind`, the closed forms `routers`, `nodes` and `cables`, and `build`; `_check` rejects what
    cannot be built.
    """

    words = "name of a published machine, or mapping of kind"

    # What routings and allocation policies may require: "groups", "dimensions", "levels" or "pods".
    traits: ClassVar[frozenset[str]] = frozenset()

    cores_per_node: Whole = Field(1, ge=1, le=10_000, description="cores per node; each rank needs one")
    faults: MachineFaults = Field(None, description="failed and degraded parts; default: none")

    @classmethod
    def _member_of(cls, value: Any, info: ValidationInfo) -> Topology:
        member = super()._member_of(value, info)
        assert isinstance(member, Topology)
        if member.faults is None or isinstance(member, DegradedMachine):
            return member
        degraded = DegradedMachine.of(member)
        if not has_base_units(info.context):  # the machines of a plan have been checked
            _ = degraded.nodes
        return degraded

    @classmethod
    def from_shorthand(cls, value: Any) -> Any:
        """Replace the name of a published machine by its description; further keys override the description."""
        if isinstance(value, str) and value in INSTANCES:
            return dict(INSTANCES[value].description)
        if isinstance(value, dict) and isinstance(value.get("instance"), str) and value["instance"] in INSTANCES:
            overrides = {key: item for key, item in value.items() if key != "instance"}
            return INSTANCES[value["instance"]].description | overrides
        return super().from_shorthand(value)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Add names of published machines, with or without changes, to the schema."""
        described = super().__get_pydantic_json_schema__(schema, handler)
        if cls.is_family():
            name = {"enum": sorted(INSTANCES)}
            altered = {"type": "object", "properties": {"instance": name}, "required": ["instance"]}
            described = {"anyOf": [name, altered, described]}
        return described

    @classmethod
    def check_written(cls, value: Any) -> None:
        """Reject the name of an unknown published machine."""
        problem = "unknown published machine"
        if isinstance(value, str) and value not in INSTANCES and cls.FAMILY.find(value) is None:
            raise ConfigError(problem, suggestion(value, [*INSTANCES, *cls.FAMILY.kinds]), code="unknown-value")
        if isinstance(value, dict) and "instance" in value and value["instance"] not in list(INSTANCES):
            name = value["instance"]
            raise ConfigError(problem, suggestion(name, INSTANCES), ("instance",), name, code="unknown-value")

    @classmethod
    def configurations(cls, wanted: MachineRequirements) -> Iterator[dict[str, Any]]:
        """Return the study-file keys, without bandwidth and latency, of each machine of this kind that may fit.

        Machines respect the radix and may exceed the number of routers. Kinds of one product propose none.
        """
        return iter(())

    def build(self) -> Machine:
        """Build the machine; deterministic."""
        raise NotImplementedError

    def assemble(
        self, ends: npt.ArrayLike, cable_class: npt.ArrayLike, count: npt.ArrayLike, links: LinkClasses, **more: Any
    ) -> Machine:
        """Return the machine; nodes are distributed evenly over routers unless `more` has `node_router`.

        `ends` are the routers at both ends of each row of cables, [2, rows]; `cable_class` and `count` (number of
        parallel cables) are integers or arrays [rows].
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
    def scale_up(self) -> ScaleUp | None:
        """The scale-up domains; None without any."""
        return None

    @property
    def group_nodes(self) -> int:
        """Number of nodes per group, for machines with groups."""
        raise NotImplementedError

    @property
    def typical_hops(self) -> float:
        """Approximate mean hops between routers, for forecasts: that of a random graph of the same degree.

        See Bollobás, Fernandez de la Vega: The diameter of random regular graphs. Combinatorica 2, 1982.
        """
        others = max(2.0, 2 * self.cables / self.routers - 1)
        return max(1.0, log(self.routers) / log(others))

    def priced_ports(self, without: Collection[str]) -> int | None:
        """Return the ports per router that the machine states, or None for those in use.

        Link classes in `without` are not priced.
        """
        return None

    def _check(self) -> None:
        """Reject what cannot be built: raise ConfigError with the path relative to the machine."""

    @model_check
    def _can_be_built(self) -> None:
        try:
            self._check()
            counts = {"nodes": self.nodes, "routers": self.routers, "cables": self.cables}
        except ConfigError:
            raise
        except (Exception, SystemExit) as error:
            raise ConfigError.of_extension(error) from None
        for name, count in counts.items():
            if not 0 <= count < inf:
                problem = f"its closed form gives {count} {name}"
                raise ConfigError(problem, f"correct the property {name}", (), self.kind, "extension")
        if self.nodes > MAX_NODES or self.cables > MAX_CABLES:
            problem = f"a machine of {self.nodes:,} nodes and {self.cables:,} cables is too large"
            remedy = f"use at most {MAX_NODES:,} nodes and {MAX_CABLES:,} cables"
            raise ConfigError(problem, remedy, code="out-of-range")


def built(config: Topology) -> Machine:
    """Build a machine, and check that it agrees with the closed forms of its topology.

    Raises ConfigError if it does not, or if an extension raises an error.
    """
    returned = Returned(config, "build")
    try:
        machine = returned.instance(config.build(), Machine)
    except ConfigError:
        raise
    except (Exception, SystemExit) as error:
        raise ConfigError.of_extension(error) from None
    for name in ("nodes", "routers", "cables"):
        count, expected = getattr(machine, name), getattr(config, name)
        if count != expected:
            raise returned.error(f"returns a machine of {count:,} {name}, which has {expected:,} by its closed form")
    return machine


class DegradedMachine(Topology):
    """What faults leave of a machine: neither a grid nor a tree, and of no class that engines or policies know."""

    kind: str
    whole: Topology

    @classmethod
    def of(cls, whole: Topology) -> DegradedMachine:
        """Return a machine after its faults."""
        return cls.model_construct(
            kind=whole.kind, cores_per_node=whole.cores_per_node, faults=whole.faults, whole=whole
        )

    @model_serializer
    def _as_written(self, info: SerializationInfo) -> dict[str, Any]:
        return self.whole.model_dump(mode=info.mode, by_alias=info.by_alias)

    def physics(self) -> dict[str, Any]:
        return self.whole.physics()

    def build(self) -> Machine:
        """Build the machine and apply the faults; the last results are cached."""
        with at_path("faults"):
            return _degraded(self.whole)

    @cached_property
    def sizes(self) -> tuple[int, int, int, bool]:
        """Nodes, routers and cables, and whether all nodes are left."""
        machine = self.build()
        return machine.nodes, machine.routers, machine.cables, machine.nodes == self.whole.nodes

    @property
    def traits(self) -> frozenset[str]:  # type: ignore[override]
        """Groups, if all nodes are left."""
        return self.whole.traits & ({"groups"} if self.sizes[3] else set())

    @property
    def nodes(self) -> int:
        return self.sizes[0]

    @property
    def routers(self) -> int:
        return self.sizes[1]

    @property
    def cables(self) -> int:
        return self.sizes[2]

    @property
    def group_nodes(self) -> int:
        return self.whole.group_nodes

    @property
    def typical_hops(self) -> float:
        return self.whole.typical_hops

    def priced_ports(self, without: Collection[str]) -> int | None:
        return self.whole.priced_ports(without)


@lru_cache(maxsize=4)
def _degraded(whole: Topology) -> Machine:
    assert whole.faults is not None
    return with_faults(whole.build(), whole.faults)


class EachClass(QuantityOrMapping):
    """A quantity per link class; a single quantity applies to all classes."""

    @classmethod
    def from_shorthand(cls, value: Any) -> Any:
        if isinstance(value, str | int | float):
            return {field.alias: value for field in cls.model_fields.values()}
        return value


def default_latency(alias: str, description: str) -> Any:
    """Return the field of a link class with the default latency."""
    return Field("40 ns", alias=alias, validate_default=True, description=description)


class ClassBandwidths(EachClass):
    """Bandwidth per direction of one cable of each link class, for machines with groups."""

    local_Bps: Bandwidth = Field(alias="local", description="between routers of a group")
    global_Bps: Bandwidth = Field(alias="global", description="between groups")
    host_Bps: Bandwidth = Field(alias="host", description="between a node and its router")


class ClassLatencies(EachClass):
    """Propagation delay of one cable of each link class, for machines with groups.

    The default is that of 8 m: light in glass of refractive index 1.5 takes 5 ns/m.
    """

    local_ns: Latency = default_latency("local", "between routers of a group")
    global_ns: Latency = default_latency("global", "between groups")
    host_ns: Latency = default_latency("host", "between a node and its router")


class LinkBandwidths(EachClass):
    """Bandwidth per direction of one cable, for machines with one class of router-to-router cables."""

    links_Bps: Bandwidth = Field(alias="links", description="between routers")
    host_Bps: Bandwidth = Field(alias="host", description="between a node and its router")


class LinkLatencies(EachClass):
    """Propagation delay of one cable, for machines with one class of router-to-router cables."""

    links_ns: Latency = default_latency("links", "between routers")
    host_ns: Latency = default_latency("host", "between a node and its router")


def link_classes(bandwidth: EachClass, latency: EachClass) -> LinkClasses:
    """Return the classes of router-to-router cables, and the host class, which is the last field of both."""
    names = [str(field.alias) for field in type(bandwidth).model_fields.values()]
    *classes, host = map(LinkClass, names, vars(bandwidth).values(), vars(latency).values())
    return tuple(classes), host


class UniformTopology(Topology):
    """Base class of machines with equally many nodes on each router, and single cables of one class.

    A subclass defines `routers`, `cables` and `pairs`.
    """

    nodes_per_router: NodesPerRouter
    bandwidth: LinkBandwidths = Field(description="bandwidth of a cable in one direction; one value or one per class")
    latency: LinkLatencies = Field(default_factory=LinkLatencies, description=LATENCY_DESCRIPTION)

    def pairs(self) -> tuple[Ints, Ints]:
        """Return the routers at both ends of each cable."""
        raise NotImplementedError

    @property
    def nodes(self) -> int:
        return self.routers * self.nodes_per_router

    def build(self) -> Machine:
        """Build the machine with the link class "links"."""
        return self.assemble(self.pairs(), 0, 1, link_classes(self.bandwidth, self.latency))


def assemble_groups(
    config: Topology, links: LinkClasses, cables: Sequence[Ints], group_routers: int, **more: Any
) -> Machine:
    """Return a machine of groups of `group_routers` consecutive routers.

    `cables` are the router pairs of each link class, [cables, 2]; equal pairs of a class are parallel cables. A hop of
    the last class, the global one, weighs 100 times another, so that minimal paths hold at most one.
    """
    counted = [np.unique(pairs @ [config.routers, 1], return_counts=True) for pairs in cables]
    key, count = (np.concatenate(arrays) for arrays in zip(*counted, strict=True))
    kinds = np.repeat(np.arange(len(cables)), [len(keys) for keys, _ in counted])
    group = np.arange(config.routers, dtype=np.int32) // group_routers
    more |= {"group": group, "hop_weight": (*[1] * (len(cables) - 1), 100)}
    return config.assemble(np.divmod(key, config.routers), kinds, count, links, **more)


def published_machine(name: str) -> Topology:
    """Return a published machine; raises KeyError if `INSTANCES` does not have the name.

    Examples
    --------
    >>> published_machine("mira").nodes
    49152
    """
    machine: Topology = Topology.model_validate(INSTANCES[name].description)
    return machine
