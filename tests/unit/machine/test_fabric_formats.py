"""Formats of fabrics: each is written by an independent writer here and read back, with networkx as the oracle."""

from __future__ import annotations

import gzip
import itertools
import json
import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from fabricstudy.core.input_files import InputFileError
from fabricstudy.core.log import warn_once
from fabricstudy.core.model import ConfigError
from fabricstudy.machine.base import Topology
from fabricstudy.machine.fabric import FORMATS, FormatName, read_fabric
from fabricstudy.machine.fabric.dot import read as read_dot
from fabricstudy.machine.fabric.graphml import read as read_graphml
from fabricstudy.machine.fabric.simgrid import read as read_simgrid
from fabricstudy.machine.graph import NamedMachine
from fabricstudy.study.file import referenced_files

HOSTS_OF = {0: 3, 1: 1, 2: 2, 3: 0, 4: 2, 5: 1}


def graph_of(folder: Path, name: str, **keys: Any) -> Topology:
    written = {"kind": "graph", "file": name, "bandwidth": "1 GB/s", **keys}
    return Topology.model_validate(written, context={"folder": folder}, by_alias=True, by_name=False)


def machine_of(folder: Path, name: str, **keys: Any) -> NamedMachine:
    machine = graph_of(folder, name, **keys).build()
    assert isinstance(machine, NamedMachine)
    return machine


def refusal_of(folder: Path, name: str, text: str, **keys: Any) -> ConfigError:
    (folder / name).write_text(text)
    with pytest.raises(ValidationError) as refusal:
        machine_of(folder, name, **keys)
    error = refusal.value.errors()[0]["ctx"]["error"]
    assert isinstance(error, ConfigError)
    return error


def fabric(parallel: bool) -> nx.MultiGraph:
    """A random connected graph of six routers, some of them with two cables, and their hosts."""
    graph = nx.MultiGraph(nx.random_regular_graph(3, 6, seed=4))
    if parallel:
        graph.add_edge(*next(iter(graph.edges())))
    return graph


def ports_of(graph: nx.MultiGraph) -> tuple[list[tuple[int, int, int, int]], list[tuple[str, int, int]]]:
    """Both ends with their ports of each cable, and each host with its router and the router's port."""
    free = {router: itertools.count(1) for router in graph}
    cables = [(tail, next(free[tail]), head, next(free[head])) for tail, head in graph.edges()]
    hosts = [
        (f"h{router}x{number}", router, next(free[router])) for router in graph for number in range(HOSTS_OF[router])
    ]
    return cables, hosts


def guid(kind: str, number: int) -> str:
    return f"{kind}-{number:016x}"


def ibnetdiscover(graph: nx.MultiGraph, end: str = "") -> str:
    cables, hosts = ports_of(graph)
    lines = ["# Topology file: generated on Tue Jun  5 14:15:10 2007", "", "Non-Chassis Nodes"]
    for router in graph:
        name = f"sw {router}, row [1-2]"
        lines += ["", "vendid=0x2c9", f"switchguid=0x{router + 100:x}({router + 100:x})"]
        lines.append(f'Switch\t36 "{guid("S", router + 100)}"\t\t# "{name}" enhanced port 0 lid {router + 1} lmc 0')
        for one in cables:
            for tail, port, head, peer in (one, (*one[2:], *one[:2])):
                if tail == router:
                    peer_name = f'"{guid("S", head + 100)}"[{peer}]\t\t# "sw {head}, row [1-2]" lid {head + 1}'
                    lines.append(f"[{port}]\t{peer_name} 4xEDR{end}")
        for number, (host, at, port) in enumerate(hosts):
            if at == router:
                adapter = f'"{guid("H", number + 500)}"[1]({number + 500:x})'
                lines.append(f'[{port}]\t{adapter} \t\t# "{host} mlx5_0" lid {number + 50} 4xEDR{end}')
    for number, (host, at, port) in enumerate(hosts):
        lines += ["", f'Ca\t1 "{guid("H", number + 500)}"\t\t# "{host} mlx5_0"']
        switch = f'"{guid("S", at + 100)}"[{port}]\t\t# lid {number + 50} lmc 0 "sw {at}, row [1-2]" lid {at + 1}'
        lines.append(f"[1]({number + 500:x}) \t{switch} 4xEDR{end}")
    return "\n".join(lines)


def ibsim(graph: nx.MultiGraph) -> str:
    cables, hosts = ports_of(graph)
    blocks = [f'Switch 8 "leaf{router}"' for router in graph]
    for tail, port, head, peer in cables:
        blocks[tail] += f'\n[{port}]\t"leaf{head}"[{peer}]'
        blocks[head] += f'\n[{peer}] "leaf{tail}" [{port}]   w=4'
    for host, router, port in hosts:
        blocks[router] += f'\n[{port}] "{host}"[1]'
        blocks.append(f'Hca 2 "{host}"\n[1] "leaf{router}"[{port}]')
    return "# Net configuration file\n\n" + "\n\n".join(blocks) + "\n"


def iblinkinfo(graph: nx.MultiGraph, by_line: bool = False, adapters: bool = True) -> str:
    cables, hosts = ports_of(graph)
    link = "==( 4X      25.78125 Gbps Active/  LinkUp)==>"

    def line(lid: int, port: int, peer_lid: int, peer_port: int, peer: str, own: str, of: int) -> str:
        tail = f'{peer_lid:6} {peer_port:4}[  ] "{peer}" ( )'
        if by_line:
            return f'0x{of:016x} "{own:>30}" {lid:6} {port:4}[  ] {link}  0x{peer_lid:016x} {tail}'
        return f"      {f'0x{of:016x} ' if own.startswith('h') else ''}{lid:6} {port:4}[  ] {link}  {tail}"

    blocks = []
    for router in graph:
        block = [] if by_line else [f"Switch: 0x{router + 1:016x} sw{router}:"]
        for one in cables:
            for tail, port, head, peer in (one, (*one[2:], *one[:2])):
                if tail == router:
                    block.append(line(tail + 1, port, head + 1, peer, f"sw{head}", f"sw{tail}", tail + 1))
        for number, (host, at, port) in enumerate(hosts):
            if at == router:
                block.append(line(at + 1, port, number + 50, 1, f"{host} HCA-1", f"sw{at}", at + 1))
        own = f'0x{router + 1:016x} "{"sw" + str(router):>30}"' if by_line else "     "
        block.append(f'{own} {router + 1:6} {36:4}[  ] ==(                Down/ Polling)==>             [  ] "" ( )')
        blocks += block
    for number, (host, at, port) in enumerate(hosts if adapters else []):
        blocks += [] if by_line else [f"CA: {host} HCA-1:"]
        blocks.append(line(number + 50, 1, at + 1, port, f"sw{at}", f"{host} HCA-1", number + 500))
    return "\n".join(blocks)


def dot(graph: nx.MultiGraph) -> str:
    _, hosts = ports_of(graph)
    groups = "".join(f'  r{at}:p1 -- {{ "{host}" }} // {at}\n' for host, at, _ in hosts)
    cables = "".join(f'r{tail} -- "r{head}" [bandwidth="12.5 GB/s", label="a;b"];' for tail, head in graph.edges())
    names = "; ".join(f'"{host}"' for host, _, _ in hosts)
    inside = f"rankdir=LR; node [type=switch]\nsubgraph hosts {{ node [type=host]; {names} }}"
    return f'/* by hand */ graph "a {{" {{ {inside}\n{cables}\n{groups}}}'


