"""Chakra traces as JSON: the messages of its converter one after another, or one object with a ``workload_graph``."""

import json
import re
from typing import Any

from fabricstudy.core.input_files import InputFileError, text_of

from .chakra_node import KINDS, Node

_OF_NODE = {"Id", "Name", "NodeType", "runtime", "data_deps", "ctrl_deps", "ctrlDeps"}
"""Keys of a node of a ``workload_graph``; all others are attributes."""


_BLANKS = re.compile(r"\s*")


def nodes_of(data: bytes) -> list[Node]:
    """Return the nodes of a file; raises InputFileError, with object or node."""
    objects = _objects(text_of(data))
    if isinstance(graph := objects[0].get("workload_graph"), list):
        return [_of_graph(number, node) for number, node in enumerate(graph)]
    # The first one is the metadata.
    return [_of_message(number, node) for number, node in enumerate(objects[1:], 1)]


def _objects(text: str) -> list[dict[str, Any]]:
    decoder, at, end = json.JSONDecoder(), 0, len(text.rstrip())
    objects: list[dict[str, Any]] = []
    while at < end:
        try:
            found, at = decoder.raw_decode(text, _BLANKS.match(text, at).end())  # type: ignore[union-attr]
        except (ValueError, RecursionError) as error:
            problem = f"not JSON: {str(error).partition(chr(10))[0]}"
            raise InputFileError(problem, "write it again", f"object {len(objects)}") from None
        if not isinstance(found, dict):
            raise InputFileError("not an object of JSON", "write one for each node", f"object {len(objects)}")
        objects.append(found)
    return objects


def _of_graph(place: int, node: Any) -> Node:
    if not isinstance(node, dict):
        raise InputFileError("not an object of JSON", "write one for each node", f"node at place {place}")
    needs = [node.get(key, []) for key in ("data_deps", "ctrl_deps", "ctrlDeps")]
    attributes = {key: value for key, value in node.items() if key not in _OF_NODE}
    return _node(place, node.get("Id"), node.get("Name", ""), node.get("NodeType"), needs, node.get("runtime", 0),
                 attributes)  # fmt: skip


def _of_message(place: int, node: dict[str, Any]) -> Node:
    kind = node.get("type", 0)
    kind = KINDS.index(kind) if kind in KINDS else kind
    attributes: dict[str, Any] = {}
    for attribute in node.get("attr", []):
        if not isinstance(attribute, dict) or not isinstance(attribute.get("name"), str):
            raise InputFileError("an attribute without name", "write it again", f"node at place {place}")
        values = {key: value for key, value in attribute.items() if key.endswith("Val")}
        for key, value in values.items():
            # Numbers of 64 bits are strings.
            attributes[attribute["name"]] = value if key == "stringVal" else _number(value)
    needs = [node.get(key, []) for key in ("ctrlDeps", "dataDeps")]
    return _node(place, node.get("id", 0), node.get("name", ""), kind, needs, node.get("durationMicros", 0), attributes)


def _node(
    place: int, number: Any, name: Any, kind: Any, needs: list[Any], duration_us: Any, attributes: dict[str, Any]
) -> Node:
    """Return a node. Raises InputFileError for values of a wrong type."""
    where = f"node at place {place}"
    if not all(isinstance(of, list) for of in needs):
        raise InputFileError("dependencies are no list", "write a list of nodes", where)
    known = [_number(value) for value in (number, kind, duration_us, *(need for of in needs for need in of))]
    if wrong := [value for value in known if not isinstance(value, int) or not 0 <= value < 2**63]:
        raise InputFileError("not a whole number in range", "write numbers of et_def.proto", where, str(wrong[0])[:80])
    number, kind, duration_us, *needed = known
    return Node(number, str(name), kind, needed, duration_us, attributes)


def _number(value: Any) -> Any:
    """Return the number of a string of digits; anything else as it is."""
    is_digits = isinstance(value, str) and value.isascii() and value.removeprefix("-").isdigit() and len(value) < 21
    return int(value) if is_digits else value
