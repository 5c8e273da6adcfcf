"""Fabrics by name, and parsing of their edges."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from fabricstudy.core.errors import is_misspelling
from fabricstudy.core.input_files import InputFileError, position_text, text_of, whole
from fabricstudy.core.log import warn_once
from fabricstudy.core.model import ConfigError
from fabricstudy.core.quantities import BANDWIDTHS, LATENCIES, QuantityRange, to_unit

HOST = "host"
"""Class of host links."""

MAX_PARALLEL_CABLES = 10_000

COMMENTS = r"(?:[ \t]*(?:[#%][^\n]*|\r)?\n)*"
"""Pattern of empty lines and comments at the beginning of a file."""

LIST_ONCE = "list each cable once, as networkx.Graph(graph) does, which also joins parallel cables"
"""Remedy for directed graphs; `to_undirected` of a multigraph would keep both directions as two cables."""

HEAD_BYTES = 1 << 16
"""Bytes whose text tells the format of a file."""

MAX_FABRIC_NODES = 2_000_000
"""Limit of nodes of a fabric, ten times those of the largest machines."""

MAX_FABRIC_CABLES = MAX_FABRIC_NODES
"""Limit of the pairs of routers that have cables, where a few numbers of a file define them."""


def check_cables(pairs: int, where: str) -> None:
    """Raise InputFileError if there are too many pairs of routers with cables to list them."""
    if pairs > MAX_FABRIC_CABLES:
        problem, remedy = "too many cables", f"use at most {MAX_FABRIC_CABLES:,} pairs of routers with cables"
        raise InputFileError(problem, remedy, where, pairs)


def check_count(vertices: int, where: str) -> None:
    """Raise InputFileError if there are more routers and nodes than a fabric may have, each as many as nodes."""
    if vertices > 2 * MAX_FABRIC_NODES:
        problem, remedy = "too many routers and nodes", f"use at most {MAX_FABRIC_NODES:,} of each"
        raise InputFileError(problem, remedy, where, vertices)


class LinkAttributes(NamedTuple):
    """Class of a link, and its quantities if the file has them."""

    name: str
    bandwidth_Bps: float | None
    latency_ns: float | None


class Cable(NamedTuple):
    """Parallel cables between two routers; `ports` are those at tail and head, if known."""

    tail: str
    head: str
    link: LinkAttributes
    parallel: int
    where: str
    ports: tuple[int, int] | None = None


class Port(NamedTuple):
    """A host port that leads to a router, with its unique name; `router_port` is the router's port, if known.

    `adapter` is the unique name of the network adapter, and `device` its name within the host, such as ``mlx5_0``.
    """

    host: str
    name: str
    router: str
    link: LinkAttributes
    where: str
    aliases: tuple[str, ...] = ()
    router_port: int | None = None
    device: str = ""
    adapter: str = ""


@dataclass(frozen=True)
class Fabric:
    """A fabric; `routers` has the number of unnamed nodes of each router, or None if unknown."""

    routers: dict[str, int | None]
    cables: list[Cable]
    ports: list[Port]
    aliases: dict[str, str] = field(default_factory=dict)
    link_speed: dict[str, str] | None = None
    """LinkSpeed of each switch of Slurm, whose files have no numbers of cables; None for files that have them."""
    unmarked: bool = False
    """The file tells neither which vertices are nodes, nor how many nodes a router has."""


ROLES = {
    **dict.fromkeys(("node", "host", "server", "compute", "endpoint", "terminal"), "node"),
    **dict.fromkeys(("router", "switch"), "router"),
}
"""Roles of a vertex by the words for them; `type` and `kind` have others, too, which are those of routers.

A `type` of ``Node`` is a host only beside one of ``Switch`` or ``Router``: in the Topology Zoo it is any location.
"""

OF_LINK = ("class", "count", "bandwidth", "latency", "bandwidth_Bps", "latency_ns")
"""Attributes of an edge; the last two are numbers, in place of the two before them, which are texts with units."""


_RATE = ("LinkSpeedRaw", "LinkSpeed", "LinkSpeedUnits")
"""Attributes of an edge of the Topology Zoo: its rate in bit/s, or with a unit such as G."""

_NO_VALUES = frozenset((
    "id", "key", "source", "target", "label", "name", "LinkLabel", "LinkNote", "LinkType", "x", "y", "pos", "graphics",
    "Latitude", "Longitude", "Country", "Internal", "hyperedge", "color", "shape", "style", "width", "height",
    "fontname", "fontsize", "fillcolor", "penwidth", "URL", "tooltip", "layer", "rank",
))  # fmt: skip
"""Attributes that name, locate or draw; `describe_unused` does not mention them, but for an edge's only rate."""

