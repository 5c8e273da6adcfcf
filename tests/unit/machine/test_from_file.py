"""Machines from files, with networkx as the oracle and writer of files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from pydantic import ValidationError

from fabricstudy.core.log import warn_once
from fabricstudy.core.model import ConfigError
from fabricstudy.core.quantities import BASE_UNITS_CONTEXT
from fabricstudy.machine.base import Topology
from fabricstudy.machine.definitions import read_machine, write_machines
from fabricstudy.machine.distances import hop_distances
from fabricstudy.machine.graph import NamedMachine
from fabricstudy.study.file import load_machine

EDGES = [("a", "b", "up", 2, "25 GB/s", "100 ns"), ("b", "c", "up", 1, "25 GB/s", "100 ns"),
         ("c", "a", "far", 1, "100 Gb/s", "1 us"), ("c", "d", "up", 3, "25 GB/s", "100 ns")]  # fmt: skip
HOSTS = [("h0", "a"), ("h1", "a"), ("h2", "b"), ("h3", "d")]


def fabric() -> nx.MultiGraph:
    """Routers a to d; an edge for each parallel cable between a and b, one of three cables between c and d."""
    graph = nx.MultiGraph()
    graph.add_nodes_from("abcd")
    graph.add_nodes_from((host for host, _ in HOSTS), role="node")
    for tail, head, name, count, bandwidth, latency in EDGES:
        edges = [1] * count if tail == "a" else [count]
        for own in edges:
            graph.add_edge(tail, head, **{"class": name}, count=own, bandwidth=bandwidth, latency=latency)
    graph.add_edges_from(HOSTS, bandwidth="10 GB/s")
    return graph


def write_csv(graph: nx.MultiGraph, path: Path) -> None:
    lines = ["# made by hand", "from,to,class,count,bandwidth,latency"]
    lines += [f"{a},{b},{name},{count},{bandwidth},{latency}" for a, b, name, count, bandwidth, latency in EDGES]
    lines += ["", *(f"{host},{router},host,,10 GB/s," for host, router in HOSTS)]
    path.write_text("\n".join(lines))


def write_json(key: str) -> Callable[[nx.Graph, Path], Any]:
    return lambda graph, path: path.write_text(json.dumps(nx.node_link_data(graph, edges=key)))


WRITERS = {
    "f.graphml": nx.write_graphml,
    "f.gml": nx.write_gml,
    "f.json": write_json("edges"),
    "g.json": write_json("links"),
    "f.csv": write_csv,
}


def machine_of(folder: Path, name: str, **keys: Any) -> Topology:
    written = {"kind": "graph", "file": name, **keys}
    return Topology.model_validate(written, context={"folder": folder}, by_alias=True, by_name=False)


def refusal_of(folder: Path, name: str, text: str, **keys: Any) -> ConfigError:
    (folder / name).write_text(text)
    with pytest.raises(ValidationError) as refusal:
        machine_of(folder, name, **keys)
    error = refusal.value.errors()[0]["ctx"]["error"]
    assert isinstance(error, ConfigError)
    return error


@pytest.mark.parametrize("name", WRITERS)
def test_all_formats_give_the_same_machine(tmp_path: Path, name: str) -> None:
    graph = fabric()
    WRITERS[name](graph, tmp_path / name)
    config = machine_of(tmp_path, name, cores_per_node=3)
    machine = config.build()
    assert (config.routers, config.nodes, config.cables) == (4, 4, 7)
    assert (machine.routers, machine.nodes, machine.cables, machine.cores_per_node) == (4, 4, 7, 3)
    assert isinstance(machine, NamedMachine)
    order = [machine.router_of[router] for router in "abcd"]
    between = nx.Graph(graph.subgraph("abcd"))
    hops = dict(nx.all_pairs_shortest_path_length(between))
    assert np.array_equal(
        hop_distances(machine).matrix()[np.ix_(order, order)], [[hops[x][y] for y in "abcd"] for x in "abcd"]
    )
    found = {
        (frozenset((machine.router_names[tail], machine.router_names[head])), machine.classes[kind], count)
        for tail, head, kind, count in zip(
            machine.cable_tail, machine.cable_head, machine.cable_class, machine.cable_count, strict=True
        )
    }
    assert {(ends, link.name, link.bandwidth_Bps, link.latency_ns, count) for ends, link, count in found} == {
        (frozenset("ab"), "up", 25e9, 100.0, 2),
        (frozenset("bc"), "up", 25e9, 100.0, 1),
        (frozenset("cd"), "up", 25e9, 100.0, 3),
        (frozenset("ac"), "far", 12.5e9, 1000.0, 1),
    }
    assert {
        name: machine.router_names[machine.node_router[node]]
        for name, node in machine.node_of.items()
        if " " not in name
    } == dict(HOSTS)
    assert (machine.host.bandwidth_Bps, machine.host.latency_ns) == (10e9, 40.0)
    assert np.all(np.diff(machine.node_router) >= 0)


def test_it_is_kept_with_its_names(tmp_path: Path) -> None:
    write_csv(fabric(), tmp_path / "f.csv")
    machine = machine_of(tmp_path, "f.csv").build()
    write_machines([("m", {}, machine)], tmp_path)
    again = read_machine((tmp_path,), "m")
    assert isinstance(machine, NamedMachine) and isinstance(again, NamedMachine)
    assert (again.router_of, again.node_of, again.node_names) == (
        machine.router_of,
        machine.node_of,
        machine.node_names,
    )
    assert np.array_equal(again.cable_count, machine.cable_count) and again.classes == machine.classes


def test_the_point_holds_the_content_and_not_the_name(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    write_csv(fabric(), tmp_path / "f.csv")
    write_csv(fabric(), tmp_path / "other" / "g.csv")
    config = machine_of(tmp_path, "f.csv")
    assert config.physics() == machine_of(tmp_path / "other", "g.csv").physics()
    from_record = Topology.model_validate(config.model_dump(mode="json"), context=BASE_UNITS_CONTEXT)
    assert (from_record.physics(), from_record.nodes) == (config.physics(), 4)
    with pytest.raises(ConfigError) as refusal:
        from_record.build()
    assert refusal.value.code == "results-damaged"
    (tmp_path / "f.csv").write_text((tmp_path / "f.csv").read_text().replace("h3,d", "h3,c"))
    assert machine_of(tmp_path, "f.csv").physics() != config.physics()
    with pytest.raises(ConfigError) as refusal:
        config.build()
    assert refusal.value.code == "study-changed"
    (tmp_path / "f.csv").unlink()
    with pytest.raises(ConfigError) as refusal:
        config.build()
    assert refusal.value.code == "invalid-data-file"


def test_nodes_without_a_name_and_quantities_of_the_study(tmp_path: Path) -> None:
    graph = nx.cycle_graph(5)
    graph.nodes[2]["nodes"] = 7
    (tmp_path / "f.json").write_text(json.dumps(nx.node_link_data(graph, edges="edges")))
    machine = machine_of(tmp_path, "f.json", nodes_per_router=2, bandwidth="1 GB/s", latency={"link": "5 ns"}).build()
    assert machine.nodes_of_router.tolist() == [2, 2, 7, 2, 2]
    assert [(link.bandwidth_Bps, link.latency_ns) for link in (*machine.classes, machine.host)] == [(1e9, 5), (1e9, 40)]
    write_csv(fabric(), tmp_path / "f.csv")
    changed = machine_of(tmp_path, "f.csv", bandwidth={"far": "1 GB/s", "any": "2 GB/s"}).build()
    # `any` is only for classes of which the file says nothing.
    assert {link.name: link.bandwidth_Bps for link in (*changed.classes, changed.host)} == {
        "up": 25e9, "far": 1e9, "host": 10e9}  # fmt: skip


def test_a_yaml_file_of_a_machine_names_its_file(tmp_path: Path) -> None:
    write_csv(fabric(), tmp_path / "f.csv")
    (tmp_path / "m.yaml").write_text("{kind: graph, file: f.csv}")
    assert load_machine(tmp_path / "m.yaml").nodes == 4


# As ibnetdiscover of infiniband-diags prints a fabric: a double cable of which one runs at DDR, a host with two HCAs,
# one with an old name, an aggregation node, a cable from a switch to itself, a router between subnets.
DUMP = """\
#
# Topology file: generated on Mon Dec 18 12:34:08 2023
#
vendid=0x2c9
devid=0xcb20
switchguid=0xa1(a1)
Switch\t36 "S-00000000000000a1"\t\t# "MF0;top # 1:MSB7700/U1" enhanced port 0 lid 48 lmc 0
[1]\t"H-00000000000000b1"[1](b1) \t\t# "node01 HCA-1" lid 67 4xEDR
[2]\t"H-00000000000000b2"[1](b2) \t\t# "node01 mlx5_1" lid 68 4xEDR
[3][ext 3]\t"S-00000000000000a2"[1][ext 9]\t\t# "low" lid 21 4xEDR
[4]\t"S-00000000000000a2"[2]\t\t# "low" lid 21 4xDDR
[7]\t"S-00000000000000a1"[8]\t\t# "top" lid 48 4xEDR
[8]\t"S-00000000000000a1"[7]\t\t# "top" lid 48 4xEDR
[36]\t"H-00000000000000c1"[1](c1) \t\t# "Mellanox Technologies Aggregation Node" lid 9 4xHDR

