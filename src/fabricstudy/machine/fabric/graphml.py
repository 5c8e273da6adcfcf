"""GraphML (Brandes et al.: GraphML progress report, Graph Drawing 2001), as networkx writes it: an undirected graph.

Attributes of vertices and edges are those of `fabricstudy.machine.fabric.node_link`.
"""

import re
from typing import Any
from xml.parsers import expat

from fabricstudy.core.input_files import InputFileError, position_text, text_of

from .base import LIST_ONCE, EdgeRecord, Fabric, fabric_of

SIGNATURE = re.compile(r"<graphml\b")


def read(data: bytes) -> Fabric:
    """Read a graph; raises InputFileError with the line."""
    reader = _Reader()
    try:
        reader.parser.Parse(text_of(data).encode(), True)
    except expat.ExpatError as error:
        problem, remedy = f"not XML: {expat.ErrorString(error.code)}", "write it with networkx.write_graphml"
        raise InputFileError(problem, remedy, position_text(error.lineno, error.offset + 1)) from None
    if not reader.has_graph:
        raise InputFileError("no graph", "write it with networkx.write_graphml", position_text(1))
    for edge in reader.edges:
        for end in edge.ends:
            if end not in reader.vertices:
                raise InputFileError("unknown vertex", "add <node id=...>", edge.where, end)
    return fabric_of(reader.vertices, reader.edges)


class _Reader:
    """Collects vertices and edges with their attributes and lines."""

    def __init__(self) -> None:
        self.parser = expat.ParserCreate("UTF-8", " ")
        self.parser.XmlDeclHandler = self._declared
        self.parser.StartDoctypeDeclHandler = self._doctype
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.has_graph = False
        self.vertices: dict[str, tuple[dict[str, Any], str]] = {}
        self.edges: list[EdgeRecord] = []
        self._name_of_key: dict[str, str] = {}
        self._defaults: dict[str, dict[str, str]] = {"node": {}, "edge": {}}
        self._attributes: dict[str, str] | None = None
        self._key: str | None = None
        self._default_of: tuple[str, str] | None = None
        self._chunks: list[str] = []

    def _declared(self, version: str, encoding: str | None, standalone: int) -> None:
        if encoding is not None and encoding.lower() not in ("utf-8", "us-ascii", "ascii"):
            raise InputFileError(
                "not UTF-8", "save it as UTF-8 text, and say so in the first line", position_text(1), encoding
            )

    def _doctype(self, name: str, *_: object) -> None:
        # Entities may expand to more text than fits into memory.
        where = position_text(self.parser.CurrentLineNumber)
        raise InputFileError("a document type", "remove <!DOCTYPE ...>; networkx writes none", where, name)

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        name, where = tag.split(" ")[-1], position_text(self.parser.CurrentLineNumber)
        self._chunks = []
        if name == "graph":
            self.has_graph = True
            if attributes.get("edgedefault") == "directed":
                raise InputFileError("the graph is directed", LIST_ONCE, where, "directed")
        elif name == "key":
            self._name_of_key[_attribute(attributes, "id", where)] = attributes.get("attr.name", "")
            self._default_of = attributes.get("for", "all"), attributes.get("attr.name", "")
        elif name == "node":
            key = _attribute(attributes, "id", where)
            if key in self.vertices:
                raise InputFileError("duplicate vertex id", "use unique ids", where, key)
            self._attributes = dict(self._defaults["node"])
            self.vertices[key] = self._attributes, where
        elif name == "edge":
            if attributes.get("directed") == "true":
                raise InputFileError("the edge is directed", LIST_ONCE, where, "directed")
            self._attributes = dict(self._defaults["edge"])
            ends = _attribute(attributes, "source", where), _attribute(attributes, "target", where)
            self.edges.append(EdgeRecord(ends, self._attributes, where))
        elif name == "data":
            self._key = self._name_of_key.get(_attribute(attributes, "key", where), attributes["key"])
        elif name == "hyperedge":
            raise InputFileError("an edge of more than two vertices", "replace it by a router", where)

    def _end(self, tag: str) -> None:
        name = tag.split(" ")[-1]
        if name == "data" and self._key is not None and self._attributes is not None:
            self._attributes[self._key] = "".join(self._chunks).strip()
        elif name == "default" and self._default_of is not None:
            for element in self._defaults if self._default_of[0] == "all" else [self._default_of[0]]:
                self._defaults.get(element, {})[self._default_of[1]] = "".join(self._chunks).strip()
        elif name in ("node", "edge"):
            self._attributes = None

    def _text(self, text: str) -> None:
        self._chunks.append(text)


def _attribute(attributes: dict[str, str], name: str, where: str) -> str:
    if name not in attributes:
        raise InputFileError(f"an element without {name}", "write it with networkx.write_graphml", where)
    return attributes[name]
