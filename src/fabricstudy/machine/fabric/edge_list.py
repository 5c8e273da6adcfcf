"""Edge lists: CSV files of cables.

The header has ``from`` and ``to``, and any of ``class``, ``count``, ``bandwidth`` and ``latency``, which have units, or
``bandwidth_Bps`` and ``latency_ns``, which are numbers. Each line is a set of parallel cables between two routers, or,
if its class is ``host``, the link of the node under ``from``. Empty cells are missing values; lines that begin with
``#`` are comments.
"""

import re
from collections.abc import Iterator

from fabricstudy.core.input_files import InputFileError, check_columns, check_width, numbered_csv_rows, position_text

from .base import COMMENTS, HOST, OF_LINK, EdgeRecord, Fabric, fabric_of

_CELLS = r"(?:[\w \t]{0,40},){0,9}"
SIGNATURE = re.compile(rf"\A{COMMENTS}{_CELLS}[ \t]*from[ \t]*,{_CELLS}[ \t]*to[ \t\r]*(?:,|$)", re.M)

EDGE_COLUMNS = ("from", "to", *OF_LINK)


def read(data: bytes) -> Fabric:
    """Read an edge list; raises InputFileError with line and column.

    Examples
    --------
    >>> fabric = read(b"from,to,class,bandwidth\\nn0,r0,host,10 GB/s\\nr0,r1,up,25 GB/s\\n")
    >>> list(fabric.routers), fabric.ports[0].host, fabric.cables[0].link.bandwidth_Bps
    (['r0', 'r1'], 'n0', 25000000000.0)
    """
    edges = list(_edges(data))
    nodes = {edge.ends[0] for edge in edges if edge.says.get("class") == HOST}
    vertices: dict[str, tuple[dict[str, str], str]] = {}
    for edge in edges:
        is_host = edge.says.get("class") == HOST
        for end in edge.ends:
            # A node in the position of a router results in an edge between two nodes.
            vertices.setdefault(end, ({"role": "node"} if end in nodes else {}, edge.where))
        if not is_host and nodes & set(edge.ends):
            problem = "a node of another line is joined by a cable whose class is not host"
            name = next(filter(nodes.__contains__, edge.ends))
            raise InputFileError(problem, "write class host, or rename the vertex", edge.where, name)
    return fabric_of(vertices, edges)


def _edges(data: bytes) -> Iterator[EdgeRecord]:
    rows = numbered_csv_rows(data)
    number, names = next(rows, (1, []))
    check_columns(number, names, EDGE_COLUMNS)
    for name in ("from", "to"):
        if name not in names:
            raise InputFileError(f"no column {name}", "write from,to,... in the first line", position_text(number))
    for number, row in rows:
        check_width(number, row, names)
        cells = dict(zip(names, row, strict=True))
        for end in ("from", "to"):
            if not cells[end]:
                raise InputFileError("empty name", "name both ends", position_text(number, names.index(end) + 1, end))
        yield EdgeRecord(
            (cells["from"], cells["to"]), {key: cells[key] for key in OF_LINK if cells.get(key)}, position_text(number)
        )
