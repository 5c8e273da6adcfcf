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
