"""Bytes on every link, exactly, without simulation.

**Minimal**: the paths of least total `Machine.hop_weight`; where several links lead on, the bytes split in
proportion to their parallel cables, hop by hop.

**Valiant** (Valiant, SIAM J. Computing 11(2), 1982): minimal to a router drawn uniformly from those that carry
nodes, then minimal to the destination; the loads are the expectation over the draws. The first and last router may
be drawn, and then the path is minimal. A packet that meets its destination router on the way to the drawn one is
delivered there. A message between nodes of one router takes no cable, so it draws none. So do CAMINOS' `Valiant`
(caminos-lib 0.6.3, with `selection_exclude_indirect_routers: true`) and the routing of our front end for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from ..machine import Machine
from .routes import adjacency

Floats = npt.NDArray[np.float64]
Routing = Literal["minimal", "valiant"]


@dataclass(frozen=True, eq=False)
class LinkLoads:
    """Bytes on the links.

    Parameters
    ----------
    link_bytes : float64 array [links]
        On each directed link of the machine, all its parallel cables together.
    injection_bytes, ejection_bytes : float64 arrays [nodes]
        From each node to its router, and from the router to the node.
    """

    link_bytes: Floats
    injection_bytes: Floats
    ejection_bytes: Floats


def link_loads(
    machine: Machine,
    source_node: npt.NDArray[np.integer],
    destination_node: npt.NDArray[np.integer],
    size_bytes: npt.NDArray[np.number],
    routing: Routing,
) -> LinkLoads:
    """Bytes that a list of messages puts on each link.

    Parameters
    ----------
    machine : Machine
        Routers and cables.
    source_node, destination_node : int arrays [messages]
        Nodes; a message within one node uses no link.
    size_bytes : array [messages]
        Bytes of each message.
    routing : {"minimal", "valiant"}
        See the module's docstring.

    Returns
    -------
    LinkLoads
        Whole numbers where every path is unique.

    Raises
    ------
    ValueError
        If the machine is not connected, or `routing` has no loads of its own (adaptive).
    """
    outside = np.asarray(source_node) != np.asarray(destination_node)
    source, destination = np.asarray(source_node)[outside], np.asarray(destination_node)[outside]
    size = np.asarray(size_bytes)[outside].astype(np.float64)
    router = machine.node_router.astype(np.int64)
    return LinkLoads(
        link_bytes=_loads(machine, router[source], router[destination], size, routing),
        injection_bytes=_bytes_of(source, size, machine.nodes),
        ejection_bytes=_bytes_of(destination, size, machine.nodes),
    )


def router_link_loads(machine: Machine, traffic_bytes: Floats, routing: Routing) -> Floats:
    """Bytes on each directed link for traffic that is given between routers.

    Parameters
    ----------
    machine : Machine
        Routers and cables.
    traffic_bytes : float64 array [routers, routers]
        Bytes from the nodes of one router to those of another; the diagonal uses no cable.
    routing : {"minimal", "valiant"}
        See the module's docstring.

    Returns
    -------
    float64 array [links]
    """
    source, destination = np.nonzero(traffic_bytes)
    return _loads(machine, source, destination, traffic_bytes[source, destination], routing)


def _bytes_of(place: npt.NDArray[np.integer], size: Floats, places: int) -> Floats:
    return np.bincount(place, weights=size, minlength=places).astype(np.float64, copy=False)


def _loads(
    machine: Machine,
    source: npt.NDArray[np.int64],
    destination: npt.NDArray[np.int64],
    size: Floats,
    routing: Routing,
) -> Floats:
    if routing == "minimal":
        return _minimal(machine, source, destination, size)
    if routing == "valiant":
        pair = source * machine.routers + destination
        traffic = _bytes_of(pair, size, machine.routers**2)
        return _valiant(machine, traffic.reshape(machine.routers, machine.routers))
    raise ValueError(f"link loads are known for minimal and valiant routing, not for {routing!r}")


def _minimal(
    machine: Machine, source: npt.NDArray[np.int64], destination: npt.NDArray[np.int64], size: Floats
) -> Floats:
    from .kernels import group_by_destination, minimal_loads  # numba takes long to import

    messages = group_by_destination(source, destination, size, machine.routers)
    weight = np.array(machine.hop_weight, dtype=np.int64)
    load: Floats = minimal_loads(*adjacency(machine), weight, *messages)
    return _connected(load)


def _valiant(machine: Machine, traffic: Floats) -> Floats:
    """Minimal loads of both legs, less the legs that early arrivals are spared."""
    from .kernels import early_arrivals

    np.fill_diagonal(traffic, 0.0)
    middles = np.flatnonzero(machine.nodes_of_router)
    weight = np.array(machine.hop_weight, dtype=np.int64)
    spared = _connected(early_arrivals(*adjacency(machine), weight, traffic, middles))
    legs = -spared - spared.T
    legs[:, middles] += traffic.sum(axis=1)[:, None]
    legs[middles, :] += traffic.sum(axis=0)[None, :]
    np.fill_diagonal(legs, 0.0)
    return router_link_loads(machine, legs / len(middles), "minimal")


def _connected(result: Floats) -> Floats:
    if np.isnan(result.flat[0] if result.size else 0.0):
        raise ValueError("the machine is not connected")
    return result
