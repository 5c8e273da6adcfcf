"""Chakra traces as protobuf messages with their lengths before: metadata, then nodes."""

import struct
from collections.abc import Iterator
from typing import Any, TypeVar

from fabricstudy.core.input_files import InputFileError

from .chakra_node import Node

T = TypeVar("T", int, memoryview)
_VARINT, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5
_FIXED = {3: "<d", 5: "<f", 19: "<I", 21: "<Q", 23: "<i", 25: "<q"}
_SIGNED, _ZIGZAG, _STRING = (7, 9), (15, 17), 29
_VALUES = range(3, 33)
"""Fields of an attribute that are its value; even ones are lists."""


def nodes_of(data: bytes) -> list[Node]:
    """Return the nodes of a file; raises InputFileError, with the message."""
    view, at, count = memoryview(data), 0, 0
    nodes: list[Node] = []
    try:
        while at < len(view):
            message, at = _delimited(view, at)
            if count:
                nodes.append(_node(message))
            count += 1
    except (IndexError, struct.error, UnicodeDecodeError):
        remedy = "write messages of et_def.proto, each with its length before"
        raise InputFileError("no Chakra trace, or an incomplete one", remedy, f"message {count}") from None
    if not count:
        raise InputFileError("an empty file", "write metadata and nodes")
    return nodes


def _node(data: memoryview) -> Node:
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
