"""``topology.conf`` of Slurm with the plugin topology/tree, and the output of ``scontrol show topology``.

A switch has a line with its nodes, or with the switches below it. The file has neither the number of cables between two
switches nor their bandwidths: the study sets the bandwidth, and `links_per_pair`, by default one cable. Cables to nodes
are of class host, those between switches of class link. In the output of scontrol, the nodes of an upper switch are
those below it.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fabricstudy.core.host_lists import expanded
from fabricstudy.core.input_files import InputFileError, numbered_lines, position_text, whole
from fabricstudy.core.log import warn_once

from .base import Cable, Fabric, LinkAttributes, Port, check_cables, check_count

SIGNATURE = re.compile(r"^[ \t]*(?:SwitchName|BlockName|RingName)[ \t]*=", re.M | re.I)

_PAIR = re.compile(r'(\w+)\s*=\s*((?:"[^"]*"|[^\s"])*)\s*')
_KEYS = ("switchname", "switches", "nodes", "linkspeed", "level")


class Switch(NamedTuple):
    """A switch with the lists of its nodes and of the switches below it."""

    name: str
    switches: str
    nodes: str
    level: int
    where: str
    speed: str = "1"


def read(data: bytes) -> Fabric:
    """Read a configuration; raises InputFileError with the line.

    Examples
    --------
    >>> fabric = read(b'SwitchName=a Nodes="n[08-10],login"\\nSwitchName=b Switches=a')
    >>> [port.host for port in fabric.ports], fabric.cables[0][:2]
    (['n08', 'n09', 'n10', 'login'], ('b', 'a'))
    """
    return fabric_of_switches(list(_switches(data)))


def fabric_of_switches(switches: Sequence[Switch]) -> Fabric:
    """Return the fabric of switches; raises InputFileError with the position."""
    routers: dict[str, int | None] = {}
    ports: dict[str, Port] = {}
    cables: dict[tuple[str, str], Cable] = {}
    for switch in switches:
        if "all" in (switch.switches.lower(), switch.nodes.lower()):
            raise InputFileError("ALL is no list of names", "write the names", switch.where, "ALL")
        names, lower = (expanded(text, switch.where) for text in (switch.name, switch.switches))
        check_cables(len(cables) + len(names) * len(lower), switch.where)
        for name in names:
            if name in routers:
                raise InputFileError("duplicate switch", "list it once", switch.where, name)
            routers[name] = 0
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
    speeds = {name: switch.speed for switch in switches for name in expanded(switch.name, switch.where)}
    if cables:
        hint = "; LinkSpeed of the file has no effect unless links_per_pair: LinkSpeed is set"
        warn_once(
            f"warning: a topology of Slurm has neither bandwidths nor numbers of cables: {len(cables)} pairs of "
            "switches have one cable each, or links_per_pair of the study, of the bandwidth that it sets"
            + hint
            * (set(speeds.values()) != {"1"})
        )
    return Fabric(routers, list(cables.values()), list(ports.values()), link_speed=speeds)


def _lines(data: bytes) -> Iterator[tuple[int, str]]:
    """Yield lines without comments, joined where a backslash continues them, with the number of the first."""
    first, text = 0, ""
    for number, line in numbered_lines(data):
        first = first or number
        text += line.partition("#")[0].rstrip()
        if text.endswith("\\"):
            text = text[:-1]
            continue
        yield first, text.strip()
        first, text = 0, ""
    if text:
        yield first, text.strip()


def _switches(data: bytes) -> Iterator[Switch]:
    for number, text in _lines(data):
        if not text:
            continue
        where = position_text(number)
        if text.lower().startswith("include"):
            raise InputFileError("include is not followed", "write the lines of that file here", where, text)
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
