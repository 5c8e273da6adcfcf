"""Panels of figures are titled by rows and columns."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import matplotlib as mpl
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from fabricstudy.report.figure_style import STYLE, panels

WIDE = ["all-to-all", "stencil (mapped by exchange)", "wavefront of a mesh (with words)"]
COLUMNS = ["minimal", "dimension-order", "valiant", "ugal (threshold 3)", "ecmp"]


@pytest.mark.parametrize("columns", [2, 3, 5])
def test_titles_of_panels_do_not_overlap(columns: int) -> None:
    pairs = [(row, column) for row in WIDE for column in COLUMNS[:columns]]
    frame = pd.DataFrame(pairs, columns=["row", "column"])
    figure: Any = SimpleNamespace(rows="pattern", columns="routing")
    with mpl.rc_context(STYLE):
        grid = panels(figure, frame)
        canvas: Any = FigureCanvasAgg(grid.canvas)
        canvas.draw()
    for row in grid.axes:
        boxes = [axes.title.get_window_extent() for axes in row]
        assert all(left.x1 < right.x0 for left, right in itertools.pairwise(boxes))
        assert all(axes.get_title() for axes in row)


@pytest.mark.parametrize(("columns", "shape"), [(4, (1, 4)), (5, (2, 3)), (6, (2, 3)), (9, (3, 3)), (11, (3, 4))])
def test_panels_without_rows_are_wrapped(columns: int, shape: tuple[int, int]) -> None:
    labels = [str(index) for index in range(columns)]
    figure: Any = SimpleNamespace(rows=None, columns="seed")
    with mpl.rc_context(STYLE):
        grid = panels(figure, pd.DataFrame({"row": "", "column": labels}))
        grid.finished("", "", "load", "time", ())
        canvas: Any = FigureCanvasAgg(grid.canvas)
        canvas.draw()
    assert grid.axes.shape == shape
    assert [axes.get_visible() for axes in grid.axes.flat] == [True] * columns + [False] * (grid.axes.size - columns)
    # The lowest panel of each column of the grid, and no other, has the label and the ticks of x.
    lowest = set(range(columns - shape[1], columns))
    for index, axes in enumerate(grid.axes.flat[:columns]):
        assert bool(axes.get_xlabel()) == (index in lowest)
        assert any(tick.label1.get_visible() for tick in axes.xaxis.get_major_ticks()) == (index in lowest)
