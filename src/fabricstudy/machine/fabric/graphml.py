"""GraphML (Brandes et al.: GraphML progress report, Graph Drawing 2001), as networkx writes it: an undirected graph.

Attributes of vertices and edges are those of `fabricstudy.machine.fabric.node_link`.
"""

import re

from fabricstudy.core.input_files import InputFileError, position_text

from .base import LIST_ONCE, EdgeRecord, Fabric, fabric_of
from .xml import root_of

SIGNATURE = re.compile(r"<graphml\b")

_MAKE = "write it with networkx.write_graphml"


def read(data: bytes) -> Fabric:
    """Read a graph; raises InputFileError with the line."""
    names: dict[str, str] = {}
    defaults: dict[str, dict[str, str]] = {"node": {}, "edge": {}}
    vertices: dict[str, tuple[dict[str, str], str]] = {}
    edges: list[EdgeRecord] = []
    graphs = 0
    for element in root_of(data, _MAKE):
        if element.get("edgedefault") == "directed" or element.get("directed") == "true":
            raise InputFileError(f"the {element.name} is directed", LIST_ONCE, element.where, "directed")
        if element.name == "hyperedge":
            raise InputFileError("an edge of more than two vertices", "replace it by a router", element.where)
        graphs += element.name == "graph"
        if element.name == "key":
            names[element["id"]] = element.get("attr.name")
            of = element.get("for", "all")
            for default in element.inside:
                for kind in defaults if of == "all" else defaults.keys() & {of}:
                    defaults[kind][element.get("attr.name")] = default.text.strip()
        elif element.name in defaults:
            found = [one for one in element.inside if one.name == "data"]
            says = {names.get(one["key"], one["key"]): one.text.strip() for one in found}
            says = defaults[element.name] | says
            if element.name == "edge":
                edges.append(EdgeRecord((element["source"], element["target"]), says, element.where))
            elif element["id"] in vertices:
                raise InputFileError("duplicate vertex id", "use unique ids", element.where, element["id"])
            else:
                vertices[element["id"]] = says, element.where
    if not graphs:
        raise InputFileError("no graph", _MAKE, position_text(1))
    for edge in edges:
        for end in edge.ends:
            if end not in vertices:
                raise InputFileError("unknown vertex", "add <node id=...>", edge.where, end)
    return fabric_of(vertices, edges)
