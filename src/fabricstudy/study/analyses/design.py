"""Largest machines that routers of a given radix allow."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from ..base import ByKind, ConfigError, Model, Whole
from .base import Analysis


class FatTreeFamily(Model):
    """Three-level fat trees with full bisection: r^3 / 4 nodes on 5 r^2 / 4 routers (Al-Fares et al., 2008)."""

    kind: Literal["fat-tree"] = "fat-tree"


class DragonflyFamily(Model):
    """Dragonflies with one link between two groups; balanced ones have a = 2 p = 2 h (Kim et al., ISCA 2008)."""

    kind: Literal["dragonfly"] = "dragonfly"


class SlimFlyFamily(Model):
    """Slim Flies: 2 q^2 routers of (3 q - delta) / 2 links, q = 4 w + delta a prime power (Besta and Hoefler 2014)."""

    kind: Literal["slim-fly"] = "slim-fly"


class ExpressMeshFamily(Model):
    """Express meshes; with gap 1 they are HyperX (Jain et al., IPDPS 2017)."""

    kind: Literal["express-mesh"] = "express-mesh"
    dimensions: Whole = Field(3, ge=1, le=4, description="dimensions (n)")
    gap: Whole = Field(1, ge=1, le=8, description="gap (g)")


FamilyConfig = Annotated[FatTreeFamily | DragonflyFamily | SlimFlyFamily | ExpressMeshFamily, ByKind()]
Radix = Annotated[Whole, Field(ge=4, le=128)]


class Design(Analysis):
    """The machine with most nodes that each family of topologies allows with routers of each radix.

    Balanced machines have at most as many nodes a router as its links can serve when all nodes send to all others:
    p <= (links of a router) / (mean hops) (Jain et al., Equation 3, rounded as `concentration` says; the balanced
    dragonfly and fat tree follow their own rules). The columns: `family` and `ports` (radix that may be used) tell
    rows apart; `shape`; `nodes`; `routers`; `nodes_per_router`; `radix` (ports in use); `node_share`
    (part of them that leads to nodes); `mean_hops` between routers
    where it is computed; `balance` (nodes a router that the links can serve).
    """

    keys: ClassVar[tuple[str, ...]] = ("family", "ports")
    labels: ClassVar[tuple[str, ...]] = ("shape",)
    numbers: ClassVar[tuple[str, ...]] = (
        "ports", "nodes", "routers", "nodes_per_router", "radix", "node_share", "mean_hops", "balance",
    )  # fmt: skip

    kind: Literal["design"] = "design"
    families: dict[str, FamilyConfig] = Field(min_length=1, max_length=100, description="{label: family}")
    ports: tuple[Radix, Radix] = Field(description="least and largest number of ports of a router")
    concentration: Literal["balanced", "free"] = Field(
        "balanced", description="nodes a router: so many as the links can serve, or whatever gives most nodes"
    )

    @model_validator(mode="after")
    def _in_order(self) -> Design:
        if self.ports[0] > self.ports[1]:
            raise ConfigError("an empty range", "swap the two", ("ports",), list(self.ports))
        return self
