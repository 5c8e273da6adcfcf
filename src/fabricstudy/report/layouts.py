"""Layouts of machines: positions of routers and lines for cables.

Grids are drawn as grids, trees level by level, machines of groups as groups on a circle, and other graphs by hop
distance.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import ceil, prod

import numpy as np
from scipy.spatial.distance import pdist

from fabricstudy.core.arrays import Floats, Ints
from fabricstudy.core.model import ConfigError
from fabricstudy.machine.distances import hop_distances, levels
from fabricstudy.machine.graph import Machine
from fabricstudy.machine.search import component_labels

MAX_SINGLE_LINES = 1_500
"""Machines of groups and trees with more rows of cables are drawn in bundles."""

MAX_ROW = 64
"""More accelerators side by side are drawn as one spot for each node."""

WITHIN = -1
"""Line of cables between routers of one spot."""

MAX_DRAWN_LINES = 12_000
"""More lines cannot be distinguished."""

MAX_SPOTS = 3_000
"""More spots cannot be distinguished."""

_SMALLER = "draw a smaller machine of the same kind, such as one with fewer groups, pods or routers per dimension"


@dataclass(frozen=True, eq=False)
class Layout:
    """A machine as spots and lines.

    A stroke in `paths` is the number of its line and points, [points, 2]; a line of two strokes shows only the ends of
    a cable. `labels` are names of parts with their centres, `footnote` explains the symbols.
    """

    spot: str
    """Meaning of a spot."""
    positions: Floats
    """Centre of each spot, [spots, 2], without unit."""
    radius: float
    spot_of_router: Ints
    line_of_row: Ints
    """Line of each row of cables of the machine; `WITHIN` if both ends are in one spot."""
    paths: tuple[tuple[int, Floats], ...]
    labels: tuple[tuple[float, float, str], ...] = ()
    footnote: str = ""
    crosses: bool = True
    """Whether lines cross each other."""

    @property
    def lines(self) -> int:
        """Return the number of lines."""
        return int(self.line_of_row.max(initial=WITHIN)) + 1


def straight(machine: Machine, positions: Floats, spot_of_router: Ints) -> tuple[Ints, tuple[tuple[int, Floats], ...]]:
    """Return `line_of_row` and `paths`: one straight line for all cables of a class between two spots."""
    ends = np.sort(np.stack([spot_of_router[machine.cable_tail], spot_of_router[machine.cable_head]], axis=1), axis=1)
    line_of_row = np.full(len(ends), WITHIN, dtype=np.int64)
    apart = ends[:, 0] != ends[:, 1]
    keys = np.column_stack([ends, machine.cable_class])[apart]
    joined, line = np.unique(keys, axis=0, return_inverse=True)
    line_of_row[apart] = line.reshape(-1)
    return line_of_row, tuple((number, positions[pair[:2]]) for number, pair in enumerate(joined))


def on_circle(count: int, radius: float = 1.0, start: float = np.pi / 2) -> Floats:
    """Return equidistant points on a circle, clockwise from the top, [count, 2].

    Examples
    --------
    >>> on_circle(4).round(9).tolist()
    [[0.0, 1.0], [1.0, 0.0], [0.0, -1.0], [-1.0, -0.0]]
    """
    angle = start - 2 * np.pi * np.arange(count) / max(count, 1)
    points: Floats = radius * np.column_stack([np.cos(angle), np.sin(angle)])
    return points


def lay_out(machine: Machine) -> Layout:
    """Lay out a machine by coordinates, levels or groups of its routers, else by hop distance.

    Raises ConfigError if the picture would have more spots or lines than can be distinguished.
    """
    if machine.coordinates is not None and machine.routers > MAX_SPOTS:
        problem = f"a grid of {machine.routers:,} routers cannot be drawn"
        raise ConfigError(problem, f"{_SMALLER}; stay at or below {MAX_SPOTS:,}", code="out-of-range")
    for rule in (_lay_out_grid, _lay_out_tree, _lay_out_groups):
        layout = rule(machine)
        if layout is not None:
            break
    else:
        if machine.routers > MAX_DRAWN_ROUTERS:
            problem = f"a graph of {machine.routers:,} routers without groups, levels or coordinates cannot be drawn"
            raise ConfigError(problem, f"stay at or below {MAX_DRAWN_ROUTERS:,}", code="out-of-range")
        layout = _lay_out_graph(machine)
    if len(layout.positions) > MAX_SPOTS or len(layout.paths) > MAX_DRAWN_LINES:
        problem = f"a picture of {len(layout.positions):,} dots and {len(layout.paths):,} lines cannot be read"
        limits = f"at most {MAX_SPOTS:,} dots and {MAX_DRAWN_LINES:,} lines are drawn"
        raise ConfigError(problem, f"{_SMALLER}; {limits}", code="out-of-range")
    return layout


STUB = 0.36
"""Length of a stub, in distances of neighbours."""

GAP = 1.1
"""Gap between slices, in distances of neighbours."""

SHAPE = 1.5
"""Target ratio of width to height."""

_NOT_FULL = 0.5
"""Penalty of an incomplete last row, in logarithms of the ratio."""

_ANGLES = np.radians([38.0, 62.0, 16.0, 74.0, 50.0])
"""Directions of the stubs along the third and higher dimensions."""


def _lay_out_grid(machine: Machine) -> Layout | None:
    """Lay out a machine with coordinates; a ring or clique alone is a circle. None without coordinates."""
    if machine.coordinates is None or not machine.dimensions:
        return None
    routers = np.arange(machine.routers)
    if len(machine.dimensions) == 1 and (machine.dimensions[0].is_closed or machine.dimensions[0].gap == 1):
        positions = on_circle(machine.routers)
        radius = min(0.05, 0.8 / machine.routers)
        return Layout("router", positions, radius, routers, *straight(machine, positions, routers))
    slices = _Slices(tuple(dimension.length for dimension in machine.dimensions))
    coordinates = machine.coordinates.astype(np.int64)
    positions = slices.positions(coordinates)
    line_of_row, paths = _lines(machine, coordinates, positions)
    closes = any(dimension.is_closed for dimension in machine.dimensions[:2])
    why = " or ".join(["close a ring"] * closes + ["lead to another slice"] * (len(machine.dimensions) > 2))
    notes = [f"stubs: the two ends of cables that {why}"] if why else []
    above = ", ".join(link.name for link in machine.classes[2:])
    notes += [f"above a slice: its {above}"] * (len(machine.dimensions) > 3)
    labels = tuple(slices.labels(machine))
    return Layout(
        "router", positions, 0.17, routers, line_of_row, tuple(paths), labels, "; ".join(notes), crosses=False
    )


@dataclass(frozen=True)
class _Slices:
    """Arrangement of the slices of a grid of these lengths."""

    lengths: tuple[int, ...]

    @property
    def size(self) -> tuple[int, int]:
        """Return the routers of a slice along both axes."""
        return self.lengths[0], self.lengths[1] if len(self.lengths) > 1 else 1

    @cached_property
    def across(self) -> int:
        """Return the slices in a row that give the best shape."""
        wide, high = (length + GAP for length in self.size)
        slices = prod(self.lengths[2:])

        def penalty(across: int) -> float:
            shape = across * wide / (ceil(slices / across) * high)
            return float(abs(np.log(shape / SHAPE))) + _NOT_FULL * (slices % across > 0)

        return min(range(1, slices + 1), key=penalty)

    def _corner(self, number: Ints) -> Floats:
        """Return the lower left corner of slices."""
        down, right = np.divmod(number, self.across)
        return np.stack([right * (self.size[0] + GAP), -down * (self.size[1] + GAP)], axis=-1)

    def positions(self, coordinates: Ints) -> Floats:
        """Return the centre of each router."""
        weights = np.cumprod([1, *self.lengths[2:]])[: len(self.lengths[2:])]
        number = coordinates[:, 2:] @ weights if len(weights) else np.zeros(len(coordinates), dtype=np.int64)
        flat = np.zeros((len(coordinates), 2))
        flat[:, : min(2, coordinates.shape[1])] = coordinates[:, :2]
        return flat + self._corner(number)

    def labels(self, machine: Machine) -> Iterator[tuple[float, float, str]]:
        """Yield the name of each slice, such as "z 3", above it."""
        others = self.lengths[2:]
        for number in range(prod(others) if others else 0):
            x, y = self._corner(np.array(number))
            position = np.unravel_index(number, others[::-1])[::-1]
            name = f"{machine.classes[2].name} {position[0]}" if len(others) == 1 else ", ".join(map(str, position))
            yield float(x) + (self.size[0] - 1) / 2, float(y) + self.size[1] - 1 + 0.62, name


def _lines(machine: Machine, coordinates: Ints, positions: Floats) -> tuple[Ints, list[tuple[int, Floats]]]:
    """Return the line of each row and the strokes of all lines."""
    tail, head = machine.cable_tail, machine.cable_head
    step = coordinates[head] - coordinates[tail]
    along = np.argmax(step != 0, axis=1)
    span = step[np.arange(len(step)), along]
    paths: list[tuple[int, Floats]] = []
    for row, (axis, hops) in enumerate(zip(along.tolist(), span.tolist(), strict=True)):
        dimension = machine.dimensions[axis]
        closes = dimension.is_closed and abs(hops) == dimension.length - 1
        ends = positions[[tail[row], head[row]]]
        if axis > 1 or closes:
            # On a ring, the next router after the last is the first.
            sign = np.sign(hops) * (-1 if closes else 1)
            towards = sign * STUB * _direction(axis)
            paths += [(row, np.stack([end, end + stub])) for end, stub in zip(ends, (towards, -towards), strict=True)]
        elif abs(hops) > 1:
            paths.append((row, _arc(ends, abs(hops), dimension.length)))
        else:
            paths.append((row, ends))
    return np.arange(len(tail), dtype=np.int64), paths


def _direction(dimension: int) -> Floats:
    if dimension < 2:
        return np.array([1.0 - dimension, float(dimension)])
    angle = _ANGLES[(dimension - 2) % len(_ANGLES)]
    return np.array([np.cos(angle), np.sin(angle)])


def _arc(ends: Floats, span: int, length: int) -> Floats:
    """Return a flat arc, higher for longer spans, below the next row."""
    height = 0.16 + 0.56 * (span - 2) / max(length - 2, 1)
    share = np.linspace(0, 1, 13)[:, None]
    line = ends[0] + share * (ends[1] - ends[0])
    across = np.array([0.0, 1.0]) if ends[0][1] == ends[1][1] else np.array([1.0, 0.0])
    arc: Floats = line + height * (4 * share * (1 - share)) ** 0.5 * across
    return arc


HEIGHT = 0.55
"""Height of the picture of a tree over its width."""


def _lay_out_tree(machine: Machine) -> Layout | None:
    """Put each level into a row, leaves at the bottom, the routers of a subtree side by side.

    A tree of more than `MAX_SINGLE_LINES` rows of cables has one spot for each level of a subtree below the top, and
    one for the top; many accelerators have one spot for each node. None for a machine that is not a tree.
    """
    level = levels(machine)
    if level is None:
        return None
    # The subtrees below each level are the components without it.
    tail, head = machine.cable_tail, machine.cable_head
    highest = np.maximum(level[tail], level[head])
    below = [highest < top for top in range(1, int(level.max()) + 1)]
    within = [component_labels(tail[rows], head[rows], machine.routers).astype(np.int64) for rows in below]
    part = np.empty(machine.routers, dtype=np.int64)
    part[np.lexsort([np.arange(machine.routers), *within])] = np.arange(machine.routers)
    single, spot = len(machine.cable_tail) <= MAX_SINGLE_LINES, "router"
    if machine.router_in_node and machine.group is not None and np.count_nonzero(level == 0) > MAX_ROW:
        part = np.where(level == 0, machine.group, part)
        spot = "switch, or the accelerators of a node"
    if not single:
        spot = "level of a subtree"
        part = np.where(level == level.max(), -1, within[-1])
    spots, spot_of_router = np.unique(np.column_stack([level, part]), axis=0, return_inverse=True)
    spot_of_router = spot_of_router.reshape(-1).astype(np.int64)
    rows, count = np.unique(spots[:, 0], return_counts=True)
    widest = int(count.max())
    step = HEIGHT * widest / max(len(rows) - 1, 1)
    heights = zip(rows, count, strict=True)
    levelled = [np.column_stack([(np.arange(n) + 0.5) * widest / n, np.full(n, row * step)]) for row, n in heights]
    positions = np.concatenate(levelled)
    labels = tuple((-0.02 * widest, float(number * step), f"level {number}") for number in rows)
    lines = straight(machine, positions, spot_of_router)
    return Layout(spot, positions, min(0.36, 0.012 * widest), spot_of_router, *lines, labels)


FILLED = 0.62
"""Share of the space of a group used by its routers."""

MAX_NAMES = 40
"""With more groups only every tenth is numbered."""


def _lay_out_groups(machine: Machine) -> Layout | None:
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
        closest = min(closest, pdist(positions[routers_of_group]).min(initial=np.inf))
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


MAX_DRAWN_ROUTERS = 600
"""Larger graphs are not drawn."""

_STEPS = 150


def _lay_out_graph(machine: Machine) -> Layout:
    """Place the routers by stress majorization of hop distances, starting from a circle.

    References
    ----------
    Gansner, Koren, North: Graph drawing by stress majorization. Graph Drawing 2004, LNCS 3383.
    """
    positions = _spread(hop_distances(machine).matrix().astype(np.float64))
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
