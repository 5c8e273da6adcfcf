"""Keys of the flow engine."""

from typing import ClassVar, Literal

from pydantic import Field

from fabricstudy.core.kinds import register
from fabricstudy.core.model import Number

from ..settings import EngineSettings


@register
class FlowSettings(EngineSettings):
    """Messages as flows that share the links max-min fairly: for screening, with a spot check by CAMINOS.

    No packets, and so a cost that does not grow with bytes. One job; messages of four packets or more.
    """

    checked_by: ClassVar[str | None] = "caminos"

    kind: Literal["flow"] = "flow"
    batching: Number = Field(
        0.02,
        ge=0,
        le=0.2,
        description="events within this part of a message's mean time under way count as one; 0 is exact and slow",
    )
