"""Layout of groups on a circle (dragonfly, megafly, slim fly): routers, or a spot for each group."""

import numpy as np

from fabricstudy.core.arrays import Floats, Ints
from fabricstudy.machine.graph import Machine

from .base import MAX_SINGLE_LINES, Layout, on_circle, straight

FILLED = 0.62
"""Share of the space of a group used by its routers."""

MAX_NAMES = 40
"""With more groups only every tenth is numbered."""


def lay_out(machine: Machine) -> Layout | None:
    """Put the groups on a circle, clockwise from the top, each with its routers around its centre.

    Routers without nodes, such as the spines of a megafly, are on the inside. A machine with more than
    `MAX_SINGLE_LINES` rows of cables has one spot for each group. None below three groups.
    """
    if machine.group is None or machine.group.max(initial=0) < 2:
        return None
    group = machine.group.astype(np.int64)
    middles = on_circle(int(group.max()) + 1)
    room = min(float(np.sin(np.pi / len(middles))), 0.5)
    step, distance = 1 if len(middles) <= MAX_NAMES else 10, 1 + 0.85 * room + 0.05
    labels = tuple((*(distance * middles[number]), str(number)) for number in range(0, len(middles), step))
    if len(machine.cable_tail) > MAX_SINGLE_LINES:
        paths = straight(machine, middles, group)
        return Layout("group", middles, 0.72 * room, group, *paths, labels, "numbers: groups")
    positions = np.empty((machine.routers, 2))
    closest = room
    for number, middle in enumerate(middles):
        routers_of_group = np.flatnonzero(group == number)
        positions[routers_of_group] = middle + _inside(machine, routers_of_group, middle, FILLED * room)
        closest = min(closest, _least_gap(positions[routers_of_group]))
    routers = np.arange(machine.routers)
    radius = min(0.42 * closest, 0.3 * room, 0.04)
    paths = straight(machine, positions, routers)
    return Layout("router", positions, radius, routers, *paths, labels, "numbers: groups")


def _inside(machine: Machine, routers: Ints, middle: Floats, size: float) -> Floats:
    """Return the positions of the routers of a group relative to its centre."""
    bare = machine.nodes_of_router[routers] == 0
    outwards = float(np.arctan2(middle[1], middle[0]))
    if not bare.any() or bare.all():
        return on_circle(len(routers), size if len(routers) > 1 else 0.0, outwards)
    along, across = middle / np.hypot(*middle), np.array([middle[1], -middle[0]]) / np.hypot(*middle)
    positions = np.empty((len(routers), 2))
    for chosen, height in ((bare, -0.75 * size), (~bare, 0.75 * size)):
        count = int(chosen.sum())
        wide = np.linspace(-size, size, count) if count > 1 else np.zeros(1)
        positions[chosen] = height * along + wide[:, None] * across
    return positions


def _least_gap(positions: Floats) -> float:
    if len(positions) < 2:
        return np.inf
    apart = np.hypot(*(positions[:, None] - positions[None]).transpose(2, 0, 1))
    return float(apart[np.triu_indices(len(positions), 1)].min())
