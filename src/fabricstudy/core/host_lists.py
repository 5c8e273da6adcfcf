"""Lists of hosts as Slurm writes them, such as ``blade[01-03,7],login``."""

import fnmatch
import math
import re
from collections.abc import Iterable
from itertools import chain, product

from .input_files import InputFileError

_PART = re.compile(r"(?:[^,\[\]{}\s]|\[[^\[\]]+\])+")
_RANGE = re.compile(r"(\d{1,18})(?:-(\d{1,18}))?", re.A)
MAX_HOSTS = 2_000_000
"""Limit of the names of a list, ten times the nodes of the largest machines."""


def expanded(text: str, where: str = "") -> list[str]:
    """Return the names of a list of hosts.

    Raises InputFileError, with the position, if it is none, or has more than `MAX_HOSTS` names.

    Examples
    --------
    >>> expanded("a[08-10],b[1,3]c[1-2],login")
    ['a08', 'a09', 'a10', 'b1c1', 'b1c2', 'b3c1', 'b3c2', 'login']
    """
    parts = _PART.findall(text)
    if ",".join(parts) != text:
        remedy = "write it like tux[0-15,20],login1, without blanks and empty parts"
        raise InputFileError("not a list of hosts", remedy, where, text)
    ranges_of = [[_ranges(piece, where) for piece in re.findall(r"\[[^\]]*\]", part)] for part in parts]
    counts = [[sum(last - first + 1 for first, last, _ in piece) for piece in pieces] for pieces in ranges_of]
    if sum(map(math.prod, counts)) > MAX_HOSTS:
        raise InputFileError(f"more than {MAX_HOSTS:,} names", "use shorter ranges", where, text)
    names: list[str] = []
    for part, pieces in zip(parts, ranges_of, strict=True):
        texts = re.split(r"\[[^\]]*\]", part)
        numbers = [
            [f"{number:0{width}}" for first, last, width in piece for number in range(first, last + 1)]
            for piece in pieces
        ]
        names += ["".join(chain(*zip(texts, (*chosen, ""), strict=True))) for chosen in product(*numbers)]
    return names


def _ranges(piece: str, where: str) -> list[tuple[int, int, int]]:
    """Return first, last and number of digits of each range in brackets."""
    ranges = []
    for written in piece[1:-1].split(","):
        found = _RANGE.fullmatch(written)
        if found is None or int(found[2] or found[1]) < int(found[1]):
            raise InputFileError("not a range of numbers", "write it like [0-15,20]", where, piece)
        ranges.append((int(found[1]), int(found[2] or found[1]), len(found[1])))
    return ranges


def matching(pattern: str, names: Iterable[str]) -> set[str]:
    """Return the names that a pattern means: that name, a list of hosts, or names in which * is any text.

    Examples
    --------
    >>> sorted(matching("n[1-2]*", ["n1", "n21", "n3", "n[1-2]*"])), sorted(matching("n[1-2]*", ["n1", "n21", "n3"]))
    (['n[1-2]*'], ['n1', 'n21'])
    """
    known = set(names)
    if pattern in known:
        return {pattern}
    try:
        listed = expanded(pattern)
    except InputFileError:
        listed = [pattern]
    exact = known.intersection(listed)
    return exact.union(*(fnmatch.filter(known, one) for one in listed if set(one) & set("*?[")))
