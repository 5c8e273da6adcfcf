"""Figures and the page of a study.

In: a study and its tables. Out: ``figures/<id>.svg`` and ``.pdf`` for papers, and ``index.html``, one file that
needs nothing else: what was found, figures, claims, machines, agreement between engines, failures, what was asked,
provenance and how to run it again. Every figure states how many points and seeds it shows, what its bars mean
and which points are missing. All text from a study is escaped. The same tables give the same files.
"""

from fabricstudy.report.figures import RenderedFigure, draw
from fabricstudy.report.page import render, write_report

__all__ = ["RenderedFigure", "draw", "render", "write_report"]
