"""Edge lists without a header, as ``networkx.write_edgelist`` writes them: ``a b`` or ``a b {'bandwidth': '1 GB/s'}``.

Blanks or tabs separate the two vertices; lines that begin with ``#`` or ``%`` are comments. Attributes are those of
`fabricstudy.machine.fabric.node_link`; a warning says that other values of a line are not used. If each edge is listed
from both of its ends, it is one cable.
"""

import ast
import re
from typing import Any

from fabricstudy.core.input_files import InputFileError, numbered_lines, position_text
from fabricstudy.core.log import warn_once

from .base import COMMENTS, EdgeRecord, Fabric, fabric_of, once_each

_CHARACTER = r"""[^\s{}"'=:;,<>()\[\]#%]"""
_NAME = f"{_CHARACTER}+(?:,+{_CHARACTER}+)*"
"""Commas within a name are part of it; one behind it would be the separator of another format."""
_LINE = rf"[ \t]*{_NAME}[ \t]+{_NAME}(?:[ \t]*\{{[^\n]*\}}|(?:[ \t]+[-+\d.eE]+)*)[ \t\r]*\n"
SIGNATURE = re.compile(rf"\A(?!%%MatrixMarket){COMMENTS}{_LINE}{_LINE}")

_EXAMPLE = "write two vertices a line, such as r0 r1, or use an edge list with the header from,to,class,bandwidth"


def read(data: bytes) -> Fabric:
    """Read an edge list; raises InputFileError with the line.

    Examples
    --------
    >>> fabric = read(b"# by hand\\n0 1 {'bandwidth': '1 GB/s'}\\n1 2\\n")
    >>> list(fabric.routers), fabric.cables[0].link.bandwidth_Bps
    (['0', '1', '2'], 1000000000.0)
    """
    edges: list[EdgeRecord] = []
    values: list[int] = []
    for number, line in numbered_lines(data):
        text, where = line.partition("#")[0].strip(), position_text(number)
        if not text or text[0] == "%":
            continue
        words = text.split(maxsplit=2)
        if len(words) < 2 or not all(re.fullmatch(_NAME, word) for word in words[:2]):
            raise InputFileError("not two vertices", _EXAMPLE, where, text)
        rest = words[2] if len(words) == 3 else ""
        values.append(0 if rest.startswith("{") else len(rest.split()))
        if values[-1] and (values[-1] != values[0] or re.fullmatch(r"[-+\d.eE \t]+", rest) is None):
            problem = "neither an edge nor one with as many numbers as the others; an adjacency list is not read"
            raise InputFileError(problem, _EXAMPLE, where, text)
        edges.append(EdgeRecord((words[0], words[1]), _attributes(rest, where) if rest.startswith("{") else {}, where))
    if count := sum(map(bool, values)):
        warn_once(f"warning: the values after two vertices are not used: {count} lines, the first is {edges[0].where}")
    edges = once_each(edges)
    vertices: dict[str, tuple[dict[str, Any], str]] = {end: ({}, edge.where) for edge in edges for end in edge.ends}
    return fabric_of(vertices, edges)


def _attributes(text: str, where: str) -> dict[str, Any]:
    try:
        attributes = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        attributes = None
    if not isinstance(attributes, dict) or not all(isinstance(key, str) for key in attributes):
        raise InputFileError("not attributes of an edge", "write {'bandwidth': '1 GB/s'}", where, text)
    return attributes
