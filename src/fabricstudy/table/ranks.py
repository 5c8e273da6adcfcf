"""Rank correlation of two columns."""

import numpy as np
import numpy.typing as npt
import pandas as pd

from fabricstudy.core.arrays import Floats
from fabricstudy.study.figures import RankCorrelation

MIN_ROWS = 6
"""Fewer rows are often in the same order by chance: five once in 60 times."""


def rank_correlation(form: RankCorrelation, first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """Return the rank correlation (Spearman's rho or Kendall's tau-b) of two columns without missing numbers.

    It is from -1 to 1, or NaN if a column is constant. Numbers that are equal to nine digits share their mean rank.

    References
    ----------
    Kendall: The treatment of ties in ranking problems. Biometrika 33(3), 1945.

    Examples
    --------
    >>> rank_correlation("spearman", [1, 2, 3, 4], [10, 20, 40, 30])
    0.8
    >>> rank_correlation("kendall", [1, 2, 3, 4], [10, 20, 40, 30]), rank_correlation("kendall", [1, 1], [1, 2])
    (0.6666666666666666, nan)
    """
    x, y = (pd.Series(rounded(column)).rank().to_numpy() for column in (first, second))
    if form == "spearman":
        x, y = x - x.mean(), y - y.mean()
        product, norms = float(x @ y), (float(x @ x), float(y @ y))
    else:
        above_x, above_y = ((ranks[:, None] > ranks).astype(np.int8) - (ranks[:, None] < ranks) for ranks in (x, y))
        product = float((above_x * above_y).sum())
        norms = (float(np.count_nonzero(above_x)), float(np.count_nonzero(above_y)))
    return product / float(np.sqrt(norms[0] * norms[1])) if all(norms) else float("nan")


def rounded(values: npt.ArrayLike) -> Floats:
    """Round to nine digits, so that numbers are equal that differ by the order of a sum only."""
    return np.array([float(f"{value:.9g}") for value in np.asarray(values, dtype=np.float64)])
