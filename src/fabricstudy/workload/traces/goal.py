"""GOAL text: a graph of send, recv and calc for each rank.

::

    num_ranks 2
    rank 0 {
    l1: calc 1500 cpu 0
    l2: send 4096b to 1 tag 7 cpu 0
    l2 requires l1
    }

``calc N`` takes N ns on stream ``cpu``; ``a requires b`` starts a when b has ended, ``a irequires b`` when b has
started. ``nic`` has no effect: the interfaces of a node are those of the machine. Tags and streams are 0 by default.

References
----------
Hoefler, Siebert and Lumsdaine: Group Operation Assembly Language. ICPP 2009, doi:10.1109/ICPP.2009.70.
"""

import re
from typing import IO

import numpy as np

from fabricstudy.core.arrays import Ints, number_within
from fabricstudy.core.errors import suggestion
from fabricstudy.core.input_files import InputFileError, numbered_lines, position_text

from ..matching import Listing
from ..operations import CALC, ENDED, RECEIVE, SEND, STARTED, Operations
from .mpi import Program

_COMMENT = re.compile(rb"//[^\r\n]*|/\*(?s:.*?)(?P<end>\*/|\Z)")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|-?[0-9]+(?:[.][0-9]*)?|\S")
_LABEL = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_KINDS = {"send": (SEND, "to"), "recv": (RECEIVE, "from")}
_WAITS = {"requires": ENDED, "irequires": STARTED}
_EXAMPLES = "'calc 100 cpu 0', 'send 8b to 1 tag 0', 'recv 8b from 1 tag 0', 'a requires b' or 'a irequires b'"


def read(data: bytes) -> Listing:
    """Parse GOAL text; raises InputFileError, with the line."""
    reader = _Reader()
    for number, line in numbered_lines(_COMMENT.sub(_without_comment, data)):
        words = _WORD.findall(line)
        while words:
            words = reader.take(number, words)
    return reader.listing()


def _without_comment(found: re.Match[bytes]) -> bytes:
    if found["end"] == b"":
        where = position_text(found.string.count(b"\n", 0, found.start()) + 1)
        raise InputFileError("a comment without an end", "write */ behind it", where)
    return b" " + b"\n" * found[0].count(b"\n")


class _Reader:
    """Takes the lines one by one."""

    def __init__(self) -> None:
        self.program = Program(0, lambda rank, line: position_text(line))
        self.ranks: int | None = None
        self.rank: int | None = None
        self.seen: set[int] = set()
        self.line = 0
        self.labels: dict[str, int] = {}

    def error(self, problem: str, remedy: str, value: object = None) -> InputFileError:
        return InputFileError(problem, remedy, position_text(max(1, self.line)), value)

    def take(self, line: int, words: list[str]) -> list[str]:
        """Take the first words of a line; return the others."""
        self.line = line
        if self.rank is None:
            return self.take_outside(words)
        if words[0] == "}":
            self.rank = None
            return words[1:]
        if len(words) == 3 and words[1] in _WAITS:
            dependent, needs = self.labelled(words[0]), self.labelled(words[2])
            self.program.wait(dependent, [(needs, _WAITS[words[1]])])
        else:
            if len(words) > 1 and words[1] == ":":
                label = words[0]
                if label in self.labels or _LABEL.fullmatch(label) is None:
                    raise self.error("not a new label", "use a letter, then letters, digits and _", label)
                self.labels[label] = len(self.program)
                words = words[2:]
            self.take_operation(words)
        return []

    def take_outside(self, words: list[str]) -> list[str]:
        if words[0] == "num_ranks" and len(words) > 1 and self.ranks is None:
            self.ranks = self.program.ranks = self.number(words[1])
            return words[2:]
        if words[0] != "rank" or words[2:3] != ["{"] or self.ranks is None:
            expected = "'num_ranks 4'" if self.ranks is None else "'rank 0 {'"
            raise self.error(f"not {expected}", f"write {expected} here", " ".join(words)[:80])
        rank = self.number(words[1])
        if rank in self.seen or not 0 <= rank < self.ranks:
            raise self.error("duplicate rank, or not below num_ranks", "list each rank once", rank)
        self.seen.add(rank)
        self.labels = {}
        self.rank = rank
        return words[3:]

    def take_operation(self, words: list[str]) -> None:
        kind, time, size, peer, options = CALC, 0, 0, -1, words[2:]
        if words and words[0] == "calc" and len(words) > 1:
            time = self.number(words[1])
        elif words and words[0] in _KINDS and words[2:4] == ["b", _KINDS[words[0]][1]] and len(words) > 4:
            kind, options = _KINDS[words[0]][0], words[5:]
            size, peer = self.number(words[1]), self.number(words[4])
        else:
            raise self.error("no operation", f"write {_EXAMPLES}", " ".join(words)[:80])
        stream = tag = 0
        for at in range(0, len(options), 2):
            name, value = options[at], self.number(options[at + 1] if at + 1 < len(options) else "")
            if name not in ("cpu", "nic", "tag") or name in options[:at:2] or (name == "tag" and kind == CALC):
                raise self.error("unknown or second word", "use tag, cpu and nic, each with a number", name)
            stream = value if name == "cpu" else stream
            tag = value if name == "tag" else tag
        self.program.add(self.rank or 0, self.line, kind, time, size, peer, tag, stream)

    def number(self, word: str) -> int:
        # `int` also takes signs, underscores and other digits.
        if (word.isascii() and word.isdigit() and len(word) < 19) or word == "-1":
            return int(word)
        raise self.error("no whole number", "write digits", word)

    def labelled(self, label: str) -> int:
        if label not in self.labels:
            near = suggestion(label, self.labels) if self.labels else "write the operation before it"
            raise self.error(f"`{label}` is not known in rank {self.rank} up to here", near, label)
        return self.labels[label]

    def listing(self) -> Listing:
        if self.rank is not None or self.ranks is None:
            remedy = (
                "write num_ranks, and each rank with its operations" if self.ranks is None else "close each rank with }"
            )
            raise self.error("the file ends too early", remedy)
        return self.program.listing(receives_at_most=False)


