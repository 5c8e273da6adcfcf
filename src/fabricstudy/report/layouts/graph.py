"""Layout of a graph without known structure, by hop distance."""

import numpy as np

from fabricstudy.core.arrays import Floats
from fabricstudy.machine.distances import distances
from fabricstudy.machine.graph import Machine

from .base import Layout, on_circle, straight

MAX_DRAWN_ROUTERS = 600
"""Larger graphs are not drawn."""

_STEPS = 150


def lay_out(machine: Machine) -> Layout:
    """Place the routers by stress majorization of hop distances, starting from a circle.

    References
    ----------
    Gansner, Koren, North: Graph drawing by stress majorization. Graph Drawing 2004, LNCS 3383.
    """
    positions = _spread(distances(machine).astype(np.float64))
    positions -= positions.mean(axis=0)
    positions /= max(float(np.abs(positions).max()), 1e-9)
    routers = np.arange(machine.routers)
    radius = 0.25 / max(np.sqrt(machine.routers), 5.0)
    return Layout("router", positions, radius, routers, *straight(machine, positions, routers))


def _spread(hops: Floats) -> Floats:
    """Return positions whose distances approximate `hops`, short ones most closely."""
    count = len(hops)
    positions = on_circle(count, radius=max(float(hops.max()), 1.0) / 2)
    if count < 3:
        return positions
    weight = np.where(hops > 0, 1 / np.maximum(hops, 1.0) ** 2, 0.0)
    laplacian = np.diag(weight.sum(axis=1)) - weight
    # A constant sum of all positions makes the equations regular.
    solve = np.linalg.inv(laplacian + 1 / count)
    for _ in range(_STEPS):
        apart = np.hypot(*(positions[:, None] - positions[None]).transpose(2, 0, 1))
        pull = np.divide(weight * hops, apart, out=np.zeros_like(apart), where=apart > 1e-9)
        positions = solve @ ((np.diag(pull.sum(axis=1)) - pull) @ positions)
    return positions
