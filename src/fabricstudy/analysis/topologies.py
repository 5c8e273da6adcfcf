"""Routers, cables, hops and bisection of machines."""

from typing import Annotated

import numpy as np
from pydantic import Field

from fabricstudy.core.model import ConfigError, Flag, model_check
from fabricstudy.machine.base import Topology
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.valiant import Valiant
from fabricstudy.structure.load import router_link_loads
from fabricstudy.structure.summary import describe_machine

from .base import Analysis, Row


def _facts(machine: Machine, with_valiant: bool) -> Row:
    described = describe_machine(machine)
    ports, valiant = described.routers * described.radix, _valiant_hops(machine) if with_valiant else None
    names = ("nodes", "routers", "cables", "radix", "diameter", "mean_hops")
    return {name: getattr(described, name) for name in names} | {
        "router_ports": ports, "ports_per_node": ports / described.nodes,
        "cables_per_node": described.cables / described.nodes, "valiant_hops": valiant,
        "detour": None if valiant is None else valiant / described.mean_hops,
        "bisection_lower_Bps": described.bisection.lower_Bps, "bisection_upper_Bps": described.bisection.upper_Bps,
        "bisection_per_node_Bps": described.bisection.upper_Bps / described.nodes,
    }  # fmt: skip


def _valiant_hops(machine: Machine) -> float | None:
    """Return the mean hops of Valiant's routing for an all-to-all of the nodes; None for one router."""
    nodes = machine.nodes_of_router > 0
    traffic = np.outer(nodes, nodes).astype(np.float64)
    np.fill_diagonal(traffic, 0.0)
    if not traffic.any():
        return None
    return float(router_link_loads(machine, traffic, Valiant()).sum() / traffic.sum())


Sizes = Annotated[tuple[Topology, ...], Field(min_length=1, max_length=100)]


class Topologies(Analysis, kind="topologies"):
    """Routers, cables, ports, hops and bisection of machines.

    The columns:

    * `family`, `nodes`: label of the row, and nodes of the machine
    * `routers`, `cables`: all routers, and the cables between them
    * `radix`: ports in use of the largest router
    * `router_ports`: `routers` times `radix`
    * `ports_per_node`, `cables_per_node`
    * `diameter`, `mean_hops`: between distinct routers with nodes
    * `valiant_hops`, `detour`: on request, mean hops with Valiant's routing, and these over `mean_hops`
    * `bisection_lower_Bps`, `bisection_upper_Bps`: equal where the bisection is exact
    * `bisection_per_node_Bps`: the upper one over `nodes`
    """

    keys = ("family", "nodes")
    numbers = (
        "nodes", "routers", "cables", "radix", "router_ports", "ports_per_node", "cables_per_node", "diameter",
        "mean_hops", "valiant_hops", "detour", "bisection_lower_Bps", "bisection_upper_Bps", "bisection_per_node_Bps",
    )  # fmt: skip

    families: dict[str, Sizes] = Field(
        min_length=1, max_length=100, description="{label: [machine, ...]}; those of a family differ in their nodes"
    )
    valiant: Flag = Field(
        False, description="also compute Valiant's routes, which takes minutes if there are very many shortest paths"
    )

    @model_check
    def _sizes_differ(self) -> None:
        for label, sizes in self.families.items():
            nodes = [machine.nodes for machine in sizes]
            for number, count in enumerate(nodes):
                if count in nodes[:number]:
                    problem = f"two machines of the family have {count} nodes"
                    path = ("families", label, str(number))
                    raise ConfigError(problem, "move one to another family", path, code="duplicate")

    def rows(self) -> list[Row]:
        return [
            {"family": label, **_facts(machine.build(), self.valiant)}
            for label, sizes in self.families.items()
            for machine in sizes
        ]
