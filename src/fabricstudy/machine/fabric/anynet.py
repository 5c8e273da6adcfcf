"""Networks of BookSim's topology ``anynet`` (Jiang et al., ISPASS 2013): ``router 0 node 0 node 1 router 1 10``.

A line has the nodes and routers that are joined to a router; a number after them is the latency of the channel in
cycles, which is not used. The file has no bandwidths.
"""

import re

from fabricstudy.core.input_files import InputFileError, numbered_lines, position_text, whole
from fabricstudy.core.log import warn_once

from .base import HOST, MAX_FABRIC_NODES, Cable, Fabric, LinkAttributes, Port

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
    routers: dict[str, int | None] = {}
    cables: dict[frozenset[str], Cable] = {}
    ports: dict[str, Port] = {}
    timed = 0
    for number, line in numbered_lines(data):
        where = position_text(number)
        words = line.lower().split()
        ends, latencies = _ends(words, where)
        timed += latencies
        for end in ends:
            if end.startswith("r"):
                routers.setdefault(end, 0)
        for end in ends[1:]:
            pair = sorted((ends[0], end), reverse=True)  # a router is before a node
            if pair[0].startswith("n") or pair[0] == pair[1]:
                raise InputFileError("a channel does not join two routers, or a router and a node", _EXAMPLE, where)
            if pair[1].startswith("r"):
                link = LinkAttributes("link", None, None)
                cables.setdefault(frozenset(pair), Cable(ends[0], end, link, 1, where))
                continue
            port = Port(pair[1], pair[1], pair[0], LinkAttributes(HOST, None, None), where)
            if ports.setdefault(pair[1], port).router != port.router:
                raise InputFileError("a node at two routers", "join it to one", where, pair[1])
    if timed:
        warn_once(f"warning: {timed} latencies of channels are in cycles and not used; set latency in the study")
    return Fabric(routers, list(cables.values()), list(ports.values()))


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
