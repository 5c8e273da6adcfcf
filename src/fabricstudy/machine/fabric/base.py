"""What a file says of a fabric, by name, and how one edge of it is read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from fabricstudy.core.errors import is_misspelling
from fabricstudy.core.input_files import InputFileError, whole
from fabricstudy.core.model import ConfigError
from fabricstudy.core.quantities import BANDWIDTHS, LATENCIES, QuantityRange, to_unit

HOST = "host"
"""The class of the links between nodes and routers."""

MAX_PARALLEL_CABLES = 10_000

MAX_FABRIC_NODES = 2_000_000
"""Nodes of a fabric from a file: each has a name, and the largest machines have a tenth of that."""


class LinkAttributes(NamedTuple):
    """A link as the file describes it: its class, and the quantities that the file gives."""

    name: str
    bandwidth_Bps: float | None
    latency_ns: float | None


class Cable(NamedTuple):
    """Parallel cables between two routers; `ports` are those at tail and head, where the file names them."""

    tail: str
    head: str
    link: LinkAttributes
    parallel: int
    where: str
    ports: tuple[int, int] | None = None


class Port(NamedTuple):
    """A port of a host that leads to a router, by a name that no other port has, and by other names of it (`also`).

    `where` is the place in the file, and `router_port` the port of the router, where the file names it.
    """

    host: str
    name: str
    router: str
    link: LinkAttributes
    where: str
    aliases: tuple[str, ...] = ()
    router_port: int | None = None


@dataclass(frozen=True)
class Fabric:
    """What a file says: of each router its unnamed nodes, or None where there is no number, and its other names."""

    routers: dict[str, int | None]
    cables: list[Cable]
    ports: list[Port]
    aliases: dict[str, str] = field(default_factory=dict)


KEYS = ("class", "count", "bandwidth", "latency")
"""What an edge may say of itself."""


class EdgeRecord(NamedTuple):
    """An edge as it is written: its ends, what it says of itself, and its place in the file."""

    ends: tuple[str, str]
    says: Mapping[str, Any]
    where: str


def fabric_of(vertices: Mapping[str, tuple[Mapping[str, Any], str]], edges: Sequence[EdgeRecord]) -> Fabric:
    """Make a fabric of vertices, each with what it says of itself and its place, and edges.

    A vertex is a node if it says ``role: node``, else a router, on which there may be ``nodes: 4`` without names.

    Raises InputFileError at the first thing that is wrong.
    """
    routers: dict[str, int | None] = {}
    hosts = set()
    for name, (says, where) in vertices.items():
        check_misspelt_keys(says, ("role", "nodes"), where)
        role = says.get("role", "router")
        if role not in ("router", "node"):
            raise InputFileError("no role of a vertex", "write router or node", f"{where} (role)", role)
        if role == "node":
            hosts.add(name)
        else:
            routers[name] = whole(says["nodes"], 0, MAX_FABRIC_NODES, f"{where} (nodes)") if "nodes" in says else None
    cables, ports = [], []
    for edge in edges:
        joined = [name in hosts for name in edge.ends]
        if edge.ends[0] == edge.ends[1]:
            raise InputFileError("an edge joins a vertex with itself", "leave it out", edge.where, edge.ends[0])
        if all(joined):
            raise InputFileError("an edge joins two nodes", "join each node with a router", edge.where, edge.ends[0])
        link, count = link_of(edge, HOST if any(joined) else None)
        if any(joined):
            node, router = edge.ends if joined[0] else edge.ends[::-1]
            if count != 1:
                raise InputFileError(
                    "a node has one cable to a router", "write count 1", f"{edge.where} (count)", count
                )
            ports.append(Port(node, f"{node} to {router}", router, link, edge.where))
        else:
            cables.append(Cable(*edge.ends, link, count, edge.where))
    return Fabric(routers, cables, ports)


def link_of(edge: EdgeRecord, name: str | None) -> tuple[LinkAttributes, int]:
    """Read what an edge says of itself; without a class it is named after its bandwidth, or "link".

    Raises InputFileError if that cannot be.
    """
    says = {key: value for key, value in edge.says.items() if value not in ("", None)}
    check_misspelt_keys(says, KEYS, edge.where)
    bandwidth_Bps = _quantity(says, "bandwidth", BANDWIDTHS, "100 Gb/s", edge.where)
    latency_ns = _quantity(says, "latency", LATENCIES, "40 ns", edge.where)
    count = whole(says.get("count", 1), 1, MAX_PARALLEL_CABLES, f"{edge.where} (count)")
    written = str(says.get("class", says.get("bandwidth", "link"))).strip()
    if name is None and written == HOST:
        problem = "the class of links to nodes, between two routers"
        raise InputFileError(problem, "call it otherwise, or say which end is a node", f"{edge.where} (class)", written)
    return LinkAttributes(name or written, bandwidth_Bps, latency_ns), count


def check_misspelt_keys(says: Mapping[str, Any], keys: Sequence[str], where: str) -> None:
    """Refuse a key that looks like one of ours; other keys of a file that was not made for us are passed over."""
    for key in says:
        for ours in keys:
            if key not in keys and is_misspelling(key, ours):
                raise InputFileError("unknown key", f"did you mean '{ours}'?", where, key)


def _quantity(says: Mapping[str, Any], key: str, limits: QuantityRange, example: str, where: str) -> float | None:
    value = says.get(key)
    if value is None:
        return None
    try:
        magnitude = to_unit(str(value).strip(), limits.unit, example)
        limits.check(magnitude)
    except ConfigError as error:
        raise InputFileError(error.problem, error.remedy, f"{where} ({key})", value) from None
    return magnitude
