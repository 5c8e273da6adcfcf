"""Jobs drawn from stated distributions."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator
from scipy.optimize import brentq

from fabricstudy.errors import StudyError
from fabricstudy.kinds import register
from fabricstudy.model import ConfigError, Model, Number, Whole
from fabricstudy.quantities import Moment, Span

from ..jobs import Floats, Ints, Jobs
from .base import Load, Trace

_DRAW = 1
"""Tells the stream of a trace from others of the same seed."""

Share = Annotated[Number, Field(gt=0)]
Factor = Annotated[Number, Field(ge=1, le=1000)]


class Runtime(Model):
    """How long jobs run: log-normal, up to a longest time."""

    median_s: Span = Field(alias="median", description="median before it is scaled to the load")
    spread: Annotated[Number, Field(ge=0, le=5)] = Field(1.0, description="standard deviation of its logarithm")
    longest_s: Span = Field(alias="longest", description="no job runs longer, whatever the load")


class Request(Model):
    """How long jobs ask for."""

    factor: tuple[Factor, Factor] = Field((1.0, 1.0), description="requested over real time, evenly drawn")
    round_s: Moment = Field("0 s", alias="round", validate_default=True, description="rounded up to a multiple of it")


@register
class Synthetic(Trace):
    """Jobs drawn from stated distributions: a mix of sizes, log-normal times, arrivals evenly over a span.

    With `load`, all times are scaled by one number, so that requested nodes times run times are this share of what the
    machine has in the span. Sizes, arrivals and the draws behind the times do not depend on the load.
    """

    kind: Literal["synthetic"] = "synthetic"
    number: Annotated[Whole, Field(ge=1, le=10_000_000)] = Field(alias="jobs", description="jobs")
    span_s: Span = Field(alias="span", description="time over which they come")
    load: Load | None = Field(
        None, description="requested node-seconds over those of the machine in the span; left out: times as drawn"
    )
    sizes: dict[Annotated[int, Field(ge=1)], Share] = Field(
        min_length=1, max_length=1000, description="share of jobs by nodes: {nodes: share}"
    )
    runtime: Runtime = Field(description="how long they run")
    request: Request = Field(default_factory=Request, description="how long they ask for")

    @property
    def expected_jobs(self) -> int:
        """As many as it says."""
        return self.number

    @model_validator(mode="after")
    def _in_order(self) -> Synthetic:
        least, most = self.request.factor
        if least > most:
            raise ConfigError("an empty range", "swap the two", ("request", "factor"), [least, most])
        return self

    def jobs(self, machine_nodes: int, block_nodes: int, seed: int) -> Jobs:
        """Draw the jobs.

        Raises
        ------
        StudyError
            If no run times up to the longest one reach the load.
        """
        rng = np.random.default_rng([seed, _DRAW])
        shares = np.array(list(self.sizes.values()))
        nodes = rng.choice(np.array(list(self.sizes)), self.number, p=shares / shares.sum())
        submit_s = np.sort(rng.uniform(0.0, self.span_s, self.number))
        drawn_s = self.runtime.median_s * np.exp(self.runtime.spread * rng.standard_normal(self.number))
        factor = rng.uniform(*self.request.factor, self.number)
        runtime_s = np.minimum(drawn_s * self._scale(drawn_s, nodes, machine_nodes), self.runtime.longest_s)
        request_s = runtime_s * factor
        if self.request.round_s:
            request_s = np.ceil(request_s / self.request.round_s) * self.request.round_s
        return Jobs.of(submit_s, runtime_s, request_s, nodes)

    def _scale(self, drawn_s: Floats, nodes: Ints, machine_nodes: int) -> float:
        """Find the number by which times are multiplied so that they come to the load, the longest ones cut."""
        if self.load is None:
            return 1.0
        wanted = self.load * machine_nodes * self.span_s

        def short_of(scale: float) -> float:
            return wanted - float((np.minimum(drawn_s * scale, self.runtime.longest_s) * nodes).sum())

        most = self.runtime.longest_s / float(drawn_s.min())
        if short_of(most) > 0:
            problem = f"{self.number:,} jobs that run {self.runtime.longest_s:g} s at most cannot come to this load"
            raise StudyError(problem, "take more or longer jobs", None, "load", self.load, "trace-load")
        return float(brentq(short_of, 0.0, most, xtol=1e-12, rtol=1e-12))