switchguid=0xa2(a2)
Switch\t36 "S-00000000000000a2"\t\t# "low" base port 0 lid 21 lmc 0
[1]\t"S-00000000000000a1"[3]\t\t# "MF0;top # 1:MSB7700/U1" lid 48 4xEDR
[2]\t"S-00000000000000a1"[4]\t\t# "MF0;top # 1:MSB7700/U1" lid 48 4xDDR
[5](5)\t"H-00000000000000b3"[2](b4) \t\t# "MT23108 InfiniHost Mellanox Technologies" lid 70 4xEDR
[6]\t"R-00000000000000d1"[1](d1) \t\t# "a router" lid 90 4xEDR

caguid=0xb1
Ca\t1 "H-00000000000000b1"\t\t# "node01 HCA-1"
[1](b1) \t"S-00000000000000a1"[1]\t\t# lid 67 lmc 0 "MF0;top # 1:MSB7700/U1" lid 48 4xEDR

Ca\t2 "H-00000000000000b3"\t\t# "MT23108 InfiniHost Mellanox Technologies"
[2](b4) \t"S-00000000000000a2"[5]\t\t# lid 70 lmc 0 "low" lid 21 4xEDR
"""


def test_an_infiniband_fabric(tmp_path: Path) -> None:
    (tmp_path / "ib.txt").write_text(DUMP)
    machine = machine_of(tmp_path, "ib.txt", host_ports="each").build()
    assert (machine.routers, machine.nodes, machine.cables) == (2, 3, 2)
    assert {link.name: link.bandwidth_Bps * 8e-9 for link in machine.classes} == {"4xEDR": 100.0, "4xDDR": 16.0}
    assert machine.host.bandwidth_Bps * 8e-9 == 100.0
    assert isinstance(machine, NamedMachine)
    assert machine.nodes_of_router.tolist() == [2, 1] and machine.router_names == ("top # 1", "low")
    assert [machine.router_of[name] for name in ("top # 1", "S-00000000000000a1", "S-00000000000000a2")] == [0, 0, 1]
    assert [machine.node_of[name] for name in ("guid b1", "lid 68", "guid b4")] == [0, 1, 2]
    assert [machine.router_of[name] for name in ("guid a1", "lid 21")] == [0, 1]
    for port, kind, head in (("0:3", "4xEDR", 1), ("0:4", "4xDDR", 1), ("1:1", "4xEDR", 0), ("1:2", "4xDDR", 0)):
        link = machine.link_of_port[port]
        assert (machine.classes[machine.link_class[link]].name, machine.link_head[link]) == (kind, head)
    assert machine.node_of_port == {"0:1": 0, "0:2": 1, "1:5": 2}
    first = machine_of(tmp_path, "ib.txt", host_ports="first").build()
    assert isinstance(first, NamedMachine)
    assert first.node_names == ("node01", "H-00000000000000b3")


def test_switches_of_an_infiniband_fabric_with_equal_descriptions_are_named_by_guid(tmp_path: Path) -> None:
    (tmp_path / "ib.txt").write_text(DUMP.replace('"low" base', '"MF0;top # 1:MSB7700/U1" base'))
    machine = machine_of(tmp_path, "ib.txt", host_ports="each").build()
    assert isinstance(machine, NamedMachine)
    assert machine.router_names == ("S-00000000000000a1", "S-00000000000000a2")
    faults = {"cables": [["lid 48", "guid a2", "4xDDR"]]}
    left = machine_of(tmp_path, "ib.txt", host_ports="each", faults=faults).build()
    assert [link.name for link in left.classes] == ["4xEDR", "4xDDR"] and left.cables == 1


@pytest.mark.parametrize(("speed", "gigabits"), [
    ("1xSDR", 2), ("4xQDR", 32), ("4xFDR10", 40), ("4xFDR", 54.545), ("2xHDR", 100), ("4xNDR", 400), ("4xXDR", 800),
])  # fmt: skip
def test_data_rates_of_infiniband(tmp_path: Path, speed: str, gigabits: float) -> None:
    (tmp_path / "ib.topo").write_text(DUMP.replace("4xEDR", speed))
    machine = machine_of(tmp_path, "ib.topo", host_ports="each").build()
    assert machine.host.bandwidth_Bps * 8e-9 == pytest.approx(gigabits, abs=1e-3)


@pytest.mark.parametrize("arrow", ["->", "-4x-5G->"])
def test_a_topology_of_ibdm_is_told_from_a_dump(tmp_path: Path, arrow: str) -> None:
    """The example of ibdm-topo-file(1)."""
    text = f"# by hand\nMTS2400 S-1\n   P1 {arrow} MT23108 H-1 P1\n   P24 {arrow} MT23108 H-2 P1\n"
    error = refusal_of(tmp_path, "ib.topo", text)
    assert error.code == "invalid-data-file" and "ibdm" in error.problem and "line 3" in error.problem


HEAD = "from,to,class,count,bandwidth\n"
ROUTERS = "r,s,up,1,1 GB/s\n"
GRAPHML = (
    '<graphml><key id="d" for="all" attr.name="{key}"/>\n<graph edgedefault="{way}">\n{inside}\n</graph></graphml>'
)


def graphml(inside: str, key: str = "bandwidth", way: str = "undirected") -> str:
    return GRAPHML.format(inside=inside, key=key, way=way)


def switch_at(line: int, text: str) -> str:
    lines = DUMP.splitlines()
    lines[line - 1] = text
    return "\n".join(lines)


LONG_PORT = f"[{'9' * 5000}]{DUMP.splitlines()[7][3:]}"
HALF_LETTER = """{"nodes": [{"id": "\\ud800", "nodes": 1}, {"id": 1, "nodes": 1}],
    "edges": [{"source": "\\ud800", "target": 1, "bandwidth": "1 GB/s"}]}"""

# File, what stands in it, where the mistake is, and what value.
BAD: list[tuple[str, str, str, Any]] = [
    ("f.csv", HEAD + "r,s,up,1,1G\n", "line 2 (bandwidth)", "1G"),
    ("f.csv", HEAD + ROUTERS + "\n# no\ns,t,up,0,1 GB/s\n", "line 5 (count)", "0"),
    ("f.csv", HEAD + "r,s,up,x,1 GB/s\n", "line 2 (count)", "x"),
    ("f.csv", HEAD + "r,s,up,10001,1 GB/s\n", "line 2 (count)", "10001"),
    ("f.csv", HEAD + "r,s,up,1\n", "line 2", None),
    ("f.csv", HEAD + "r,,up,1,1 GB/s\n", "line 2, column 2 (to)", None),
    ("f.csv", "from,to,bandwith\n", "line 1, column 3", "bandwith"),
    ("f.csv", "from,to,to\n", "line 1, column 3", "to"),
    ("f.csv", "from,class\n", "line 1", None),
    ("f.csv", "", "", None),
    ("f.csv", HEAD + "r,r,up,1,1 GB/s\n", "line 2", "r"),
    ("f.csv", HEAD + "n,r,host,1,1 GB/s\nm,n,host,1,1 GB/s\n", "line 3", "m"),
    ("f.csv", HEAD + "n,r,host,1,1 GB/s\nn,s,up,1,1 GB/s\n", "line 3", "n"),
    ("f.csv", HEAD + "n,r,host,2,1 GB/s\n", "line 2 (count)", 2),
    ("f.csv", HEAD + "n,r,host,1,1 GB/s\nn,s,host,1,1 GB/s\n" + ROUTERS, "line 3", "n"),
    ("f.csv", HEAD + "n,r,host,1,1 GB/s\nm,s,host,1,2 GB/s\n" + ROUTERS, "line 3", "m"),
    ("f.csv", HEAD + "n,r,host,1,1 GB/s\nm,s,host,1,1 GB/s\n" + ROUTERS + "s,t,up,1,2 GB/s\n", "line 5", "up"),
    ("f.csv", HEAD + "n,r,host,1,1 GB/s\nm,s,host,1,1 GB/s\nr,s,up,,\n", "line 4", None),
    ("f.csv", HEAD + "n,r,host,1,\nm,s,host,1,1 GB/s\nr,s,up,,1 GB/s\n", "line 2", None),
    ("f.csv", HEAD + "n,r,host,1,1 GB/s\nm,r,host,1,1 GB/s\n" + ROUTERS, "", None),
    ("f.csv", HEAD + ROUTERS, "", None),
    ("f.csv", HEAD + "n,r,host,1,1 GB/s\nm,s,host,1,1 GB/s\n" + ROUTERS + "t,u,up,1,1 GB/s\n", "", "t"),
    ("f.txt2", "", "", None),
    ("f.json", '{"nodes": [],\n "edges": [}', "line 2, column 12", None),
    ("f.json", "[]", "line 1", None),
    ("f.json", '{"directed": true}', "directed", True),
    ("f.json", '{"nodes": []}', "edges", None),
    ("f.json", '{"nodes": [{"id": 0}, {"id": 0}], "edges": []}', "nodes[1]", 0),
    ("f.json", '{"nodes": [{"id": 0}, {}], "edges": []}', "nodes[1]", {}),
    ("f.json", '{"nodes": [{"id": 0}], "links": [{"source": 0, "target": 1}]}', "links[0].target", 1),
    ("f.json", '{"nodes": [{"id": 0, "role": "leaf"}], "edges": []}', "nodes[0] (role)", "leaf"),
    ("f.json", '{"nodes": [{"id": 0, "node": 1}], "edges": []}', "nodes[0]", None),
    ("f.json", '{"nodes": [{"id": 0, "nodes": -1}], "edges": []}', "nodes[0] (nodes)", -1),
    ("f.json", '{"nodes": [{"id": 0}, {"id": 1}], "edges": [{"source": 0, "target": 1, "class": "host"}]}',
     "edges[0] (class)", "host"),
    ("f.graphml", "<graphml><graph>", "line 1, column 17", None),
    ("f.graphml", "<graphml/>", "line 1", None),
    ("f.graphml", graphml("", way="directed"), "line 2", "directed"),
    ("f.graphml", graphml('<node id="a"/><edge source="a" target="b"/>'), "line 3", "b"),
    ("f.graphml", graphml('<node id="a"/>\n<node id="a"/>'), "line 4", "a"),
    ("f.graphml", graphml('<node id="a"/><edge source="a"/>'), "line 3", None),
    ("f.graphml", graphml('<node id="a"/><edge directed="true" source="a" target="a"/>'), "line 3", "directed"),
    ("f.graphml", graphml("<hyperedge/>"), "line 3", None),
    ("f.graphml", graphml('<node id="a"/><node id="b"/>\n<edge source="a" target="b"><data key="d">fast</data></edge>'),
     "line 4 (bandwidth)", "fast"),
    ("f.txt", switch_at(7, "Switch\t36"), "line 7", "Switch\t36"),
    ("f.txt", switch_at(8, "[1]\tnobody"), "line 8", "[1]\tnobody"),
    ("f.txt", '[1] "S-a"[1]\n', "line 1", '[1] "S-a"[1]'),
    ("f.txt", switch_at(9, DUMP.splitlines()[7]), "line 9", 1),
    ("f.txt", switch_at(18, ""), "line 10", "S-00000000000000a2"),
    ("f.txt", switch_at(18, DUMP.splitlines()[17].replace("[3]", "[30]")), "line 10", 3),
    ("f.txt", switch_at(17, DUMP.splitlines()[6]), "line 17", "S-00000000000000a1"),
    ("f.txt", "no dump\n", "", None),
    ("f.txt", "\n".join([*DUMP.splitlines()[:17], DUMP.splitlines()[17][:60]]), "line 18",
     DUMP.splitlines()[17][28:60].strip()),
    ("f.txt", switch_at(18, DUMP.splitlines()[17].replace("4xEDR", "4xHDR")), "line 10", "4xEDR"),
    ("f.txt", DUMP.replace("4xEDR", "0xEDR"), "line 8", "0xEDR"),
    ("f.txt", DUMP.replace("4xEDR", "9" * 5000 + "xEDR"), "line 8", "9" * 5000 + "xEDR"),
    ("f.txt", switch_at(8, LONG_PORT), "line 8", LONG_PORT),
    ("f.csv", HEAD + "r" * 200_000 + ",s,up,1,1 GB/s\n", "line 2", None),
    ("f.json", "[" * 100_000, "", None),
    ("f.json", '{"nodes": [{"id": ' + "1" * 5000 + "}]}", "", None),
    ("f.json", HALF_LETTER, "", None),
    ("f.json", '{"nodes": [{"id": 0, "nodes": 1000000000}], "edges": []}', "nodes[0] (nodes)", 1000000000),
    ("f.json", '{"nodes": [{"id": 0, "nodes": 1500000}, {"id": 1, "nodes": 1500000}], "edges": []}', "", 3000000),
    ("f.graphml", f'<!DOCTYPE g [<!ENTITY a "a">]>{graphml("")}', "line 1", "g"),
    ("f.graphml", f'<?xml version="1.0" encoding="UTF-7"?>{graphml("")}', "line 1", "UTF-7"),
    ("f.txt", DUMP, "line 9", "node01"),
]  # fmt: skip


@pytest.mark.parametrize("suffix", [".gml", ".graphml", ".json"])
@pytest.mark.parametrize("key", ["type", "kind", "role", None])
def test_hosts_of_a_graph_are_nodes(
    tmp_path: Path, suffix: str, key: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    """Three routers in a ring with one, two and three hosts; without roles those with one cable."""
    graph = nx.cycle_graph(["r0", "r1", "r2"])
    hosts = [f"h{number}" for number in range(6)]
    graph.add_edges_from(zip(hosts, ["r0", "r1", "r1", "r2", "r2", "r2"], strict=True))
    nx.set_edge_attributes(graph, "10 GB/s", "bandwidth")
    if key is not None:
        nx.set_node_attributes(graph, {name: "Host" if name in hosts else "switch" for name in graph}, key)
    write = {".gml": nx.write_gml, ".graphml": nx.write_graphml, ".json": write_json("edges")}[suffix]
    write(graph, tmp_path / f"f{suffix}")
    warn_once.cache_clear()
    machine = machine_of(tmp_path, f"f{suffix}", **({} if key else {"exclude_hosts": "h5"})).build()
    assert (machine.routers, machine.cables) == (3, 3)
    assert machine.nodes_of_router.tolist() == ([1, 2, 3] if key else [1, 2, 2])
    assert isinstance(machine, NamedMachine) and set(machine.node_names) <= set(hosts)
    assert len(caplog.records) == (0 if key else 1)
    if key is None:
        assert machine_of(tmp_path, f"f{suffix}", nodes_per_router=1, bandwidth="1 GB/s").routers == 9


def test_what_topology_conf_does_not_have_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    warn_once.cache_clear()
    text = "SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n3\nSwitchName=c Switches=a,b\n"
    (tmp_path / "topology.conf").write_text(text)
    for _ in range(2):
        machine_of(tmp_path, "topology.conf", bandwidth="1 GB/s").build()
    (told,) = caplog.messages
    assert "2 pairs of switches" in told


@pytest.mark.parametrize(("name", "text", "where", "value"), BAD)
def test_what_is_wrong_is_told_with_its_place(tmp_path: Path, name: str, text: str, where: str, value: Any) -> None:
    error = refusal_of(tmp_path, name, text)
    assert (error.code, error.keys, error.value) == ("invalid-data-file", ("file",), value)
    place = f"{name}, {where}: " if where else f"{name}: "
    assert error.problem.startswith(place) and error.remedy


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_bytes(b"from,to\n\xff,b\n")
    for name in ("gone.csv", ".", "f.csv"):
        with pytest.raises(ValidationError) as refusal:
            machine_of(tmp_path, name)
        assert refusal.value.errors()[0]["ctx"]["error"].code == "invalid-data-file"


def test_a_class_that_is_not_there_and_facts_of_the_file_are_refused(tmp_path: Path) -> None:
    write_csv(fabric(), tmp_path / "f.csv")
    text = (tmp_path / "f.csv").read_text()
    assert refusal_of(tmp_path, "f.csv", text, bandwidth={"upp": "1 GB/s"}).keys == ("bandwidth", "upp")
    assert refusal_of(tmp_path, "f.csv", text, bandwidth={"up": "1 G"}).code == "invalid-quantity"
    for key in ("router_count", "sha256"):
        assert refusal_of(tmp_path, "f.csv", text, **{key: 3}).code == "unknown-key"


def test_a_graph_of_the_topology_zoo_has_its_bandwidths(tmp_path: Path) -> None:
    (tmp_path / "z.gml").write_text(
        """# comment [
