"""Topologies of the simulators for ns-3 of HPCC (Li et al., SIGCOMM 2019) and its successors.

The first line has the numbers of nodes, switches and links; the second the numbers of the switches; then each link has
a line with its ends, data rate, delay and error rate: ``0 320 100Gbps 1000ns 0``. What is no switch is a node.
"""

import re

from fabricstudy.core.input_files import InputFileError, numbered_lines, position_text, whole
from fabricstudy.core.log import warn_once

from .base import HOST, MAX_FABRIC_NODES, EdgeRecord, Fabric, fabric_of

SIGNATURE = re.compile(
    r"\A\s*\d+[ \t]+\d+[ \t]+\d+[ \t\r]*\n[ \t]*\d+(?:[ \t]+\d+)*[ \t\r]*\n"
    r"[ \t]*\d+[ \t]+\d+[ \t]+[\d.]+[kKMGT]?[bB](?:ps|/s)"
)

_LINK = re.compile(
    r"(\d{1,9})\s+(\d{1,9})\s+(\d{1,15}\.?\d{0,15})([kKMGT]?)(bps|b/s|Bps|B/s)\s+"
    r"(\d{1,15}\.?\d{0,15})(s|ms|us|ns|ps)(?:\s+(\d{1,15}\.?\d{0,15}(?:e[-+]?\d{1,3})?))?"
)
_EXAMPLE = "write 0 320 100Gbps 1000ns 0"


def read(data: bytes) -> Fabric:
    """Read a topology; raises InputFileError with the line.

    Examples
    --------
    >>> fabric = read(b"4 2 3\\n2 3\\n0 2 100Gbps 1us 0\\n1 3 100Gbps 1us 0\\n2 3 400Gbps 2us 0\\n")
    >>> fabric.cables[0].link, [port.host for port in fabric.ports]
    (LinkAttributes(name='400Gb/s 2us', bandwidth_Bps=50000000000.0, latency_ns=2000.0), ['n0', 'n1'])
    """
    rows = [(number, line.split()) for number, line in numbered_lines(data) if line.strip()]
    if len(rows) < 2 or len(rows[0][1]) != 3:
        problem = "not the numbers of nodes, switches and links, and the list of switches"
        raise InputFileError(problem, "write these two lines first", position_text(1))
    (first, counts), (second, listed) = rows[:2]
    nodes, switches, links = (whole(word, 1, MAX_FABRIC_NODES, position_text(first)) for word in counts)
    numbers = {whole(word, 0, nodes - 1, position_text(second)) for word in listed}
    if len(numbers) != switches or len(rows) - 2 < links:
        problem = f"{len(numbers)} switches and {len(rows) - 2} links follow a first line that has other numbers"
        raise InputFileError(problem, "use a complete file", position_text(first), " ".join(counts))
    names = [f"s{number}" if number in numbers else f"n{number}" for number in range(nodes)]
    vertices = {name: ({"role": "router" if name[0] == "s" else "node"}, position_text(second)) for name in names}
    if rest := len(rows) - 2 - links:
        warn_once(f"warning: {rest} lines after the {links} links of the first line are not used, as in ns-3")
    edges = [_edge(" ".join(words), names, position_text(number)) for number, words in rows[2 : 2 + links]]
    if any(error for _, error in edges):
        warn_once("warning: error rates of links are not used")
    return fabric_of(vertices, [edge for edge, _ in edges])


def _edge(line: str, names: list[str], where: str) -> tuple[EdgeRecord, bool]:
    """Return a link, and whether it has an error rate."""
    found = _LINK.fullmatch(line)
    if found is None:
        raise InputFileError("not a link with its ends, rate and delay", _EXAMPLE, where, line)
    ends = [names[whole(word, 0, len(names) - 1, where)] for word in found.groups()[:2]]
    unit = f"{found[4].replace('K', 'k')}{found[5].replace('ps', '/s')}"
    says = {
        "class": f"{found[3]}{unit} {found[6]}{found[7]}",
        "bandwidth": f"{found[3]} {unit}",
        "latency": f"{found[6]} {found[7]}",
    }
    if any(end[0] == "n" for end in ends):
        says["class"] = HOST
    return EdgeRecord((ends[0], ends[1]), says, where), found[8] is not None and float(found[8]) != 0
