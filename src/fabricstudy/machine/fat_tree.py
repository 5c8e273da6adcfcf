"""Fat tree: leaf, aggregation and core routers of one radix; see `xgft` for other trees.

With radix k, h = k/2 and P pods, router `pod * h + i` is leaf i of a pod, `P h + pod * h + j` its aggregation router
j, and the core routers follow: with c parallel cables, h/c of them join the aggregation routers number j of all
pods. Nodes are numbered in the order of the leaves, h on each.

Between leaves of a pod there are 2 hops, of different pods 4. The tree has full bisection: 1/2 of the nodes'
bandwidth where all cables have the same (Leiserson 1985); with P = k pods it is the folded Clos network of
Al-Fares et al., k^3/4 nodes on 5 k^2/4 routers.

References
----------
Leiserson: Fat-trees: universal networks for hardware-efficient supercomputing. IEEE Trans. Computers C-34, 1985,
doi:10.1109/TC.1985.6312192.
Al-Fares, Loukissas, Vahdat: A scalable, commodity data center network architecture. SIGCOMM 2008,
doi:10.1145/1402958.1402967.
"""

from collections.abc import Iterator
from typing import Any

from pydantic import Field, model_validator

from fabricstudy.core.model import ConfigError, Whole
from fabricstudy.core.quantities import Bandwidth, Latency

from .base import LATENCY_DESCRIPTION, EachClass, Topology, default_latency, link_classes
from .graph import Machine
from .requirements import MachineRequirements
from .xgft import build_tree


class TreeBandwidths(EachClass):
    """Bandwidth per direction of one cable of each link class of a fat tree."""

    pod_Bps: Bandwidth = Field(alias="pod", description="between a leaf and an aggregation router of its pod")
    core_Bps: Bandwidth = Field(alias="core", description="between an aggregation and a core router")
    host_Bps: Bandwidth = Field(alias="host", description="between a node and its router")


class TreeLatencies(EachClass):
    """Propagation delay of one cable of each link class of a fat tree."""

    pod_ns: Latency = default_latency("pod", "between a leaf and an aggregation router of its pod")
    core_ns: Latency = default_latency("core", "between an aggregation and a core router")
    host_ns: Latency = default_latency("host", "between a node and its router")


class FatTreeConfig(Topology, kind="fat-tree"):
    """Fat tree of three levels of routers of one radix k: leaves, aggregation, core (Leiserson 1985; Al-Fares 2008).

    A pod is k/2 leaves with k/2 nodes each, all joined to its k/2 aggregation routers; the core joins the pods.
    """

    traits = frozenset({"groups", "levels", "pods"})

    radix: Whole = Field(ge=2, le=10_000, description="ports per router (k), an even number")
    pods: Whole | None = Field(
        None, ge=1, le=10_000, description="pods; default: the radix, which fully populates the tree"
    )
    core_cables: Whole = Field(
        1,
        ge=1,
        le=5_000,
        description="parallel cables from an aggregation to a core router; 2 with half the pods halve the number of "
        "core routers, whose ports are then all in use",
    )
    bandwidth: TreeBandwidths = Field(description="bandwidth of a cable in one direction; one value or one per class")
    latency: TreeLatencies = Field(default_factory=TreeLatencies, description=LATENCY_DESCRIPTION)

    @model_validator(mode="before")
    @classmethod
    def _fully_populated(cls, value: Any) -> Any:
        if isinstance(value, dict) and value.get("pods") is None and type(value.get("radix")) is int:
            return value | {"pods": value["radix"]}
        return value

    @classmethod
    def configurations(cls, wanted: MachineRequirements) -> Iterator[dict[str, Any]]:
        for radix in range(2, wanted.radix + 1, 2):
            for pods in range(2, radix + 1):
                if wanted.least_nodes <= pods * (radix // 2) ** 2 <= wanted.max_nodes:
                    yield {"radix": radix, "pods": pods}

    @property
    def pod_count(self) -> int:
        """Number of pods."""
        assert self.pods is not None  # filled in before validation
        return self.pods

    @property
    def half_radix(self) -> int:
        """Half the ports of a router: number of leaves and of aggregation routers per pod, and of nodes per leaf."""
        return self.radix // 2

    @property
    def core_routers(self) -> int:
        """Number of core routers."""
        return self.half_radix * (self.half_radix // self.core_cables)

    @property
    def routers(self) -> int:
        return 2 * self.pod_count * self.half_radix + self.core_routers

    @property
    def nodes(self) -> int:
        return self.pod_count * self.half_radix**2

    @property
    def group_nodes(self) -> int:
        return self.half_radix**2

    @property
    def cables(self) -> int:
        # As many lead up from the leaves as from the aggregation routers.
        return 2 * self.pod_count * self.half_radix**2

    @property
    def typical_hops(self) -> float:
        """Mean hops between leaves, equal ones included: 2 within a pod, 4 between pods."""
        return 4 - 2 / self.pod_count - 2 / (self.pod_count * self.half_radix)

    def _check(self) -> None:
        if self.radix % 2:
            remedy = f"use {self.radix - 1} or {self.radix + 1}"
            raise ConfigError("the radix must be even", remedy, ("radix",), self.radix, "invalid-machine")
        if self.pod_count * self.core_cables > self.radix:
            problem = (
                f"{self.pod_count} pods of {self.core_cables} cables exceed the core routers' ports ({self.radix})"
            )
            remedy = f"use at most {self.radix // self.core_cables} pods, or fewer core_cables"
            raise ConfigError(problem, remedy, ("pods",), self.pod_count, "invalid-machine")
        if self.half_radix % self.core_cables:
            problem = f"core_cables must divide the {self.half_radix} upward cables of an aggregation router"
            remedy = f"use a divisor of {self.half_radix}"
            raise ConfigError(problem, remedy, ("core_cables",), self.core_cables, "invalid-machine")

    def build(self) -> Machine:
        """Build a fat tree with the link classes "pod" and "core", pod rows first.

        `level` is 0 for leaf, 1 for aggregation, 2 for core routers; core routers form the last `group`.
        """
        half = self.half_radix
        down, up = (half, half, self.pod_count), (half, half // self.core_cables)
        return build_tree(self, link_classes(self.bandwidth, self.latency), down, up, (1, self.core_cables))
