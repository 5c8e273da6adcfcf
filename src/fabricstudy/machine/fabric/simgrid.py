"""Platforms of SimGrid (Casanova et al., JPDC 2014) as XML: hosts, routers, and routes of one link.

A route of one link between two hosts or routers is a cable, as in SimGrid's binding for ns-3; longer routes follow from
these. A `cluster` is a switch with its hosts, by the name of SimGrid's router for it; a zone of type Cluster names its
own. A warning names backbones of clusters, and links that several cables share, as their limits are not used.
"""

import re
from collections import Counter
from typing import NamedTuple
from xml.parsers import expat

from fabricstudy.core.host_lists import expanded
from fabricstudy.core.input_files import InputFileError, position_text, text_of
from fabricstudy.core.log import warn_once

from .base import HOST, EdgeRecord, Fabric, fabric_of
from .simgrid_clusters import edges_of

SIGNATURE = re.compile(r"\A\s*(?:<!--[^-]*(?:-(?!->)[^-]*)*-->\s*|<[?!](?!--)[^>]*>\s*)*<platform\b")

_VALUE = re.compile(r"((?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)\s*(?:([kKMGT]?)(i?)([Bb]ps)|(ps|ns|us|ms|s))?")
_PREFIX = {"": 0, "k": 1, "K": 1, "M": 2, "G": 3, "T": 4}
_NANOSECONDS = {"ps": 1e-3, "ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
_OTHER = frozenset((
    "platform", "zone", "AS", "config", "prop", "disk", "storage", "storage_type", "model_prop", "mount", "mstorage",
    "trace", "trace_connect", "actor", "process", "argument",
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
    try:
        platform.parser.Parse(text_of(data).encode(), True)
    except expat.ExpatError as error:
        problem = f"not XML: {expat.ErrorString(error.code)}"
        raise InputFileError(problem, _USE, position_text(error.lineno, error.offset + 1)) from None
    return platform.fabric()


class _Platform:
    def __init__(self) -> None:
        self.parser = expat.ParserCreate("UTF-8")
        self.parser.StartDoctypeDeclHandler = self._doctype
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self._roles: dict[str, str] = {}
        self._links: dict[str, tuple[float, float, str]] = {}
        self._of_clusters: set[str] = set()
        self._routes: list[_Route] = []
        self._route: _Route | None = None
        self._zones: list[list[str]] = []
        self._host_links: list[list[_Route]] = []
        self._unused: Counter[str] = Counter()

    @property
    def _where(self) -> str:
        return position_text(self.parser.CurrentLineNumber)

    def _doctype(self, name: str, system: str | None, public: str | None, has_subset: bool) -> None:
        if has_subset:  # entities may expand to more text than fits into memory
            raise InputFileError("a document type with entities", "remove [...] of <!DOCTYPE>", self._where, name)

    def _start(self, tag: str, says: dict[str, str]) -> None:
        if tag in ("zone", "AS"):
            self._zones.append([])
            self._host_links.append([])
        elif tag in ("host", "router"):
            name = self._value(says, "id")
            if name in self._roles:
                raise InputFileError("duplicate host or router", "use unique names", self._where, name)
            self._roles[name] = "node" if tag == "host" else "router"
            if tag == "router" and self._zones:
                self._zones[-1].append(name)
        elif tag == "link":
            self._add_link(
                self._value(says, "id"), self._value(says, "bandwidth"), says.get("latency", "0"),
                says.get("sharing_policy", "SHARED"),
            )  # fmt: skip
        elif tag in ("route", "zoneRoute", "ASroute"):
            names = ("src", "dst") if tag == "route" else ("gw_src", "gw_dst")
            self._route = _Route((self._value(says, names[0]), self._value(says, names[1])), [], self._where)
            self._routes.append(self._route)
        elif tag == "link_ctn" and self._route is not None:
            self._route.links.append(self._value(says, "id"))
        elif tag == "host_link" and self._host_links:
            route = _Route((self._value(says, "id"), ""), [self._value(says, "up")], self._where)
            self._host_links[-1].append(route)
        elif tag == "cluster":
            self._add_cluster(says)
        elif tag == "backbone":
            self._unused["backbones of clusters"] += 1
        elif tag not in _OTHER:
            raise InputFileError("an element that is not read", _USE, self._where, tag)

    def _end(self, tag: str) -> None:
        if tag in ("zone", "AS"):
            routers, hosts = self._zones.pop(), self._host_links.pop()
            if hosts and len(routers) != 1:
                raise InputFileError("a zone of type Cluster without one router", "add a router", hosts[0].where)
            self._routes += [_Route((host.ends[0], routers[0]), host.links, host.where) for host in hosts]

    def _add_cluster(self, says: dict[str, str]) -> None:
        kind = says.get("topology", "FLAT")
        if kind == "TORUS":
            raise InputFileError("a torus without routers", "write machine: {kind: torus}", self._where, kind)
        name, prefix, suffix = (self._value(says, key) for key in ("id", "prefix", "suffix"))
        hosts = [f"{prefix}{number}{suffix}" for number in expanded(f"[{self._value(says, 'radical')}]", self._where)]
        self._of_clusters.add(f"{name}_link")
        policy = says.get("sharing_policy", "SPLITDUPLEX")
        self._add_link(f"{name}_link", self._value(says, "bw"), self._value(says, "lat"), policy)
        self._unused["backbones of clusters"] += "bb_bw" in says
        self._unused["limits of routers"] += "limiter_link" in says
        if kind == "FLAT":
            router = says.get("router_id") or f"{prefix}{name}_router{suffix}"
            edges = [(host, router, 1) for host in hosts]
        else:
            edges = edges_of(kind, self._value(says, "topo_parameters"), hosts, name, self._where)
        for host in hosts:
            if host in self._roles:
                raise InputFileError("duplicate host or router", "use unique names", self._where, host)
            self._roles[host] = "node"
        for tail, head, count in edges:
            self._roles |= {end: "router" for end in (tail, head) if end not in self._roles}
            self._routes.append(_Route((tail, head), [f"{name}_link"], self._where, count))

    def _add_link(self, name: str, bandwidth: str, latency: str, policy: str) -> None:
        if policy.upper() == "WIFI":
            raise InputFileError("a link of WiFi", "use a platform of cables", self._where, name)
        rate, delay = _VALUE.fullmatch(bandwidth), _VALUE.fullmatch(latency)
        if rate is None or rate[5] or delay is None or delay[4]:
            raise InputFileError("unknown bandwidth or latency", "write 125MBps and 50us", self._where, bandwidth)
        scale = (1024 if rate[3] else 1000) ** _PREFIX[rate[2] or ""] / (8 if rate[4] == "bps" else 1)
        latency_ns = float(delay[1]) * _NANOSECONDS[delay[5] or "s"]
        self._links[name] = float(rate[1]) * scale, latency_ns, policy.upper()

    def _value(self, says: dict[str, str], key: str) -> str:
        if key not in says:
            raise InputFileError(f"an element without {key}", _USE, self._where)
        return says[key]

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
