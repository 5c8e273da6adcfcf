"""The tables of named analyses."""

import traceback
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from fabricstudy.analysis.base import Analysis
from fabricstudy.core.columns import FAILURE
from fabricstudy.core.errors import ConfigError, FabricstudyError, first_line
from fabricstudy.core.kinds import kind_of
from fabricstudy.core.returned import Returned, failure_reason

from .files import write_table
from .schemas import validated_analysis


def analysis_table(analysis: Analysis) -> pd.DataFrame:
    """Return the table of an analysis. Raises ConfigError if that of an extension fails, or returns no rows."""
    returned = Returned(analysis, "rows")
    try:
        given: object = analysis.rows()
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise returned.error(f"returns {type(given).__name__} instead of rows")
        rows = [returned.instance(row, dict) for row in given]
    except ConfigError:
        raise
    except (Exception, SystemExit) as error:
        raise ConfigError.of_extension(error) from None
    for row in rows:
        if any(row.get(key) is None for key in analysis.keys):
            raise returned.error(f"returns a row without its keys {', '.join(analysis.keys)}")
    try:
        frame = validated_analysis(analysis, rows)
    except ConfigError as error:
        raise returned.error(f"returns values of a wrong type: {error.path}: {error.problem}") from None
    except (ValueError, TypeError, OverflowError) as error:
        raise returned.error(f"returns values of a wrong type: {first_line(error)}") from None
    if frame.duplicated(list(analysis.keys)).any():
        raise returned.error(f"returns two rows of the same {', '.join(analysis.keys)}")
    return frame


def write_analysis(analysis: Analysis, out: Path) -> None:
    """Write the table of an analysis as Parquet and CSV, or one row with the reason why it failed."""
    try:
        frame = analysis_table(analysis)
    except (Exception, SystemExit) as error:
        is_told = isinstance(error, FabricstudyError)
        reason = str(error) if is_told else failure_reason(error, "the log of this analysis")
        traceback.print_exc()
        columns = ["kind", *analysis.columns(), FAILURE]
        frame = pd.DataFrame([{"kind": kind_of(type(analysis)), FAILURE: reason}], columns=columns)
    write_table(frame, out)
