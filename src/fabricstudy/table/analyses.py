"""The tables of named analyses."""

from pathlib import Path

from fabricstudy.analysis.base import Analysis

from .files import write_table
from .schemas import validated_analysis


def write_analysis(analysis: Analysis, out: Path) -> None:
    """Compute the rows of an analysis and write them as Parquet and CSV."""
    write_table(validated_analysis(analysis, list(analysis.rows())), out)
