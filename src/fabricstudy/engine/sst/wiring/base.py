"""A machine as Merlin's routers, ports and cables."""

from dataclasses import dataclass, field
from typing import Any, TypeGuard, TypeVar

import numpy as np

from fabricstudy.core.arrays import Ints
from fabricstudy.machine.base import Topology
from fabricstudy.machine.graph import Machine

from ...failures import Unsupported

T = TypeVar("T", bound=Topology)


@dataclass(frozen=True, eq=False)
class Wiring:
    """A topology element of Merlin, and the ports of cables and nodes."""

    component: str
    """The element that routes."""
    parameters: dict[str, Any]
    """Parameters of the elements of all routers."""
    ports: Ints
    """Number of ports of each router, [routers]."""
    cable_ports: Ints
    """Ports at tail and head of each cable, with parallel cables in the order of the machine's rows, [cables, 2]."""
    host_ports: Ints
    """Port of each node at its router, [nodes]."""
    of_router: dict[int, dict[str, Any]] = field(default_factory=dict)
    """Additional parameters of single routers."""
    virtual_networks: int = 1
    """Virtual networks of the routers; messages use the first."""
    class_of_group: dict[str, str] = field(default_factory=dict)
    """Link class (or "host") with the bandwidth of each of Merlin's port groups; empty if all have the same."""
    routes: tuple[str, ...] | None = None
    """Routes from each router under source routing."""


def is_built_by(config: Topology, family: type[T]) -> TypeGuard[T]:
    """Return whether a machine has the cables of `family`; a derived topology may have others."""
    return isinstance(config, family) and type(config).build is family.build


def cable_ends(machine: Machine) -> tuple[Ints, Ints]:
    """Return tail and head of each cable, with parallel cables, int64 [cables]."""
    row = link_of_cable(machine)
    return machine.cable_tail[row].astype(np.int64), machine.cable_head[row].astype(np.int64)


def link_of_cable(machine: Machine) -> Ints:
    """Return the machine's row of each cable, int64 [cables]."""
    return np.repeat(np.arange(len(machine.cable_count)), machine.cable_count)


def nodes_on_each_router(machine: Machine) -> int:
    """Return the nodes of each router; raise `Unsupported` if numbers differ or nodes are in another order."""
    each = machine.nodes // machine.routers
    if not np.array_equal(machine.node_router, np.arange(machine.nodes) // max(each, 1)):
        raise Unsupported(f"SST's element for {machine.kind} needs the same number of nodes on each router")
    return each
