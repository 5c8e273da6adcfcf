"""A machine as Merlin's routers, ports and cables."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from fabricstudy.machine.graph import Machine

from ...contract import Unsupported

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Wiring:
    """A topology element of Merlin, and which of its ports each cable and each node takes.

    Parameters
    ----------
    component : str
        The element that routes.
    parameters : dict
        What all routers' elements are told.
    ports : int64 array [routers]
        Ports of each router.
    cable_ports : int64 array [cables, 2]
        Ports at tail and head of each cable, parallel ones counted each: those of row 0 of the machine, then of row 1.
    host_ports : int64 array [nodes]
        Port of each node at its router.
    of_router : dict, optional
        What the element of one router is told besides.
    virtual_networks : int, optional
        Virtual networks of the routers; the messages take the first.
    class_of_group : dict, optional
        Merlin's names of groups of ports, and the class of the machine's links (or "host") whose bandwidth they have.
        Without it all ports have the same.
    routes : tuple of str, optional
        Under source routing the routes from each router.
    """

    component: str
    parameters: dict[str, Any]
    ports: Ints
    cable_ports: Ints
    host_ports: Ints
    of_router: dict[int, dict[str, Any]] = field(default_factory=dict)
    virtual_networks: int = 1
    class_of_group: dict[str, str] = field(default_factory=dict)
    routes: tuple[str, ...] | None = None


def cable_ends(machine: Machine) -> tuple[Ints, Ints]:
    """Tail and head of each cable, parallel ones counted each, int64 [cables]."""
    row = link_of_cable(machine)
    return machine.cable_tail[row].astype(np.int64), machine.cable_head[row].astype(np.int64)


def link_of_cable(machine: Machine) -> Ints:
    """Row of the machine to which each cable belongs, int64 [cables]."""
    return np.repeat(np.arange(len(machine.cable_count)), machine.cable_count)


def place_on_router(machine: Machine) -> Ints:
    """Number of each node among those of its router, int64 [nodes]; nodes stand in the order of their routers."""
    first = np.cumsum(machine.nodes_of_router) - machine.nodes_of_router
    return np.arange(machine.nodes) - first[machine.node_router]


def nodes_on_each_router(machine: Machine) -> int:
    """Nodes of a router, where all have the same number and stand in order.

    Raises
    ------
    Unsupported
        If they do not.
    """
    each = machine.nodes // machine.routers
    if not np.array_equal(machine.node_router, np.arange(machine.nodes) // max(each, 1)):
        raise Unsupported(f"SST's element for {machine.kind} needs the same number of nodes on each router")
    return each
