"""Traffic between objects that several ranks share, as messages between their ranks."""

from __future__ import annotations

import numpy as np

from ..messages import Indices
from .sends import Sends


def between_ranks(source: Indices, destination: Indices, size_bytes: int, ranks: int, once: bool = False) -> Sends:
    """Add up, in one phase, what each two ranks exchange; with `once` each pair of ranks has one message of this size.

    Examples
    --------
    >>> sends = between_ranks(np.array([0, 0, 1, 2]), np.array([1, 1, 1, 0]), 10, 3)
    >>> list(zip(sends.source.tolist(), sends.destination.tolist(), sends.size_bytes.tolist()))
    [(0, 1, 20), (2, 0, 10)]
    """
    apart = source != destination
    key = source[apart].astype(np.int64) * ranks + destination[apart]
    pairs, count = np.unique(key, return_counts=True)
    size = np.full(len(pairs), size_bytes) if once else count * size_bytes
    return Sends(
        np.zeros(len(pairs), dtype=np.int32),
        (pairs // ranks).astype(np.int32),
        (pairs % ranks).astype(np.int32),
        size.astype(np.int64),
    )
