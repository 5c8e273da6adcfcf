"""Drawing of the figures of a study."""

import io
from dataclasses import dataclass

import matplotlib as mpl

from fabricstudy.machine.graph import Machine
from fabricstudy.study.figures import (
    AnyFigure,
    EcdfFigure,
    HeatmapFigure,
    JobsFigure,
    LoadFigure,
    MachineFigure,
    ScatterFigure,
)
from fabricstudy.study.plan import Plan
from fabricstudy.table.files import Tables

from . import (
    axis_figures,
    ecdf,
    heatmap,
    job_figures,
    load_figures,
    machine_figures,
    machine_picture,
    program_figures,
    scatter,
)
from .figure_style import NO_FILES, STYLE, Drawing, InputFiles, NothingToDraw

MAX_SMALL_BYTES = 120_000
"""A larger SVG of the machine at the top of the page becomes a PNG."""


@dataclass(frozen=True)
class RenderedFigure:
    """A figure as SVG and PDF, both empty if there is nothing to draw.

    `alt` describes the picture. `basis`, also its footnote, has points, seeds, meaning of the whiskers and what is
    missing. `panels` is the number of panels side by side.
    """

    figure: AnyFigure
    svg: bytes
    pdf: bytes
    alt: str
    basis: str
    panels: int


def draw(figure: AnyFigure, tables: Tables, plan: Plan | None = None, inputs: InputFiles = NO_FILES) -> RenderedFigure:
    """Draw a figure; `basis` is the reason if nothing can be drawn. Machines and jobs need the plan and files."""
    with mpl.rc_context(STYLE):
        try:
            canvas, description, basis, panels = _drawing(figure, tables, plan, inputs)
        except NothingToDraw as reason:
            return RenderedFigure(figure, b"", b"", "", f"Nothing to draw: {reason}.", 1)
        svg, pdf = io.BytesIO(), io.BytesIO()
        canvas.savefig(svg, format="svg", metadata={"Date": None, "Title": figure.title})
        # The layout is done; computing it again takes as long as drawing.
        canvas.set_layout_engine("none")
        canvas.savefig(pdf, format="pdf", metadata={"CreationDate": None, "Title": figure.title})
    return RenderedFigure(figure, svg.getvalue(), pdf.getvalue(), f"{description}.", basis, panels)


def draw_small_machine(machine: Machine) -> tuple[bytes, str]:
    """Draw a machine for the top of a page, as SVG or, if that is large, as PNG; return its size in words, too.

    Raises ConfigError if the machine is too large to be drawn.
    """
    with mpl.rc_context(STYLE):
        canvas, description = machine_picture.small_picture(machine)
        image = io.BytesIO()
        canvas.savefig(image, format="svg", metadata={"Date": None, "Title": description})
        if image.tell() > MAX_SMALL_BYTES:
            image = io.BytesIO()
            canvas.savefig(image, format="png", dpi=200, metadata={"Software": None})
    return image.getvalue(), description


def _drawing(figure: AnyFigure, tables: Tables, plan: Plan | None, inputs: InputFiles) -> Drawing:
    match figure:
        case MachineFigure():
            assert plan is not None
            return machine_figures.draw_machine_figure(figure, tables, plan, inputs)
        case JobsFigure(draws_jobs=False):
            assert plan is not None
            return program_figures.draw_program(figure, tables, plan)
        case JobsFigure() | EcdfFigure(draws_jobs=True):
            assert plan is not None
            return job_figures.draw_job_figure(figure, tables, plan, inputs)
        case EcdfFigure():
            return ecdf.draw_ecdf(figure, tables)
        case ScatterFigure():
            return scatter.draw_scatter(figure, tables)
        case HeatmapFigure():
            return heatmap.draw_heatmap(figure, tables)
        case LoadFigure():
            return load_figures.draw_load_figure(figure, tables)
    return axis_figures.draw_axis_figure(figure, tables)