def digraph(graph: nx.MultiGraph) -> str:
    pairs = [(f"r{tail}", f"r{head}") for tail, head in graph.edges()]
    pairs += [(host, f"r{at}") for host, at, _ in ports_of(graph)[1]]
    roles = "".join(f"{host} [role=node]\n" for host, _, _ in ports_of(graph)[1])
    return "digraph {" + roles + "".join(f"{a} -> {b}; {b} -> {a};" for a, b in pairs) + "}"


def plain_edges(graph: nx.MultiGraph) -> str:
    pairs = [f"r{tail}\tr{head}" for tail, head in graph.edges()]
    lines = [f"{pair} {{'bandwidth': '2 GB/s'}}" for pair in pairs]
    return "\n".join(["# comment", *lines, *(f"{host} r{at}" for host, at, _ in ports_of(graph)[1]), ""])


def anynet(graph: nx.MultiGraph) -> str:
    _, hosts = ports_of(graph)
    lines = []
    for router in graph:
        nodes = [f"node {number}" for number, (_, at, _) in enumerate(hosts) if at == router]
        peers = [f"router {peer} {peer + 3}" for peer in graph.neighbors(router)]
        lines.append(" ".join([f"router {router}", *nodes, *peers]))
    return "\n".join(lines)


def ns3(graph: nx.MultiGraph) -> str:
    _, hosts = ports_of(graph)
    first = len(hosts)
    lines = [f"{number} {first + at} 100Gbps 1us 0" for number, (_, at, _) in enumerate(hosts)]
    lines += [f"{first + tail} {first + head} 400Gbps 0.002ms 0.0000" for tail, head in graph.edges()]
    head = f"{first + len(graph)} {len(graph)} {len(lines)}\n{' '.join(str(first + router) for router in graph)}"
    return "\n".join([head, *lines])


def sst_macro(graph: nx.MultiGraph) -> str:
    cables, hosts = ports_of(graph)
    switches: dict[str, Any] = {f"s{router}": {"outports": {}} for router in graph}
    for one in cables:
        for tail, port, head, peer in (one, (*one[2:], *one[:2])):
            switches[f"s{tail}"]["outports"][str(port)] = {"destination": f"s{head}", "inport": peer}
    nodes = {}
    for host, at, port in hosts:
        switches[f"s{at}"]["outports"][str(port)] = {"destination": host, "inport": 0}
        nodes[host] = {"outports": {"0": {"destination": f"s{at}", "inport": port}}}
    return json.dumps({"avg_num_hops": 4, "switches": switches, "nodes": nodes}, indent=1)


def simgrid(graph: nx.MultiGraph) -> str:
    cables, hosts = ports_of(graph)
    inside = [f'<router id="r{router}"/>' for router in graph] + [
        f'<host id="{host}" speed="1Gf"/>' for host, _, _ in hosts
    ]
    ends = [(f"r{tail}", f"r{head}") for tail, _, head, _ in cables] + [(host, f"r{at}") for host, at, _ in hosts]
    for number, (tail, head) in enumerate(ends):
        inside.append(f'<link id="l{number}" bandwidth="100Gbps" latency="1.5us" sharing_policy="SPLITDUPLEX"/>')
        inside.append(f'<route src="{tail}" dst="{head}"><link_ctn id="l{number}_UP"/></route>')
    head = (
        '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n<platform version="4.1">'
    )
    return f'{head}<zone id="z" routing="Floyd">{"".join(inside)}</zone></platform>'


WRITERS: dict[str, tuple[Callable[[nx.MultiGraph], str], bool]] = {
    "ib.out": (ibnetdiscover, True),
    "full": (lambda graph: ibnetdiscover(graph, " s=4 w=2 v=4 e=2"), True),
    "net.ibsim": (ibsim, True),
    "links.txt": (iblinkinfo, True),
    "links-l.txt": (lambda graph: iblinkinfo(graph, by_line=True), True),
    "links-switches.txt": (lambda graph: iblinkinfo(graph, adapters=False), True),
    "f.dot": (dot, True),
    "g.gv": (digraph, True),
    "edges": (plain_edges, True),
    "anynet_file": (anynet, False),
    "topology.txt": (ns3, True),
    "topology.json": (sst_macro, True),
    "platform.xml": (simgrid, True),
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", WRITERS)
def test_each_format_gives_the_same_fabric(tmp_path: Path, name: str, packed: bool) -> None:
    write, parallel = WRITERS[name]
    graph = fabric(parallel)
    data = write(graph).encode()
    name = f"{name}.gz" if packed else name
    (tmp_path / name).write_bytes(gzip.compress(data) if packed else data)
    machine = machine_of(tmp_path, name)
    cables = Counter[tuple[int, int]]()
    for tail, head, count in zip(
        machine.cable_tail.tolist(), machine.cable_head.tolist(), machine.cable_count.tolist(), strict=True
    ):
        cables[tail, head] += count
    # Routers are in the order of the file or not, but their numbers of hosts and cables are those of the graph.
    found = nx.MultiGraph()
    found.add_nodes_from((router, {"hosts": count}) for router, count in enumerate(machine.nodes_of_router.tolist()))
    found.add_edges_from(pair for pair, count in cables.items() for _ in range(count))
    nx.set_node_attributes(graph, HOSTS_OF, "hosts")
    same = nx.is_isomorphic(
        found, graph, node_match=lambda a, b: a["hosts"] == b["hosts"], edge_match=lambda a, b: len(a) == len(b)
    )
    assert same
    assert (machine.routers, machine.nodes, machine.cables) == (6, 9, 9 + parallel)


def test_each_name_of_a_format_is_one_of_a_reader() -> None:
    assert set(get_args(FormatName)) == set(FORMATS)


def test_the_sentence_names_the_format_and_the_key_confirms_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    warn_once.cache_clear()
    (tmp_path / "fabric").write_text(ibnetdiscover(fabric(True)))
    machine_of(tmp_path, "fabric")
    (told,) = caplog.messages
    assert "format: ibnetdiscover" in told
    caplog.clear()
    warn_once.cache_clear()
    machine_of(tmp_path, "fabric", format="ibnetdiscover")
    assert caplog.messages == []
    error = refusal_of(tmp_path, "fabric", ibnetdiscover(fabric(True)), format="iblinkinfo")
    assert error.code == "invalid-data-file"
    assert refusal_of(tmp_path, "other", "no list of anything here\n").code == "invalid-data-file"


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("SW     2  1 0x00000000000000a1 4x EDR - CA     1  1 0x00000000000000b1 ( 'leaf' - 'n1 HCA-1' )\n", "-p"),
        ('Ca\t : 0x00000000000000b1 ports 1 devid 0x1013 vendid 0x2c9 "node01 HCA-1"\n', "-l"),
        ("{ CA Ports:01 SystemGUID:00000000000000b1 NodeGUID:00000000000000b1 } PHY=4x LOG=ACT SPD=25\n", "ibdiagnet"),
    ],
)
def test_listings_that_are_no_fabric_name_the_command_to_run(tmp_path: Path, text: str, command: str) -> None:
    error = refusal_of(tmp_path, "listing.txt", text)
    assert command in error.problem and "ibnetdiscover" in error.remedy and "line 1" in error.problem


