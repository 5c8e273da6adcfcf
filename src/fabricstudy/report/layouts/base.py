"""Base of all layouts."""

from dataclasses import dataclass

import numpy as np

from fabricstudy.core.arrays import Floats, Ints
from fabricstudy.machine.graph import Machine

MAX_SINGLE_LINES = 1_500
"""Machines of groups and trees with more rows of cables are drawn in bundles."""

WITHIN = -1
"""Line of cables between routers of one spot."""


@dataclass(frozen=True, eq=False)
class Layout:
    """A machine as spots and lines.

    Parameters
    ----------
    spot : str
        Meaning of a spot.
    positions : float64 array [spots, 2]
        Centre of each spot, without unit.
    radius : float
        Radius of a spot.
    spot_of_router : int64 array [routers]
        Spot of each router.
    line_of_row : int64 array [rows]
        Line of each row of cables of the machine; `WITHIN` if both ends are in one spot.
    paths : tuple of (int, float64 array [points, 2])
        Strokes, each with its line; a line of two strokes shows only the ends of a cable.
    labels : tuple of (float, float, str)
        Names of parts with their centres.
    footnote : str
        Explanation of the symbols.
    crosses : bool
        Whether lines cross each other.
    """

    spot: str
    positions: Floats
    radius: float
    spot_of_router: Ints
    line_of_row: Ints
    paths: tuple[tuple[int, Floats], ...]
    labels: tuple[tuple[float, float, str], ...] = ()
    footnote: str = ""
    crosses: bool = True

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
