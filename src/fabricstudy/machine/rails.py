"""Rails: scale-up domains of accelerators, each with a port in its domain and one in the network of its rail.

Accelerator `a` of domain `d` has the number ``d * accelerators + a``: it is a router with one node. It is joined to the
switch of its domain (class ``scale_up``, such as NVLink) and to a switch of rail ``a mod rails`` (class ``rail``, its
network port). Then follow the switches of the domains, those of each pod or rail (lower level first), and the spine.

A spine joins the switches of all rails, which have one uplink for each `taper` members. Without it the network is
rail-only, and traffic between rails passes through the switch of a domain. With switches of k ports, a rail that needs
several switches has them joined by the spine if that has ports for those of all rails. Otherwise, and without a spine,
a rail is a two-level tree without contention, of leaves with half of their ports down; rails form pods with common
higher switches if there are more rails than ports of the spine. Uplinks (class ``uplink``) are dealt in turn to the
switches above.

References
----------
Wang, Ghobadi, Shakeri, Zhang, Hasani: Rail-only: a low-cost high-performance network for training LLMs with trillion
parameters. HotI 2024, arXiv:2307.12169.
"""

from collections.abc import Collection
from functools import cached_property
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import BeforeValidator, Field

from fabricstudy.core.arrays import Ints
from fabricstudy.core.model import ConfigError, Model, Whole
from fabricstudy.core.quantities import Bandwidth, Latency

from .base import LATENCY_DESCRIPTION, EachClass, LinkClasses, ScaleUp, Topology, default_latency
from .graph import LinkClass, Machine

HOP_WEIGHTS = (3, 4, 1)
"""Of scale_up, rail and uplink: two hops within a domain are lighter than two over a rail (8), and at most four uplinks
lighter than two within a domain, so that a spine comes before the way through another accelerator."""


class RailBandwidths(EachClass):
    """Bandwidth per direction of one cable of each link class."""

    scale_up_Bps: Bandwidth = Field(alias="scale_up", description="between an accelerator and its domain's switch")
    rail_Bps: Bandwidth = Field(alias="rail", description="between an accelerator and a switch of its rail")
    uplink_Bps: Bandwidth | None = Field(
        None, alias="uplink", description="between switches of the rails and the spine; default: that of rail"
    )
    host_Bps: Bandwidth | None = Field(
        None,
        alias="host",
        description="between a node and its accelerator's ports; default: twice the faster of scale_up and rail, "
        "which limits nothing",
    )


class RailLatencies(EachClass):
    """Propagation delay of one cable of each link class."""

    scale_up_ns: Latency = default_latency("scale_up", "between an accelerator and its domain's switch")
    rail_ns: Latency = default_latency("rail", "between an accelerator and a switch of its rail")
    uplink_ns: Latency = default_latency("uplink", "between switches of the rails and the spine")
    host_ns: Latency = Field(
        "0 ns", alias="host", validate_default=True, description="between a node and its accelerator's ports"
    )


class Taper(Model):
    """A spine with fewer uplinks than a rail has members."""

    taper: Whole = Field(ge=1, le=10_000, description="members of a rail for each of its uplinks to the spine")


def _spine(value: Any) -> Any:
    if not isinstance(value, dict | Taper) and value not in ("full", "none"):
        taper = value if isinstance(value, int) and value > 1 else 2
        remedy = f"write full, none, or {{taper: {taper}}}"
        raise ConfigError("not a spine", remedy, value=value, code="unknown-value")
    return {"taper": 1} if value == "full" else value


class Sizes(NamedTuple):
    """Numbers of switches and uplinks."""

    leaves: int
    """Of a rail."""
    down: int
    """Members of a leaf, at most."""
    tops: int
    """Higher switches of a pod."""
    uplinks: int
    """Uplinks of a rail to the spine."""
    spines: int
    pod: int
    """Rails of a pod."""


