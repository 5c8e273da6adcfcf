"""Networks of BookSim's topology ``anynet`` (Jiang et al., ISPASS 2013): ``router 0 node 0 node 1 router 1 10``.

A line has the nodes and routers that are joined to a router; a number after them is the latency of the channel in
cycles, which is not used. The file has no bandwidths.
"""

import re

from fabricstudy.core.input_files import InputFileError, numbered_lines, position_text, whole
from fabricstudy.core.log import warn_once

from .base import MAX_FABRIC_NODES, EdgeRecord, Fabric, fabric_of

SIGNATURE = re.compile(r"\A\s*(?:router|node)[ \t]+\d+[ \t]+(?:router|node)[ \t]+\d+", re.I)

_EXAMPLE = "write router 0 node 0 node 1 router 1"


def read(data: bytes) -> Fabric:
    """Read a network; raises InputFileError with the line.

    Examples
    --------
    >>> fabric = read(b"router 0 node 0 node 1 router 1\\nrouter 1 node 2 node 3 router 0 5\\n")
    >>> len(fabric.routers), len(fabric.cables), [port.host for port in fabric.ports]
    (2, 1, ['n0', 'n1', 'n2', 'n3'])
    """
    routers: dict[str, None] = {}
    edges: dict[frozenset[str], EdgeRecord] = {}
    timed = 0
    for number, line in numbered_lines(data):
        where = position_text(number)
        ends, latencies = _ends(line.lower().split(), where)
        timed += latencies
        for end in ends[1:]:
            edges.setdefault(frozenset((ends[0], end)), EdgeRecord((ends[0], end), {}, where))
        routers |= dict.fromkeys(end for end in ends if end.startswith("r"))
    if timed:
        warn_once(f"warning: {timed} latencies of channels are in cycles and not used; set latency in the study")
    names = dict.fromkeys(end for edge in edges.values() for end in edge.ends) | routers
    vertices = {name: ({"nodes": 0} if name in routers else {"role": "node"}, "") for name in names}
    return fabric_of(vertices, list(edges.values()))


def _ends(words: list[str], where: str) -> tuple[list[str], int]:
    """Return the ends of a line, the first of which is joined to all others, and the number of latencies."""
    ends: list[str] = []
    latencies, index = 0, 0
    while index < len(words):
        if words[index] in ("router", "node") and index + 1 < len(words):
            ends.append(f"{words[index][0]}{whole(words[index + 1], 0, MAX_FABRIC_NODES, where)}")
            index += 2
        elif len(ends) > 1 and words[index].isdecimal() and words[index - 2] in ("router", "node"):
            latencies, index = latencies + 1, index + 1
        else:
            raise InputFileError("not a list of routers and nodes", _EXAMPLE, where, words[index])
    return ends, latencies