# A remedy must not lead into a lie: an end of a line, width or speed that is unknown.
TWO_SWITCHES = """\
Switch\t36 "S-00000000000000a1"\t\t# "leaf-1" enhanced port 0 lid 1 lmc 0
[1]\t"H-00000000000000b1"[1](b1) \t\t# "n1 mlx5_0" lid 11 4xHDR
[3]\t"S-00000000000000a2"[3]\t\t# "leaf-2" lid 2 {speed}

Switch\t36 "S-00000000000000a2"\t\t# "leaf-2" enhanced port 0 lid 2 lmc 0
[1]\t"H-00000000000000b3"[1](b3) \t\t# "n3 mlx5_0" lid 13 4xHDR
[3]\t"S-00000000000000a1"[3]\t\t# "leaf-1" lid 1 {speed}
"""


@pytest.mark.parametrize(
    ("speed", "link", "bandwidth_Bps"),
    [("1xSDR s=1 w=1 v=4", "1xSDR", 0.25e9), ("4x???", "4x???", 1e9), ("1xSDR slot 3", "1xSDR", 0.25e9),
     ("4xFDR10 s=1 w=2 v=4 fdr10=1", "4xFDR10", 5e9), ("??SDR", "??SDR", 1e9), ("4xYDR", "4xYDR", 1e9)],
)  # fmt: skip
def test_ends_of_lines_of_ibnetdiscover(tmp_path: Path, speed: str, link: str, bandwidth_Bps: float) -> None:
    (tmp_path / "ib").write_text(TWO_SWITCHES.format(speed=speed))
    machine = machine_of(tmp_path, "ib")
    assert [(one.name, one.bandwidth_Bps) for one in machine.classes] == [(link, bandwidth_Bps)]
    assert machine.host.bandwidth_Bps == 25e9


@pytest.mark.parametrize("speed", ["fast", "4x", "4xhdr", "HDR", "4xHDR extra", "4xHDR s=", '"', "400G"])
def test_an_unknown_end_of_a_line_is_refused_and_not_taken_for_a_missing_speed(tmp_path: Path, speed: str) -> None:
    error = refusal_of(tmp_path, "ib", TWO_SWITCHES.format(speed=speed))
    assert error.code == "invalid-data-file" and "line 3" in error.problem
    (tmp_path / "ib").write_text(TWO_SWITCHES.format(speed="").replace(" \n", "\n"))
    assert machine_of(tmp_path, "ib").classes[0].name == "link"


def test_two_unknown_speeds_are_two_classes_and_the_remedy_names_each(tmp_path: Path) -> None:
    lines = TWO_SWITCHES.format(speed="1x???")
    more = [(f'[3]\t"S-00000000000000a{n}"[3]', f'[4]\t"S-00000000000000a{n}"[4]') for n in (2, 1)]
    for old, new in more:
        (line,) = (line for line in lines.splitlines() if line.startswith(old))
        lines = lines.replace(line, f"{line}\n{line.replace(old, new).replace('1x', '4x')}")
    (tmp_path / "ib").write_text(lines)
    machine = machine_of(tmp_path, "ib", bandwidth={"1x???": "1 GB/s", "4x???": "4 GB/s"})
    assert [(link.name, link.bandwidth_Bps) for link in machine.classes] == [("1x???", 1e9), ("4x???", 4e9)]
    error = refusal_of(tmp_path, "ib", lines, bandwidth={"1x???": "1 GB/s"})
    assert "4x???" in error.remedy


@pytest.mark.parametrize(
    ("says", "is_named"),
    [
        ('label="100G"', True), ('label="< 10 Gbps"', True), ('name="400GbE"', True), ('label="2.5 Gb/s"', True),
        ('label="100G", bandwidth="100 Gb/s"', False), ('label="10 m"', False), ('label="G 7"', False),
    ],
)  # fmt: skip
def test_a_rate_that_only_a_label_states_is_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, says: str, is_named: bool
) -> None:
    warn_once.cache_clear()
    (tmp_path / "net.dot").write_text(
        f"graph {{ node [type=switch]; a -- b [{says}]; n [type=host]; n -- a; m [type=host]; m -- b }}"
    )
    machine_of(tmp_path, "net.dot", bandwidth="100 Gb/s")
    assert any("line 1" in told and "not used" in told for told in caplog.messages) == is_named


def test_parts_of_a_dump_that_are_no_machine_are_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    warn_once.cache_clear()
    text = TWO_SWITCHES.format(speed="4xHDR")
    text += '\nCa\t1 "H-00000000000000c1"\t\t# "n8 mlx5_0"\n[1](c1) \t"H-00000000000000c2"[1] (c2) '
    text += '\t\t# lid 4 lmc 0 "n9 mlx5_0" lid 5 4xHDR\n'
    text += '\nRt\t1 "R-00000000000000d1"\t\t# "router"\n'
    (tmp_path / "ib.ibnetdiscover").write_text(text)
    assert machine_of(tmp_path, "ib.ibnetdiscover").nodes == 2
    (told,) = caplog.messages
    assert "1 ports of adapters joined without a switch" in told


@pytest.mark.parametrize("setting", ["width=12", "speed = 4", "extspeed=2"])
def test_settings_of_a_netfile_of_ibsim_are_named(
    tmp_path: Path, setting: str, caplog: pytest.LogCaptureFixture
) -> None:
    warn_once.cache_clear()
    (tmp_path / "net").write_text(f"switchguid=0x10\n{setting}\n{ibsim(fabric(False))}")
    assert machine_of(tmp_path, "net").routers == 6
    assert any("1 settings of width and speed" in message for message in caplog.messages)


# Who a port belongs to.
def rails(*adapters: tuple[str, int]) -> str:
    """A dump of two switches, joined, with adapters of these descriptions at switch 1 or 2."""
    blocks = []
    for switch in (1, 2):
        peer = 3 - switch
        lines = [f'Switch\t36 "S-{switch:016x}"\t\t# "rail-{switch}" enhanced port 0 lid {switch} lmc 0']
        for number, (description, at) in enumerate(adapters):
            if at == switch:
                lines.append(
                    f'[{number + 1}]\t"H-{number + 16:016x}"[1]({number + 16:x}) '
                    f'\t\t# "{description}" lid {number + 8} 4xNDR'
                )
        blocks.append("\n".join([*lines, f'[36]\t"S-{peer:016x}"[36]\t\t# "rail-{peer}" lid {peer} 4xNDR']))
    return "\n\n".join(blocks)


@pytest.mark.parametrize(
    "device", ["HCA-1", "mlx5_0", "mlx5_ib0", "mlx5_bond_0", "hfi1_0", "ibp65s0f0", "roceP3p12s0", ""]
)
def test_the_description_names_the_host_with_any_device(tmp_path: Path, device: str) -> None:
    (tmp_path / "ib").write_text(rails((f"vm1 {device}".strip(), 1), (f"node-2.cluster {device}".strip(), 2)))
    machine = machine_of(tmp_path, "ib")
    assert machine.node_names == machine.host_names == ("vm1", "node-2.cluster")


