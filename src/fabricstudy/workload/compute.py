"""Computation of ranks before and during communication."""

from typing import Any, Literal

import numpy as np
from pydantic import Field

from fabricstudy.core.model import Number, QuantityOrMapping
from fabricstudy.core.quantities import Computation

from .messages import Computing, Messages, WorkloadError


class Compute(QuantityOrMapping):
    """Computation of each rank of a job; a plain time is shorthand for `time`.

    A rank computes before each phase or iteration in which it sends or receives a message. Of the time t and the share
    f of `overlap`, (1 - f) t pass before the rank posts the messages of the phase; f t overlap with them. The rank
    completes the phase when its messages have arrived and f t have passed since it posted them. So a phase of duration
    m without computation lasts (1 - f) t + max(f t, m), if all ranks are equal.

    With `spread` s above 0 each time is drawn independently from the gamma distribution of mean `time` and standard
    deviation s times the mean: exponential at 1, close to normal for small s.
    """

    time_ns: Computation = Field(alias="time", description="mean computation time of a rank")
    before: Literal["iteration", "phase"] = Field(
        "iteration", description="compute before the first phase of each iteration of the pattern, or before each phase"
    )
    spread: Number = Field(
        0, ge=0, le=10, description="standard deviation over mean of the times, drawn by seed from a gamma distribution"
    )
    overlap: Number = Field(
        0, ge=0, le=1, description="share that overlaps with the messages of the phase; the rest precedes them"
    )

    @classmethod
    def from_shorthand(cls, value: Any) -> Any:
        return {"time": value} if isinstance(value, str | int | float) else value


def computing(compute: Compute, messages: Messages, iterations: int, rng: np.random.Generator) -> Computing:
    """Return the computation of the ranks of a job, for the messages of all iterations.

    With a spread, one number is drawn per row of the result, phase after phase, ranks ascending.

    Raises WorkloadError if the iterations differ in their number of phases.
    """
    # Each pair of phase and rank with a message once, sorted.
    ends = np.concatenate([messages.source, messages.destination])
    ranks = int(ends.max(initial=0)) + 1
    key = np.unique(np.tile(messages.phase, 2).astype(np.int64) * ranks + ends)
    phase, rank = (key // ranks).astype(np.int32), (key % ranks).astype(np.int32)
    if compute.before == "iteration":
        phases = int(phase.max(initial=-1)) + 1
        if phases % iterations:
            problem = f"{phases} phases cannot be divided into {iterations} equal iterations to compute before"
            raise WorkloadError(f"{problem}; set before: phase")
        iteration = phase.astype(np.int64) // max(1, phases // iterations)
        first = np.sort(np.unique(iteration * (int(rank.max(initial=0)) + 1) + rank, return_index=True)[1])
        phase, rank = phase[first], rank[first]
    time_ns = np.full(len(phase), compute.time_ns)
    if compute.spread > 0:
        shape = compute.spread**-2
        time_ns = rng.gamma(shape, compute.time_ns / shape, len(phase))
    return Computing(phase, rank, (1 - compute.overlap) * time_ns, compute.overlap * time_ns)
