"""Node-link JSON of ``networkx.node_link_data``: an undirected graph or multigraph.

An edge may have ``class``, ``count``, ``bandwidth`` ("100 Gb/s") and ``latency``, or the numbers ``bandwidth_Bps`` and
``latency_ns``. A vertex may have ``role`` (router or node; also as ``type`` or ``kind``, such as host) and ``nodes``,
the number of unnamed nodes of a router. A warning names other keys.
"""

import re
from typing import Any

from fabricstudy.core.input_files import InputFileError, position_text

from .base import LIST_ONCE, EdgeRecord, Fabric, fabric_of, json_of

SIGNATURE = re.compile(r'\A\s*\{[\s\S]*"(?:nodes|links|edges)"\s*:\s*\[')

EDGES = ("edges", "links")
"""Key of the edges in networkx 3.4 and later, and earlier."""

_MAKE = "write json.dumps(networkx.node_link_data(graph))"


def read(data: bytes) -> Fabric:
    """Read a graph; raises InputFileError with line and column, or the position in the lists.

    Examples
    --------
    >>> fabric = read(b'{"nodes": [{"id": 0, "nodes": 4}, {"id": 1}], "edges": [{"source": 0, "target": 1}]}')
    >>> fabric.routers, fabric.cables[0].link.name
    ({'0': 4, '1': None}, 'link')
    """
    graph = json_of(data, _MAKE)
    if not isinstance(graph, dict):
        raise InputFileError("not a mapping", _MAKE, position_text(1))
    return fabric_of_graph(graph)


def fabric_of_graph(graph: dict[str, Any]) -> Fabric:
    """Return the fabric of a graph; raises InputFileError with the position in the lists."""
    if graph.get("directed"):
        raise InputFileError("the graph is directed", LIST_ONCE, "directed", True)
    key = next((name for name in EDGES if name in graph), EDGES[0])
    vertices: dict[str, tuple[dict[str, Any], str]] = {}
    for where, vertex in _items(graph, "nodes", ("id",)):
        name = _name(vertex["id"])
        if name in vertices:
            raise InputFileError("duplicate vertex id", "use unique ids", where, vertex["id"])
        vertices[name] = vertex, where
    edges = []
    for where, edge in _items(graph, key, ("source", "target")):
        for end in ("source", "target"):
            if _name(edge[end]) not in vertices:
                raise InputFileError("unknown vertex", "list it under nodes", f"{where}.{end}", edge[end])
        edges.append(EdgeRecord((_name(edge["source"]), _name(edge["target"])), edge, where))
    return fabric_of(vertices, edges)


def _name(vertex: Any) -> str:
    """Return the name of a vertex: networkx writes tuples as lists, and reads them as tuples."""
    return str(_as_tuple(vertex))


def _as_tuple(value: Any) -> Any:
    return tuple(map(_as_tuple, value)) if isinstance(value, list) else value


def _items(graph: dict[str, Any], key: str, needed: tuple[str, ...]) -> list[tuple[str, dict[str, Any]]]:
    items = graph.get(key)
    if not isinstance(items, list):
        raise InputFileError(f"no list {key}", _MAKE, key)
    for number, item in enumerate(items):
        for part in needed:
            if not isinstance(item, dict) or not isinstance(item.get(part), str | int | float | list):
                raise InputFileError(f"an entry without {part}", "add it", f"{key}[{number}]", item)
    return [(f"{key}[{number}]", item) for number, item in enumerate(items)]
