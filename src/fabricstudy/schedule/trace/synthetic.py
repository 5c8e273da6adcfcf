"""Jobs drawn from stated distributions."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from fabricstudy.kinds import register
from fabricstudy.model import ConfigError, Model, Number, Whole
from fabricstudy.quantities import Moment, Span

from .base import Load, Trace

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
