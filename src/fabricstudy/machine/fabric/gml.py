"""GML (Himsolt: GML, a portable graph file format, 1997), as networkx and the Internet Topology Zoo write it.

Attributes of vertices and edges are those of `fabricstudy.machine.fabric.node_link`. A vertex has its label as name,
or its id where labels are missing or not unique. ``LinkSpeedRaw`` of the Topology Zoo, in bit/s, is a bandwidth.
"""

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

from fabricstudy.core.input_files import InputFileError, position_text, text_of

from .base import EdgeRecord, Fabric, fabric_of

_TOKEN = re.compile(r'[\[\]]|"[^"]*"|[^\s\[\]"]+')
_MAKE = "write it with networkx.write_gml"


def read(data: bytes) -> Fabric:
    """Read a graph; raises InputFileError with the line.

    Examples
    --------
    >>> fabric = read(b'graph [ node [ id 0 label "a" nodes 2 ] node [ id 1 ] edge [ source 0 target 1 count 3 ] ]')
    >>> fabric.routers, fabric.cables[0].parallel
    ({'0': 2, '1': None}, 3)
    """
    try:
        pairs = _pairs(_tokens(text_of(data)))
    except RecursionError:
        raise InputFileError("nested too deeply", _MAKE) from None
    (graph, where) = next(((value, at) for key, value, at in pairs if key == "graph"), (None, ""))
    if not isinstance(graph, list):
        raise InputFileError("no graph", _MAKE, position_text(1))
    if any(key == "directed" and value == "1" for key, value, _ in graph):
        raise InputFileError("the graph is directed", "write graph.to_undirected()", where, "directed")
    vertices = [(_attributes(value, at), at) for key, value, at in graph if key == "node"]
    labels = [says.get("label") for says, _ in vertices]
    named = None not in labels and len(set(labels)) == len(labels)
    names: dict[str, str] = {}
    for says, at in vertices:
        key = _needed(says, "id", at)
        if key in names:
            raise InputFileError("duplicate vertex id", "use unique ids", at, key)
        names[key] = says["label"] if named else key
    edges = []
    for says, at in ((_attributes(value, at), at) for key, value, at in graph if key == "edge"):
        ends = [_needed(says, end, at) for end in ("source", "target")]
        for end in ends:
            if end not in names:
                raise InputFileError("unknown vertex", "add node [ id ... ]", at, end)
        if "LinkSpeedRaw" in says:
            says.setdefault("bandwidth", f"{says['LinkSpeedRaw']} b/s")
        edges.append(EdgeRecord((names[ends[0]], names[ends[1]]), says, at))
    return fabric_of(dict(zip(names.values(), vertices, strict=True)), edges)


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    """Yield tokens and their positions; a text may span lines, a line that begins with # is a comment."""
    text = re.sub(r"^[ \t]*#[^\n]*", "", text, flags=re.M)
    line, end = 1, 0
    for found in _TOKEN.finditer(text):
        line += text.count("\n", end, found.start())
        end = found.start()
        yield found[0], position_text(line)


def _pairs(tokens: Iterator[tuple[str, str]], within: str = "") -> list[tuple[str, Any, str]]:
    """Return keys with their values, which are texts or lists of such pairs, and positions, up to a closing bracket."""
    pairs: list[tuple[str, Any, str]] = []
    for key, where in tokens:
        if key == "]" and within:
            return pairs
        value, _ = next(tokens, ("]", ""))
        if not re.fullmatch(r"[A-Za-z]\w*", key) or value == "]":
            raise InputFileError("not a key with a value", _MAKE, where, key)
        pairs.append((key, _pairs(tokens, where) if value == "[" else unescape(value.strip('"')), where))
    if within:
        raise InputFileError("a list without end", _MAKE, within)
    return pairs


def _attributes(pairs: Any, where: str) -> dict[str, Any]:
    if not isinstance(pairs, list):
        raise InputFileError("not a list", _MAKE, where)
    return {key: value for key, value, _ in pairs if isinstance(value, str)}


def _needed(says: dict[str, Any], name: str, where: str) -> str:
    if name not in says:
        raise InputFileError(f"an element without {name}", _MAKE, where)
    return str(says[name])
