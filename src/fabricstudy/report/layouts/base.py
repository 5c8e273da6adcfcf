"""What every layout has, and how cables become lines."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fabricstudy.machine.graph import Machine

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MAX_SINGLE_LINES = 1_500
"""With more rows of cables a machine of groups, or a tree of them, is drawn in bundles."""

WITHIN = -1
"""Line of cables that join routers of one spot."""


@dataclass(frozen=True, eq=False)
class Layout:
    """A machine as spots and lines.

    Parameters
    ----------
    spot : str
        What a spot stands for.
    place : float64 array [spots, 2]
        Middle of each spot; lengths have no unit, and are equal along both axes.
    radius : float
        Of a spot.
    spot_of_router : int64 array [routers]
        The spot in which each router is drawn, alone or with others.
    line_of_row : int64 array [rows]
        The line that stands for each row of cables of the machine; `WITHIN` where a spot holds both ends.
    paths : tuple of (int, float64 array [points, 2])
        Strokes, each with the line it belongs to; a line of two strokes is a cable of which only the ends are drawn.
    words : tuple of (float, float, str)
        Names of parts, each with its middle.
    says : str
        A note below the picture.
    crosses : bool
        Whether lines cross each other, and hide each other where they are many.
    """

    spot: str
    place: Floats
    radius: float
    spot_of_router: Ints
    line_of_row: Ints
    paths: tuple[tuple[int, Floats], ...]
    words: tuple[tuple[float, float, str], ...] = ()
    says: str = ""
    crosses: bool = True

    @property
    def lines(self) -> int:
        """Number of lines."""
        return int(self.line_of_row.max(initial=WITHIN)) + 1


def straight(machine: Machine, place: Floats, spot_of_router: Ints) -> tuple[Ints, tuple[tuple[int, Floats], ...]]:
    """Return `line_of_row` and `paths` of a layout: one straight line for all cables of a class between two spots."""
    ends = np.sort(np.stack([spot_of_router[machine.cable_tail], spot_of_router[machine.cable_head]], axis=1), axis=1)
    line_of_row = np.full(len(ends), WITHIN, dtype=np.int64)
    apart = ends[:, 0] != ends[:, 1]
    keys = np.column_stack([ends, machine.cable_class])[apart]
    joined, line = np.unique(keys, axis=0, return_inverse=True)
    line_of_row[apart] = line.reshape(-1)
    return line_of_row, tuple((number, place[pair[:2]]) for number, pair in enumerate(joined))


def on_circle(count: int, radius: float = 1.0, start: float = np.pi / 2) -> Floats:
    """Return points at equal distances on a circle, clockwise from the top, [count, 2].

    Examples
    --------
    >>> on_circle(4).round(9).tolist()
    [[0.0, 1.0], [1.0, 0.0], [0.0, -1.0], [-1.0, -0.0]]
    """
    angle = start - 2 * np.pi * np.arange(count) / max(count, 1)
    points: Floats = radius * np.column_stack([np.cos(angle), np.sin(angle)])
    return points
