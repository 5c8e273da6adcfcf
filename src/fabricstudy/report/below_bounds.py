"""Times below their lower bound: an error of an engine or of the bound, at the top of the page."""

from __future__ import annotations

import pandas as pd

from .text import number

ROUNDING = 1e-9

_MOST_NAMED = 20


def below_bounds(jobs: pd.DataFrame) -> str:
    """Return a sentence that names the points whose times lie below their link bound; empty if there are none."""
    bounded = jobs[jobs["over_bound"].notna()].drop_duplicates(["point_id", "job"])
    below = bounded[bounded["over_bound"] < 1 - ROUNDING].sort_values("over_bound", kind="stable")
    if below.empty:
        return ""
    named = [
        f"{row.point_id} ({row.engine}, {row.job_name}: {number(row.over_bound, 3)})"
        for row in below.head(_MOST_NAMED).itertuples()
    ]
    more = f" and {len(below) - _MOST_NAMED} more" if len(below) > _MOST_NAMED else ""
    return f"{len(below)} of {len(bounded)} times lie below their lower bound: {', '.join(named)}{more}."
