"""Distances between routers, and the links in the order in which searches walk them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..machine import Machine


class Adjacency(NamedTuple):
    """Directed links sorted by the router they leave; those of router r start at ``first[r]``.

    `cables` counts the parallel ones.
    """

    first: npt.NDArray[np.int64]
    link: npt.NDArray[np.int64]
    head: npt.NDArray[np.int64]
    kind: npt.NDArray[np.int64]
    cables: npt.NDArray[np.float64]


def adjacency(machine: Machine) -> Adjacency:
    """Sort the directed links of `machine` by the router they leave."""
    link = np.argsort(machine.link_tail, kind="stable")
    leaving = np.bincount(machine.link_tail, minlength=machine.routers)
    return Adjacency(
        first=np.concatenate([[0], np.cumsum(leaving)]).astype(np.int64),
        link=link.astype(np.int64),
        head=machine.link_head[link].astype(np.int64),
        kind=machine.link_class[link].astype(np.int64),
        cables=machine.cable_count[link // 2].astype(np.float64),
    )


def distances(machine: Machine) -> npt.NDArray[np.int16]:
    """Hops between all routers.

    Returns
    -------
    int16 array [routers, routers]
        Links on a shortest path; every link counts 1, whatever its class.

    Raises
    ------
    ValueError
        If some router cannot be reached.
    """
    from .kernels import hop_distances  # numba takes long to import, and not every run needs it

    links = adjacency(machine)
    distance = np.empty((machine.routers, machine.routers), dtype=np.int16)
    hop_distances(links.first, links.head, distance)
    if distance.min(initial=0) < 0:
        raise ValueError("the machine is not connected")
    return distance


def longest_route(machine: Machine) -> int:
    """Hops of the longest path of least `Machine.hop_weight` between two routers.

    Raises
    ------
    ValueError
        If some router cannot be reached.

    Examples
    --------
    >>> from fabricstudy.machine import build
    >>> from fabricstudy.study.machines import DragonflyConfig
    >>> longest_route(build(DragonflyConfig.model_validate({"groups": 9, "routers_per_group": 4,
    ...     "nodes_per_router": 2, "bandwidth": "1 GB/s"})))
    3
    """
    from .kernels import most_hops

    links = adjacency(machine)
    hops = int(most_hops(links.first, links.head, links.kind, np.array(machine.hop_weight, dtype=np.int64)))
    if hops < 0:
        raise ValueError("the machine is not connected")
    return hops
