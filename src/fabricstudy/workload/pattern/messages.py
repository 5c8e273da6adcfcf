"""The messages listed in a file."""

from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from fabricstudy.core.kinds import register
from fabricstudy.core.model import ConfigError, Whole

from ..message_file import read_messages
from .base import Pattern, TrafficEstimate
from .sends import Sends, repeat
from .traffic_file import TrafficFile


@register
class MessageList(TrafficFile, Pattern):
    """The messages listed in a file, by phase; a rank sends those of a phase in the order of the file.

    A CSV (.csv) or Parquet (.parquet) file has the columns phase, source, destination and bytes; phases and ranks
    are numbered from 0. The job has one rank more than the largest number. The point contains the digest of the file.
    """

    kind: Literal["messages"] = "messages"
    iterations: Whole = Field(1, ge=1, le=1_000_000, description="number of consecutive repetitions of the list")
    listed_ranks: SkipJsonSchema[Whole] = 0
    messages: SkipJsonSchema[Whole] = 0
    total_bytes: SkipJsonSchema[Whole] = 0
    phases: SkipJsonSchema[Whole] = 1

    READER: ClassVar[Any] = staticmethod(read_messages)

    @classmethod
    def _facts(cls, content: Any, value: dict[str, Any], context: dict[str, Any]) -> dict[str, Any]:
        return {
            "listed_ranks": content.ranks,
            "messages": len(content.phase),
            "total_bytes": int(content.size_bytes.sum()),
            "phases": content.phases,
        }

    def traffic(self, ranks: int) -> tuple[TrafficEstimate, ...]:
        """Count the messages by their mean size."""
        size_bytes = max(1, self.total_bytes // max(1, self.messages))
        return (TrafficEstimate(float(self.messages) * self.iterations, size_bytes, self.phases),)

    def check_ranks(self, ranks: int) -> None:
        if ranks != self.listed_ranks:
            problem = f"the file has messages of {self.listed_ranks} ranks, but the job has {ranks}"
            remedy = f"give the job {self.listed_ranks} ranks"
            raise ConfigError(problem, remedy, ("file",), self.file, "does-not-fit")

    def sends(self, ranks: int, rng: np.random.Generator) -> Sends:
        listed = self.listed()
        return repeat(Sends(listed.phase, listed.source, listed.destination, listed.size_bytes), self.iterations)
