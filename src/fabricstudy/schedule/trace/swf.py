"""Logs in the standard workload format."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from fabricstudy.kinds import register
from fabricstudy.model import ConfigError, Whole
from fabricstudy.quantities import Moment

from .base import Load, Trace


@register
class Swf(Trace):
    """A log of one's own in the standard workload format, packed by gzip or not.

    Each line has 18 fields; lines that begin with `;` are the header or comments (Chapin et al.: Benchmarks and
    standards for the evaluation of parallel job schedulers, JSSPP 1999; https://www.cs.huji.ac.il/labs/parallel/workload/).
    """

    is_drawn: ClassVar[bool] = False

    kind: Literal["swf"] = "swf"
    file: str = Field(min_length=1, description="the file, relative to the study's folder")
    from_s: Moment = Field("0 s", alias="from", validate_default=True, description="first time of submission")
    to_s: Moment | None = Field(None, alias="to", description="time of submission at which the part ends")
    cores_per_node: Annotated[Whole, Field(ge=1, le=10_000)] | None = Field(
        None, description="processors of the log for each node of the machine; left out: 1, if the header agrees"
    )
    load: Load | None = Field(
        None, description="arrivals are stretched until requested node-seconds over those of the machine are this"
    )
    too_large: Literal["refuse", "reject"] = Field(
        "refuse", description="what becomes of a job larger than the machine"
    )
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = Field(
        None, description="SHA-256 of the file; another file is refused"
    )

    @model_validator(mode="after")
    def _in_order(self) -> Swf:
        if self.to_s is not None and self.to_s <= self.from_s:
            raise ConfigError("an empty part of the log", "let it end after it begins", ("to",), self.to_s)
        return self
