"""The model of Lublin and Feitelson."""

import math
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import numpy as np
from pydantic import Field

from fabricstudy.core.arrays import Floats, Ints
from fabricstudy.core.model import Whole

from ..jobs import Jobs
from .base import OfferedLoad, RequestedTimes, Trace, stretched

BUCKETS = 48
BUCKET_S = 1800.0
DAY_BEGINS = 11
"""Bucket at which the model's day begins, so that the busy hours are in its middle."""

MAX_RUNTIME_LOG = 12.0
MAX_GAP_LOG = 13.0
"""Times and gaps above the exponentials of these, two and five days, are redrawn."""


class Parameters(NamedTuple):
    """Published parameters of one class of jobs; sizes are logarithms to base 2, of building blocks."""

    serial: float
    power_of_2: float
    low: float
    middle: float
    high: float
    lower: float
    """Share of parallel jobs between `low` and `middle`."""
    first: tuple[float, float]
    second: tuple[float, float]
    """The two gamma distributions of the logarithm of the run time."""
    slope: float
    intercept: float
    """Share of the first one, as a line over the size."""
    gap: tuple[float, float]
    """Gamma distribution of the logarithm of the time between arrivals in the rush hours."""
    gap_ratio: float
    cycle: tuple[float, float]
    """Gamma distribution of arrivals over the buckets of a day."""


PUBLISHED = {
    "all": Parameters(
        0.244, 0.576, 0.8, 4.5, 7, 0.86, (4.2, 0.94), (312, 0.03), -0.0054, 0.78, (10.2303, 0.4871), 1.0225,
        (8.1737, 3.9631),
    ),
    "batch": Parameters(
        0.2927, 0.6686, 1.2, 5, 7, 0.875, (6.57, 0.823), (639.1, 0.0156), -0.003, 0.6986, (6.0415, 0.8531), 1.0519,
        (6.1271, 5.2740),
    ),
    "interactive": Parameters(
        0.1541, 0.625, 1, 3, 5.5, 0.705, (3.8351, 0.6605), (7.073, 0.6856), -0.0118, 0.9156, (6.5510, 0.6621), 0.9797,
        (8.9186, 3.6680),
    ),
}  # fmt: skip
"""Parameters of the authors' program m_lublin99.c."""

LOG_NODES = 7
"""The parameters are those of a machine of 2^7 nodes; for other sizes, `middle` and `high` are shifted."""


class Lublin(Trace, kind="lublin"):
    """The model of Lublin and Feitelson with their published parameters; sizes are counted in building blocks.

    Logarithms of sizes have a two-stage uniform distribution, with many powers of 2; those of run times two gamma
    distributions, and larger jobs run longer; arrivals follow the hours of a day. The largest size is the machine's, as
    the authors require. Requested times are not part of the model. With `load`, times between arrivals are scaled
    (Lublin and Feitelson: The workload on parallel supercomputers, JPDC 63, 2003).
    """

    number: Annotated[Whole, Field(ge=1, le=10_000_000)] = Field(alias="jobs", description="jobs")
    type: Literal["all", "batch", "interactive"] = Field(
        "all", description="published set of parameters: of all jobs, or of one class"
    )
    load: OfferedLoad | None = Field(
        None, description="requested node-seconds over those of the machine from the first to the last arrival"
    )
    request: RequestedTimes = Field(default_factory=RequestedTimes, description="requested times")

    def jobs(self, machine_nodes: int, block_nodes: int, seed: int, folder: Path) -> Jobs:
        """Draw the jobs; sizes, arrivals, run times and requests come from separate random streams."""
        sizes, arrivals, times, requests = (np.random.default_rng([seed, purpose]) for purpose in range(4))
        parameters = PUBLISHED[self.type]
        blocks = _sizes(parameters, self.number, machine_nodes // block_nodes, sizes)
        runtime_s = _runtimes(parameters, blocks, times)
        submit_s = _arrivals(parameters, self.number, arrivals)
        if self.load is not None:
            work_node_s = float((blocks * runtime_s).sum()) * block_nodes
            submit_s = stretched(submit_s, work_node_s, machine_nodes, self.load)
        return Jobs.of(submit_s, runtime_s, self.request.times(runtime_s, requests), blocks * block_nodes)


def _sizes(parameters: Parameters, number: int, most: int, rng: np.random.Generator) -> Ints:
    """Draw sizes in building blocks."""
    shift = math.log2(most) - LOG_NODES
    high = max(parameters.high + shift, 0.0)
    low, middle = min(parameters.low, high), min(max(parameters.middle + shift, parameters.low), high)
    sort = rng.random(number)
    is_lower = rng.random(number) <= parameters.lower
    part = rng.random(number)
    size = np.where(is_lower, low + (middle - low) * part, middle + (high - middle) * part)
    size = np.where(sort <= parameters.serial + parameters.power_of_2, np.floor(size + 0.5), size)
    blocks = np.where(sort <= parameters.serial, 1, np.floor(2.0**size + 0.5))
    return np.minimum(blocks, most).astype(np.int64)


def _runtimes(parameters: Parameters, blocks: Ints, rng: np.random.Generator) -> Floats:
    """Draw run times in seconds."""
    share = np.clip(parameters.slope * blocks + parameters.intercept, 0.0, 1.0)
    log_runtime = np.full(len(blocks), np.inf)
    while (redrawn := np.flatnonzero(log_runtime > MAX_RUNTIME_LOG)).size:
        is_first = rng.random(redrawn.size) <= share[redrawn]
        log_runtime[redrawn] = np.where(
            is_first, rng.gamma(*parameters.first, redrawn.size), rng.gamma(*parameters.second, redrawn.size)
        )
    runtime_s: Floats = np.exp(log_runtime)
    return runtime_s


def _arrivals(parameters: Parameters, number: int, rng: np.random.Generator) -> Floats:
    """Draw arrivals in seconds from midnight: gaps are in points, of which `_weights` is the number in each bucket."""
    shape, width = parameters.gap
    gaps = np.full(number, np.inf)
    while (redrawn := np.flatnonzero(gaps > MAX_GAP_LOG)).size:
        gaps[redrawn] = rng.gamma(shape * parameters.gap_ratio, width, redrawn.size)
    points = np.cumsum(np.exp(gaps) / BUCKET_S)
    day = np.concatenate([[0.0], np.cumsum(_weights(parameters))])
    days, rest = np.divmod(points, day[-1])
    within: Floats = np.interp(rest, day, np.arange(BUCKETS + 1) * BUCKET_S)
    return days * BUCKETS * BUCKET_S + within


def _weights(parameters: Parameters) -> Floats:
    """Return the points of each bucket of a day, 1 on average."""
    from scipy.special import gammainc

    shape, width = parameters.cycle
    at = np.arange(DAY_BEGINS, DAY_BEGINS + BUCKETS)
    shares = np.empty(BUCKETS)
    shares[(at - 1) % BUCKETS] = gammainc(shape, (at + 0.5) / width) - gammainc(shape, (at - 0.5) / width)
    weights: Floats = shares / shares.mean()
    return weights
