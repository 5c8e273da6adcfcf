"""Next hops as a CSV file.

The header is ``router,destination,next``, where a destination is a node, or ``router,destination_router,next``, where
it is a router and means all its nodes. Names are those of the machine's file; for other machines, numbers from 0. Lines
that begin with ``#`` are comments.
"""

from fabricstudy.core.input_files import InputFileError, check_width, numbered_csv_rows, position_text

from .base import ForwardingEntry

HEADS = (["router", "destination", "next"], ["router", "destination_router", "next"])


def read(data: bytes) -> list[ForwardingEntry]:
    """Read next hops; raises InputFileError with line and column.

    Examples
    --------
    >>> read(b"router,destination,next\\nr0,n5,r1\\n")[0].next_router
    'r1'
    """
    rows = numbered_csv_rows(data)
    number, head = next(rows, (1, []))
    if head not in HEADS:
        remedy = "write " + " or ".join(",".join(names) for names in HEADS)
        raise InputFileError("unknown header", remedy, position_text(number), ",".join(head))
    entries = []
    for number, row in rows:
        check_width(number, row, head)
        for column, cell in enumerate(row):
            if not cell:
                raise InputFileError("empty name", "write one", position_text(number, column + 1, head[column]))
        entries.append(ForwardingEntry(row[0], row[1], row[2], None, position_text(number), to_router=head == HEADS[1]))
    return entries
