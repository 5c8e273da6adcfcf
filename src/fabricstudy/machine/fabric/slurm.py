"""``topology.conf`` of Slurm with the plugin topology/tree, and the output of ``scontrol show topology``.

A switch has a line with its nodes, or with the switches below it. The file has neither the number of cables between two
switches nor their bandwidths: the study sets the bandwidth, and `links_per_pair`, by default one cable. Cables to nodes
are of class host, those between switches of class link. In the output of scontrol, the nodes of an upper switch are
those below it. Lines like ``Include leaves.conf`` name files relative to that of the line.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from os.path import realpath
from pathlib import Path
from typing import NamedTuple

from fabricstudy.core.host_lists import expanded
from fabricstudy.core.input_files import InputFileError, numbered_lines, position_text, read_bytes, unpacked, whole
from fabricstudy.core.log import warn_once

from .base import HEAD_BYTES, Cable, Fabric, LinkAttributes, Port, check_cables, check_count

SIGNATURE = re.compile(r"^[ \t]*(?:(?:SwitchName|BlockName|RingName)[ \t]*=|include[ \t]+\S+[ \t]*$)", re.M | re.I)

_PAIR = re.compile(r'(\w+)\s*=\s*((?:"[^"]*"|[^\s"])*)\s*')
_INCLUDE = re.compile(r"include\s+([^\s\0]+)", re.I)
_KEYS = ("switchname", "switches", "nodes", "linkspeed", "level")


class Switch(NamedTuple):
    """A switch with the lists of its nodes and of the switches below it."""

    name: str
    switches: str
    nodes: str
    level: int
    where: str
    speed: str = "1"


def read(data: bytes, path: Path = Path("topology.conf")) -> Fabric:
    """Read a configuration and the files that it includes; raises InputFileError with the line.

    Examples
    --------
    >>> fabric = read(b'SwitchName=a Nodes="n[08-10],login"\\nSwitchName=b Switches=a')
    >>> [port.host for port in fabric.ports], fabric.cables[0][:2]
    (['n08', 'n09', 'n10', 'login'], ('b', 'a'))
    """
    return fabric_of_switches(list(_switches(_lines(numbered_lines(data), path, [realpath(path)]))))


def included_files(path: Path) -> list[Path]:
    """Return the files that a configuration includes, also by others; none if it is no configuration."""
    files: list[str] = []
    with suppress(InputFileError):
        data = unpacked(read_bytes(path))
        files.append(realpath(path))
        if SIGNATURE.search(data[:HEAD_BYTES].decode(errors="replace")):
            for _ in _lines(numbered_lines(data), path, files):
                pass
    return [Path(file) for file in files[1:]]


def fabric_of_switches(switches: Sequence[Switch]) -> Fabric:
    """Return the fabric of switches; raises InputFileError with the position."""
    routers: dict[str, int | None] = {}
    ports: dict[str, Port] = {}
    cables: dict[tuple[str, str], Cable] = {}
    speeds: dict[str, str] = {}
    for switch in switches:
        if "all" in (switch.switches.lower(), switch.nodes.lower()):
            raise InputFileError("ALL is no list of names", "write the names", switch.where, "ALL")
        names, lower = (expanded(text, switch.where) for text in (switch.name, switch.switches))
        check_cables(len(cables) + len(names) * len(lower), switch.where)
        for name in names:
            if name in routers:
                raise InputFileError("duplicate switch", "list it once", switch.where, name)
            routers[name], speeds[name] = 0, switch.speed
            for below in dict.fromkeys(lower):
                link = LinkAttributes("link", None, None)
                cables.setdefault((name, below), Cable(name, below, link, 1, switch.where))
            if switch.level:
                continue
            for node in dict.fromkeys(expanded(switch.nodes, switch.where)):
                if node in ports:
                    raise InputFileError("a node on several switches", "list it once", switch.where, node)
                ports[node] = Port(node, node, name, LinkAttributes("host", None, None), switch.where)
        check_count(len(routers) + len(ports), switch.where)
    for cable in cables.values():
        if cable.head not in routers:
            raise InputFileError("unknown switch", "add its SwitchName=...", cable.where, cable.head)
        if cable.head == cable.tail:
            raise InputFileError("a switch below itself", "list other switches", cable.where, cable.head)
        if cable[1::-1] in cables:
            raise InputFileError("two switches below each other", "keep one of the lines", cable.where, cable.head)
    if cables:
        hint = "; LinkSpeed of the file is a number of cables with links_per_pair: LinkSpeed, and has no effect without"
        warn_once(
            f"warning: a topology of Slurm has neither bandwidths nor numbers of cables: {len(cables)} pairs of "
            "switches have one cable each, or links_per_pair of the study, of the bandwidth that it sets"
            + hint
            * (set(speeds.values()) != {"1"})
        )
    return Fabric(routers, list(cables.values()), list(ports.values()), link_speed=speeds)


def _lines(lines: Iterable[tuple[int, str]], path: Path, files: list[str]) -> Iterator[tuple[str, str]]:
    """Yield lines with their positions, among them those of included files, which are added to `files`."""
    for number, text in _joined(lines):
        where = position_text(number) if realpath(path) == files[0] else f"{path.name}, {position_text(number)}"
        found = _INCLUDE.fullmatch(text)
        if found is None:
            yield where, text
            continue
        included = path.parent / found[1]
        if realpath(included) in files:
            raise InputFileError("a file that is included twice", "remove one of the lines", where, found[1])
        files.append(realpath(included))
        try:
            lines_of = list(numbered_lines(unpacked(read_bytes(included))))
        except InputFileError as error:
            raise InputFileError(error.problem, error.remedy, where, found[1], error.code) from None
        yield from _lines(lines_of, included, files)


def _joined(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Yield lines without comments, joined where a backslash continues them, with the number of the first."""
    first, text = 0, ""
    for number, line in lines:
        first = first or number
        text += line.partition("#")[0].rstrip()
        if text.endswith("\\"):
            text = text[:-1]
            continue
        yield first, text.strip()
        first, text = 0, ""
    if text:
        yield first, text.strip()


