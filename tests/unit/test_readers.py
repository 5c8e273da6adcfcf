"""Every reader of files that users bring: whatever stands in them gives a result or one error with a code."""

from __future__ import annotations

import gzip
import io
import itertools
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, save_npz

from fabricstudy.core.errors import FabricstudyError
from fabricstudy.core.input_files import read
from fabricstudy.core.model import ConfigError
from fabricstudy.machine.fabric import read_fabric
from fabricstudy.machine.from_file import FabricRules, machine_from_fabric
from fabricstudy.routing.forwarding import read_forwarding
from fabricstudy.schedule import Trace
from fabricstudy.structure.prices.from_file import read_tariff
from fabricstudy.workload.mapping.file import read_ranks
from fabricstudy.workload.pattern.matrix import read_matrix
from fabricstudy.workload.pattern.messages import read_messages
from fabricstudy.workload.pattern.task_graph import group_tasks, read_graph

Reader = Callable[[Path], Any]

EXAMPLES = 40
"""A reader: some seconds for all of them."""


def fabric(path: Path) -> Any:
    """Read a fabric and put it together, as a machine does."""
    found, _ = read(path, read_fabric, "invalid-data-file")
    rules = FabricRules.model_validate({"bandwidth": "1 GB/s", "host_ports": "each", "nodes_per_router": 1})
    return read(path, lambda *_: machine_from_fabric(found, rules, 1), "invalid-data-file")


def graph(path: Path) -> Any:
    """Read a graph and group its tasks."""
    return group_tasks(read_graph(path)[0], 2, "metis")


def log(path: Path) -> Any:
    """Read the jobs of a log."""
    keys = {"kind": "swf", "file": path.name, "too_large": "reject", "cores_per_node": 1}
    return Trace.model_validate(keys).jobs(16, 1, 0, path.parent)


def npz(sparse: bool) -> bytes:
    data = io.BytesIO()
    matrix = np.array([[0, 5], [7, 0]])
    save_npz(data, csr_array(matrix)) if sparse else np.savez(data, matrix)
    return data.getvalue()


def parquet() -> bytes:
    data = io.BytesIO()
    pd.DataFrame({"phase": [0, 0], "source": [0, 1], "destination": [1, 0], "bytes": [4, 5]}).to_parquet(data)
    return data.getvalue()


SWITCHES = """\
Switch\t2 "S-a1"\t# "one" lid 1 lmc 0
[1]\t"S-a2"[1]\t# "two" lid 2 4xEDR
[2]\t"H-b1"[1](b1)\t# "n1 HCA-1" lid 4 4xEDR

Switch\t2 "S-a2"\t# "two" lid 2 lmc 0
[1]\t"S-a1"[1]\t# "one" lid 1 4xEDR
[2]\t"H-b2"[1](b2)\t# "n2 HCA-1" lid 5 4xEDR
"""
LISTED = '{"nodes": [{"id": 0, "nodes": 2}, {"id": 1}], "edges": [{"source": 0, "target": 1, "bandwidth": "1 GB/s"}]}'
GRAPHML = (
    '<?xml version="1.0"?><graphml><key id="d" for="edge" attr.name="class"/><graph edgedefault="undirected"><node id='
    '"a"/><node id="b"/><edge source="a" target="b"><data key="d">up</data></edge></graph></graphml>'
)
GML = 'graph [ node [ id 0 label "a" nodes 2 ] node [ id 1 label "b" ] edge [ source 0 target 1 class "up" ] ]'
PRICES = "item,value\ncurrency,EUR\nyear,2026\nrouter,900\nport,250\nport_W,12\nelectrical,0.5\nelectrical_m,0.4\n"
TABLE = "Unicast lids [0x0-0x2] of switch Lid 1 guid 0xa1 (one):\n0x0002 001 : (Channel Adapter portguid 0xb1: 'n1')\n"

