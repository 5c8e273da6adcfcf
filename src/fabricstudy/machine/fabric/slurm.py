"""``topology.conf`` of Slurm with the plugin topology/tree: switches with their nodes, and the switches above them.

The file has neither the number of cables between two switches nor their bandwidths: one cable is assumed, and the
study sets the bandwidth. Cables to nodes are of class host, those between switches of class link.
"""

import re
from collections.abc import Iterator

from fabricstudy.core.input_files import InputFileError, numbered_lines, position_text
from fabricstudy.core.log import warn_once

from .base import MAX_FABRIC_NODES, Cable, Fabric, LinkAttributes, Port

_LIST = re.compile(r"(?:[^,\[\]]|\[[^\]]*\])+")
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.A)
_MAX_RANGES = 4
"""In one name."""


def read(data: bytes) -> Fabric:
    """Read a configuration; raises InputFileError with the line.

    Examples
    --------
    >>> fabric = read(b"SwitchName=a Nodes=n[08-10],login\\nSwitchName=b Switches=a")
    >>> [port.host for port in fabric.ports], fabric.cables[0][:2]
    (['n08', 'n09', 'n10', 'login'], ('b', 'a'))
    """
    routers: dict[str, int | None] = {}
    ports: dict[str, Port] = {}
    cables = []
    for number, line in numbered_lines(data):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        where = position_text(number)
        words = {key.lower(): value for key, value in re.findall(r"(\w+)\s*=\s*(\S+)", text)}
        if "switchname" not in words:
            raise InputFileError("not a line of topology/tree", "write SwitchName=... Nodes=...", where, text)
        for name in _expanded(words["switchname"], where):
            if name in routers:
                raise InputFileError("duplicate switch", "list it once", where, name)
            routers[name] = 0
            link = LinkAttributes("link", None, None)
            cables += [Cable(name, below, link, 1, where) for below in _expanded(words.get("switches", ""), where)]
            for node in _expanded(words.get("nodes", ""), where):
                if node in ports:
                    raise InputFileError("a node on several switches", "list it once", where, node)
                ports[node] = Port(node, node, name, LinkAttributes("host", None, None), where)
    for cable in cables:
        if cable.head not in routers:
            raise InputFileError("unknown switch", "add its SwitchName=...", cable.where, cable.head)
        if cable.head == cable.tail:
            raise InputFileError("a switch below itself", "list other switches", cable.where, cable.head)
    warn_once(
        f"warning: topology.conf has neither bandwidths nor numbers of cables: {len(cables)} pairs of switches have "
        "one cable each, of the bandwidth that the study sets; a tree with trunks has more bandwidth than that"
    )
    return Fabric(routers, cables, list(ports.values()))


def _expanded(names: str, where: str) -> Iterator[str]:
    """Yield the names of a host list such as ``a[01-03,7],b``."""
    for part in _LIST.findall(names):
        head, bracket, rest = part.partition("[")
        if not bracket:
            yield part
            continue
        inside, _, tail = rest.partition("]")
        for found in inside.split(","):
            numbers = _RANGE.fullmatch(found)
            last = int(numbers[2] or numbers[1]) if numbers else -1
            if numbers is None or part.count("[") > _MAX_RANGES or not 0 <= last - int(numbers[1]) < MAX_FABRIC_NODES:
                raise InputFileError("not a list of hosts", "write it like tux[0-15,20]", where, part)
            for number in range(int(numbers[1]), last + 1):
                yield from _expanded(f"{head}{number:0{len(numbers[1])}}{tail}", where)
