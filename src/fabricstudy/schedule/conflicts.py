"""Conflicts of partitions: two cannot be in use at one time if and only if they share a midplane or a cable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fabricstudy.core.model import ConfigError

if TYPE_CHECKING:
    from scipy import sparse

MAX_CONFLICTS = 100_000_000
"""Ordered pairs of partitions that conflict; each needs five bytes."""


@dataclass(frozen=True, eq=False)
class Conflicts:
    """The partitions that each one conflicts with, itself included, as the rows of a sparse matrix.

    Parameters
    ----------
    first : int64 array [partitions + 1]
        Position of each partition's first conflict in the other arrays.
    other : int32 array [conflicts]
        The other partition, ascending for each.
    shares_midplane : bool array [conflicts]
        Whether the two share a midplane; otherwise they share only cables.
    """

    first: npt.NDArray[np.int64]
    other: npt.NDArray[np.int32]
    shares_midplane: npt.NDArray[np.bool_]

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """Number of partitions that each conflicts with, itself included."""
        return np.diff(self.first)


def find_conflicts(midplanes: sparse.csr_array, cables: sparse.csr_array) -> Conflicts:
    """Return the conflicts of partitions.

    Parameters
    ----------
    midplanes, cables : sparse array [partitions, midplanes or cables]
        1 where a partition occupies it.

    Raises ConfigError if there are more than `MAX_CONFLICTS`.
    """
    shared = (midplanes @ midplanes.T).astype(np.int32)
    # Cables count 2 and midplanes 1, so an odd entry shares a midplane.
    both = (shared.sign() + 2 * (cables @ cables.T).sign()).tocsr()
    if both.nnz > MAX_CONFLICTS:
        problem = f"{midplanes.shape[0]:,} partitions have {both.nnz // 2:,} conflicts, which is too many"
        remedy = f"list fewer partitions, with at most {MAX_CONFLICTS // 2:,} conflicts"
        raise ConfigError(problem, remedy, code="out-of-range")
    both.sort_indices()
    return Conflicts(both.indptr.astype(np.int64), both.indices.astype(np.int32), both.data % 2 == 1)
