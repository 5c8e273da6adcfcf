"""The analyses that a study names: from what the study says to the rows of a table.

In: a model of `fabricstudy.study.analyses`. Out: `analysis_rows`, one mapping a row with the model's columns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...study.analyses import AnalysisConfig
from . import caps, deadlock, design, express_lines, isoperimetry, partitions, topologies

Row = dict[str, Any]

# One line a kind; each module has `rows(config) -> list of mappings`.
ANALYSES: dict[str, Callable[[Any], list[Row]]] = {
    "partitions": partitions.rows,
    "isoperimetry": isoperimetry.rows,
    "design": design.rows,
    "caps": caps.rows,
    "topologies": topologies.rows,
    "express-lines": express_lines.rows,
    "deadlock": deadlock.rows,
}


def analysis_rows(config: AnalysisConfig) -> list[Row]:
    """Compute the rows of an analysis; a number that is not known is None."""
    return ANALYSES[config.kind](config)


__all__ = ["ANALYSES", "Row", "analysis_rows"]
