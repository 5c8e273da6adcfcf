"""The traffic listed in a graph file."""

from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from fabricstudy.core.arrays import Floats
from fabricstudy.core.input_files import MAX_TRAFFIC_BYTES
from fabricstudy.core.kinds import register
from fabricstudy.core.model import ConfigError, Whole
from fabricstudy.core.quantities import SIZES, to_unit

from ..graph_file import GraphFile, group_tasks, parse_graph
from ..messages import Messages
from .base import MessagePattern, TrafficEstimate
from .sends import Sends, one_phase
from .traffic_file import TrafficFile

PARTNERS_OF_A_GROUP = 3.0
"""Relative to a vertex: a cell of a 3D mesh touches 6 others by faces and 20 by edges and corners."""

MOST_ROUNDED = 0.01
"""Maximum relative change of all bytes by rounding those of each edge."""


@register
class TaskGraphPattern(TrafficFile, MessagePattern):
    """The traffic of a graph file, all in one phase: a vertex is a rank, and a unit of edge weight is one `message`.

    With more vertices than ranks, vertices are grouped first, and edges within a group send nothing. File formats are
    METIS (.graph), Matrix Market (.mtx) and CSV with the header source,destination,weight. The point contains the
    digest of the file, not its edges; a file that changes after planning is refused.
    """

    kind: Literal["task-graph"] = "task-graph"
    group: Literal["blocks", "metis"] = Field(
        "metis", description="grouping where there are more vertices than ranks: consecutive vertices, or by METIS"
    )
    vertices: SkipJsonSchema[Whole] = 0
    edges: SkipJsonSchema[Whole] = 0

    READER: ClassVar[Any] = staticmethod(parse_graph)

    @classmethod
    def _facts(cls, content: Any, value: dict[str, Any], context: dict[str, Any]) -> dict[str, Any]:
        try:
            message_bytes = to_unit(str(value.get("message")), SIZES.unit, "100 kB")
        except ConfigError:
            return {}  # validation of the key raises the same error
        _check_bytes(content.units * message_bytes, value["message"])
        return {"vertices": content.tasks, "edges": len(content.source)}

    def traffic(self, ranks: int) -> tuple[TrafficEstimate, ...]:
        """Count the messages by size, for edges of one unit.

        Where vertices are grouped this is an estimate: a group has at most `PARTNERS_OF_A_GROUP` times as many partners
        as a vertex, which holds for meshes, and the edges between two groups are one message.
        """
        left = 1.0 if ranks >= self.vertices else min(1.0, PARTNERS_OF_A_GROUP * ranks / self.vertices)
        return (TrafficEstimate(left * self.edges * self.iterations, round(int(self.message_bytes) / left)),)

    def check_ranks(self, ranks: int) -> None:
        if ranks > self.vertices:
            problem = f"the graph has {self.vertices} vertices for {ranks} ranks"
            raise ConfigError(problem, "use fewer ranks, or a larger graph", ("file",), self.file, "invalid-data-file")

    def sends(self, ranks: int, rng: np.random.Generator) -> Sends:
        messages = rank_messages(self.listed(), ranks, self.group, int(self.message_bytes))
        return one_phase(messages.source, messages.destination, self.iterations, messages.size_bytes)


def _check_bytes(size_bytes: Floats, written: str) -> None:
    """Raise ConfigError if the bytes overflow, or are so few that rounding changes them."""
    total = float(size_bytes.sum())
    if total > MAX_TRAFFIC_BYTES:
        problem = f"the edges have {total:.3g} bytes in total"
        remedy = f"use a smaller message: {MAX_TRAFFIC_BYTES:.3g} at most"
        raise ConfigError(problem, remedy, ("message",), written, "out-of-range")
    rounded = float(np.abs(np.maximum(1, np.rint(size_bytes)) - size_bytes).sum()) / total
    if rounded > MOST_ROUNDED:
        problem = f"rounding the edges to integers of at least 1 byte changes {rounded:.0%} of all bytes"
        remedy = "use a larger message: one unit of weight"
        raise ConfigError(problem, remedy, ("message",), written, "out-of-range")


def rank_messages(graph: GraphFile, ranks: int, how: str, unit_bytes: float) -> Messages:
    """Sum up the traffic between each two ranks, in one phase; every message has at least one byte."""
    rank = group_tasks(graph, ranks, how)
    source, destination = rank[graph.source], rank[graph.destination]
    apart = source != destination
    pairs, pair_of_edge = np.unique(source[apart] * ranks + destination[apart], return_inverse=True)
    units = np.bincount(pair_of_edge, weights=graph.units[apart], minlength=len(pairs))
    return Messages(
        phase=np.zeros(len(pairs), dtype=np.int32),
        source=(pairs // ranks).astype(np.int32),
        destination=(pairs % ranks).astype(np.int32),
        size_bytes=np.maximum(1, np.rint(units * unit_bytes)).astype(np.int64),
    )
