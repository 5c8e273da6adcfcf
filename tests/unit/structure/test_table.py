"""Routes by a table from a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from pydantic import ValidationError

from fabricstudy.analysis.deadlock import Deadlock
from fabricstudy.core.model import ConfigError
from fabricstudy.engine.registry import engine_named
from fabricstudy.machine.base import Topology
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.base import Routing
from fabricstudy.routing.minimal import Minimal
from fabricstudy.structure.deadlock import is_deadlock_free
from fabricstudy.structure.load import link_loads, link_support
from fabricstudy.study.checks import check_point

from ...machines import point_on

RING = {"kind": "torus", "shape": [5], "nodes_per_router": 2, "bandwidth": "1 GB/s"}


def routing_of(folder: Path, text: str, name: str = "t.csv") -> Routing:
    (folder / name).write_text(text)
    return Routing.model_validate({"kind": "table", "file": name}, context={"folder": folder})


def clockwise(routers: int = 5, **changed: str) -> str:
    """All packets to the next router; `changed` says otherwise for r_goal, or leaves the line out."""
    lines = ["router,destination_router,next"]
    for router in range(routers):
        for goal in range(routers):
            onward = changed.get(f"r{router}_{goal}", str((router + 1) % routers))
            lines += [f"{router},{goal},{onward}"] if router != goal and onward else []
    return "\n".join(lines)


def all_pairs(machine: Machine) -> tuple[Any, Any, Any]:
    source, goal = np.divmod(np.arange(machine.nodes**2), machine.nodes)
    return source, goal, 1.0 + (np.arange(machine.nodes**2) % 7)


def test_round_a_ring_one_way(tmp_path: Path) -> None:
    machine = Topology.model_validate(RING).build()
    source, goal, size = all_pairs(machine)
    routing = routing_of(tmp_path, clockwise())
    loads = link_loads(machine, source, goal, size, routing).link_bytes
    expected = np.zeros(5)
    for start, end, own in zip(source // 2, goal // 2, size, strict=True):
        while start != end:
            expected[start] += own
            start = (start + 1) % 5
    forward = (machine.link_head - machine.link_tail) % 5 == 1
    assert np.array_equal(loads[forward], expected[machine.link_tail[forward]]) and not loads[~forward].any()
    assert np.array_equal(link_support(machine, source, goal, routing), forward)
    # Round a ring without a break each link waits for the next one, unless hops have channels of their own.
    assert is_deadlock_free(machine, routing) and not is_deadlock_free(machine, routing, one_channel=True)


def petersen(folder: Path) -> Topology:
    nx.write_graphml(nx.relabel_nodes(nx.petersen_graph(), str), folder / "p.graphml")
    written = {"kind": "graph", "file": "p.graphml", "bandwidth": "1 GB/s", "nodes_per_router": 2}
    return Topology.model_validate(written, context={"folder": folder}, by_alias=True, by_name=False)


def test_with_the_names_of_a_file_and_the_only_shortest_paths_it_is_minimal(tmp_path: Path) -> None:
    machine = petersen(tmp_path).build()
    ways = dict(nx.all_pairs_shortest_path(nx.petersen_graph()))
    rows = [f"{a},{b}/{k},{path[1]}" for a, to in ways.items() for b, path in to.items() for k in (0, 1) if a != b]
    routing = routing_of(tmp_path, "\n".join(["# all", "router, destination, next", *rows]))
    minimal = link_loads(machine, *all_pairs(machine), Minimal())
    assert np.allclose(link_loads(machine, *all_pairs(machine), routing).link_bytes, minimal.link_bytes, rtol=1e-12)


FABRIC = "from,to,class,count,bandwidth\nn,a,host,,1 GB/s\nm,b,host,,1 GB/s\na,b,up,3,1 GB/s\na,b,slow,1,1 GB/s\n"


def test_rows_of_cables_to_the_same_router_share_by_their_cables(tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text(FABRIC)
    config = Topology.model_validate({"kind": "graph", "file": "f.csv"}, context={"folder": tmp_path})
    routing = routing_of(tmp_path, "router,destination,next\na,m,b\nb,n,a\nb,m,a\n")
    loads = link_loads(config.build(), np.array([0]), np.array([1]), np.array([400]), routing)
    assert sorted(loads.link_bytes.tolist()) == [0, 0, 100, 300]


DUMP = """\
Switch\t36 "S-00000000000000a1"\t\t# "one" base port 0 lid 1 lmc 0
[1]\t"H-00000000000000b1"[1](b1) \t\t# "n1 HCA-1" lid 11 4xEDR
[3]\t"S-00000000000000a2"[1]\t\t# "two" lid 2 4xEDR
[4]\t"S-00000000000000a2"[2]\t\t# "two" lid 2 4xDDR
Switch\t36 "S-00000000000000a2"\t\t# "two" base port 0 lid 2 lmc 0
[1]\t"S-00000000000000a1"[3]\t\t# "one" lid 1 4xEDR
[2]\t"S-00000000000000a1"[4]\t\t# "one" lid 1 4xDDR
[5]\t"H-00000000000000b2"[1](b2) \t\t# "n2 HCA-1" lid 12 4xEDR
"""
# As ibroute prints, and dump_lfts.sh before version 3.1 with # in place of :, of two switches.
TABLES = """\
Unicast lids [0x0-0xc] of switch Lid 1 guid 0x00000000000000a1 (one):
  Lid  Out   Destination
       Port     Info
