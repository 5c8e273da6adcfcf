"""The messages that a file lists."""

from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from fabricstudy.core.input_files import read
from fabricstudy.core.kinds import register
from fabricstudy.core.model import ConfigError, Whole

from ..message_file import read_messages
from .base import Pattern, TrafficEstimate
from .sends import Sends, repeat
from .traffic_file import TrafficFile


@register
class MessageList(TrafficFile, Pattern):
    """The messages that a file lists, in phases; a rank sends those of a phase in the order of the file.

    A file of CSV (.csv) or Parquet (.parquet) has the columns phase, source, destination and bytes; phases and ranks
    count from 0. The job has one rank more than the largest number. The point holds the digest of the file.
    """

    kind: Literal["messages"] = "messages"
    iterations: Whole = Field(1, ge=1, le=1_000_000, description="times the list is repeated, one after the other")
    listed_ranks: SkipJsonSchema[Whole] = 0
    messages: SkipJsonSchema[Whole] = 0
    total_bytes: SkipJsonSchema[Whole] = 0
    phases: SkipJsonSchema[Whole] = 1

    @classmethod
    def _read_file(cls, path: Path) -> tuple[Any, str]:
        return read(path, read_messages, "invalid-data-file")

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
            problem = f"the messages are of {self.listed_ranks} ranks and the job has {ranks}"
            remedy = f"give the job {self.listed_ranks} ranks"
            raise ConfigError(problem, remedy, ("file",), self.file, "does-not-fit")

    def sends(self, ranks: int, rng: np.random.Generator) -> Sends:
        listed = self.listed()
        return repeat(Sends(listed.phase, listed.source, listed.destination, listed.size_bytes), self.iterations)
