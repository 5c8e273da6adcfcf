"""The analysis stage: the rows of one named analysis, as a file of the workflow."""

from __future__ import annotations

import json
from pathlib import Path

from fabricstudy.core.files import atomic_text

from .base import Analysis


def write_rows(analysis: Analysis, out: Path) -> None:
    """Compute the rows of an analysis and write one JSON object a line."""
    with atomic_text(out) as lines:
        lines.writelines(json.dumps(row) + "\n" for row in analysis.rows())
