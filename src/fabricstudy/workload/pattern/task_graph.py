"""The traffic that a graph file lists."""

from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from fabricstudy.core.input_files import MAX_TRAFFIC_BYTES
from fabricstudy.core.kinds import register
from fabricstudy.core.model import ConfigError, Whole
from fabricstudy.core.quantities import SIZES, to_unit

from ..graph_file import Floats, GraphFile, group_tasks, read_graph
from ..messages import Messages
from .base import MessagePattern, TrafficEstimate
from .sends import Sends, one_phase
from .traffic_file import TrafficFile

PARTNERS_OF_A_GROUP = 3.0
"""Times as many as a vertex has: a cell of a mesh in space touches 6 others by faces and 20 by edges and corners."""

MOST_ROUNDED = 0.01
"""Part of all bytes by which rounding to whole ones may change what the edges send."""


@register
class TaskGraphPattern(TrafficFile, MessagePattern):
    """What a graph file lists, all in one phase: a vertex is a rank, and a unit of an edge's weight is one `message`.

    With more vertices than ranks, vertices are grouped first, and edges within a group cost nothing. Files are those
    of METIS (.graph), Matrix Market (.mtx) and CSV with the head source,destination,weight. The point holds the digest
    of the file, not its edges; a file that changes after planning is refused.
    """

    kind: Literal["task-graph"] = "task-graph"
    group: Literal["blocks", "metis"] = Field(
        "metis", description="how vertices are grouped where there are more than ranks: consecutive ones, or by METIS"
    )
    vertices: SkipJsonSchema[Whole] = 0
    edges: SkipJsonSchema[Whole] = 0

    @classmethod
    def _read_file(cls, path: Path) -> tuple[Any, str]:
        return read_graph(path)

    @classmethod
    def _facts(cls, content: Any, value: dict[str, Any], context: dict[str, Any]) -> dict[str, Any]:
        try:
            message_bytes = to_unit(str(value.get("message")), SIZES.unit, "100 kB")
        except ConfigError:
            return {}  # reading the key raises the same error
        _check_bytes(content.units * message_bytes, value["message"])
        return {"vertices": content.tasks, "edges": len(content.source)}

    def traffic(self, ranks: int) -> tuple[TrafficEstimate, ...]:
        """Count the messages by size, if no edge is heavier than one unit.

        Where vertices are grouped that is an estimate: a group exchanges with at most so many times as many others as a
        vertex does, which holds for meshes, and the edges between the same two groups are one message.
        """
        left = 1.0 if ranks >= self.vertices else min(1.0, PARTNERS_OF_A_GROUP * ranks / self.vertices)
        return (TrafficEstimate(left * self.edges * self.iterations, round(int(self.message_bytes) / left)),)

    def check_ranks(self, ranks: int) -> None:
        if ranks > self.vertices:
            problem = f"the graph has {self.vertices} vertices for {ranks} ranks"
            raise ConfigError(problem, "take fewer ranks, or a larger graph", ("file",), self.file, "invalid-data-file")

    def sends(self, ranks: int, rng: np.random.Generator) -> Sends:
        """Send the bytes of all edges between two ranks as one message each way."""
        messages = messages_of(self.listed(), ranks, self.group, int(self.message_bytes))
        sends = one_phase(messages.source, messages.destination, self.iterations)
        return Sends(sends.phase, sends.source, sends.destination, np.tile(messages.size_bytes, self.iterations))


def _check_bytes(size_bytes: Floats, written: str) -> None:
    """Refuse edges whose bytes cannot be counted, or are so few that whole ones are something else."""
    total = float(size_bytes.sum())
    if total > MAX_TRAFFIC_BYTES:
        problem, remedy = (
            f"the edges have {total:.3g} bytes together",
            f"take a smaller message: {MAX_TRAFFIC_BYTES:.3g} at most",
        )
        raise ConfigError(problem, remedy, ("message",), written, "out-of-range")
    rounded = float(np.abs(np.maximum(1, np.rint(size_bytes)) - size_bytes).sum()) / total
    if rounded > MOST_ROUNDED:
        problem = f"a message has whole bytes, at least 1, and rounding the edges to these changes {rounded:.0%} of all"
        remedy = "take a larger message: a unit of weight is one"
        raise ConfigError(problem, remedy, ("message",), written, "out-of-range")


def messages_of(graph: GraphFile, ranks: int, how: str, unit_bytes: float) -> Messages:
    """Add up what the tasks of each two ranks send, in one phase; every message has a byte at least."""
    rank = group_tasks(graph, ranks, how)
    source, destination = rank[graph.source], rank[graph.destination]
    apart = source != destination
    pairs, place = np.unique(source[apart] * ranks + destination[apart], return_inverse=True)
    units = np.bincount(place, weights=graph.units[apart], minlength=len(pairs))
    return Messages(
        phase=np.zeros(len(pairs), dtype=np.int32),
        source=(pairs // ranks).astype(np.int32),
        destination=(pairs % ranks).astype(np.int32),
        size_bytes=np.maximum(1, np.rint(units * unit_bytes)).astype(np.int64),
    )
