"""Largest machines for routers of a given radix."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from fabricstudy.core.kinds import register
from fabricstudy.core.model import Whole

from .base import Analysis, Row, check_range
from .families import DesignFamily, largest_system

Radix = Annotated[Whole, Field(ge=4, le=128)]


@register
class Design(Analysis):
    """The largest machine of each family of topologies with routers of each radix.

    Balanced machines have at most as many nodes a router as its links can serve in an all-to-all: p <= (links of a
    router) / (mean hops), rounded to the nearest integer (Jain et al., Equation 3); the balanced dragonfly and fat tree
    have their own rules. The columns:

    * `family`, `ports`: label of the row, and the ports that a router may use
    * `shape`: parameters of the machine
    * `nodes`, `routers`, `nodes_per_router`
    * `radix`: ports in use; `node_share`: the share of them that leads to nodes
    * `mean_hops`: between distinct routers, where it is computed
    * `balance`: nodes a router that its links can serve
    """

    keys = ("family", "ports")
    labels = ("shape",)
    numbers = (
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
        check_range("ports", self.ports)
        return self

    def rows(self) -> list[Row]:
        names = (*self.labels, *self.numbers[1:])
        return [
            {"family": label, "ports": ports, **{name: getattr(system, name) for name in names}}
            for label, family in self.families.items()
            for ports in range(self.ports[0], self.ports[1] + 1)
            if (system := largest_system(family, ports, self.concentration == "balanced")) is not None
        ]
