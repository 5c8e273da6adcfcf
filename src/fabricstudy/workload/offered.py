"""Offered traffic: each node offers messages at a steady rate, independently of the network (open loop)."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from fabricstudy.core.model import ConfigError, Model, Number, Whole, Written
from fabricstudy.core.quantities import Size
from fabricstudy.machine.graph import Machine

from .streams import Purpose, stream
from .traffic.base import Destinations, Traffic

SATURATION: Literal["saturation"] = "saturation"

MIN_MEASURED = 100
"""Least length of the window, in message times."""

MIN_BATCH = 10
"""Least length of a batch, in message times."""


def _check_load(load: Any) -> Any:
    if load == SATURATION:
        return load
    if isinstance(load, bool) or not isinstance(load, int | float) or not 0 < load <= 1:
        percent = isinstance(load, int | float) and not isinstance(load, bool) and 1 < load <= 100
        remedy = f"did you mean {load / 100:g}?" if percent else "write a number above 0 and up to 1, or saturation"
        raise ConfigError("not a load", remedy, value=load, code="out-of-range")
    return float(load)


class Offered(Model):
    """Steady traffic in the place of jobs.

    All nodes send. Messages are created at times that do not depend on the network, and wait in an unbounded queue of
    their node. The latency, from the creation of a message to the arrival of its last byte, includes this source queue.
    """

    traffic: Traffic = Field(description="destinations of the messages")
    load: Annotated[
        float | Literal["saturation"],
        BeforeValidator(_check_load),
        WithJsonSchema({"anyOf": [{"type": "number", "exclusiveMinimum": 0, "maximum": 1}, {"const": SATURATION}]}),
        Written("number, or saturation"),
    ] = Field(
        description="share of the bandwidth of a node's link that each node offers; saturation: search the highest "
        "steady load"
    )
    message_bytes: Size = Field(
        "256 B", alias="message", validate_default=True, description="message size; a message may be several packets"
    )
    arrivals: Literal["poisson", "periodic", "bursts"] = Field(
        "poisson",
        description="arrivals at a node: a Poisson process; periodic with random phases; or bursts of messages at the "
        "rate of the node's link",
    )
    burst: Number | None = Field(
        None, ge=1, le=1e6, description="mean number of messages of a burst (geometric), for arrivals: bursts"
    )
    warmup: Whole = Field(
        1000, ge=0, le=10_000_000, description="time before the measurement, in message times of a node's link"
    )
    measured: Whole = Field(
        2000, ge=MIN_MEASURED, le=10_000_000, description="time of the measurement, in message times of a node's link"
    )
    batches: Whole = Field(
        20, ge=8, le=1000, description="parts of this time, whose means yield the confidence intervals"
    )
    tolerance: Number = Field(0.02, ge=0.001, le=0.2, description="resolution of the search for the saturation load")

    @model_validator(mode="after")
    def _fits(self) -> "Offered":
        if self.measured < MIN_BATCH * self.batches:
            problem = f"{self.batches} batches of {self.measured} message times are shorter than {MIN_BATCH} each"
            raise ConfigError(
                problem, "use fewer batches, or measure longer", ("batches",), self.batches, "out-of-range"
            )
        if (self.arrivals == "bursts") != (self.burst is not None):
            remedy = "write both arrivals: bursts and burst: 8, or neither"
            raise ConfigError("bursts need a mean length", remedy, ("burst",), self.burst, "conflicting-keys")
        return self

    def destinations(self, machine: Machine, seed: int) -> Destinations:
        """Return the destinations of all nodes; random ones depend on the seed alone."""
        return self.traffic.destinations(machine, stream(seed, 0, Purpose.PATTERN))
