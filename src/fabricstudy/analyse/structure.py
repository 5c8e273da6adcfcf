"""The figures that describe a machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..machine import Machine
from .bisection import Bisection, bisect
from .routes import distances


@dataclass(frozen=True)
class ClassFigures:
    """Cables of one link class, with bandwidth (one direction) and latency of one cable."""

    name: str
    cables: int
    bandwidth_Bps: float
    latency_ns: float


@dataclass(frozen=True)
class Structure:
    """The figures that describe a machine.

    Parameters
    ----------
    kind : str
        Topology.
    nodes, routers, cables : int
        Cables are those between routers, parallel ones counted each.
    radix : int
        Ports of the largest router: cables and nodes.
    diameter : int
        Most hops between two routers that carry nodes; every cable counts as one hop.
    mean_hops : float
        Mean hops over ordered pairs of distinct routers that carry nodes; 0 if there is only one.
    classes : tuple of ClassFigures
        The link classes, the host links last.
    bisection : Bisection
        Interval and best cut.
    """

    kind: str
    nodes: int
    routers: int
    cables: int
    radix: int
    diameter: int
    mean_hops: float
    classes: tuple[ClassFigures, ...]
    bisection: Bisection

    def to_json(self) -> dict[str, Any]:
        """Everything but the best cut itself."""
        return {
            **{name: getattr(self, name) for name in ("kind", "nodes", "routers", "cables", "radix")},
            "diameter": self.diameter,
            "mean_hops": self.mean_hops,
            "classes": [vars(figures) for figures in self.classes],
            "bisection": self.bisection.to_json(),
        }


def structure(machine: Machine) -> Structure:
    """Describe a machine.

    Parameters
    ----------
    machine : Machine
        Connected; routers that carry nodes carry equally many.

    Returns
    -------
    Structure

    Raises
    ------
    ValueError
        If the machine is not connected, or `bisect` cannot take it.
    """
    carrier = np.flatnonzero(machine.nodes_of_router)
    hops = distances(machine)[np.ix_(carrier, carrier)]
    pairs = len(carrier) * (len(carrier) - 1)
    return Structure(
        kind=machine.kind,
        nodes=machine.nodes,
        routers=machine.routers,
        cables=machine.cables,
        radix=machine.radix,
        diameter=int(hops.max(initial=0)),
        mean_hops=float(hops.sum(dtype=np.int64) / pairs) if pairs else 0.0,
        classes=_class_figures(machine),
        bisection=bisect(machine),
    )


def _class_figures(machine: Machine) -> tuple[ClassFigures, ...]:
    cables = np.bincount(machine.cable_class, machine.cable_count, len(machine.classes)).astype(int)
    counted = [*zip(machine.classes, cables.tolist(), strict=True), (machine.host, machine.nodes)]
    return tuple(ClassFigures(link.name, count, link.bandwidth_Bps, link.latency_ns) for link, count in counted)
