"""A node of a Chakra trace, however its file writes it."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from fabricstudy.core.input_files import MAX_TRAFFIC_BYTES, InputFileError

METADATA, LOAD, STORE, COMPUTED, SENT, RECEIVED, COLLECTIVE = range(1, 8)
KINDS = (
    "INVALID_NODE", "METADATA_NODE", "MEM_LOAD_NODE", "MEM_STORE_NODE", "COMP_NODE", "COMM_SEND_NODE",
    "COMM_RECV_NODE", "COMM_COLL_NODE",
)  # fmt: skip


class Node(NamedTuple):
    """A node, the numbers of those that it waits for, and its attributes by name."""

    number: int
    name: str
    kind: int
    needs: list[int]
    duration_us: float
    attributes: Mapping[str, Any]

    def whole(self, name: str, default: int | None, end: int = MAX_TRAFFIC_BYTES) -> int:
        """Return an attribute. Raises InputFileError unless it is a whole number from 0 and below `end`."""
        value = self.attributes.get(name, default)
        if not isinstance(value, int) or not 0 <= value < end:
            problem = f"no attribute {name}" if value is None else f"attribute {name} out of range"
            raise InputFileError(problem, f"write a whole number from 0 to {end - 1}", "", value)
        return int(value)