def test_hosts_with_two_ports_and_the_first_one_of_one_rail(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    # GUIDs ascend against the names of the devices; vm2 has one that no other host has.
    text = rails(("vm1 mlx5_10", 2), ("vm1 mlx5_2", 1), ("vm2 mlx5_bond_0", 2), ("vm2 mlx5_2", 1), ("vm3 mlx5_2", 2))
    assert refusal_of(tmp_path, "ib", text).value in ("vm1", "vm2")
    each = machine_of(tmp_path, "ib", host_ports="each")
    assert Counter(each.host_names) == {"vm1": 2, "vm2": 2, "vm3": 1}
    assert set(each.node_names) == {"vm1 mlx5_10", "vm1 mlx5_2", "vm2 mlx5_bond_0", "vm2 mlx5_2", "vm3"}
    first = machine_of(tmp_path, "ib", host_ports="first")
    assert dict(zip(first.node_names, first.node_router.tolist(), strict=True)) == {"vm1": 0, "vm2": 0, "vm3": 1}


def test_a_name_of_many_digits_has_an_order(tmp_path: Path) -> None:
    digits = "9" * 5000
    text = rails((f"vm1 mlx5_{digits}", 2), ("vm1 mlx5_10", 1), ("vm2 mlx5_9", 2), ("vm1 mlx5_9", 2))
    (tmp_path / "ib").write_text(text + "\n")
    with pytest.raises(ValidationError):  # all on one rail
        machine_of(tmp_path, "ib", host_ports="first")
    assert machine_of(tmp_path, "ib", host_ports="each").nodes == 4


def test_adapters_that_name_no_host_are_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    warn_once.cache_clear()
    firmware = "MT4129 ConnectX7   Mellanox Technologies"
    (tmp_path / "ib.ibnetdiscover").write_text(rails(("n1 mlx5_0", 1), (firmware, 1), (firmware, 2), ("n2", 2)))
    assert machine_of(tmp_path, "ib.ibnetdiscover").nodes == 4
    (told,) = caplog.messages
    assert "2 of 4 ports" in told


def test_equal_descriptions_are_different_hosts_unless_the_study_merges_them(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    warn_once.cache_clear()
    name = "ib.ibnetdiscover"
    text = rails(("localhost mlx5_0", 1), ("localhost mlx5_0", 2), ("n1 mlx5_0", 2), ("n2", 1))
    (tmp_path / name).write_text(text)
    machine = machine_of(tmp_path, name)
    assert machine.nodes == 4 and len(set(machine.host_names)) == 4 and len(caplog.messages) == 1
    merged = machine_of(tmp_path, name, merge_equal_hosts=True, host_ports="each")
    assert Counter(merged.host_names) == {"localhost": 2, "n1": 1, "n2": 1}
    assert set(machine_of(tmp_path, name, exclude_hosts="localhost").node_names) == {"n1", "n2"}


def test_lists_of_hosts_and_names_with_brackets_exclude_hosts(tmp_path: Path) -> None:
    lines = ["SwitchName=a Nodes=n[1-5],login1", "SwitchName=b Nodes=n[6-9]", "SwitchName=c Switches=a,b"]
    (tmp_path / "topology.conf").write_text("\n".join(lines))
    machine = machine_of(tmp_path, "topology.conf", exclude_hosts=["n[2-4,9]", "login*"])
    assert machine.node_names == ("n1", "n5", "n6", "n7", "n8")
    assert machine.nodes == 5


# Values that a reader does not use are named.
@pytest.mark.parametrize("suffix", [".json", ".graphml", ".gml"])
def test_attributes_of_edges_that_are_not_used_are_named(
    tmp_path: Path, suffix: str, caplog: pytest.LogCaptureFixture
) -> None:
    graph = nx.cycle_graph(["a", "b", "c"])
    nx.set_edge_attributes(graph, {("a", "b"): {"speed": "100G", "weight": 2}, ("b", "c"): {"delay": 5, "capacity": 7}})
    nx.set_edge_attributes(graph, 100e9, "LinkSpeedRaw")
    if suffix == ".json":
        (tmp_path / "f.json").write_text(json.dumps(nx.node_link_data(graph, edges="edges")))
    else:
        {".graphml": nx.write_graphml, ".gml": nx.write_gml}[suffix](graph, tmp_path / f"f{suffix}")
    warn_once.cache_clear()
    machine = machine_of(tmp_path, f"f{suffix}", nodes_per_router=1)
    assert [link.bandwidth_Bps for link in machine.classes] == [12.5e9]
    (told,) = caplog.messages
    assert all(key in told for key in ("speed", "weight", "delay", "capacity")) and "LinkSpeedRaw (" not in told


def test_a_type_node_of_the_topology_zoo_is_a_place(tmp_path: Path) -> None:
    """Of four towns in a line, two are of type Node; none of them is a host."""
    kinds = ["Node", "Core Node", "Core Node", "Node"]
    nodes = "".join(f'node [ id {number} label "Town {number}" type "{kind}" ]' for number, kind in enumerate(kinds))
    edges = "".join(
        f'edge [ source {number} target {number + 1} LinkSpeed "10" LinkSpeedUnits "G" ]' for number in range(3)
    )
    (tmp_path / "z.gml").write_text(f"graph [ {nodes} {edges} ]")
    machine = machine_of(tmp_path, "z.gml", nodes_per_router=1)
    assert (machine.routers, machine.nodes) == (4, 4) and machine.classes[0].bandwidth_Bps == 1.25e9
    assert refusal_of(tmp_path, "z.gml", f"graph [ {nodes} {edges} ]").code == "invalid-data-file"


@pytest.mark.parametrize(("of", "nodes"), [("node", [3, 2]), ("all", [3, 2]), ("edge", [3, 0])])
def test_a_default_of_graphml_holds_where_a_vertex_has_no_value(tmp_path: Path, of: str, nodes: list[int]) -> None:
    key = f'<key id="k" for="{of}" attr.name="nodes"><default>2</default></key>'
    text = PAIRS["pair.graphml"].replace('<key id="k" for="node" attr.name="nodes"/>', key)
    text = text.replace('<data key="k">1</data>', '<data key="k">3</data>', 1).replace('<data key="k">1</data>', "")
    fabric = read_graphml(text.encode())
    assert [count or 0 for count in fabric.routers.values()] == nodes


def test_vertices_that_are_tuples_are_lists_in_json(tmp_path: Path) -> None:
    graph = nx.grid_2d_graph(2, 3)
    nx.set_edge_attributes(graph, "1 GB/s", "bandwidth")
    (tmp_path / "grid.json").write_text(json.dumps(nx.node_link_data(graph, edges="edges")))
    machine = machine_of(tmp_path, "grid.json", nodes_per_router=1)
    assert (machine.routers, machine.cables) == (6, 7) and set(machine.router_names) == {
        str(vertex) for vertex in graph
    }


# The grammar of Slurm.
SLURM = {
    "quotes": 'SwitchName="leaf1" Nodes="n[1-2],login1"\nSwitchName=leaf2 Nodes="n[3-4]"\n'
    'SwitchName=root Switches="leaf[2]",leaf1',
    "continued": "SwitchName=leaf1 Nodes=n[1-2],\\\nlogin1\nSwitchName=leaf2 \\\n  Nodes=n[3-4]\n"
    "SwitchName=root Switches=leaf[1-2]",
    "repeated": "SwitchName=leaf1 Nodes=n[1-2],n1,login1\nSwitchName=leaf2 Nodes=n[3-4]\n"
    "SwitchName=root Switches=leaf[1-2],leaf1",
    "scontrol": "SwitchName=root Level=1 LinkSpeed=1 Nodes=n[1-4],login1 Switches=leaf[1-2]\n"
    "SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=n[1-2],login1\n"
    "SwitchName=leaf2 Level=0 LinkSpeed=1 Nodes=n[3-4] Switches=",
    "yaml": "---\n- topology: tree1\n  tree:\n    switches:\n    - switch: root\n      children: leaf[1-2]\n"
    "    - {switch: leaf1, nodes: 'n[1-2],login1'}\n    - {switch: leaf2, nodes: 'n[3-4]'}\n"
    "- topology: flat\n  flat: true\n",
}  # fmt: skip


@pytest.mark.parametrize("kind", SLURM)
def test_a_tree_of_slurm_in_all_its_spellings(tmp_path: Path, kind: str) -> None:
    (tmp_path / "t").write_text(SLURM[kind])
    machine = machine_of(tmp_path, "t")
    at = dict(zip(machine.node_names, (machine.router_names[router] for router in machine.node_router), strict=True))
    assert at == {"n1": "leaf1", "n2": "leaf1", "login1": "leaf1", "n3": "leaf2", "n4": "leaf2"}
    assert (machine.routers, machine.cables) == (3, 2)


def test_files_that_a_topology_of_slurm_includes_are_read_and_are_part_of_the_point(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "t").write_text("include below/all.conf\nSwitchName=root Switches=leaf[1-2]\n")
    (tmp_path / "below" / "all.conf").write_text("Include leaf1.conf\nINCLUDE  leaf2.conf # the second\n")
    for number in (1, 2):
        (tmp_path / "below" / f"leaf{number}.conf").write_text(f"SwitchName=leaf{number} Nodes=n{number}[0-1]\n")
    machine = machine_of(tmp_path, "t")
    assert machine.node_names == ("n10", "n11", "n20", "n21") and machine.cables == 2
    files = [named.relative_to(tmp_path).as_posix() for _, named in referenced_files({"file": "t"}, tmp_path)]
    assert files == ["t", "below/all.conf", "below/leaf1.conf", "below/leaf2.conf"]
    planned = graph_of(tmp_path, "t")
    (tmp_path / "below" / "leaf2.conf").write_text("SwitchName=leaf2 Nodes=n2[0-2]\n")
    assert machine_of(tmp_path, "t").nodes == 5
    with pytest.raises(ConfigError) as caught:
        planned.build()
    assert caught.value.code == "study-changed"


@pytest.mark.parametrize(
    ("included", "place"),
    [
        (None, "t, line 2"),
        (b"\n  include ../t\n", "b, line 2"),
        (b"include missing\n", "b, line 1"),
        (b"\ninclude .", "b, line 2"),
        (b"include a\0b", "b, line 1"),
        (b"include " + b"x" * 5000, "b, line 1"),
        (b"include loop", "b, line 1"),
        (b"SwitchName=leaf Nodes=n,,m\n", "b, line 1"),
        (b"\xff\xfe", "t, line 2"),
    ],
)  # fmt: skip
def test_mistakes_in_included_files_have_file_and_line(tmp_path: Path, included: bytes | None, place: str) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "loop").symlink_to("loop")
    if included is not None:
        (tmp_path / "a" / "b").write_bytes(included)
    error = refusal_of(tmp_path, "t", "SwitchName=root Switches=leaf\ninclude a/b\n")
    assert error.code == "invalid-data-file" and place in error.problem


TRUNKS = "SwitchName=a Nodes=n1 LinkSpeed=4\nSwitchName=b Nodes=n2 LinkSpeed=2\nSwitchName=c Switches=a,b LinkSpeed=x"


@pytest.mark.parametrize(("wanted", "counts"), [(3, [3, 3]), ("LinkSpeed", [4, 2]), (None, [1, 1])])
def test_parallel_cables_of_slurm_are_of_the_study(
    tmp_path: Path, wanted: Any, counts: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    warn_once.cache_clear()
    (tmp_path / "t").write_text(TRUNKS)
    assert machine_of(tmp_path, "t", links_per_pair=wanted).cable_count.tolist() == counts
    assert any("links_per_pair: LinkSpeed" in message for message in caplog.messages)


def test_a_rate_as_the_number_of_cables_is_warned_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    warn_once.cache_clear()
    (tmp_path / "t").write_text(TRUNKS.replace("LinkSpeed=4", "LinkSpeed=100"))
    assert machine_of(tmp_path, "t", links_per_pair="LinkSpeed").cable_count.tolist() == [100, 2]
    assert sum("links_per_pair: N" in message for message in caplog.messages) == 1


def test_parallel_cables_are_of_one_source(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("from,to,count\na,b,2\n")
    with pytest.raises(ValidationError):
        machine_of(tmp_path, "edges.csv", nodes_per_router=1, links_per_pair=2)
    (tmp_path / "t").write_text(TRUNKS.replace("LinkSpeed=4", "LinkSpeed=fast"))
    with pytest.raises(ValidationError):
        machine_of(tmp_path, "t", links_per_pair="LinkSpeed")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("SwitchName=a Nodes=n[1-2], n[5-6]\nSwitchName=b Nodes=m\nSwitchName=c Switches=a,b", "line 1"),
        ("SwitchName=a Nodes=r[0-9999]c[0-9999]\nSwitchName=b Nodes=x\nSwitchName=c Switches=a,b", "line 1"),
        ("SwitchName=a[0-1999] Switches=b[0-1999]\nSwitchName=c Nodes=n", "line 1"),
        ("SwitchName=a Nodes=n[1-2] LinkSped=4", "line 1"),
        ("SwitchName=a", "line 1"),
        ("SwitchName=a Nodes=n1 Nodes=n2", "line 1"),
        ("SwitchName=a Switches=b\nSwitchName=b Switches=a", "line 1"),
        ("SwitchName=a Nodes=n1,,n2", "line 1"),
        ("BlockName=b1 Nodes=n[1-4]\nBlockSizes=4", "line 1"),
        ("RingName=b1 Nodes=n[1-4]", "line 1"),
        ("- topology: a\n  block:\n    block_sizes: [4]\n    blocks: [{block: b, nodes: n1}]\n", ""),
        ("- topology: a\n  tree:\n    switches: [{switch: b, nodes: {a: 1}}]\n", "tree.switches[0]"),
        ("- topology: a\n  tree:\n    switches: [{switch: b, knots: a}]\n", "tree.switches[0]"),
        ("- topology: a\n  tree:\n   switches: [\n", "line 4"),
    ],
)  # fmt: skip
def test_mistakes_of_slurm_have_their_line_and_take_no_time(tmp_path: Path, text: str, line: str) -> None:
    start_s = time.perf_counter()
    error = refusal_of(tmp_path, "t", text)
    assert error.code == "invalid-data-file" and line in error.problem and time.perf_counter() - start_s < 1


UP = "==( 4X      25.78125 Gbps Active/  LinkUp)==>"

# Formats of simulators, with counts by hand.
HTSIM = """# three tiers
Nodes 8
Tiers 3
Podsize 4
Tier 0
Downlink_speed_Gbps 200
Radix_Down 2
Radix_Up 2
Downlink_Latency_ns 1000
Tier 1
Downlink_speed_Gbps 200
Radix_Down 2
Radix_Up 4
Downlink_Latency_ns 1000
Bundle 1
Tier 2
Downlink_speed_Gbps 100
Radix_Down 4
Downlink_Latency_ns 500
Bundle 2
"""


def test_a_fat_tree_of_htsim(tmp_path: Path) -> None:
    """The example test.topo of csg-htsim: two pods of two leaves and two switches, four cores with bundles of two."""
    (tmp_path / "test.topo").write_text(HTSIM)
    machine = machine_of(tmp_path, "test.topo")
    assert (machine.routers, machine.nodes, machine.cables) == (4 + 4 + 4, 8, 2 * 2 * 2 + 4 * 2 * 2)
    assert {(link.name, link.bandwidth_Bps, link.latency_ns) for link in (*machine.classes, machine.host)} == {
        ("host", 25e9, 1000), ("tier1", 25e9, 1000), ("tier2", 12.5e9, 500)}  # fmt: skip
    graph = nx.Graph(zip(machine.cable_tail.tolist(), machine.cable_head.tolist(), strict=True))
    assert nx.diameter(graph) == 4 and all(degree == 4 for node, degree in graph.degree if node in range(4, 8))
    for old, new in (("Radix_Down 4", "Radix_Down 5"), ("Podsize 4", "Podsize 3"), ("Bundle 2", "Bundles 2")):
        assert refusal_of(tmp_path, "test.topo", HTSIM.replace(old, new)).code == "invalid-data-file"


def test_a_network_of_booksim(tmp_path: Path) -> None:
    """The example anynet_file of BookSim (booksim/booksim2, BSD license): three routers in a triangle, nine nodes."""
    text = "router 0 node 0 node 1 node 2 router 1\nrouter 1 node 3 node 4 node 5\n"
    text += "router 2 node 6 node 7 node 8 router 1 router 0\n"
    (tmp_path / "net").write_text(text)
    machine = machine_of(tmp_path, "net")
    assert (machine.routers, machine.nodes, machine.cables) == (3, 9, 3)
    assert machine.nodes_of_router.tolist() == [3, 3, 3]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a", "router 0 node 0 router\nrouter 1 node 1"),
        ("a", "router 0 node 0 router 1\nrouter 1 node 0"),
        ("a", "node 0 node 1\n"),
        ("a", "router 0 router 0 node 1\n"),
        ("b", "4 2 3\n2 3\n0 2 100Gbps 1us 0\n1 3 100Gbps 1us 0\n"),
        ("b", "4 2 3\n2 3\n0 2 100Gbps 1us 0\n1 3 100Gbps 1us 0\n2 3 fast 1us 0\n"),
        ("b", "4 2 2\n2 3\n0 1 100Gbps 1us 0\n1 3 100Gbps 1us 0\n"),
        ("c", "graph { a -- }"),
        ("c", "graph { a -- b "),
        ("c", "digraph { a -> b }"),
        ("c", "graph { a -- b [bandwidth] }"),
        ("c", "graph {" + "{" * 20000),
        ("d", "a b\nc\n"),
        ("d", "a b {'bandwidth': 1}\nb c {x: 1}\n"),
        ("e", '{"switches": {"s": {"outports": {"0": {"destination": "t", "inport": 0}}}}, "nodes": {}}'),
        ("f", '<platform><zone id="z"><host id="a"/><host id="a"/></zone></platform>'),
        ("f", '<platform><cluster id="c" prefix="" suffix="" radical="0-3" topology="TORUS"/></platform>'),
        ("f", '<platform><zone id="z"><link id="l" bandwidth="fast"/></zone></platform>'),
        ("f", '<!DOCTYPE platform [<!ENTITY a "b">]><platform/>'),
        ("f", '<platform><zone id="z"><peer id="a"/></zone></platform>'),
        ("f", '{"switches": {"a": {"outports": {"0": {"inport": 0}}}}, "nodes": {}}'),
        ("f", '{"switches": {"a": {"outports": {"x": {"destination": "a", "inport": 0}}}}, "nodes": {}}'),
        ("f", '{"switches": {"a": {"outports": {"0": {"destination": "b", "inport": 3}}}, "b": {"outports": {}}}, '
              '"nodes": {}}'),
        ("f", '{"switches": {"b": {"outports": {}}, "a": {}}, "nodes": {}}'),
        ("g", f"Switch: 0x0000000000000001 a:\n  1    1[  ] {UP}  2    1[  ] \"b\" ( )\n"
              f"CA: n1 HCA-1:\n  0x0000000000000003   3    1[  ] {UP}  1    2[  ] \"a\" ( )\n"),
    ],
)  # fmt: skip
def test_mistakes_in_formats_of_simulators_are_told(tmp_path: Path, name: str, text: str) -> None:
    assert refusal_of(tmp_path, name, text).code == "invalid-data-file"


