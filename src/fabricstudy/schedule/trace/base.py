"""Base class of the traces."""

import math
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from fabricstudy.core.arrays import Floats
from fabricstudy.core.kinds import Kind
from fabricstudy.core.model import ConfigError, Model, Number, model_check
from fabricstudy.core.quantities import Moment

from ..jobs import Jobs

OfferedLoad = Annotated[Number, Field(gt=0, le=3)]
"""An offered load above 1 exceeds the capacity; above 3 is rejected as a mistake."""

Factor = Annotated[Number, Field(ge=1, le=1000)]


class RequestedTimes(Model):
    """Requested times."""

    factor: tuple[Factor, Factor] = Field((1.0, 1.0), description="range of requested over run time, drawn uniformly")
    round_s: Moment = Field("0 s", alias="round", validate_default=True, description="unit to which it is rounded up")

    @model_check
    def _in_order(self) -> None:
        least, most = self.factor
        if least > most:
            raise ConfigError("an empty range", "swap the two", ("factor",), [least, most], code="out-of-range")

    def times(self, runtime_s: Floats, rng: np.random.Generator) -> Floats:
        """Draw the requested time of each job."""
        request_s = runtime_s * rng.uniform(*self.factor, len(runtime_s))
        return np.ceil(request_s / self.round_s) * self.round_s if self.round_s else request_s


class Trace(Kind, family="trace"):
    """The jobs of a schedule: submission, request and run time of each."""

    is_drawn: ClassVar[bool] = True
    """Whether it depends on the seed; a log does not, so it has only one seed."""

    @property
    def expected_jobs(self) -> int:
        """Approximate number of jobs, for the predicted cost."""
        return 10_000

    def max_nodes(self, block_nodes: int) -> int | None:
        """Return the nodes of the largest possible job, or None if unknown before the trace is read."""
        return None

    def digest(self, folder: Path) -> str | None:
        """Return the SHA-256 of its file, or None without a file. Raises ConfigError if it cannot be read."""
        return None

    def jobs(self, machine_nodes: int, block_nodes: int, seed: int, folder: Path) -> Jobs:
        """Return the jobs for a machine of `machine_nodes`, `block_nodes` for each building block of its partitions.

        The same seed gives the same sizes and arrivals at any load.

        Raises ConfigError if it cannot be read, has no job, or cannot reach its load.
        """
        raise NotImplementedError


def stretched(submit_s: Floats, work_node_s: float, machine_nodes: int, load: float) -> Floats:
    """Scale the times between arrivals to a load: work over the node-seconds from the first to the last arrival.

    Raises ConfigError if all jobs arrive at once.

    Examples
    --------
    >>> stretched(np.array([5.0, 15.0]), 100.0, 10, 0.5).tolist()
    [5.0, 25.0]
    """
    first_s, last_s = float(submit_s.min()), float(submit_s.max())
    if last_s == first_s:
        remedy = "leave `load` out, or use a longer part"
        raise ConfigError("jobs that arrive at once have no load", remedy, ("trace", "load"), load, "invalid-trace")
    return first_s + (submit_s - first_s) * (work_node_s / (machine_nodes * load * (last_s - first_s)))


def scale(amount: Floats, each: Floats, most: float, total: float) -> float:
    """Return c such that the sum of `amount` x min(c x `each`, `most`) is `total`; infinite if no c is enough.

    Examples
    --------
    >>> scale(np.array([1.0, 1.0]), np.array([1.0, 3.0]), 6.0, 8.0), scale(np.array([1.0]), np.array([1.0]), 6.0, 8.0)
    (2.0, inf)
    """
    order = np.argsort(-each)
    share = (amount * each)[order]
    # With the first k capped, the others sum to the rest.
    capped = np.concatenate([[0.0], np.cumsum(amount[order])]) * most
    rest = np.append(share[::-1].cumsum()[::-1], 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = ((total - capped) / rest)[:-1]
    fits = np.flatnonzero((factor * each[order] <= most) & (factor >= 0))
    return float(factor[fits[0]]) if len(fits) else math.inf
