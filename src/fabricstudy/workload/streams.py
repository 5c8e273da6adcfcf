"""Random streams: one per job and purpose, so that draws for one purpose do not affect those for another."""

from enum import IntEnum

import numpy as np


class Purpose(IntEnum):
    """Purpose of a stream; the numbers are part of every result, so they never change."""

    ALLOCATION = 0
    MAPPING = 1
    PATTERN = 2
    ORDER = 3
    ALL_JOBS = 4
    NUMBERING = 5
    COMPUTE = 6
    ARRIVALS = 7
    SIZES = 8


def stream(seed: int, job: int, purpose: Purpose) -> np.random.Generator:
    """Return the stream of a job (by its position in the point) for one purpose.

    Examples
    --------
    >>> stream(1, 0, Purpose.ORDER).integers(1000) == stream(1, 0, Purpose.ORDER).integers(1000)
    np.True_
    """
    return np.random.default_rng([seed, job, int(purpose)])