DOT = 'graph { node [nodes=2] a; a -- b -- "c d" [class=up, count=2]; subgraph { e } e -- {a b} }'
LINKS = "".join(
    f"Switch: 0x{own:016x} s{own}:\n  {own}  1[  ] ==( 4X  25.78125 Gbps Active/  LinkUp)==>  {3 - own}  1[  ] "
    f'"s{3 - own}" ( )\n  {own}  2[  ] ==( 4X  10.0 Gbps Active/ LinkUp)==>  {own + 4}  1[  ] "n{own} HCA-1" ( )\n'
    f'  {own}  3[  ] ==(  Down/ Polling)==>   [  ] "" ( )\n'
    for own in (1, 2)
)
PLATFORM = (
    '<platform><zone id="z"><router id="r"/><host id="h"/><link id="l" bandwidth="8Mbps" latency="5us"/>'
    '<cluster id="c" prefix="n" suffix="x" radical="0-2,5" bw="1MBps" lat="5us"/>'
    '<route src="h" dst="r"><link_ctn id="l"/></route>'
    '<zoneRoute gw_src="r" gw_dst="nc_routerx"><link_ctn id="l"/></zoneRoute></zone></platform>'
)
OUTPORTS = (
    '{"switches": {"s": {"outports": {"0": {"destination": "t", "inport": 1}, "2": {"destination": "n", "inport": 0}}},'
    '"t": {"outports": {"1": {"destination": "s", "inport": 0}, "2": {"destination": "m", "inport": 0}}}},'
    '"nodes": {"n": {"outports": {}}, "m": {"outports": {}}}}'
)
TREE = (
    "- topology: a\n  tree:\n    switches:\n      - {switch: r, children: 's[1-2]'}\n"
    "      - {switch: s1, nodes: 'n[1-2]'}\n      - {switch: s2, nodes: n3}\n"
)

READERS: dict[str, tuple[Reader, str | bytes]] = {
    "edges.csv": (fabric, "from,to,class,count\nn,r,host,1\nm,s,host,1\nr,s,up,2\n"),
    "fabric.json": (fabric, LISTED),
    "fabric.graphml": (fabric, GRAPHML),
    "fabric.topo": (fabric, SWITCHES),
    "fabric.gml": (fabric, GML),
    "fabric.dot": (fabric, DOT),
    "fabric.edgelist": (fabric, "# no\na b {'class': 'up', 'count': 2}\nb c\nc a\n"),
    "links.iblinkinfo": (fabric, LINKS),
    "net.anynet": (fabric, "router 0 node 0 node 1 router 1 10\nrouter 1 node 2 router 2\nrouter 2 node 3 router 0\n"),
    "ns3.txt": (fabric, "4 2 3\n2 3\n0 2 100Gbps 1us 0\n1 3 100Gbps 1us 0\n2 3 400Gbps 2us 0\n"),
    "htsim.txt": (
        fabric,
        "Nodes 4\nTiers 2\nPodsize 4\nTier 0\nRadix_Down 2\nRadix_Up 1\nTier 1\nRadix_Down 2\n",
    ),
    "platform.xml": (fabric, PLATFORM),
    "sst.json": (fabric, OUTPORTS),
    "tree.yaml": (fabric, TREE),
    "fabric.csv.gz": (fabric, gzip.compress(b"from,to,class,count\nn,r,host,1\nm,s,host,1\nr,s,up,2\n")),
    "topology.conf": (fabric, "SwitchName=a Nodes=n[01-2,7]\nSwitchName=b Nodes=m\nSwitchName=c Switches=a,b\n"),
    "graph.csv": (graph, "source,destination,weight\n0,1,5\n1,2,0.5\n2,3,1e3\n"),
    "graph.graph": (graph, "3 2 011\n1 2 5\n2 1 5 3 7\n1 2 7\n"),
    "graph.mtx": (graph, "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 5\n2 3 0.5\n"),
    "matrix.csv": (partial(read, reader=read_matrix, code="invalid-data-file"), "0,5\n7,0\n"),
    "pairs.csv": (
        partial(read, reader=read_matrix, code="invalid-data-file"),
        "source,destination,bytes\n0,1,5\n1,0,7\n",
    ),
    "matrix.mtx": (
        partial(read, reader=read_matrix, code="invalid-data-file"),
        "%%MatrixMarket matrix array integer general\n2 2\n0\n7\n5\n0\n",
    ),
    "dense.npz": (partial(read, reader=read_matrix, code="invalid-data-file"), npz(sparse=False)),
    "sparse.npz": (partial(read, reader=read_matrix, code="invalid-data-file"), npz(sparse=True)),
    "messages.csv": (
        partial(read, reader=read_messages, code="invalid-data-file"),
        "phase,source,destination,bytes\n0,0,1,4\n",
    ),
    "messages.parquet": (partial(read, reader=read_messages, code="invalid-data-file"), parquet()),
    "hops.csv": (partial(read, reader=read_forwarding, code="invalid-data-file"), "router,destination,next\nr,n,s\n"),
    "hops.lft": (partial(read, reader=read_forwarding, code="invalid-data-file"), TABLE),
    "hops": (partial(read, reader=read_forwarding, code="invalid-data-file"), TABLE),
    "prices.csv": (
        partial(read, reader=read_tariff, code="invalid-data-file"),
        PRICES + "optical,2.5\noptical_m,0.1\n",
    ),
    "cores.txt": (lambda path: read_ranks(path.parent, path.name), "1\n0\n3\n2\n"),
    "ranks.openmpi": (lambda path: read_ranks(path.parent, path.name), "rank 0=a slot=0:1\nrank 1=+n0 slot=1-2 # no\n"),
    "ranks.mpich": (lambda path: read_ranks(path.parent, path.name), "1,3\n# no\n0,2,4-6\n"),
    "ranks.slurm": (lambda path: read_ranks(path.parent, path.name), "a\nb[1-2,7]\nc\n"),
    "log.swf": (log, "; MaxProcs: 16\n1 0 -1 60 4 -1 -1 4 90 -1 1 7 -1 3 2 -1 -1 -1\n"),
}

