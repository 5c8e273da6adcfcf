"""Fat tree of three levels."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from ..base import ConfigError, Whole
from ..units import Bandwidth, Latency
from .base import EachClass, Topology


class TreeBandwidths(EachClass):
    """Bandwidth per direction of one cable of each link class of a fat tree."""

    pod_Bps: Bandwidth = Field(alias="pod", description="between a leaf and an aggregation router of its pod")
    core_Bps: Bandwidth = Field(alias="core", description="between an aggregation and a core router")
    host_Bps: Bandwidth = Field(alias="host", description="between a node and its router")


class TreeLatencies(EachClass):
    """Time a bit takes along one cable of each link class of a fat tree."""

    pod_ns: Latency = Field(
        "40 ns", alias="pod", validate_default=True, description="between a leaf and an aggregation router of its pod"
    )
    core_ns: Latency = Field(
        "40 ns", alias="core", validate_default=True, description="between an aggregation and a core router"
    )
    host_ns: Latency = Field("40 ns", alias="host", validate_default=True, description="between a node and its router")


class FatTreeConfig(Topology):
    """Fat tree of three levels of routers of one radix k: leaves, aggregation, core (Leiserson 1985; Al-Fares 2008).

    A pod is k/2 leaves with k/2 nodes each, all joined to its k/2 aggregation routers; the core joins the pods.
    """

    traits: ClassVar[frozenset[str]] = frozenset({"groups", "levels"})

    kind: Literal["fat-tree"] = "fat-tree"
    radix: Whole = Field(ge=2, le=10_000, description="ports of a router (k), an even number")
    pods: Whole | None = Field(
        None, ge=2, le=10_000, description="pods; where left out as many as the radix, half populated with half of it"
    )
    core_cables: Whole = Field(
        1,
        ge=1,
        le=5_000,
        description="parallel cables from an aggregation to a core router; with half the pods, 2 need half as many "
        "core routers, all of whose ports are used",
    )
    bandwidth: TreeBandwidths = Field(description="bandwidth of a cable in one direction; one value or one a class")
    latency: TreeLatencies = Field(
        default_factory=TreeLatencies, description="latency of a cable; one value or one a class"
    )

    @model_validator(mode="before")
    @classmethod
    def _fully_populated(cls, value: Any) -> Any:
        if isinstance(value, dict) and value.get("pods") is None and type(value.get("radix")) is int:
            return value | {"pods": value["radix"]}
        return value

    @property
    def pod_count(self) -> int:
        """Number of pods."""
        assert self.pods is not None  # filled in before validation
        return self.pods

    @property
    def half(self) -> int:
        """Half the ports of a router: leaves and aggregation routers of a pod, and nodes of a leaf."""
        return self.radix // 2

    @property
    def core_routers(self) -> int:
        """Number of core routers."""
        return self.half * (self.half // self.core_cables)

    @property
    def routers(self) -> int:
        """Number of routers."""
        return 2 * self.pod_count * self.half + self.core_routers

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return self.pod_count * self.half**2

    @property
    def group_nodes(self) -> int:
        """Number of nodes of a pod."""
        return self.half**2

    @property
    def cables(self) -> int:
        """Number of cables between routers; as many lead up from the leaves as from the aggregation routers."""
        return 2 * self.pod_count * self.half**2

    def _check(self) -> None:
        if self.radix % 2:
            problem = "half the ports lead up and half down, so the radix must be even"
            raise ConfigError(problem, f"take {self.radix - 1} or {self.radix + 1}", ("radix",), self.radix)
        if self.pod_count * self.core_cables > self.radix:
            raise ConfigError(
                f"a core router of {self.radix} ports cannot take {self.core_cables} cables from each of "
                f"{self.pod_count} pods",
                f"take at most {self.radix // self.core_cables} pods, or fewer core_cables",
                ("pods",),
                self.pod_count,
            )
        if self.half % self.core_cables:
            raise ConfigError(
                f"the {self.half} upward cables of an aggregation router do not divide into bundles of "
                f"{self.core_cables}",
                f"take a divisor of {self.half}",
                ("core_cables",),
                self.core_cables,
            )
