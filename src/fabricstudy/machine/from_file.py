"""Machines from files: any graph of routers, with cables and nodes."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import BeforeValidator, Field, ValidationError, WithJsonSchema
from pydantic.json_schema import SkipJsonSchema

from fabricstudy.core.errors import suggestion
from fabricstudy.core.host_lists import matching
from fabricstudy.core.input_files import FromFile, InputFileError, read, whole
from fabricstudy.core.log import warn_once
from fabricstudy.core.model import ConfigError, Flag, Model, Whole, Written
from fabricstudy.core.quantities import Bandwidth, Latency

from .base import NodesPerRouter, Topology
from .fabric import FORMATS, MAX_FABRIC_NODES, Cable, Fabric, FormatName, LinkAttributes, Port, read_fabric
from .fabric.base import HOST, MAX_PARALLEL_CABLES, with_leaves_as_nodes
from .fabric.slurm import included_files
from .graph import LinkClass, NamedMachine
from .search import component_labels

ANY = "any"
LATENCY_NS = 40.0
"""Default, that of 8 m as for other machines."""

_BY_CLASS = (
    BeforeValidator(lambda value: {ANY: value} if isinstance(value, str | int | float) else value),
    Written("quantity, or {class: quantity}"),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "object", "additionalProperties": {"type": "string"}}]}),
)


class FabricRules(Model):
    """Keys of a study that complete the file."""

    bandwidth_Bps: Annotated[dict[str, Bandwidth], *_BY_CLASS] = Field(
        default_factory=dict,
        alias="bandwidth",
        description="bandwidth of a cable in one direction by link class, overriding the file; `host` for links to "
        "nodes, `any` as the default; one value is for `any`",
    )
    latency_ns: Annotated[dict[str, Latency], *_BY_CLASS] = Field(
        default_factory=dict, alias="latency", description="latency of a cable, likewise; default of `any`: 40 ns"
    )
    nodes_per_router: NodesPerRouter | None = Field(
        None, description="nodes per router where the file has no nodes; default: 0"
    )
    links_per_pair: Annotated[Whole, Field(ge=1, le=MAX_PARALLEL_CABLES)] | Literal["LinkSpeed"] | None = Field(
        None,
        description="parallel cables between two switches of a file that does not state them, as those of Slurm: a "
        "number, or `LinkSpeed` for that of the lower switch; default: 1",
    )
    exclude_hosts: Annotated[
        tuple[str, ...], BeforeValidator(lambda value: [value] if isinstance(value, str) else value)
    ] = Field(
        (),
        description="hosts to leave out, by names in which * is any text, such as `login*`, or lists like `n[1-4,9]`",
    )
    host_ports: Literal["each", "first"] | None = Field(
        None,
        description="for hosts with several ports that lead to routers: each port is a node, or only the first one by "
        "the name of its device, of those that most hosts have; default: such hosts are refused",
    )
    merge_equal_hosts: Flag = Field(
        False,
        description="adapters of equal descriptions are of one host; default: each is of a host of its own",
    )


class GraphMachine(FromFile, FabricRules, Topology, kind="graph"):
    """Routers, cables and nodes from a file.

    The content of the file, which may be compressed by gzip, tells its format:

    * an edge list (.csv) with the header from,to and any of class,count,bandwidth,latency (with units) or
      bandwidth_Bps,latency_ns (numbers); a line of class host joins the node under from to its router
    * an edge list without a header, as networkx.write_edgelist writes it
    * GraphML, GML, DOT and node-link JSON, as networkx writes undirected graphs; vertices may have role
      (router or node; also as type or kind, such as host) and nodes (their number), edges the attributes of a CSV line;
      without any of them, vertices of one cable are nodes unless nodes_per_router is set; GML of the Topology Zoo
    * topology.conf of Slurm with the files that it includes, topology.yaml (tree), or the output of `scontrol show
      topology`; they have neither bandwidths nor numbers of parallel cables: set bandwidth, and links_per_pair unless
      there is one
    * the output of ibnetdiscover or iblinkinfo for an InfiniBand fabric, and netfiles of ibsim
    * networks of simulators: BookSim's anynet, ns-3 of HPCC, htsim's .topo, SimGrid's XML, SST-macro's JSON

    Routers are numbered in the order of the file, nodes in the order of their routers. All hops have the same weight
    for minimal routing. The point includes the digest of the file; a file that changes after planning is refused.
    """

    READER = staticmethod(read_fabric)
    READERS: ClassVar[Mapping[str, Any]] = {name: partial(read_fabric, name=name) for name in FORMATS}

    format: FormatName | None = Field(None, description="format of the file; default: as its content tells")

    router_count: SkipJsonSchema[Whole] = 0
    node_count: SkipJsonSchema[Whole] = 0
    cable_count: SkipJsonSchema[Whole] = 0

    @classmethod
    def _read_file(cls, path: Path, written: Mapping[str, Any]) -> tuple[Any, str]:
        reader = cls.READERS.get(str(written.get("format")), read_fabric)
        return read(path, reader, "invalid-data-file", tuple(included_files(path)))

    @classmethod
    def _facts(cls, content: Any, value: dict[str, Any], context: dict[str, Any]) -> dict[str, Any]:
        keys = {field.alias or name for name, field in FabricRules.model_fields.items()}
        try:
            rules = FabricRules.model_validate(
                {key: value[key] for key in value if key in keys}, context=context, by_alias=True, by_name=False
            )
        except ValidationError:
            return {}  # reading the fields raises the same error
        machine = _assembled(content, rules, value["file"])
        return {"router_count": machine.routers, "node_count": machine.nodes, "cable_count": machine.cables}

    def __hash__(self) -> int:
        """Hash the values as JSON: quantities by class are mappings, which have no hash."""
        return hash(self.model_dump_json())

    @property
    def routers(self) -> int:
        return self.router_count

    @property
    def nodes(self) -> int:
        return self.node_count

    @property
    def cables(self) -> int:
        return self.cable_count

    def build(self) -> NamedMachine:
        """Build the machine: classes in the order of the file, one row for parallel cables of a class."""
        return _assembled(self.content(), self, self.file, self.cores_per_node)


def _assembled(fabric: Fabric, rules: FabricRules, name: str, cores_per_node: int = 1) -> NamedMachine:
    try:
        return machine_from_fabric(fabric, rules, cores_per_node)
    except InputFileError as mistake:
        raise mistake.at_file_key(name, "invalid-data-file") from None


def _with_nodes(fabric: Fabric) -> Fabric:
    found = with_leaves_as_nodes(fabric)
    if not found.ports:
        return fabric
    some = ", ".join(port.host for port in found.ports[:3]) + ", ..." * (len(found.ports) > 3)
    warn_once(
        f"warning: the file does not tell which vertices are nodes: the {len(found.ports)} with a single cable are "
        f"taken for nodes ({some}); write role: node or router at vertices, or set nodes_per_router if all are routers"
    )
    return found


MANY_CABLES = 32
"""Parallel cables between two switches, above which LinkSpeed is probably a rate."""


def _parallel(cable: Cable, fabric: Fabric, wanted: int | str | None) -> int:
    """Return the number of parallel cables; only files without such numbers leave it to the study."""
    if wanted is None:
        return cable.parallel
    if fabric.link_speed is None:
        problem = "the file states the cables between two switches"
        raise ConfigError(problem, "leave the key out", ("links_per_pair",), wanted, "conflicting-keys")
    if isinstance(wanted, int):
        return wanted
    speed, where = fabric.link_speed[cable.head], f"{cable.where} (LinkSpeed of {cable.head})"
    count = whole(speed, 1, MAX_PARALLEL_CABLES, where)
    if count > MANY_CABLES:
        warn_once(f"warning: {where}: {count} parallel cables; if this is a rate, write links_per_pair: N")
    return count


class _Node(NamedTuple):
    """A node and the port that defines it."""

    router: int
    name: str
    aliases: tuple[str, ...]
    port: Port | None


def machine_from_fabric(fabric: Fabric, rules: FabricRules, cores_per_node: int) -> NamedMachine:
    """Return the machine of a fabric.

    Raises InputFileError if the fabric is invalid, ConfigError if the study has quantities for an unknown class.
    """
    if fabric.unmarked and rules.nodes_per_router is None:
        fabric = _with_nodes(fabric)
    numbers = {name: number for number, name in enumerate(fabric.routers)}
    nodes = _nodes(fabric, rules, numbers)
    classes = _Classes(rules)
    rows: dict[tuple[int, int, int], int] = defaultdict(int)
    for cable in fabric.cables:
        tail, head = sorted((numbers[cable.tail], numbers[cable.head]))
        rows[tail, head, classes.number(cable)] += _parallel(cable, fabric, rules.links_per_pair)
    host = classes.host(nodes)
    classes.check_all_used({port.link.name for port in fabric.ports})
    _check_connected(list(numbers), rows)
    columns = np.array(list(rows), dtype=np.int32).reshape(-1, 3).T
    return NamedMachine(
        kind="graph",
        node_router=np.array([node.router for node in nodes], dtype=np.int32),
        cable_tail=columns[0],
        cable_head=columns[1],
        cable_class=columns[2],
        cable_count=np.array(list(rows.values()), dtype=np.int32),
        classes=tuple(classes.links),
        host=host,
        routers=len(numbers),
        cores_per_node=cores_per_node,
        router_names=tuple(numbers),
        node_names=tuple(node.name for node in nodes),
        host_names=tuple("" if node.port is None else node.port.host for node in nodes),
        router_of=numbers | {alias: numbers[name] for alias, name in fabric.aliases.items()},
        node_of={name: number for number, node in enumerate(nodes) for name in (*node.aliases, node.name)},
        link_of_port=_links_of_ports(fabric.cables, numbers, classes, list(rows)),
        node_of_port={
            f"{node.router}:{node.port.router_port}": number
            for number, node in enumerate(nodes)
            if node.port is not None and node.port.router_port is not None
        },
    )


def _nodes(fabric: Fabric, rules: FabricRules, numbers: dict[str, int]) -> list[_Node]:
    """Return the nodes in the order of routers."""
    ports = defaultdict(list)
    for port in _ports(fabric, rules):
        ports[port.host].append(port)
    for number, pattern in enumerate(rules.exclude_hosts):
        excluded = matching(pattern, {port.host for port in fabric.ports} | ports.keys())
        if not excluded:
            path = ("exclude_hosts", str(number))
            raise ConfigError("no host has such a name", "name one of the file", path, pattern, "unknown-value")
        ports = defaultdict(list, {host: of_host for host, of_host in ports.items() if not _host_in(of_host, excluded)})
    nodes = []
    hosts_with = Counter(name for of_host in ports.values() for name in {port.device for port in of_host})
    for host, of_host in ports.items():
        if len(of_host) > 1 and rules.host_ports is None:
            remedy = "set host_ports: each (every port is a node) or first (one port is)"
            raise InputFileError(f"a host with {len(of_host)} ports", remedy, of_host[1].where, host)
        ordered = sorted(
            of_host, key=lambda port: (-hosts_with[port.device], _natural(port.device), _natural(port.name))
        )
        chosen = ordered[:1] if rules.host_ports == "first" else of_host
        named = Counter(f"{host} {port.device}" for port in of_host)
        for port in chosen:
            name = f"{host} {port.device}" if port.device and named[f"{host} {port.device}"] == 1 else port.name
            nodes.append(
                _Node(numbers[port.router], host if len(chosen) == 1 else name, (port.name, *port.aliases), port)
            )
    with_ports = {port.router for port in fabric.ports}
    unnamed_of = {
        router: (0 if router in with_ports else rules.nodes_per_router or 0) if count is None else count
        for router, count in fabric.routers.items()
    }
    total = len(nodes) + sum(unnamed_of.values())
    if total > MAX_FABRIC_NODES:
        raise InputFileError("too many nodes", f"use at most {MAX_FABRIC_NODES:,}", "", total)
    for router, unnamed in unnamed_of.items():
        nodes += [_Node(numbers[router], f"{router}/{number}", (), None) for number in range(unnamed)]
    if not nodes:
        remedy = "write role: node (or type: host) at the hosts in the file, or set nodes_per_router"
        raise InputFileError("the fabric has no nodes", remedy)
    if len(numbers) > 1 and len({node.router for node in nodes}) == 1:
        remedy = "set host_ports: each" if rules.host_ports == "first" else "attach nodes to two or more routers"
        raise InputFileError("all nodes are on one of several routers", remedy)
    return sorted(nodes, key=lambda node: node.router)


def _ports(fabric: Fabric, rules: FabricRules) -> list[Port]:
    """Return the ports; adapters of equal descriptions are of different hosts, unless the study merges them."""
    adapters = defaultdict(set)
    for port in fabric.ports:
        adapters[port.host, port.device].add(port.adapter)
    equal = {host for (host, _), found in adapters.items() if len(found) > 1}
    if not equal or rules.merge_equal_hosts:
        return fabric.ports
    some = ", ".join(sorted(equal)[:3])
    warn_once(
        f"warning: several adapters have the same description ({len(equal)} descriptions, such as {some}): each "
        "adapter is a host of its own; set merge_equal_hosts: true if they are of one host"
    )
    return [port._replace(host=f"{port.host}@{port.adapter}") if port.host in equal else port for port in fabric.ports]


def _host_in(ports: Sequence[Port], names: set[str]) -> bool:
    return ports[0].host in names or ports[0].host.removesuffix(f"@{ports[0].adapter}") in names


def _natural(name: str) -> list[tuple[int, str]]:
    """Return a key that sorts mlx5_2 before mlx5_10."""
    parts = re.split(r"(\d+)", name)
    return [(len(part.lstrip("0")) if part.isdecimal() else 0, part.lstrip("0")) for part in parts]


class _Classes:
    """Classes of the cables, in the order of the cables."""

    def __init__(self, rules: FabricRules) -> None:
        self.links: list[LinkClass] = []
        self._rules = rules
        self._numbers: dict[str, int] = {}

    def number(self, cable: Cable) -> int:
        """Return the number of a cable's class."""
        name = cable.link.name
        link = self._link(name, (name,), cable)
        number = self._numbers.get(name)
        if number is None:
            self._numbers[name] = len(self.links)
            self.links.append(link)
        elif self.links[number] != link:
            remedy = f"rename one of the classes, or set bandwidth and latency of {name} in the study"
            raise InputFileError("different bandwidths or latencies of one class", remedy, cable.where, name)
        return self._numbers[name]

    def host(self, nodes: list[_Node]) -> LinkClass:
        """Return the class of the host links."""
        links: dict[LinkClass, str] = {}
        for node in nodes:
            names = (HOST,) if node.port is None else (HOST, node.port.link.name)
            link = self._link(HOST, names, node.port)
            if links and link not in links:
                first = next(iter(links.values()))
                remedy = "set bandwidth: {host: ...} in the study, and latency if it differs"
                problem = f"the host link differs in bandwidth or latency from that of {first}"
                raise InputFileError(problem, remedy, node.port.where if node.port else "", node.name)
            links[link] = node.name
        return next(iter(links))

    def check_all_used(self, port_classes: set[str]) -> None:
        """Reject quantities of unknown classes."""
        names = {*self._numbers, *port_classes, HOST, ANY}
        for key, quantities in (("bandwidth", self._rules.bandwidth_Bps), ("latency", self._rules.latency_ns)):
            for name in quantities:
                if name not in names:
                    problem = "the fabric has no links of this class"
                    raise ConfigError(problem, suggestion(name, names), (key, name), name, "unknown-value")

    def _link(self, name: str, names: tuple[str, ...], listed: Cable | Port | None) -> LinkClass:
        """Return the link: each quantity from the study by name, else from the file, else from the study's `any`."""

        def quantity(rules: dict[str, float], from_file: float | None) -> float | None:
            values = [*map(rules.get, names), from_file, rules.get(ANY)]
            return next((value for value in values if value is not None), None)

        link = listed.link if listed else LinkAttributes(name, None, None)
        bandwidth_Bps = quantity(self._rules.bandwidth_Bps, link.bandwidth_Bps)
        latency_ns = quantity(self._rules.latency_ns, link.latency_ns)
        if bandwidth_Bps is None:
            key = names[-1] if re.fullmatch(r"[\w./?+-]+", names[-1]) else json.dumps(names[-1])
            remedy = f"set bandwidth: {{{key}: 100 Gb/s}} in the study"
            raise InputFileError(f"no bandwidth for link class {names[-1]}", remedy, listed.where if listed else "")
        return LinkClass(name, bandwidth_Bps, LATENCY_NS if latency_ns is None else latency_ns)


