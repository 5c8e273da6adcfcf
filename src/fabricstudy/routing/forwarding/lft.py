"""Linear forwarding tables of InfiniBand switches: output of ``ibroute`` and ``dump_lfts.sh`` (or ``dump_fts``).

A line ``0x0005 001 : (Channel Adapter portguid 0x0002c9030007eca7: 'host1 HCA-1')`` sends packets for the LID 5 through
port 1. The destination is identified by its port GUID, else by its LID; of several LIDs of a port (LMC) the first line
counts. Destinations that are not nodes of the machine, such as switches, are ignored.
"""

import re

from fabricstudy.core.input_files import InputFileError, numbered_lines, position_text
from fabricstudy.machine.fabric.ibnetdiscover import guid_of

from .base import ForwardingEntry

_SWITCH = re.compile(r"Unicast lids \[[^\]]*\] of switch .*?\bguid (?:0x)?([0-9a-fA-F]+)")
_ROW = re.compile(r"(0x[0-9a-fA-F]{1,16})\s+(\d{1,9})\s*[:#]?\s*(.*)$")
_GUID = re.compile(r"portguid (0x[0-9a-fA-F]+)")


def read(data: bytes) -> list[ForwardingEntry]:
    """Read the tables of all switches; raises InputFileError with the line."""
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