class RailsConfig(Topology, kind="rails"):
    """Scale-up domains of accelerators joined by rails, with or without a spine (Wang et al., HotI 2024).

    An accelerator has one node and two ways out: the switch of its domain, and a switch of its rail. Traffic within a
    domain stays on its switch; traffic between rails takes the spine or, without one, the switch of a domain.
    """

    traits = frozenset({"groups"})

    domains: Whole = Field(ge=2, le=100_000, description="scale-up domains, such as servers or racks")
    accelerators: Whole = Field(ge=1, le=10_000, description="accelerators per domain")
    rails: Whole | None = Field(
        None, ge=1, le=10_000, description="rails, which divide the accelerators of a domain; default: one for each"
    )
    spine: Annotated[Literal["none"] | Taper, BeforeValidator(_spine)] = Field(
        Taper(taper=1), description="spine between rails: full (an uplink for each member), none, or {taper: n}"
    )
    radix: Whole | None = Field(
        None, ge=2, le=100_000, description="ports of a switch of the rails and the spine; default: as many as needed"
    )
    bandwidth: RailBandwidths = Field(description="bandwidth of a cable in one direction; one value or one per class")
    latency: RailLatencies = Field(default_factory=RailLatencies, description=LATENCY_DESCRIPTION)

    @property
    def rail_count(self) -> int:
        """Number of rails."""
        return self.accelerators if self.rails is None else self.rails

    @property
    def scale_up(self) -> ScaleUp:
        return ScaleUp(self.accelerators, self.bandwidth.scale_up_Bps, self.bandwidth.rail_Bps)

    @property
    def members(self) -> int:
        """Accelerators per rail."""
        return self.domains * self.accelerators // self.rail_count

    def priced_ports(self, without: Collection[str]) -> int | None:
        # The switches of the domains have ports of their own.
        return self.radix if "scale_up" in without else None

    @cached_property
    def sizes(self) -> Sizes:
        """Numbers of switches and uplinks."""
        taper = None if isinstance(self.spine, str) else self.spine.taper
        rails = self.rail_count
        radix = 2 * self.members if self.radix is None else self.radix
        if taper is not None:
            # Leaves with uplinks to the spine, which is to have a port for each.
            leaves = -(-self.members // max(1, radix * taper // (taper + 1)))
            down = -(-self.members // leaves)
            if self.radix is None or rails * leaves <= radix:
                uplinks = leaves * -(-down // taper) if rails * leaves > 1 else 0
                return Sizes(leaves, down, 0, uplinks, self._spines(uplinks), 1)
        leaves = 1 if taper is None and self.members <= radix else -(-self.members // (radix // 2))
        down = -(-self.members // leaves)
        uplinks = 0 if taper is None else -(-self.members // taper)
        # A switch of the spine has a port for each pod.
        pod = next(
            count for count in range(1, rails + 1) if rails % count == 0 and (not uplinks or rails <= count * radix)
        )
        tops = 0 if leaves * pod == 1 else -(-pod * (leaves * down + uplinks) // radix)
        while tops and -(-pod * leaves * down // tops) + -(-pod * uplinks // tops) > radix:
            tops += 1
        return Sizes(leaves, down, tops, uplinks, self._spines(uplinks), pod)

    def _spines(self, uplinks: int) -> int:
        return min(uplinks, 1) if self.radix is None else -(-self.rail_count * uplinks // self.radix)

    @property
    def routers(self) -> int:
        sizes = self.sizes
        switches = self.rail_count * sizes.leaves + self.rail_count // sizes.pod * sizes.tops + sizes.spines
        return self.nodes + self.domains + switches

    @property
    def nodes(self) -> int:
        return self.domains * self.accelerators

    @property
    def group_nodes(self) -> int:
        return self.accelerators

    @property
    def cables(self) -> int:
        sizes = self.sizes
        return 2 * self.nodes + self.rail_count * (sizes.uplinks + (sizes.leaves * sizes.down if sizes.tops else 0))

    @property
    def typical_hops(self) -> float:
        """Mean hops between accelerators: two in a domain, two or four on a rail, two more to another rail."""
        sizes = self.sizes
        on_rail = 2.0 + 2 * (1 - 1 / sizes.leaves)
        within, rail = 1 / self.domains, 1 / self.rail_count
        between = 4.0 + (2 if sizes.tops and sizes.spines else on_rail - 2)
        return within * 2 + (1 - within) * (rail * on_rail + (1 - rail) * between)

    def _check(self) -> None:
        if self.accelerators % self.rail_count:
            problem = f"{self.rail_count} rails do not divide {self.accelerators} accelerators"
            raise ConfigError(problem, "use a divisor", ("rails",), self.rails, "invalid-machine")
        if self.sizes.tops > self.sizes.down:
            problem = "the rails need more levels of switches than two below the spine"
            raise ConfigError(problem, "use a larger radix", ("radix",), self.radix, "invalid-machine")

    def build(self) -> Machine:
        """Build the machine with the link classes "scale_up", "rail" and, if there are such, "uplink"."""
        leaves, down, tops, uplinks, spines, pod = self.sizes
        rails, node = self.rail_count, np.arange(self.nodes)
        of_pod, pods = pod * leaves + tops, rails // pod
        domain, accelerator = np.divmod(node, self.accelerators)
        first_of_pod = self.nodes + self.domains + np.arange(pods)[:, None] * of_pod
        own = accelerator % rails
        member = domain * (self.accelerators // rails) + accelerator // rails
        leaf = first_of_pod[own // pod, 0] + own % pod * leaves + member // down
        cables = [(node, self.nodes + domain), (node, leaf)]
        # Cable number n of those that leave a level leads to switch n mod m of the m above.
        if tops:
            inner = np.arange(pod * leaves * down)
            cables.append(_pairs(first_of_pod + inner // down, first_of_pod + pod * leaves + inner % tops))
        if uplinks:
            number, highest = np.arange(pod * uplinks), tops or pod * leaves
            start = first_of_pod + (pod * leaves if tops else 0)
            spine = np.arange(pods)[:, None] * pod * uplinks + number
            first_spine = self.nodes + self.domains + pods * of_pod
            cables.append(_pairs(start + number * highest // (pod * uplinks), first_spine + spine % spines))
        kinds = np.repeat([0, 1, 2, 2][: len(cables)], [len(tail) for tail, _ in cables])
        tail, head = (np.concatenate(ends) for ends in zip(*cables, strict=True))
        rows, count = np.unique(np.stack([kinds, tail, head]), axis=1, return_counts=True)
        switches = [np.repeat(self.domains + np.arange(pods), of_pod), np.full(spines, self.domains + pods)]
        classes, host = self._links()
        present = int(rows[0].max()) + 1
        return self.assemble(
            rows[1:], rows[0], count, (classes[:present], host),
            node_router=node.astype(np.int32), hop_weight=HOP_WEIGHTS[:present], router_in_node=True,
            group=np.concatenate([domain, np.arange(self.domains), *switches]).astype(np.int32),
        )  # fmt: skip

    def _links(self) -> LinkClasses:
        bandwidth, latency = self.bandwidth, self.latency
        uplink_Bps = bandwidth.uplink_Bps or bandwidth.rail_Bps
        host_Bps = bandwidth.host_Bps or 2 * max(bandwidth.scale_up_Bps, bandwidth.rail_Bps)
        classes = (
            LinkClass("scale_up", bandwidth.scale_up_Bps, latency.scale_up_ns),
            LinkClass("rail", bandwidth.rail_Bps, latency.rail_ns),
            LinkClass("uplink", uplink_Bps, latency.uplink_ns),
        )
        return classes, LinkClass("host", host_Bps, latency.host_ns)


def _pairs(tail: Ints, head: Ints) -> tuple[Ints, Ints]:
    tail, head = np.broadcast_arrays(tail, head)
    return tail.reshape(-1), head.reshape(-1)
