"""Platforms of SimGrid (Casanova et al., JPDC 2014) as XML: hosts, routers, and routes of one link.

A route of one link between two hosts or routers is a cable, as in SimGrid's binding for ns-3; longer routes follow from
these. A `cluster` is a switch with its hosts, by the name of SimGrid's router for it; a zone of type Cluster names its
own. A warning names backbones of clusters, and links that several cables share, as their limits are not used.
"""

import re
from collections import Counter
from typing import NamedTuple

from fabricstudy.core.host_lists import expanded
from fabricstudy.core.input_files import InputFileError
from fabricstudy.core.log import warn_once

from .base import HOST, EdgeRecord, Fabric, fabric_of
from .simgrid_clusters import edges_of
from .xml import Element, root_of

SIGNATURE = re.compile(r"\A\s*(?:<!--[^-]*(?:-(?!->)[^-]*)*-->\s*|<[?!](?!--)[^>]*>\s*)*<platform\b")

_VALUE = re.compile(r"((?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)\s*(?:([kKMGT]?)(i?)([Bb]ps)|(ps|ns|us|ms|s))?")
_PREFIX = {"": 0, "k": 1, "K": 1, "M": 2, "G": 3, "T": 4}
_NANOSECONDS = {"ps": 1e-3, "ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
_OTHER = frozenset((
    "platform", "zone", "AS", "config", "prop", "disk", "storage", "storage_type", "model_prop", "mount", "mstorage",
    "trace", "trace_connect", "actor", "process", "argument", "link_ctn", "host_link",
))  # fmt: skip
_USE = "use hosts, routers, links and routes"


class _Route(NamedTuple):
    ends: tuple[str, str]
    links: list[str]
    where: str
    cables: int = 1


def read(data: bytes) -> Fabric:
    """Read a platform; raises InputFileError with the line."""
    platform = _Platform()
    for element in root_of(data, _USE):
        platform.take(element)
    return platform.fabric()


class _Platform:
    def __init__(self) -> None:
        self._roles: dict[str, str] = {}
        self._links: dict[str, tuple[float, float, str]] = {}
        self._of_clusters: set[str] = set()
        self._routes: list[_Route] = []
        self._unused: Counter[str] = Counter()

    def take(self, element: Element) -> None:
        """Take an element without those in it."""
        name, where = element.name, element.where
        if name in ("zone", "AS"):
            routers = [inner["id"] for inner in element.inside if inner.name == "router"]
            hosts = [inner for inner in element.inside if inner.name == "host_link"]
            if hosts and len(routers) != 1:
                raise InputFileError("a zone of type Cluster without one router", "add a router", hosts[0].where)
            self._routes += [_Route((host["id"], routers[0]), [host["up"]], host.where) for host in hosts]
        elif name in ("host", "router"):
            self._add_role(element["id"], "node" if name == "host" else "router", where)
        elif name == "link":
            self._add_link(element["id"], element["bandwidth"], element.get("latency", "0"),
                           element.get("sharing_policy", "SHARED"), where)  # fmt: skip
        elif name in ("route", "zoneRoute", "ASroute"):
            ends = ("src", "dst") if name == "route" else ("gw_src", "gw_dst")
            links = [inner["id"] for inner in element.inside if inner.name == "link_ctn"]
            self._routes.append(_Route((element[ends[0]], element[ends[1]]), links, where))
        elif name == "cluster":
            self._add_cluster(element)
        elif name == "backbone":
            self._unused["backbones of clusters"] += 1
        elif name not in _OTHER:
            raise InputFileError("an element that is not read", _USE, where, name)

    def _add_role(self, name: str, role: str, where: str) -> None:
        if name in self._roles:
            raise InputFileError("duplicate host or router", "use unique names", where, name)
        self._roles[name] = role

    def _add_cluster(self, element: Element) -> None:
        kind, where = element.get("topology", "FLAT"), element.where
        if kind == "TORUS":
            raise InputFileError("a torus without routers", "write machine: {kind: torus}", where, kind)
        name, prefix, suffix = (element[key] for key in ("id", "prefix", "suffix"))
        hosts = [f"{prefix}{number}{suffix}" for number in expanded(f"[{element['radical']}]", where)]
        self._of_clusters.add(f"{name}_link")
        policy = element.get("sharing_policy", "SPLITDUPLEX")
        self._add_link(f"{name}_link", element["bw"], element["lat"], policy, where)
        self._unused["backbones of clusters"] += "bb_bw" in element.attributes
        self._unused["limits of routers"] += "limiter_link" in element.attributes
        if kind == "FLAT":
            router = element.get("router_id") or f"{prefix}{name}_router{suffix}"
            edges = [(host, router, 1) for host in hosts]
        else:
            edges = edges_of(kind, element["topo_parameters"], hosts, name, where)
        for host in hosts:
            self._add_role(host, "node", where)
        for tail, head, count in edges:
            self._roles |= {end: "router" for end in (tail, head) if end not in self._roles}
            self._routes.append(_Route((tail, head), [f"{name}_link"], where, count))

    def _add_link(self, name: str, bandwidth: str, latency: str, policy: str, where: str) -> None:
        if policy.upper() == "WIFI":
            raise InputFileError("a link of WiFi", "use a platform of cables", where, name)
        rate, delay = _VALUE.fullmatch(bandwidth), _VALUE.fullmatch(latency)
        if rate is None or rate[5] or delay is None or delay[4]:
            raise InputFileError("unknown bandwidth or latency", "write 125MBps and 50us", where, bandwidth)
        scale = (1024 if rate[3] else 1000) ** _PREFIX[rate[2] or ""] / (8 if rate[4] == "bps" else 1)
        latency_ns = float(delay[1]) * _NANOSECONDS[delay[5] or "s"]
        self._links[name] = float(rate[1]) * scale, latency_ns, policy.upper()

    def fabric(self) -> Fabric:
        """Return the fabric of the routes of one link."""
        edges: dict[tuple[frozenset[str], str], EdgeRecord] = {}
        for route in self._routes:
            links = [name if name in self._links else re.sub("_(?:UP|DOWN)$", "", name) for name in route.links]
            unknown = [name for name in route.ends if name not in self._roles]
            unknown += [name for name in links if name not in self._links]
            if unknown:
                raise InputFileError("unknown host, router or link", "declare it", route.where, unknown[0])
            if len(route.links) != 1 or route.ends[0] == route.ends[1]:
                self._unused["routes of several links"] += len(route.links) > 1
                continue
            bandwidth_Bps, latency_ns, _ = self._links[links[0]]
            name = f"{bandwidth_Bps / 1e9:g}GB/s {latency_ns:g}ns"
            if "node" in map(self._roles.get, route.ends):
                name = HOST
            says = {"class": name, "bandwidth_Bps": bandwidth_Bps, "latency_ns": latency_ns, "count": route.cables}
            edges[frozenset(route.ends), links[0]] = EdgeRecord(route.ends, says, route.where)
        between = ((ends, link) for ends, link in edges if link not in self._of_clusters)
        uses = Counter(link for ends, link in between if "node" not in map(self._roles.get, ends))
        self._unused["links that several cables share"] = sum(count > 1 for count in uses.values())
        policies = Counter(self._links[link][2] for _, link in edges)
        self._unused["links whose two directions share their bandwidth (SHARED)"] = policies["SHARED"]
        self._unused["links that limit each message alone (FATPIPE)"] = policies["FATPIPE"]
        if unused := ", ".join(f"{count} {words}" for words, count in self._unused.items() if count):
            warn_once(f"warning: not used of the platform: {unused}")
        vertices = {name: ({"role": role}, "") for name, role in self._roles.items()}
        return fabric_of(vertices, list(edges.values()))
