"""One declared figure and the tables -> a picture, its alt text and what it rests on."""

import io
from dataclasses import dataclass

import matplotlib as mpl

from fabricstudy.study.figures import AnyFigure, EcdfFigure, HeatmapFigure, JobsFigure, MachineFigure, ScatterFigure
from fabricstudy.study.plan import Plan
from fabricstudy.table.files import Tables

from . import axis_figures, ecdf, heatmap, job_figures, machine_figures, scatter
from .figure_style import NOTHING_MADE, STYLE, Drawing, Made, NothingToDraw


@dataclass(frozen=True)
class RenderedFigure:
    """A figure as drawn: the picture in two formats, empty where there is nothing to draw, and what it shows in words.

    `basis` has points, seeds, meaning of the bars and what is missing; it also stands in the picture. `panels` are
    those side by side.
    """

    figure: AnyFigure
    svg: bytes
    pdf: bytes
    alt: str
    basis: str
    panels: int


def draw(figure: AnyFigure, tables: Tables, plan: Plan | None = None, made: Made = NOTHING_MADE) -> RenderedFigure:
    """Draw a figure; say why if there is nothing. Those of machines and of jobs in time need the plan and files."""
    with mpl.rc_context(STYLE):
        try:
            canvas, words, basis, panels = _drawing(figure, tables, plan, made)
        except NothingToDraw as reason:
            return RenderedFigure(figure, b"", b"", "", f"Nothing to draw: {reason}.", 1)
        svg, pdf = io.BytesIO(), io.BytesIO()
        canvas.savefig(svg, format="svg", metadata={"Date": None, "Title": figure.title})
        # The layout is done; computing it again takes as long as drawing.
        canvas.set_layout_engine("none")
        canvas.savefig(pdf, format="pdf", metadata={"CreationDate": None, "Title": figure.title})
    return RenderedFigure(figure, svg.getvalue(), pdf.getvalue(), f"{words}.", basis, panels)


def _drawing(figure: AnyFigure, tables: Tables, plan: Plan | None, made: Made) -> Drawing:
    match figure:
        case MachineFigure():
            assert plan is not None
            return machine_figures.draw_machine_figure(figure, tables, plan, made)
        case JobsFigure() | EcdfFigure(draws_jobs=True):
            assert plan is not None
            return job_figures.draw_job_figure(figure, tables, plan, made)
        case EcdfFigure():
            return ecdf.draw_ecdf(figure, tables)
        case ScatterFigure():
            return scatter.draw_scatter(figure, tables)
        case HeatmapFigure():
            return heatmap.draw_heatmap(figure, tables)
    return axis_figures.draw_axis_figure(figure, tables)
