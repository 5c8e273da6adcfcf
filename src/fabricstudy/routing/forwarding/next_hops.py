"""Next hops as a CSV file.

The first line is ``router,destination,next``, where a destination is a node, or ``router,destination_router,next``,
where it is a router and stands for all its nodes. Each other line says to which router packets at `router` go on. Names
are those of the machine's file; on other machines, numbers from 0. Lines that begin with ``#`` are comments.
"""

from fabricstudy.core.input_files import FileMistake, at, check_width, rows_of

from .base import Entry

HEADS = (["router", "destination", "next"], ["router", "destination_router", "next"])


def read(data: bytes) -> list[Entry]:
    """Read next hops; raises FileMistake, with line and column.

    Examples
    --------
    >>> read(b"router,destination,next\\nr0,n5,r1\\n")[0].onward
    'r1'
    """
    rows = rows_of(data)
    number, head = next(rows, (1, []))
    if head not in HEADS:
        remedy = "write " + " or ".join(",".join(names) for names in HEADS)
        raise FileMistake("the first line does not name the columns", remedy, at(number), ",".join(head))
    entries = []
    for number, row in rows:
        check_width(number, row, head)
        for column, cell in enumerate(row):
            if not cell:
                raise FileMistake("no name", "write one", at(number, column + 1, head[column]))
        entries.append(Entry(row[0], row[1], row[2], None, at(number), to_router=head == HEADS[1]))
    return entries
