"""Forwarding tables from files.

**CSV.** The header is ``router,destination,next``, where a destination is a node, or
``router,destination_router,next``, where it is a router and means all its nodes. Names are those of the machine's file;
for other machines, numbers from 0. Lines that begin with ``#`` are comments.

**Linear forwarding tables** of InfiniBand switches: output of ``ibroute`` and ``dump_lfts.sh`` (or ``dump_fts``).
A line ``0x0005 001 : (Channel Adapter portguid 0x0002c9030007eca7: 'host1 HCA-1')`` sends packets for the LID 5 through
port 1. The destination is identified by its port GUID, else by its LID; of several LIDs of a port (LMC) the first line
counts. Destinations that are not nodes of the machine, such as switches, are ignored.
"""

import re
from pathlib import Path
from typing import NamedTuple

from fabricstudy.core.input_files import InputFileError, check_width, numbered_csv_rows, numbered_lines, position_text

HEADS = (["router", "destination", "next"], ["router", "destination_router", "next"])

_OF_SWITCHES = re.compile(rb"^[ \t]*(?:Unicast|0x[0-9a-fA-F]+\s)", re.M)
"""A line of a table of a switch."""
_HEAD_BYTES = 1 << 16
_SWITCH = re.compile(r"Unicast lids \[[^\]]*\] of switch .*?\bguid (?:0x)?([0-9a-fA-F]+)")
_ROW = re.compile(r"(0x[0-9a-fA-F]{1,16})\s+(\d{1,9})\s*[:#]?\s*(.*)$")
_GUID = re.compile(r"portguid (0x[0-9a-fA-F]+)")


class ForwardingEntry(NamedTuple):
    """Packets at `router` for `destination` go to `next_router`, or through `port`.

    `to_router`: the destination is a router, for all its nodes; `known`: the machine must have the destination.
    """

    router: str
    destination: str
    next_router: str | None
    port: int | None
    where: str
    to_router: bool = False
    known: bool = True


def read_forwarding(path: Path, data: bytes) -> list[ForwardingEntry]:
    """Read a forwarding table in the format that its content tells; raises InputFileError with the position.

    Examples
    --------
    >>> read_forwarding(Path("a"), b"router,destination,next\\nr0,n5,r1\\n")[0].next_router
    'r1'
    """
    return _read_lft(data) if _OF_SWITCHES.search(data[:_HEAD_BYTES]) else _read_csv(data)


def _read_csv(data: bytes) -> list[ForwardingEntry]:
    rows = numbered_csv_rows(data)
    number, head = next(rows, (1, []))
    if head not in HEADS:
        remedy = (
            f"write {' or '.join(','.join(names) for names in HEADS)}, or use the output of ibroute or dump_lfts.sh"
        )
        raise InputFileError("unknown header", remedy, position_text(number), ",".join(head))
    entries = []
    for number, row in rows:
        check_width(number, row, head)
        for column, cell in enumerate(row):
            if not cell:
                raise InputFileError("empty name", "write one", position_text(number, column + 1, head[column]))
        entries.append(ForwardingEntry(row[0], row[1], row[2], None, position_text(number), to_router=head == HEADS[1]))
    return entries


def _read_lft(data: bytes) -> list[ForwardingEntry]:
    from fabricstudy.machine.fabric.ibnetdiscover import guid_of  # loads the readers of all formats

    entries: dict[tuple[str, str], ForwardingEntry] = {}
    switch = None
    for number, line in numbered_lines(data):
        line = line.strip()
        if line.startswith("Unicast"):
            head = _SWITCH.match(line)
            if head is None:
                problem = "a table header without the GUID of its switch"
                raise InputFileError(problem, "use the output of ibroute", position_text(number), line)
            switch = f"guid {guid_of(head[1])}"
        elif line.startswith("0x"):
            row = _ROW.match(line)
            if row is None or switch is None:
                problem = "not a line such as 0x0005 001 : (...) below a table header"
                raise InputFileError(problem, "use the complete output", position_text(number), line)
            guid = _GUID.search(row[3])
            destination = f"guid {guid_of(guid[1])}" if guid else f"lid {int(row[1], 16)}"
            entry = ForwardingEntry(switch, destination, None, int(row[2]), position_text(number), known=False)
            entries.setdefault((switch, destination), entry)
    if not entries:
        raise InputFileError("no table", "use a CSV file, or the output of ibroute or dump_lfts.sh")
    return list(entries.values())