Creator "Topology Zoo Toolset"
graph [
  Network "a ] b"
  node [ id 0 label "Wien" graphics [ x 1.5 y 2 ] ]
  node [ id 7 label "Wien" ]
  edge [ source 0 target 7 LinkSpeed "10" LinkSpeedUnits "G" LinkSpeedRaw 10000000000.0 ]
]
"""
    )
    machine = machine_of(tmp_path, "z.gml", nodes_per_router=1, bandwidth={"host": "1 GB/s"}).build()
    assert isinstance(machine, NamedMachine) and machine.router_names == ("0", "7")  # the labels are the same
    assert machine.classes[0].bandwidth_Bps == 10e9 / 8


@pytest.mark.parametrize(
    "text",
    ["graph [ node [ id 0 ]", "node [ id 0 ]", "graph [ 1 2 ]", "graph [ directed 1 ]", "graph 3", "a [ " * 5000],
)
def test_what_is_not_gml_is_refused(tmp_path: Path, text: str) -> None:
    assert refusal_of(tmp_path, "z.gml", text, nodes_per_router=1).code == "invalid-data-file"


def test_switches_of_slurm_with_their_nodes(tmp_path: Path) -> None:
    (tmp_path / "topology.conf").write_text(
        """# leaves
SwitchName=leaf0 Nodes=tux[08-10],login1
switchname=leaf1 nodes=gpu[0-1]n[1-2]  # comment
SwitchName=Spine0 Switches=leaf[0-1] LinkSpeed=100
SwitchName=spine1 Switches=leaf0,leaf1
"""
    )
    machine = machine_of(tmp_path, "topology.conf", bandwidth="25 GB/s").build()
    assert isinstance(machine, NamedMachine)
    assert machine.router_names == ("leaf0", "leaf1", "Spine0", "spine1")
    assert machine.node_names == ("tux08", "tux09", "tux10", "login1", "gpu0n1", "gpu0n2", "gpu1n1", "gpu1n2")
    assert machine.node_router.tolist() == [0] * 4 + [1] * 4
    joined = zip(machine.cable_tail.tolist(), machine.cable_head.tolist(), strict=True)
    assert set(joined) == {(0, 2), (1, 2), (0, 3), (1, 3)} and machine.cables == 4
    without = machine_of(tmp_path, "topology.conf", bandwidth="25 GB/s", exclude_hosts=["login*", "gpu1*"]).build()
    assert isinstance(without, NamedMachine)
    assert without.node_names == ("tux08", "tux09", "tux10", "gpu0n1", "gpu0n2")
    one = machine_of(tmp_path, "topology.conf", bandwidth="25 GB/s", exclude_hosts="tux08").build()
    assert one.nodes == 7


@pytest.mark.parametrize(
    "text",
    [
        "SwitchName=a Nodes=n1\nSwitchName=b Nodes=n1\nSwitchName=c Switches=a,b",
        "SwitchName=a Nodes=n[1-]\nSwitchName=b Switches=a",
        "SwitchName=a Nodes=n[9-1]\nSwitchName=b Switches=a",
        "SwitchName=a Nodes=n[1][1][1][1][1]\nSwitchName=b Switches=a",
        "SwitchName=a Nodes=n1\nSwitchName=b Switches=x",
        "SwitchName=a Nodes=n1\nSwitchName=b Switches=b",
        "SwitchName=a Nodes=n1\nSwitchName=a Switches=a",
        "BlockName=b1 Nodes=n[1-4]",
    ],
)
def test_mistakes_in_a_configuration_of_slurm(tmp_path: Path, text: str) -> None:
    assert refusal_of(tmp_path, "topology.conf", text, bandwidth="1 GB/s").code == "invalid-data-file"


def test_a_pattern_without_a_host_is_a_mistake(tmp_path: Path) -> None:
    text = "SwitchName=a Nodes=n1\nSwitchName=b Nodes=n2\nSwitchName=c Switches=a,b"
    error = refusal_of(tmp_path, "topology.conf", text, bandwidth="1 GB/s", exclude_hosts=["n1", "login*"])
    assert error.code == "unknown-value" and error.keys == ("exclude_hosts", "1")