_LIKE_RATE = re.compile(r"\W*\d[\d.]*\s*(?:[GT](?:b?E)?|[KMGTk]i?[Bb](?:it)?(?:/s|ps|E)?)\s*")


def json_of(data: bytes, remedy: str) -> Any:
    """Return the content of a file of JSON; raises InputFileError with line and column."""
    try:
        content = json.loads(text_of(data))
        json.dumps(content, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise InputFileError(f"not JSON: {error.msg}", remedy, position_text(error.lineno, error.colno)) from None
    except RecursionError:
        raise InputFileError("nested too deeply", remedy) from None
    except ValueError as error:  # a number of too many digits, or a lone surrogate
        raise InputFileError(f"not JSON: {error}", remedy) from None
    return content


class EdgeRecord(NamedTuple):
    """An edge as written, with its position in the file."""

    ends: tuple[str, str]
    says: Mapping[str, Any]
    where: str


def fabric_of(vertices: Mapping[str, tuple[Mapping[str, Any], str]], edges: Sequence[EdgeRecord]) -> Fabric:
    """Return the fabric of vertices, each with its attributes and position, and edges; raises InputFileError.

    A vertex with ``role: node``, or such a word as its type or kind, is a node; any other is a router, which may have
    ``nodes: 4`` without names.
    """
    routers: dict[str, int | None] = {}
    hosts = set()
    locations = not any(_word(says) == "router" for says, _ in vertices.values()) or any(
        "Longitude" in says or "Internal" in says for says, _ in vertices.values()
    )
    for name, (says, where) in vertices.items():
        _check_misspelt_keys(says, ("role", "nodes"), where)
        if "role" in says and str(says["role"]).lower() not in ROLES:
            raise InputFileError("unknown role of a vertex", "write router or node", f"{where} (role)", says["role"])
        if _word(says) == "node" and not (locations and _is_location(says)):
            hosts.add(name)
        else:
            routers[name] = whole(says["nodes"], 0, MAX_FABRIC_NODES, f"{where} (nodes)") if "nodes" in says else None
    cables, ports = [], []
    for edge in edges:
        joined = [name in hosts for name in edge.ends]
        if edge.ends[0] == edge.ends[1]:
            raise InputFileError("an edge joins a vertex to itself", "remove it", edge.where, edge.ends[0])
        if all(joined):
            raise InputFileError("an edge joins two nodes", "join each node to a router", edge.where, edge.ends[0])
        link, count = link_of(edge, HOST if any(joined) else None)
        if any(joined):
            node, router = edge.ends if joined[0] else edge.ends[::-1]
            if count != 1:
                problem = "a node has one cable to a router"
                raise InputFileError(problem, "write count 1", f"{edge.where} (count)", count)
            ports.append(Port(node, f"{node} to {router}", router, link, edge.where))
        else:
            cables.append(Cable(*edge.ends, link, count, edge.where))
    if unjoined := hosts.difference(port.host for port in ports):
        some = ", ".join(sorted(unjoined)[:3])
        warn_once(f"warning: nodes that are joined to no router, and left out: {len(unjoined)}, such as {some}")
    marked = ports or any("role" in says or "nodes" in says or _is_location(says) for says, _ in vertices.values())
    no_rates = [
        f"{edge.says['LinkSpeed']} ({edge.where})"
        for edge in edges
        if edge.says.get("LinkSpeed") and _rate(edge.says, edge.where) is None
    ]
    if no_rates:
        warn_once(f"warning: {len(no_rates)} LinkSpeed without a unit, or no number, are not used: {no_rates[0]}, ...")
    used = ("role", "type", "kind", "nodes")
    describe_unused("vertices", [(key, where) for says, where in vertices.values() for key in says], used)
    in_labels = [
        (f"{key}: {edge.says[key]}", edge.where)
        for edge in edges
        if not {"bandwidth", "bandwidth_Bps", *_RATE} & edge.says.keys()
        for key in _NO_VALUES & edge.says.keys()
        if _LIKE_RATE.fullmatch(str(edge.says[key]))
    ]
    of_edges = [(key, edge.where) for edge in edges for key in edge.says]
    describe_unused("edges", in_labels + of_edges, OF_LINK + _RATE)
    return Fabric(routers, cables, ports, unmarked=not marked)


def _word(says: Mapping[str, Any]) -> str | None:
    """Return the role of a vertex, or None if it states none."""
    words = (str(says[key]).lower() for key in ("role", "type", "kind") if key in says)
    return next((ROLES[word] for word in words if word in ROLES), None)


def _is_location(says: Mapping[str, Any]) -> bool:
    return "role" not in says and "node" in (str(says.get(key)).lower() for key in ("type", "kind"))


def describe_unused(noun: str, found: Sequence[tuple[str, str]], used: Sequence[str]) -> None:
    """Warn of keys, each with its position, that are not among those in use."""
    unused = {key: where for key, where in reversed(found) if key not in used and key not in _NO_VALUES}
    if unused:
        named = ", ".join(f"{key} ({where})" for key, where in list(unused.items())[::-1][:6])
        warn_once(f"warning: values of {noun} that are not used: {named}; those in use are {', '.join(used)}")


def with_leaves_as_nodes(fabric: Fabric) -> Fabric:
    """Return the fabric with each vertex of one cable, to a vertex of several, as a node."""
    degree = Counter(end for cable in fabric.cables for end in (cable.tail, cable.head) for _ in range(cable.parallel))
    cables, ports = [], []
    for cable in fabric.cables:
        leaf, router = sorted((cable.tail, cable.head), key=degree.__getitem__)
        if degree[leaf] == 1 < degree[router]:
            ports.append(Port(leaf, f"{leaf} to {router}", router, cable.link._replace(name=HOST), cable.where))
        else:
            cables.append(cable)
    hosts = {port.host for port in ports}
    return replace(
        fabric, routers={name: None for name in fabric.routers if name not in hosts}, cables=cables, ports=ports
    )


def link_of(edge: EdgeRecord, name: str | None) -> tuple[LinkAttributes, int]:
    """Return the attributes and number of cables of an edge; its class defaults to its bandwidth, or "link"."""
    says = {key: value for key, value in edge.says.items() if value not in ("", None)}
    if not {"bandwidth", "bandwidth_Bps"} & says.keys() and (rate := _rate(says, edge.where)):
        says["bandwidth"] = rate
    _check_misspelt_keys(says, OF_LINK, edge.where)
    bandwidth_Bps = _quantity(says, "bandwidth", "bandwidth_Bps", BANDWIDTHS, "100 Gb/s", edge.where)
    latency_ns = _quantity(says, "latency", "latency_ns", LATENCIES, "40 ns", edge.where)
    count = whole(says.get("count", 1), 1, MAX_PARALLEL_CABLES, f"{edge.where} (count)")
    written = str(says.get("class", says.get("bandwidth", "link"))).strip()
    if name is None and written == HOST:
        problem = "class host of a cable between two routers"
        raise InputFileError(problem, "rename it, or mark one end as a node", f"{edge.where} (class)", written)
    return LinkAttributes(name or written, bandwidth_Bps, latency_ns), count


def _rate(says: Mapping[str, Any], where: str) -> str | None:
    """Return the rate of an edge of the Topology Zoo, which may also be a range, a remark, or without a unit."""
    raw, speed, unit = (str(says.get(key, "")) for key in _RATE)
    if raw:
        if re.fullmatch(r"[0-9.]+(?:[eE][-+]?[0-9]+)?", raw) is None:
            raise InputFileError("not a rate in bit/s", "write a number", f"{where} (LinkSpeedRaw)", raw)
        return f"{raw} b/s"
    if re.fullmatch(r"[0-9.]+", speed) and re.fullmatch("[KMGT]", unit):
        return f"{speed.rstrip('.')} {unit.replace('K', 'k')}b/s"
    return None


def _check_misspelt_keys(says: Mapping[str, Any], keys: Sequence[str], where: str) -> None:
    """Reject keys that resemble one of `keys`; ignore other keys."""
    for key in says:
        for known in keys:
            if key not in keys and is_misspelling(key, known, 0.75):
                raise InputFileError(f"unknown key '{key}'", f"did you mean '{known}'?", where)


def _quantity(
    says: Mapping[str, Any], key: str, number_key: str, limits: QuantityRange, example: str, where: str
) -> float | None:
    key = key if key in says else number_key
    value = says.get(key)
    if value is None:
        return None
    try:
        text = f"{value} {limits.unit}" if key == number_key else str(value).strip()
        magnitude = to_unit(text, limits.unit, example)
        limits.check(magnitude)
    except ConfigError as error:
        raise InputFileError(error.problem, error.remedy, f"{where} ({key})", value) from None
    return magnitude


def once_each(edges: Sequence[EdgeRecord]) -> list[EdgeRecord]:
    """Return edges without those of the other direction, if each edge is listed in both directions."""
    pairs = Counter(edge.ends for edge in edges)
    if not pairs or any(pairs[head, tail] != count for (tail, head), count in pairs.items()):
        return list(edges)
    warn_once("warning: each edge is listed in both directions; the two are one cable")
    first: dict[frozenset[str], tuple[str, str]] = {}
    return [edge for edge in edges if first.setdefault(frozenset(edge.ends), edge.ends) == edge.ends]