def test_clusters_of_simgrid_are_switches(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Three clusters of 4, 2 and 3 hosts, all joined by routes over one link, which is told."""
    rates = 'suffix=".x" bw="125MBps" lat="24us" bb_bw="1GBps" bb_lat="0"'
    radicals = ("0-3", "7,9", "1-2,5")
    clusters = "".join(f'<cluster id="c{n}" prefix="n{n}-" radical="{radicals[n]}" {rates}/>' for n in range(3))
    routes = "".join(
        f'<zoneRoute src="c{a}" dst="c{b}" gw_src="n{a}-c{a}_router.x" gw_dst="n{b}-c{b}_router.x">'
        '<link_ctn id="bb"/></zoneRoute>'
        for a, b in ((0, 1), (1, 2), (0, 2))
    )
    link = '<link id="bb" bandwidth="1.25GBps" latency="24us" sharing_policy="SHARED"/>'
    (tmp_path / "p.xml").write_text(
        f'<platform version="4.1"><zone id="z" routing="Full">{clusters}{link}{routes}</zone></platform>'
    )
    warn_once.cache_clear()
    machine = machine_of(tmp_path, "p.xml")
    assert (machine.routers, machine.cables) == (3, 3) and machine.nodes_of_router.tolist() == [4, 2, 3]
    assert (machine.host.bandwidth_Bps, machine.host.latency_ns) == (0.125e9, 24e3) and "n1-9.x" in machine.node_names
    assert "3 backbones of clusters, 1 links that several cables share" in caplog.messages[-1]
    assert "3 links whose two directions share their bandwidth" in caplog.messages[-1]
    wireless = link.replace("SHARED", "WIFI")
    text = f'<platform><zone id="z">{clusters}{wireless}{routes}</zone></platform>'
    assert refusal_of(tmp_path, "p.xml", text).value == "bb"


@pytest.mark.parametrize("text", [
    "Nodes 4\nTiers 2\nPodsize 4\nTier 0\nRadix_Down 2\nRadix_Up 2000000\nTier 1\nRadix_Down 2\n",
    "Nodes 2000000\nTiers 2\nPodsize 2000000\nTier 0\nRadix_Down 1\nRadix_Up 999\nTier 1\nRadix_Down 2000000\n",
    *(
        f'<platform><cluster id="c" prefix="n" suffix="" radical="0-{hosts - 1}" bw="1GBps" lat="1us" '
        f'topology="{kind}" topo_parameters="{numbers}"/></platform>'
        for kind, numbers, hosts in (
            ("FAT_TREE", "3;1,1,2;1,2000000,2000000;1,1,1", 2), ("DRAGONFLY", "1,1;1,1;50000,1;1", 50_000),
            ("DRAGONFLY", "50000,1;1,1;1,1;1", 50_000),
        )
    ),
])  # fmt: skip
def test_a_few_numbers_that_define_too_many_cables_are_refused_at_once(text: str) -> None:
    begin = time.process_time()
    with pytest.raises(InputFileError) as refusal:
        read_fabric(Path("f"), text.encode())
    assert isinstance(value := refusal.value.value, int) and value > 2_000_000
    assert time.process_time() - begin < 2


def test_nodes_without_a_router_are_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    text = "2000000 2 3\n2 3\n0 2 100Gbps 1us 0\n1 3 100Gbps 1us 0\n2 3 400Gbps 2us 0\n"
    graph = "graph { a [role=node]; b [role=node]; c [role=node]; a -- r -- s -- b }"
    for name, written, words in (("ns3", text, "left out: 1999996"), ("graph", graph, "left out: 1, such as c")):
        warn_once.cache_clear()
        (tmp_path / name).write_text(written)
        assert machine_of(tmp_path, name, latency={"host": "1 us"}).nodes == 2
        assert any(words in message for message in caplog.messages)


def test_a_cluster_of_very_many_hosts_takes_a_time_in_proportion(tmp_path: Path) -> None:
    cluster = '<cluster id="c" prefix="n" suffix="" radical="0-9999" bw="1GBps" lat="1us"/>'
    begin = time.process_time()
    assert len(read_simgrid(f"<platform>{cluster}</platform>".encode()).ports) == 10_000
    assert time.process_time() - begin < 2


@pytest.mark.parametrize(
    ("parameters", "hosts", "counts"),
    [
        # Figure 1(b) of Zahavi (2010): 4 leaves of 4 nodes, each with two cables to each of two cores.
        ('topology="FAT_TREE" topo_parameters="2;4,4;1,2;1,2"', 16, (4 + 2, 4 * 2 * 2)),
        # A full bisection: 8 nodes, 4 + 4 + 4 switches of radix 4.
        ('topology="FAT_TREE" topo_parameters="3;2,2,2;1,2,2;1,1,1"', 8, (12, 8 + 8)),
        # 3 groups of 4 chassis of 5 blades: within chassis, between blades of a group (3 cables), between groups (4).
        ('topology="DRAGONFLY" topo_parameters="3,4;4,3;5,1;2"', 120, (60, 12 * 10 + 15 * 6 * 3 + 3 * 4)),
    ],
)
def test_clusters_of_simgrid_with_a_topology(
    tmp_path: Path, parameters: str, hosts: int, counts: tuple[int, int]
) -> None:
    def cluster(last: int) -> str:
        keys = f'id="c" prefix="n" suffix="" radical="0-{last}" bw="1GBps" lat="1us" {parameters}'
        return f'<platform version="4.1"><cluster {keys}/></platform>'

    (tmp_path / "p").write_text(cluster(hosts - 1))
    machine = machine_of(tmp_path, "p")
    assert (machine.nodes, machine.routers, machine.cables) == (hosts, *counts)
    assert len(set(machine.nodes_of_router.tolist()) - {0}) == 1
    assert refusal_of(tmp_path, "p", cluster(hosts)).code == "invalid-data-file"


def test_edges_in_both_directions_are_one_cable(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    graph = nx.gnp_random_graph(12, 0.4, seed=3)
    lines = [f"{a} {b}" for a, b in graph.edges()] + [f"{b} {a}" for a, b in graph.edges()]
    random.Random(1).shuffle(lines)
    (tmp_path / "f.edgelist").write_text("\n".join(lines) + "\n")
    warn_once.cache_clear()
    machine = machine_of(tmp_path, "f.edgelist", nodes_per_router=1)
    assert (machine.routers, machine.cables) == (12, graph.number_of_edges()) and len(caplog.messages) == 1
    nx.set_edge_attributes(graph, 3, "weight")
    nx.write_weighted_edgelist(graph, tmp_path / "w.edgelist")
    assert machine_of(tmp_path, "w.edgelist", nodes_per_router=1).cables == graph.number_of_edges()
    assert len(caplog.messages) == 2


ID = st.one_of(st.sampled_from(["a", "b", "c", "d1", "_x", "7"]), st.text('a -"{};', max_size=3).map(json.dumps))
EDGES = st.tuples(
    st.lists(ID, min_size=2, max_size=3), st.sampled_from(["", " [count=2]", ' [class="u p", count="1"]'])
)
STATEMENTS = st.one_of(
    EDGES.map(lambda one: " -- ".join(one[0]) + one[1]), ID, ID.map(lambda name: f"{name} [nodes=2, label=x]"),
    st.sampled_from(['edge [bandwidth="1 GB/s"]', "rankdir = LR", "subgraph s { z1 -- z2 }", "/* no */ a"]),
)  # fmt: skip


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@settings(max_examples=40, deadline=None, database=None)
@given(st.lists(STATEMENTS, max_size=6))
def test_dot_is_what_pydot_reads(statements: list[str]) -> None:
    text = "graph g {" + ";\n".join(statements) + "\n}"
    (graph,) = pytest.importorskip("pydot").graph_from_dot_data(text)

    def plain(name: str) -> str:
        return str(json.loads(name)) if name.startswith('"') else name

    edges = [edge for part in (graph, *graph.get_subgraphs()) for edge in part.get_edges()]
    ends = [frozenset((plain(edge.get_source()), plain(edge.get_destination()))) for edge in edges]
    if any(len(pair) == 1 for pair in ends):
        with pytest.raises(InputFileError):
            read_dot(text.encode())
    else:
        assert Counter(frozenset(cable[:2]) for cable in read_dot(text.encode()).cables) == Counter(ends)


def test_attributes_of_drawings_are_no_misspellings(tmp_path: Path) -> None:
    """Of the topology of as-cast (ane-wane/as-cast, interconnect.gml); `bandwidt` is one."""
    text = "graph [ node [ id 0 ] node [ id 1 ] edge [ source 0 target 1 {} 2 ] ]"
    (tmp_path / "drawn.gml").write_text(text.format("edge_width"))
    assert machine_of(tmp_path, "drawn.gml", nodes_per_router=1).cables == 1
    assert refusal_of(tmp_path, "wrong.gml", text.format("bandwidt"), nodes_per_router=1).code == "invalid-data-file"


@pytest.mark.parametrize("make", [nx.DiGraph, nx.MultiDiGraph])
def test_the_remedy_for_directed_graphs_keeps_the_number_of_cables(tmp_path: Path, make: type[Any]) -> None:
    """Of the Topology Zoo with both directions of each cable (Hebbe1234/ExpectAll)."""
    graph = nx.cycle_graph(5).to_directed()
    directed = make(graph)
    nx.write_gml(directed, tmp_path / "both.gml")
    assert (
        "networkx.Graph(graph)"
        in refusal_of(tmp_path, "again.gml", (tmp_path / "both.gml").read_text(), nodes_per_router=1).remedy
    )
    nx.write_gml(nx.Graph(directed), tmp_path / "once.gml")
    assert machine_of(tmp_path, "once.gml", nodes_per_router=1).cables == 5


# Variants of files that readers must read right, or refuse with the line, the value and a remedy.
IB_PAIR = TWO_SWITCHES.format(speed="4xHDR")
LINKS = f"""\
Switch: 0x00000000000000a1 leaf-1:
           1    1[  ] {UP}       3    1[  ] "n1 HCA-1" ( )
           1    3[  ] {UP}       2    3[  ] "leaf-2" ( )
Switch: 0x00000000000000a2 leaf-2:
           2    1[  ] {UP}       4    1[  ] "n2 HCA-1" ( )
           2    3[  ] {UP}       1    3[  ] "leaf-1" ( )
CA: n1 HCA-1:
      0x00000000000000b1      3    1[  ] {UP}       1    1[  ] "leaf-1" ( )
CA: n2 HCA-1:
      0x00000000000000b2      4    1[  ] {UP}       2    1[  ] "leaf-2" ( )
"""
PAIRS = {
    "pair.ib": IB_PAIR,
    "pair.links": LINKS,
    "pair.conf": "SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n[3-4] Switches=a\n",
    "pair.yml": "- topology: t\n  tree:\n    switches:\n    - {switch: a, nodes: n1}\n"
    "    - {switch: b, nodes: n2, children: a}\n",
    "pair.gv": "graph { a [nodes=1]; b [nodes=1]; a -- b }\n",
    "pair.anynet": "router 0 node 0 router 1\nrouter 1 node 1\n",
    "pair.edgelist": "a b\nb c\n",
    "pair.csv": "from,to,class\nn0,a,host\nn1,b,host\na,b,up\n",
    "pair.json": '{"nodes": [{"id": 0, "nodes": 1}, {"id": 1, "nodes": 1}], "links": [{"source": 0, "target": 1}]}',
    "pair.gml": "graph [ node [ id 0 nodes 1 ] node [ id 1 nodes 1 ] edge [ source 0 target 1 ] ]\n",
    "pair.graphml": '<?xml version="1.0" encoding="UTF-8"?>\n<graphml><key id="k" for="node" attr.name="nodes"/>'
    '<graph edgedefault="undirected"><node id="0">'
    '<data key="k">1</data></node><node id="1"><data key="k">1</data></node><edge source="0" target="1"/></graph>'
    "</graphml>",
}
CHANGES: dict[str, Callable[[str], bytes]] = {
    "CRLF": lambda text: text.replace("\n", "\r\n").encode(),
    "byte-order mark": lambda text: b"\xef\xbb\xbf" + text.encode(),
    "gzip": lambda text: gzip.compress(text.encode()),
    "blank lines": lambda text: f"\n{text}\n\n".encode(),
}


@pytest.mark.parametrize("name", PAIRS)
def test_line_ends_marks_and_compression_change_no_fabric(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(PAIRS[name])
    keys = {"nodes_per_router": 1} if name == "pair.edgelist" else {}
    machine = machine_of(tmp_path, name, **keys)
    for change, changed in CHANGES.items():
        (tmp_path / f"{change}{name}").write_bytes(changed(PAIRS[name]))
        other = machine_of(tmp_path, f"{change}{name}", **keys)
        assert (other.routers, other.nodes, other.cables) == (machine.routers, machine.nodes, machine.cables), change


@pytest.mark.parametrize("name", PAIRS)
def test_empty_and_truncated_files_are_refused(tmp_path: Path, name: str) -> None:
    """Half of a file, or a file whose last line is not complete."""
    whole = PAIRS[name]
    # Lists of lines may end with any of them.
    cases = ["", " \n\n", whole[: len(whole) * 3 // 5]]
    for text in cases[: 2 if name in ("pair.anynet", "pair.edgelist", "pair.csv", "pair.yml") else 3]:
        assert refusal_of(tmp_path, f"cut{name}", text).code == "invalid-data-file"


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
def test_other_encodings_are_told(tmp_path: Path, encoding: str) -> None:
    """As PowerShell redirects the output of a program, or an old editor writes names."""
    (tmp_path / "f").write_bytes(PAIRS["pair.ib"].replace("n1", "n\xe9").encode(encoding))
    with pytest.raises(ValidationError) as refusal:
        machine_of(tmp_path, "f")
    assert "UTF-8" in str(refusal.value.errors()[0]["ctx"]["error"].problem)


SILENT = {
    "hosts of iblinkinfo": ("f", LINKS.replace("25.78125", "10.0", 1), "line 2"),
    "all nodes": ("f.conf", "SwitchName=a Nodes=ALL\n", "line 1"),
    "comments alone": ("f.conf", "# nothing\n", ""),
    "header alone": ("f.csv", "from,to\n", ""),
    "duplicate keys": ("f.yaml", PAIRS["pair.yml"].replace("nodes: n1", "nodes: n1, nodes: n3"), "line 4"),
    "commas": ("f.edgelist", "a, b\nb, c\n", "line 1"),
    "adjacency list of names": ("f.edgelist", "a b c\nb c\n", "line 1"),
    "adjacency list of numbers": ("f.edgelist", "0 1 2\n1 2 3 4\n2 3\n", "line 2"),
    "Matrix Market": ("f", "%%MatrixMarket matrix coordinate pattern general\n3 4 2\n2 1\n3 2\n", "line 1"),
    "two graphs": ("f.dot", "graph { a -- b }\ngraph { c -- d }\n", "line 2"),
    "rate in words": ("f.gml", PAIRS["pair.gml"].replace("target 1", 'target 1 LinkSpeedRaw "NDR"'), "LinkSpeedRaw"),
    "adapters alone": (
        "f",
        f'CA: n1 HCA-1:\n  0x0000000000000001   4    1[  ] {UP}   3    1[  ] "n2 HCA-1" ( )\n',
        "",
    ),
}


@pytest.mark.parametrize("kind", SILENT)
def test_what_was_read_wrong_in_silence_is_refused_with_its_place(tmp_path: Path, kind: str) -> None:
    name, text, where = SILENT[kind]
    error = refusal_of(tmp_path, name, text)
    assert error.code == "invalid-data-file" and where in error.problem and error.remedy


def test_names_with_commas_are_vertices(tmp_path: Path) -> None:
    """Of the example of Rocketfuel's weights in ns-3, which has each edge in both directions."""
    (tmp_path / "w.txt").write_text(
        "San+Jose,+CA1 Reno,+NV2 2.5\nReno,+NV2 San+Jose,+CA1 2.5\nReno,+NV2 Elko 7\nElko Reno,+NV2 7\n"
    )
    machine = machine_of(tmp_path, "w.txt", nodes_per_router=1)
    assert machine.router_names == ("San+Jose,+CA1", "Reno,+NV2", "Elko") and machine.cables == 2


def test_rates_without_a_unit_are_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    warn_once.cache_clear()
    for number, rate in enumerate(('LinkSpeed "2.5-10" LinkSpeedUnits "G"', 'LinkSpeed "10"')):
        (tmp_path / f"{number}.gml").write_text(PAIRS["pair.gml"].replace("target 1", f"target 1 {rate}"))
        machine_of(tmp_path, f"{number}.gml")
        assert rate.split('"')[1] in caplog.messages[-1]


@pytest.mark.parametrize(
    "text",
    [
        "# comment\n---\n" + PAIRS["pair.yml"],
        "- {topology: t, tree: {switches: [{switch: b, children: a, nodes: n2}, {switch: a, nodes: n1}]}}\n",
        '[{"topology": "t", "tree": {"switches": [{"switch": "b", "children": "a", "nodes": "n2"}, '
        '{"switch": "a", "nodes": "n1"}]}}]',
    ],
)
def test_a_topology_of_slurm_in_other_forms_of_yaml(tmp_path: Path, text: str) -> None:
    (tmp_path / "t.yaml").write_text(text)
    assert machine_of(tmp_path, "t.yaml", nodes_per_router=1).routers == 2


def test_labels_in_html_are_names_of_dot(tmp_path: Path) -> None:
    (tmp_path / "h.dot").write_text("graph { a [nodes=1, label=<<b>x</b> y>]; b [nodes=1]; a -- b }")
    assert machine_of(tmp_path, "h.dot").cables == 1
