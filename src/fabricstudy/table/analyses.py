"""The tables of named analyses."""

from collections.abc import Iterable
from pathlib import Path

from pandera.errors import SchemaErrors

from fabricstudy.analysis.base import Analysis
from fabricstudy.core.errors import first_line
from fabricstudy.core.returned import Returned

from .files import write_table
from .schemas import validated_analysis


def write_analysis(analysis: Analysis, out: Path) -> None:
    """Compute the rows of an analysis and write them as Parquet and CSV."""
    returned = Returned(analysis, "rows")
    given: object = analysis.rows()
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise returned.error(f"returns {type(given).__name__} instead of rows")
    rows = [returned.instance(row, dict) for row in given]
    for row in rows:
        if any(row.get(key) is None for key in analysis.keys):
            raise returned.error(f"returns a row without its keys {', '.join(analysis.keys)}")
    try:
        frame = validated_analysis(analysis, rows)
    except (ValueError, TypeError, OverflowError, SchemaErrors) as error:
        raise returned.error(f"returns values of a wrong type: {first_line(error)}") from None
    if frame.duplicated(list(analysis.keys)).any():
        raise returned.error(f"returns two rows of the same {', '.join(analysis.keys)}")
    write_table(frame, out)