def _check_connected(names: list[str], rows: Iterable[tuple[int, int, int]]) -> None:
    tail, head, _ = np.array(list(rows), dtype=np.int64).reshape(-1, 3).T
    component = component_labels(tail, head, len(names))
    unreached = np.flatnonzero(component != component[0])
    if len(unreached):
        name = names[unreached[0]]
        problem = f"{len(unreached)} of {len(names)} routers, such as {name}, cannot be reached from {names[0]}"
        raise InputFileError(problem, "list what joins them, such as an upper switch, or leave them out", "", name)


def _links_of_ports(
    cables: list[Cable], numbers: dict[str, int], classes: _Classes, rows: list[tuple[int, int, int]]
) -> dict[str, int]:
    """Return the directed link that leaves each known router port."""
    row_numbers = {row: number for number, row in enumerate(rows)}
    link_of_port = {}
    for cable in cables:
        if cable.ports is None:
            continue
        tail, head = numbers[cable.tail], numbers[cable.head]
        row = row_numbers[(min(tail, head), max(tail, head), classes.number(cable))]
        # Link 2 i leads from the tail of row i, its lower router, to its head.
        link_of_port[f"{tail}:{cable.ports[0]}"] = 2 * row + (tail > head)
        link_of_port[f"{head}:{cable.ports[1]}"] = 2 * row + (head > tail)
    return link_of_port
