"""What machines are made of."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from ..base import ConfigError, Flag
from ..machines import MachineConfig
from .base import Analysis

Sizes = Annotated[tuple[MachineConfig, ...], Field(min_length=1, max_length=100)]


class Topologies(Analysis):
    """Routers, cables, ports, hops and bisection of machines, such as those of several families in several sizes.

    The columns: `family` and `nodes` tell rows apart; `routers`; `cables` between them; `radix` (ports in use of the
    largest router); `router_ports` (ports of all routers if each had so many), `ports_per_node` and
    `cables_per_node`; `diameter` and `mean_hops` between distinct routers with nodes; on request `valiant_hops`
    (mean hops of packets between such routers that go by one drawn at random) and `detour` (that over `mean_hops`);
    `bisection_lower_Bps` and `bisection_upper_Bps`, equal where the bisection is exact, and
    `bisection_per_node_Bps` (upper end over nodes).
    """

    keys: ClassVar[tuple[str, ...]] = ("family", "nodes")
    numbers: ClassVar[tuple[str, ...]] = (
        "nodes", "routers", "cables", "radix", "router_ports", "ports_per_node", "cables_per_node", "diameter",
        "mean_hops", "valiant_hops", "detour", "bisection_lower_Bps", "bisection_upper_Bps", "bisection_per_node_Bps",
    )  # fmt: skip

    kind: Literal["topologies"] = "topologies"
    families: dict[str, Sizes] = Field(
        min_length=1, max_length=100, description="{label: [machine, ...]}; those of a family differ in their nodes"
    )
    valiant: Flag = Field(
        False, description="also follow Valiant's routes; takes minutes where very many shortest paths tie"
    )

    @model_validator(mode="after")
    def _sizes_differ(self) -> Topologies:
        for label, sizes in self.families.items():
            nodes = [machine.nodes for machine in sizes]
            for place, count in enumerate(nodes):
                if count in nodes[:place]:
                    problem = f"two machines of the family have {count} nodes"
                    raise ConfigError(problem, "put one of them into another family", ("families", label, str(place)))
        return self