def write(operations: Operations, file: IO[str]) -> None:
    """Write operations as GOAL text; times are rounded to ns.

    Tags are 0 if each rank receives from each other in the order of the sends, and else number their messages.
    """
    rank, kind = operations.rank, operations.kind.tolist()
    label = (number_within(rank) + 1).tolist()
    peer = np.where(operations.kind == CALC, -1, rank[operations.partner])
    columns = (
        np.rint(operations.duration_ns).astype(np.int64), operations.size_bytes, peer, _tags(operations),
        operations.stream,
    )  # fmt: skip
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    # A label must stand before its use.
    written_at = np.maximum(operations.dependent, operations.needs)
    order = np.argsort(written_at, kind="stable")
    waits = zip(*(column[order].tolist() for column in (written_at, operations.dependent, operations.needs,
                                                         operations.when)), strict=True)  # fmt: skip
    wait = next(waits, None)
    first = np.searchsorted(rank, np.arange(operations.ranks + 1)).tolist()
    file.write(f"num_ranks {operations.ranks}\n")
    for number in range(operations.ranks):
        file.write(f"\nrank {number} {{\n")
        for at in range(first[number], first[number + 1]):
            time, size, partner, tag, stream = rows[at]
            what = f"calc {time}"
            if kind[at] != CALC:
                verb, way = ("send", "to") if kind[at] == SEND else ("recv", "from")
                what = f"{verb} {size}b {way} {partner} tag {tag}"
            file.write(f"l{label[at]}: {what} cpu {stream}\n")
            while wait is not None and wait[0] == at:
                word = "requires" if wait[3] == ENDED else "irequires"
                file.write(f"l{label[wait[1]]} {word} l{label[wait[2]]}\n")
                wait = next(waits, None)
        file.write("}\n")


def _tags(operations: Operations) -> Ints:
    """Return the tag of each operation, int64 [operations]."""
    tag, sends = np.zeros(len(operations), dtype=np.int64), operations.sends
    partner = operations.partner[sends]
    pair = operations.rank[sends].astype(np.int64) * operations.ranks + operations.rank[partner]
    order = np.argsort(pair, kind="stable")
    same = np.diff(pair[order]) == 0
    if np.any(same & (np.diff(partner[order]) < 0)):
        tag[sends] = tag[partner] = number_within(pair)
    return tag
