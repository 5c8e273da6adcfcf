"""GML (Himsolt: GML, a portable graph file format, 1997), as networkx and the Internet Topology Zoo write it.

Attributes of vertices and edges are those of `fabricstudy.machine.fabric.node_link`. A vertex has its label as name,
or its id where labels are missing or not unique. ``LinkSpeedRaw`` of the Topology Zoo, in bit/s, is a bandwidth.
"""

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

from fabricstudy.core.input_files import InputFileError, position_text, text_of

from .base import Fabric
from .node_link import fabric_of_graph

SIGNATURE = re.compile(r"^[ \t]*graph\s*\[", re.M)

_TOKEN = re.compile(r'[\[\]]|"[^"]*"|[^\s\[\]"]+')
_ELEMENTS = ("node", "edge")
_MAKE = "write it with networkx.write_gml"


def read(data: bytes) -> Fabric:
    """Read a graph; raises InputFileError with the line, or the position in the lists of vertices and edges.

    Examples
    --------
    >>> fabric = read(b'graph [ node [ id 0 label "a" nodes 2 ] node [ id 1 ] edge [ source 0 target 1 count 3 ] ]')
    >>> fabric.routers, fabric.cables[0].parallel
    ({'0': 2, '1': None}, 3)
    """
    text = re.sub(r"^[ \t]*#[^\n]*", "", text_of(data), flags=re.M)
    try:
        pairs = _pairs(text, _TOKEN.finditer(text))
    except RecursionError:
        raise InputFileError("nested too deeply", _MAKE) from None
    graph = next((value for key, value in pairs if key == "graph" and isinstance(value, list)), None)
    if graph is None:
        raise InputFileError("no graph", _MAKE, position_text(1))
    found = {name: [dict(value) for key, value in graph if (key, type(value)) == (name, list)] for name in _ELEMENTS}
    nodes, edges = found["node"], found["edge"]
    names = {node.get("id"): str(node["label"]) for node in nodes if "label" in node}
    if len(set(names.values())) == len(nodes):
        nodes = [node | {"id": names[node.get("id")]} for node in nodes]
        edges = [
            edge | {end: names.get(edge.get(end), edge.get(end)) for end in ("source", "target")} for edge in edges
        ]
    return fabric_of_graph({"directed": ("directed", "1") in graph, "nodes": nodes, "edges": edges})


def _pairs(text: str, tokens: Iterator[re.Match[str]], start: int | None = None) -> list[tuple[str, Any]]:
    """Return keys with their values, texts or lists of such pairs, up to the bracket that closes the one at `start`."""
    pairs: list[tuple[str, Any]] = []
    for found in tokens:
        if found[0] == "]" and start is not None:
            return pairs
        value = next(tokens, None)
        if not re.fullmatch(r"[A-Za-z]\w*", found[0]) or value is None or value[0] == "]":
            where = position_text(text.count("\n", 0, found.start()) + 1)
            raise InputFileError("not a key with a value", _MAKE, where, found[0])
        is_list = value[0] == "["
        pairs.append((found[0], _pairs(text, tokens, value.start()) if is_list else unescape(value[0].strip('"'))))
    if start is not None:
        raise InputFileError("a list without end", _MAKE, position_text(text.count("\n", 0, start) + 1))
    return pairs
