"""Nodes of Chakra traces, from files of protobuf messages or JSON.

Protobuf messages have their lengths before: metadata, then nodes. JSON has the messages of Chakra's converter one after
another, or one object with a ``workload_graph``.
"""

import json
import re
import struct
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

from fabricstudy.core.input_files import MAX_TRAFFIC_BYTES, InputFileError, text_of

T = TypeVar("T", int, memoryview)

METADATA, LOAD, STORE, COMPUTED, SENT, RECEIVED, COLLECTIVE = range(1, 8)
KINDS = (
    "INVALID_NODE", "METADATA_NODE", "MEM_LOAD_NODE", "MEM_STORE_NODE", "COMP_NODE", "COMM_SEND_NODE",
    "COMM_RECV_NODE", "COMM_COLL_NODE",
)  # fmt: skip

_OF_NODE = {"Id", "Name", "NodeType", "runtime", "data_deps", "ctrl_deps", "ctrlDeps"}
"""Keys of a node of a ``workload_graph``; all others are attributes."""

_BLANKS = re.compile(r"\s*")

_VARINT, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5
_FIXED = {3: "<d", 5: "<f", 19: "<I", 21: "<Q", 23: "<i", 25: "<q"}
_SIGNED, _ZIGZAG, _STRING = (7, 9), (15, 17), 29
_VALUES = range(3, 33)
"""Fields of an attribute that are its value; even ones are lists."""


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


def nodes_of(data: bytes) -> list[Node]:
    """Return the nodes of a file; raises InputFileError, with message, object or node."""
    return _of_json(data) if data.lstrip()[:1] == b"{" else _of_protobuf(data)


def _of_json(data: bytes) -> list[Node]:
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


def _of_graph(index: int, node: Any) -> Node:
    if not isinstance(node, dict):
        raise InputFileError("not an object of JSON", "write one for each node", f"node at index {index}")
    needs = [node.get(key, []) for key in ("data_deps", "ctrl_deps", "ctrlDeps")]
    attributes = {key: value for key, value in node.items() if key not in _OF_NODE}
    return _json_node(index, node.get("Id"), node.get("Name", ""), node.get("NodeType"), needs, node.get("runtime", 0),
                 attributes)  # fmt: skip


def _of_message(index: int, node: dict[str, Any]) -> Node:
    kind = node.get("type", 0)
    kind = KINDS.index(kind) if kind in KINDS else kind
    attributes: dict[str, Any] = {}
    for attribute in node.get("attr", []):
        if not isinstance(attribute, dict) or not isinstance(attribute.get("name"), str):
            raise InputFileError("an attribute without name", "write it again", f"node at index {index}")
        values = {key: value for key, value in attribute.items() if key.endswith("Val")}
        for key, value in values.items():
            # Numbers of 64 bits are strings.
            attributes[attribute["name"]] = value if key == "stringVal" else _number(value)
    needs = [node.get(key, []) for key in ("ctrlDeps", "dataDeps")]
    return _json_node(
        index, node.get("id", 0), node.get("name", ""), kind, needs, node.get("durationMicros", 0), attributes
    )


def _json_node(
    index: int, number: Any, name: Any, kind: Any, needs: list[Any], duration_us: Any, attributes: dict[str, Any]
) -> Node:
    """Return a node. Raises InputFileError for values of a wrong type."""
    where = f"node at index {index}"
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


def _of_protobuf(data: bytes) -> list[Node]:
    view, at, count = memoryview(data), 0, 0
    nodes: list[Node] = []
    try:
        while at < len(view):
            message, at = _delimited(view, at)
            if count:
                nodes.append(_protobuf_node(message))
            count += 1
    except (IndexError, struct.error, UnicodeDecodeError):
        remedy = "write messages of et_def.proto, each with its length before"
        raise InputFileError("no Chakra trace, or an incomplete one", remedy, f"message {count}") from None
    if not count:
        raise InputFileError("an empty file", "write metadata and nodes")
    return nodes


def _protobuf_node(data: memoryview) -> Node:
    number = kind = duration_us = 0
    name, needs, attributes = "", list[int](), dict[str, Any]()
    for field, value in _fields(data):
        if field == 1:
            number = _typed(int, value)
        elif field == 2:
            name = _text(value)
        elif field == 3:
            kind = _typed(int, value)
        elif field in (4, 5):
            needs += [value] if isinstance(value, int) else _packed(value)
        elif field == 7:
            duration_us = _typed(int, value)
        elif field == 10:
            attribute = dict(_fields(_typed(memoryview, value)))
            attribute_name = _text(attribute.get(1, memoryview(b"")))
            for item in attribute.items():
                if item[0] in _VALUES:
                    attributes[attribute_name] = _value(*item)
    return Node(number, name, kind, needs, duration_us, attributes)


def _fields(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Yield number and value of each field: whole numbers, or bytes."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        wire = key & 7
        value: int | memoryview
        if wire == _VARINT:
            value, at = _varint(data, at)
        elif wire == _BYTES:
            value, at = _delimited(data, at)
        elif wire in (_EIGHT, _FOUR):
            value = data[at : at + (8 if wire == _EIGHT else 4)]
            at += len(value)
        else:
            raise IndexError
        yield key >> 3, value


def _delimited(data: memoryview, at: int) -> tuple[memoryview, int]:
    """Return the bytes behind their length, and the offset behind them."""
    length, at = _varint(data, at)
    if length > len(data) - at:
        raise IndexError
    return data[at : at + length], at + length


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at, value, shift = at + 1, value | (byte & 127) << shift, shift + 7
        if byte < 128:
            return value % 2**64, at
        if shift > 63:
            raise IndexError


def _typed(kind: type[T], value: int | memoryview) -> T:
    """Return a value of this kind; another one is of another field."""
    if not isinstance(value, kind):
        raise IndexError
    return value


def _text(value: int | memoryview) -> str:
    return str(_typed(memoryview, value), "utf-8")


def _packed(data: memoryview) -> Iterator[int]:
    at = 0
    while at < len(data):
        number, at = _varint(data, at)
        yield number


def _value(field: int, value: int | memoryview) -> Any:
    """Return the value of an attribute; lists remain bytes."""
    if field in _FIXED:
        return struct.unpack(_FIXED[field], _typed(memoryview, value))[0]
    if field == _STRING:
        return _text(value)
    if field % 2 == 0 or field > _STRING:
        return bytes(_typed(memoryview, value))
    number = _typed(int, value)
    if field in _ZIGZAG:
        return number >> 1 ^ -(number & 1)
    return number - 2**64 if field in _SIGNED and number >= 2**63 else number