def _switches(lines: Iterable[tuple[str, str]]) -> Iterator[Switch]:
    for where, text in lines:
        if not text:
            continue
        words = _words(text, where)
        if words.keys() & {"blockname", "ringname", "blocksizes"}:
            problem = "blocks and rings of Slurm do not tell which switches join their nodes"
            raise InputFileError(problem, "use a file of topology/tree", where, text)
        if "switchname" not in words:
            raise InputFileError("not a line of topology/tree", "write SwitchName=... Nodes=...", where, text)
        if words.keys() <= {"switchname", "linkspeed"}:
            raise InputFileError("a switch without nodes and switches", "write its Nodes or Switches", where, text)
        # An upper switch of scontrol lists both, a leaf has an empty list of switches.
        level = int(words.get("level", "0") or 0) if words.get("switches") else 0
        yield Switch(
            words["switchname"],
            words.get("switches", ""),
            words.get("nodes", ""),
            level,
            where,
            words.get("linkspeed", "1"),
        )


def _words(text: str, where: str) -> dict[str, str]:
    """Return the values of a line by their keys, without quotation marks."""
    words, end = {}, 0
    while end < len(text):
        found = _PAIR.match(text, end)
        if found is None:
            problem = "a word without a key; a list has no blanks"
            raise InputFileError(problem, "write SwitchName=leaf1 Nodes=n[1-2],n5", where, text[end:])
        key = found[1].lower()
        if key not in (*_KEYS, "blockname", "blocksizes", "blocksize", "ringname") or key in words:
            raise InputFileError("unknown or duplicate key", f"use {', '.join(_KEYS)}", where, found[1])
        words[key], end = found[2].replace('"', "").replace("(null)", ""), found.end()
    whole(words.get("level") or 0, 0, 99, where)
    return words
