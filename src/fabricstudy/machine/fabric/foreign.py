"""Files of a fabric that do not describe all of it: which program writes the one that does."""

import re

from fabricstudy.core.input_files import InputFileError, position_text

_IBNETDISCOVER = "use the output of ibnetdiscover, without options"
_EDGES = "write its edges with networkx.write_edgelist"

_KNOWN = (
    (
        re.compile(r"^[ \t]*\S+[ \t]+-(?:\d+x)?-?(?:[\d.]+G)?-?>[ \t]+\S+[ \t]+\S+[ \t]+\S+", re.M),
        "a topology file of ibdm (ibutils), which does not tell what its types of systems are",
        _IBNETDISCOVER,
    ),
    (
        re.compile(r"^(?:SW|CA|RT)\s+\d+\s+\d+\s+0x[0-9a-f]{16} ", re.M),
        "output of ibnetdiscover -p, a list of ports",
        _IBNETDISCOVER,
    ),
    (
        re.compile(r"^(?:Ca|Switch|Router)\s*: 0x[0-9a-f]+ ports ", re.M),
        "output of ibnetdiscover -l, a list of devices",
        _IBNETDISCOVER,
    ),
    (
        re.compile(r"^\{ (?:CA|SW|RT)(?:-\w+)? Ports:", re.M),
        "a list of links of ibdiagnet (.lst)",
        _IBNETDISCOVER,
    ),
    (re.compile(r"\A%%MatrixMarket .*", re.I), "a Matrix Market file", _EDGES),
)
"""Lines, what a file with them is, and what to use instead."""


def refuse(head: str) -> None:
    """Raise InputFileError, with the line, for a file that is known, but no fabric."""
    for pattern, words, remedy in _KNOWN:
        if found := pattern.search(head):
            line = head.count("\n", 0, found.start() + len(found[0]) - len(found[0].lstrip())) + 1
            raise InputFileError(words, remedy, position_text(line), found[0].strip())