0x0002 003 : (Switch portguid 0x00000000000000a2: 'two')
0x000b 001 : (Channel Adapter portguid 0x00000000000000b1: 'n1 HCA-1')
0x000c 004 : (Channel Adapter portguid 0x00000000000000b2: 'n2 HCA-1')
0x000d 003 : (Channel Adapter portguid 0x00000000000000b2: 'n2 HCA-1')
3 valid lids dumped
Unicast lids [0x0-0xc] of switch DR path slid 0; dlid 0; 0,1,3 guid 0x00000000000000a2 (MF0;two:SX6036/U1):
0x000b 001
0x000c 005 # Channel Adapter portguid 0x00000000000000b2: 'n2 HCA-1'
"""


def infiniband(folder: Path) -> Topology:
    (folder / "ib.txt").write_text(DUMP)
    return Topology.model_validate({"kind": "graph", "file": "ib.txt"}, context={"folder": folder})


def test_infiniband_tables_go_by_ports(tmp_path: Path) -> None:
    machine = infiniband(tmp_path).build()
    routing = routing_of(tmp_path, TABLES, "t.lft")
    loads = link_loads(machine, np.array([0, 1]), np.array([1, 0]), np.array([10, 20]), routing).link_bytes
    found = {
        (machine.classes[machine.link_class[link]].name, int(machine.link_head[link])): loads[link] for link in range(4)
    }
    assert found == {("4xDDR", 1): 10, ("4xEDR", 0): 20, ("4xEDR", 1): 0, ("4xDDR", 0): 0}


CSV = "router,destination,next\n"
# Table, where the mistake is, and what value.
BAD = [
    ("t.csv", clockwise(r2_0="1"), "", "0"),
    ("t.csv", clockwise(r2_0=""), "", "0"),
    ("t.csv", clockwise(r0_4=""), "", "8"),
    ("t.csv", clockwise(r2_0="0"), "line 10", "0"),
    ("t.csv", clockwise(r2_0="7"), "line 10", "7"),
    ("t.csv", CSV + "0,10,1\n", "line 2", "10"),
    ("t.csv", CSV + "x,2,1\n", "line 2", "x"),
    ("t.csv", CSV + "0,2,1\n0,2,4\n", "line 3", "2"),
    ("t.lft", TABLES.replace("a1 (", "a7 ("), "line 4", "guid a7"),
    ("t.lft", TABLES, "line 4", None),
]


@pytest.mark.parametrize(("name", "text", "where", "value"), BAD)
def test_a_table_that_does_not_fit_is_refused_with_its_pair(
    tmp_path: Path, name: str, text: str, where: str, value: str | None
) -> None:
    routing = routing_of(tmp_path, text, name)
    ring = Topology.model_validate(RING)
    config = infiniband(tmp_path) if name == "t.lft" and value else ring
    with pytest.raises(ConfigError) as refusal:
        check_point(config, routing, point_on(RING).jobs)
    error = refusal.value
    assert (error.code, error.keys, error.value) == ("invalid-data-file", ("routing", "file"), value)
    assert error.problem.startswith(f"{name}, {where}: " if where else f"{name}: ")


def test_pairs_are_named(tmp_path: Path) -> None:
    ring = Topology.model_validate(RING)
    for changed, words in (({"r2_0": "1"}, ("from 1 to 0", "1, 2, 1")), ({"r2_0": ""}, ("from 2 ", "reach 0:")),
                           ({"r0_4": ""}, ("from 0", "reach 8:"))):  # fmt: skip
        with pytest.raises(ConfigError) as refusal:
            routing_of(tmp_path, clockwise(5, **changed)).check_machine(ring)
        assert all(word in refusal.value.problem for word in words)


def test_the_analysis_of_deadlocks_refuses_it_too(tmp_path: Path) -> None:
    routings = {"mine": routing_of(tmp_path, clockwise(r2_0=""))}
    with pytest.raises(ValidationError) as refusal:
        Deadlock(machines={"ring": Topology.model_validate(RING)}, routings=routings)
    assert refusal.value.errors()[0]["ctx"]["error"].keys == ("routings", "mine", "file")


def test_a_way_that_ends_at_a_router_without_nodes(tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text("from,to,class\nn,a,host\nm,b,host\na,c,\nb,c,\n")
    written = {"kind": "graph", "file": "f.csv", "bandwidth": "1 GB/s"}
    config = Topology.model_validate(written, context={"folder": tmp_path}, by_alias=True, by_name=False)
    with pytest.raises(ConfigError) as refusal:
        routing_of(tmp_path, "router,destination,next\na,m,c\nb,n,c\nc,n,a\n").check_machine(config)
    assert "from a to m" in refusal.value.problem and "at c" in refusal.value.problem


def test_a_port_that_leads_nowhere(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refusal:
        routing_of(tmp_path, TABLES.replace("0x000c 004", "0x000c 009"), "t.lft").check_machine(infiniband(tmp_path))
    assert refusal.value.value == 9 and "line 6" in refusal.value.problem


@pytest.mark.parametrize(("name", "text", "where"), [
    ("t.csv", "router,next\n", "line 1"),
    ("t.csv", "", "line 1"),
    ("t.csv", CSV + "0,1\n", "line 2"),
    ("t.csv", CSV + "# no\n0,,1\n", "line 3, column 2 (destination)"),
    ("t.lft", "Unicast lids [0x0-0x1] of nothing\n", "line 1"),
    ("t.lft", "0x0001 002\n", "line 1"),
    ("t.lft", TABLES.replace("0x000b 001\n", "0x000b\n"), "line 10"),
    ("t.lft", "nothing\n", "line 1"),
    ("t.table", "", "line 1"),
])  # fmt: skip
def test_what_is_no_table_is_refused(tmp_path: Path, name: str, text: str, where: str) -> None:
    with pytest.raises(ValidationError) as refusal:
        routing_of(tmp_path, text, name)
    error = refusal.value.errors()[0]["ctx"]["error"]
    assert error.code == "invalid-data-file" and error.problem.startswith(f"{name}, {where}: ")


def test_the_point_holds_the_content_and_a_change_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    routing = routing_of(tmp_path, clockwise())
    assert routing.physics() == routing_of(tmp_path / "other", clockwise(), "u.csv").physics()
    (tmp_path / "t.csv").write_text(clockwise(r2_0="1"))
    with pytest.raises(ConfigError) as refusal:
        routing.routes(Topology.model_validate(RING).build())
    assert refusal.value.code == "study-changed"


@pytest.mark.parametrize("engine", ["sst", "codes"])
def test_simulators_refuse_it_as_a_row(tmp_path: Path, engine: str) -> None:
    point = point_on(RING, routing=routing_of(tmp_path, clockwise()), engine=engine)
    assert engine_named(engine).unsupported(point, point.machine.build())
