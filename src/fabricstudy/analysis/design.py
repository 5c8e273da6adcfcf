"""Largest machines for routers of a given radix."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from fabricstudy.core.kinds import register
from fabricstudy.core.model import ConfigError, Whole

from .base import Analysis
from .families import DesignFamily, largest_system

Radix = Annotated[Whole, Field(ge=4, le=128)]


@register
class Design(Analysis):
    """The largest machine of each family of topologies with routers of each radix.

    Balanced machines have at most as many nodes a router as its links can serve in an all-to-all:
    p <= (links of a router) / (mean hops) (Jain et al., Equation 3, rounded as `concentration` says; the balanced
    dragonfly and fat tree follow their own rules). The columns:

    * `family`, `ports`: label of the row, and the ports that a router may use
    * `shape`: parameters of the machine
    * `nodes`, `routers`, `nodes_per_router`
    * `radix`: ports in use; `node_share`: the share of them that leads to nodes
    * `mean_hops`: between distinct routers, where it is computed
    * `balance`: nodes a router that its links can serve
    """

    keys: ClassVar[tuple[str, ...]] = ("family", "ports")
    labels: ClassVar[tuple[str, ...]] = ("shape",)
    numbers: ClassVar[tuple[str, ...]] = (
        "ports", "nodes", "routers", "nodes_per_router", "radix", "node_share", "mean_hops", "balance",
    )  # fmt: skip

    kind: Literal["design"] = "design"
    families: dict[str, DesignFamily] = Field(min_length=1, max_length=100, description="{label: family}")
    ports: tuple[Radix, Radix] = Field(description="smallest and largest number of ports of a router")
    concentration: Literal["balanced", "free"] = Field(
        "balanced", description="nodes a router: as many as the links can serve, or those of the largest machine"
    )

    @model_validator(mode="after")
    def _in_order(self) -> Design:
        if self.ports[0] > self.ports[1]:
            raise ConfigError("an empty range", "swap the two", ("ports",), list(self.ports), "out-of-range")
        return self

    def rows(self) -> list[dict[str, Any]]:
        names = (*self.labels, *self.numbers[1:])
        return [
            {"family": label, "ports": ports, **{name: getattr(system, name) for name in names}}
            for label, family in self.families.items()
            for ports in range(self.ports[0], self.ports[1] + 1)
            if (system := largest_system(family, ports, self.concentration == "balanced")) is not None
        ]