ODD = (
    "", "-1", "0", "1.5", "nan", "inf", "1e308", "1e-308", "9" * 18, "9" * 5000, "1_0", "\N{ARABIC-INDIC DIGIT ONE}",
    "\0", "\r", "\n", "\n\n", ",", '"', "#", "%", ";", " ", "\t", "\v", "\N{LINE SEPARATOR}", "[" * 5000, "{", "}", "<",
    "&", "<!DOCTYPE a>", "null", "true", '"\\ud800"', "\\", "x" * 140_000, "\N{ZERO WIDTH NO-BREAK SPACE}",
)  # fmt: skip
PIECES = st.one_of(st.sampled_from([piece.encode() for piece in ODD]), st.binary(max_size=8))
CUTS = st.tuples(st.floats(0, 1), st.integers(0, 12), PIECES)
NUMBER = itertools.count()


def mutated(data: bytes, cuts: list[tuple[float, int, bytes]]) -> bytes:
    """Replace some bytes at some places."""
    for place, length, piece in cuts:
        at = int(place * len(data))
        data = data[:at] + piece + data[at + length :]
    return data


def check(reader: Reader, path: Path, data: bytes) -> None:
    """Read a file of these bytes, which is right, or wrong in a way that is told."""
    path.write_bytes(data)
    try:
        reader(path)
    except (FabricstudyError, ConfigError) as error:
        assert error.code != "other" and str(error).strip()
    path.unlink()


@pytest.mark.parametrize("name", READERS)
def test_what_is_right_is_read(tmp_path: Path, name: str) -> None:
    reader, data = READERS[name]
    (tmp_path / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    assert reader(tmp_path / name) is not None


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", READERS)
@settings(
    max_examples=EXAMPLES, database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
@given(cuts=st.lists(CUTS, min_size=1, max_size=4))
def test_what_is_wrong_is_told(tmp_path: Path, name: str, cuts: list[tuple[float, int, bytes]]) -> None:
    reader, data = READERS[name]
    # Another name each time: a file that stays as it is would be read once.
    path = tmp_path / f"{next(NUMBER)}{Path(name).suffix}"
    check(reader, path, mutated(data if isinstance(data, bytes) else data.encode(), cuts))


@pytest.mark.parametrize("name", READERS)
@settings(
    max_examples=EXAMPLES // 2, database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)  # fmt: skip
@given(data=st.binary(max_size=200))
def test_any_bytes_are_told(tmp_path: Path, name: str, data: bytes) -> None:
    check(READERS[name][0], tmp_path / f"{next(NUMBER)}{Path(name).suffix}", data)


def peak_bytes(path: Path, reader: Reader) -> int:
    """Most memory that a reader takes at once, whether it refuses the file or not."""
    tracemalloc.start()
    try:
        with suppress(FabricstudyError, ConfigError):
            reader(path)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("name", "reader", "line"),
    [("a.swf", log, ";12345\n"), ("b.swf", log, "1\n"), ("a.csv", graph, "#12345\n"), ("a.mtx", graph, "%12345\n")],
)
def test_many_short_lines_take_no_more_memory_than_the_file(
    tmp_path: Path, name: str, reader: Reader, line: str
) -> None:
    """Kept as one text each, they would take thirty times as much."""
    path, lines = tmp_path / name, 200_000
    path.write_text("%%MatrixMarket matrix coordinate real general\n" if name.endswith("mtx") else "")
    with path.open("a") as file:
        file.write(line * lines)
    reader_s_own = 2_000_000  # what it imports, and what a small file takes
    assert peak_bytes(path, reader) < 5 * len(line) * lines + reader_s_own
