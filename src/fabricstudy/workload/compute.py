"""What the ranks of a job compute before and while they communicate."""

from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from fabricstudy.core.model import Number, QuantityOrMapping
from fabricstudy.core.quantities import Computation

from .messages import Computing, IntArray, Messages, WorkloadError


class Compute(QuantityOrMapping):
    """What each rank of a job computes; a time alone stands for its `time`.

    A rank computes before each phase or iteration in which it sends or gets a message. Of that time t and the share f
    of `overlap`, (1 - f) t pass before the rank posts the messages of the phase; f t run beside them. It leaves the
    phase when its messages have arrived and f t have passed since it posted them. So a phase that takes m without
    computing takes (1 - f) t + max(f t, m), where the ranks are alike.

    With `spread` s above 0 the time is drawn for each rank and each time again, from the gamma distribution of mean
    `time` and standard deviation s times that: the exponential one at 1, close to the normal one when s is small.
    """

    time_ns: Computation = Field(alias="time", description="mean time that a rank computes")
    before: Literal["iteration", "phase"] = Field(
        "iteration", description="how often: before the first phase of each iteration of the pattern, or before each"
    )
    spread: Number = Field(
        0, ge=0, le=10, description="standard deviation over the mean; drawn by seed from a gamma distribution"
    )
    overlap: Number = Field(
        0, ge=0, le=1, description="share that runs while the messages of the phase are under way; the rest comes first"
    )

    @classmethod
    def from_shorthand(cls, value: Any) -> Any:
        """Let a time stand for what each rank computes."""
        return {"time": value} if isinstance(value, str | int | float) else value


def computing(compute: Compute, messages: Messages, iterations: int, rng: np.random.Generator) -> Computing:
    """Return what the ranks of a job compute, for the messages of all iterations.

    The numbers drawn for a spread are one for each rank and time, phase after phase, ranks ascending.

    Raises WorkloadError if the iterations cannot be told apart, because they have not equally many phases.
    """
    # Of all that send or get something, each pair of phase and rank once, sorted.
    ends = np.concatenate([messages.source, messages.destination])
    ranks = int(ends.max(initial=0)) + 1
    key = np.unique(np.tile(messages.phase, 2).astype(np.int64) * ranks + ends)
    phase, rank = (key // ranks).astype(np.int32), (key % ranks).astype(np.int32)
    if compute.before == "iteration":
        first = _first_of_iteration(phase, rank, iterations)
        phase, rank = phase[first], rank[first]
    time_ns = np.full(len(phase), compute.time_ns)
    if compute.spread > 0:
        shape = compute.spread**-2
        time_ns = rng.gamma(shape, compute.time_ns / shape, len(phase))
    return Computing(phase, rank, (1 - compute.overlap) * time_ns, compute.overlap * time_ns)


def _first_of_iteration(phase: IntArray, rank: IntArray, iterations: int) -> npt.NDArray[np.int64]:
    """Return the rows that are the first of their rank in an iteration, in their order."""
    phases = int(phase.max(initial=-1)) + 1
    if phases % iterations:
        raise WorkloadError(
            f"{phases} phases are not {iterations} equal iterations, before which it could compute; let it compute "
            "before each phase"
        )
    ranks = int(rank.max(initial=0)) + 1
    iteration = phase.astype(np.int64) // max(1, phases // iterations)
    return np.sort(np.unique(iteration * ranks + rank, return_index=True)[1])
