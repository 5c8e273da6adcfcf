"""Layout of grids: a slice of the first two dimensions for each position along the others.

Cables that leave a slice or close a ring are drawn as a stub at each end; express cables and cliques as arcs.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import ceil, prod

import numpy as np

from fabricstudy.core.arrays import Floats, Ints
from fabricstudy.machine.graph import Machine

from .base import Layout, on_circle, straight

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


def lay_out(machine: Machine) -> Layout | None:
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
