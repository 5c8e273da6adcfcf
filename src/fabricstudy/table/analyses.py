"""The tables of named analyses."""

from pathlib import Path

from fabricstudy.analysis.base import Analysis

from .schemas import checked_analysis
from .store import write_table


def write_analysis(analysis: Analysis, out: Path) -> None:
    """Compute the rows of an analysis and write them as Parquet, and beside that as CSV."""
    write_table(checked_analysis(analysis, list(analysis.rows())), out)
