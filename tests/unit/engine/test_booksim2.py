"""The engine of `extensions/booksim2.py`, with recorded output, and with BookSim2 where it is installed."""

from __future__ import annotations

import itertools
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pytest

from fabricstudy.core.extensions import load_extensions, unload_extensions
from fabricstudy.engine.attempt import attempt_point
from fabricstudy.engine.built_point import BuiltPoint
from fabricstudy.engine.definitions import built
from fabricstudy.engine.failures import EngineFailure
from fabricstudy.engine.point import Point
from fabricstudy.engine.registry import engine_of
from fabricstudy.engine.settings import Limits
from fabricstudy.engine.steady_state import SteadyRun, growth, state_of

from ...machines import DRAGONFLY

ROOT = Path(__file__).resolve().parents[3]
RECORDED = ROOT / "tests/data/booksim2"
FINISHED = 255
"""Exit code of BookSim2 after a finished run."""

PAIR = {"kind": "mesh", "shape": [2], "nodes_per_router": 1, "bandwidth": "1 GB/s", "latency": "16 ns"}
TORUS = {"kind": "torus", "shape": [4, 4], "nodes_per_router": 1, "bandwidth": "1 GB/s", "latency": "16 ns"}
OFFERED = {"traffic": "uniform", "load": 0.25, "message": "64 B", "warmup": 100, "measured": 200, "batches": 8}
RECORDED_OFFERED = OFFERED | {"traffic": "complement", "warmup": 10_000, "measured": 40_000}


@pytest.fixture(autouse=True)
def known() -> Iterator[None]:
    package = load_extensions(["booksim2.py"], ROOT / "extensions")
    yield
    unload_extensions(package)


def point(
    machine: dict[str, Any] = PAIR, routing: Any = "minimal", offered: Any = OFFERED, speedup: float = 1, **network: Any
) -> Point:
    parts = {"packet": "64 B", "buffer": "1 kB", "router_latency": "64 ns"} | network
    sections = {"machine": machine, "routing": routing, "offered": offered, "network": parts}
    sections["engine"] = {"kind": "booksim2", "speedup": speedup}
    return Point.model_validate(sections | {"seed": 1})


def config(of: Point, folder: Path) -> dict[str, str]:
    """Return the configuration of a point at its load."""
    assert of.offered is not None
    machine = of.machine.build()
    engine_of(of.engine).write(BuiltPoint(of, machine, load=float(of.offered.load)), folder)
    lines = (folder / "booksim.config").read_text().splitlines()
    return dict(line.rstrip(";").split(" = ") for line in lines)


@pytest.mark.parametrize("part", ["booksim.config", "anynet"])
def test_the_input_is_that_of_the_recorded_run(part: str, tmp_path: Path) -> None:
    of = point(offered=RECORDED_OFFERED)
    config(of, tmp_path)
    assert (tmp_path / part).read_text() == (RECORDED / part).read_text()


def read_offered(of: Point, folder: Path, exit_code: int = FINISHED, load: float = 0.25) -> SteadyRun:
    engine = engine_of(of.engine)
    engine.check_exit(folder, exit_code)
    return engine.read_offered(BuiltPoint(of, of.machine.build(), load=load), folder)


def test_the_recorded_latency_is_that_of_a_geometric_queue(tmp_path: Path) -> None:
    """Two nodes send to each other: three links and two routers without load, 240 ns, and the queue of the sources.

    Arrivals in each cycle with probability 1/16 and a service of 4 cycles wait for 0.25 x 3 / (2 x 0.75) cycles, 8 ns.
    """
    for name in ("statistics", "stdout", "booksim.config"):
        shutil.copy(RECORDED / name, tmp_path)
    run = read_offered(point(offered=RECORDED_OFFERED), tmp_path)
    assert run.latency_sum_ns.sum() / run.measured.sum() == pytest.approx(248, rel=0.01)
    assert run.latency_sum_ns / run.measured == pytest.approx(np.full(8, 248), rel=0.02)
    assert run.window_ns == 8 * 20_000 * 16 and len(run.created) == 8
    assert run.node_created / (run.window_ns / run.message_ns) == pytest.approx([0.25, 0.25], rel=0.03)
    assert run.created.sum() == pytest.approx(run.node_created.sum(), abs=4)
    assert run.arrived is not None and run.arrived.sum() == pytest.approx(run.node_arrived.sum(), abs=4)
    assert run.mean_backlog is not None and run.mean_backlog.max() <= 8


def period(latency: float, injected: float, accepted: float, flying: int, measured: int) -> str:
    """Return what BookSim2 prints after a sample period: the rates are packets and flits per node and cycle."""
    return (
        f"Packet latency average = {latency}\n\tminimum = 1\nInjected packet rate average = {injected:.6g}\n"
        f"Accepted flit rate average= {accepted:.6g}\nTotal in-flight flits = {flying} ({measured} measured)\n"
    )


DRAINING = "Draining all recorded packets ...\n"
PERIODS = 12
"""Sample periods of `OFFERED`: 4 of warm-up and 8 batches of 100 cycles, 25 messages of 4 flits."""


def statistics(sent: str, accepted: str) -> str:
    rows = {"pair_sent": sent, "pair_plat": "9 20 30 9", "accepted_packets": accepted}
    return "%====\n" + "".join(f"{name}(1,:) = [ {row} ];\n" for name, row in rows.items())


def test_messages_of_a_node_to_itself_are_not_counted(tmp_path: Path) -> None:
    """In 800 cycles 40 and 20 messages to the nodes themselves, 80 and 60 to the other one: 25 in each batch."""
    (tmp_path / "statistics").write_text(statistics("40 80 60 20", f"{100 / 800} {100 / 800}"))
    (tmp_path / "stdout").write_text(PERIODS * period(18.0, 0.125, 0.5, 0, 0) + DRAINING)
    run = read_offered(point(), tmp_path)
    assert run.node_created.tolist() == [80, 60] and run.node_arrived.tolist() == [60, 80]
    assert run.measured.tolist() == run.created.tolist() == [18] * 8  # 140 of 200, in 8 batches: 17.5
    assert run.latency_sum_ns == pytest.approx([(80 * 20 + 60 * 30) / 8 * 16.0] * 8)
    assert run.mean_backlog is not None and not run.mean_backlog.any()


def test_a_source_that_lags_behind_is_a_growing_backlog(tmp_path: Path) -> None:
    """Sources inject 25 messages of 30 that are due in each batch, from the begin of the warm-up on: growth is 1/6.

    Half of the messages of the program's uniform traffic on two nodes are to the sender: its rate is twice the load.
    """
    # In 12 periods 60 messages are late, 20 of them in the warm-up, at whose end 8 flits are under way.
    (tmp_path / "statistics").write_text(statistics("0 120 140 0", "0.125 0.125"))
    warm = 4 * period(50.0, 0.125, 0.5, 8, 0)
    (tmp_path / "stdout").write_text(warm + 8 * period(50.0, 0.125, 0.5, 8, 8) + DRAINING)
    run = read_offered(point(), tmp_path, load=0.3)
    assert run.created.tolist() == [30] * 8 and run.node_created.sum() == 240
    assert run.mean_backlog == pytest.approx(2 + 20 + 5 * (np.arange(8) + 0.5))
    assert growth(run).mean == pytest.approx(1 / 6) and state_of(run) == "saturated"


def test_a_load_beyond_the_links_of_the_sources_is_backlog(tmp_path: Path) -> None:
    """A rate of 1.2, twice the load, with messages to the senders: 60 flits in each batch, the links carry 50."""
    (tmp_path / "statistics").write_text(statistics("0 200 200 0", "0.25 0.25"))
    (tmp_path / "stdout").write_text(PERIODS * period(18.0, 0.25, 1.0, 0, 0) + DRAINING)
    run = read_offered(point(), tmp_path, load=0.6)
    assert run.created.tolist() == [60] * 8 and run.node_created.tolist() == [240, 240]
    assert growth(run).mean == pytest.approx(1 / 6) and state_of(run) == "saturated"


STATISTICS = statistics("0 100 100 0", "0.125 0.125")
OUTPUT = PERIODS * period(18.0, 0.125, 0.5, 0, 0)
BROKEN = {
    "no file": (None, OUTPUT + DRAINING, FINISHED),
    "a period is missing": (STATISTICS, OUTPUT[OUTPUT.index("Total") :] + DRAINING, FINISHED),
    "of another machine": (statistics("0 1 1", "1 1"), OUTPUT + DRAINING, FINISHED),
    "unstable": (STATISTICS, OUTPUT + "Simulation unstable, ending ...\n", FINISHED),
    "exit code of an unstable one": (STATISTICS, OUTPUT + DRAINING, 0),
}


@pytest.mark.parametrize(("text", "stdout", "code"), BROKEN.values(), ids=BROKEN)
def test_what_is_no_result(text: str | None, stdout: str, code: int, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "statistics").write_text(text)
    for name, content in (("stdout", stdout), ("stderr", "")):
        (tmp_path / name).write_text(content)
    of = point()
    with pytest.raises(EngineFailure):
        read_offered(of, tmp_path, code)


LATENCIES = {"local": "160 ns", "global": "1600 ns", "host": "16 ns"}
BALANCED = DRAGONFLY | {"latency": LATENCIES, "cores_per_node": 1}
LINKS = {"bandwidth": "1 GB/s", "latency": "16 ns"}
FAT_TREE = LINKS | {"kind": "fat-tree", "radix": 4}
TREE = LINKS | {"kind": "xgft"}
OWN_TREE = {"topology": "fattree", "routing_function": "nca"}


@pytest.mark.parametrize(
    ("machine", "routing", "topology"),
    [
        (TORUS, "dimension-order", {"topology": "torus", "routing_function": "dim_order", "k": "4", "n": "2"}),
        (TORUS | {"kind": "mesh"}, "dimension-order", {"topology": "mesh", "k": "4", "n": "2"}),
        (BALANCED, "minimal", {"topology": "dragonflynew", "routing_function": "min", "k": "2", "n": "1"}),
        (PAIR | {"shape": [3]}, "minimal", {"topology": "anynet", "network_file": "anynet"}),
        (FAT_TREE | {"pods": 2}, "minimal", OWN_TREE | {"k": "2", "n": "3"}),
        (TREE | {"down": [3, 3], "up": [3]}, "minimal", OWN_TREE | {"k": "3", "n": "2"}),
        (TREE | {"down": [2, 2, 2], "up": [2, 2]}, "minimal", OWN_TREE | {"k": "2", "n": "3"}),
        (FAT_TREE, "minimal", {"topology": "anynet"}),
        (TREE | {"down": [4, 4], "up": [2]}, "minimal", {"topology": "anynet"}),
        (TREE | {"down": [2, 4], "up": [2]}, "minimal", {"topology": "anynet"}),
        (TREE | {"down": [2, 2], "up": [2], "latency": {"links": "32 ns", "host": "16 ns"}}, "minimal",
         {"topology": "anynet"}),
    ],
)  # fmt: skip
def test_topologies(machine: dict[str, Any], routing: str, topology: dict[str, str], tmp_path: Path) -> None:
    of = point(machine, routing)
    assert engine_of(of.engine).unsupported(of, of.machine.build()) is None
    assert topology.items() <= config(of, tmp_path).items()


def test_each_cable_is_in_the_file_once_each_way(tmp_path: Path) -> None:
    of = point(FAT_TREE)
    config(of, tmp_path)
    machine = of.machine.build()
    lines = (tmp_path / "anynet").read_text().splitlines()
    links = sorted(zip(machine.link_tail.tolist(), machine.link_head.tolist(), strict=True))
    joined = [line.split() for line in lines if line.split()[2] == "router"]
    assert sorted((int(words[1]), int(words[3])) for words in joined) == links
    nodes = {int(words[3]): int(words[1]) for words in map(str.split, lines) if words[2] == "node"}
    assert [nodes[node] for node in range(machine.nodes)] == machine.node_router.tolist()


def fat_tree_of_booksim2(k: int, n: int) -> networkx.MultiDiGraph[Any]:
    """Return the routers and channels of `FatTree::_BuildNet`, by its formulas for outputs and inputs."""
    routers, graph, output = k ** (n - 1), networkx.MultiDiGraph(), {}
    for level, position, port in itertools.product(range(n), range(routers), range(k)):
        if level < n - 1:
            output[2 * k * routers * level + position * k + port] = (level, position)
        if level > 0:
            output[2 * k * routers * level - k * routers + position * k + port] = (level, position)
    for level, position, port in itertools.product(range(n), range(routers), range(k)):
        for other, first in ((level + 1, 2 * k * routers * (level + 1) - k * routers),
                             (level - 1, 2 * k * routers * (level - 1))):  # fmt: skip
            if 0 <= other < n:
                span = k ** (n - 1 - min(level, other))
                branch = span // k
                area, place = divmod(position, span)
                channel = first + area * span * k + port * branch * k + place % branch * k + place // branch
                graph.add_edge(output[channel], (level, position))
    nodes = {(n - 1, position): frozenset(range(position * k, position * k + k)) for position in range(routers)}
    networkx.set_node_attributes(graph, {router: nodes.get(router) for router in graph}, "nodes")
    return graph


@pytest.mark.parametrize(("k", "n"), [(2, 2), (2, 3), (3, 2), (3, 3), (2, 4)])
def test_an_own_fat_tree_has_the_same_links_between_the_same_nodes(k: int, n: int) -> None:
    machine = point(TREE | {"down": [k] * n, "up": [k] * (n - 1)}).machine.build()
    ours: networkx.MultiDiGraph[Any] = networkx.MultiDiGraph(
        zip(machine.link_tail.tolist(), machine.link_head.tolist(), strict=True)
    )
    for router in ours:
        on_it = np.flatnonzero(machine.node_router == router)
        ours.nodes[router]["nodes"] = frozenset(on_it.tolist()) or None
    theirs = fat_tree_of_booksim2(k, n)
    assert theirs.number_of_edges() == machine.links == 2 * (n - 1) * k**n
    assert networkx.is_isomorphic(ours, theirs, node_match=lambda one, two: one["nodes"] == two["nodes"])


@pytest.mark.parametrize(("traffic", "name"), [("bit-reverse", "bitrev"), ("transpose", "transpose"),
                                               ("shuffle", "shuffle"), ("complement", "bitcomp")])  # fmt: skip
def test_permutations_by_their_name(traffic: str, name: str, tmp_path: Path) -> None:
    """The rate of a permutation is the load; that of uniform traffic is raised by 16 / 15, for the sender itself."""
    values = config(point(TORUS, "dimension-order", OFFERED | {"traffic": traffic}), tmp_path)
    assert (values["traffic"], float(values["injection_rate"])) == (name, 0.25)
    uniform = config(point(TORUS, "dimension-order"), tmp_path)
    assert uniform["traffic"] == "uniform" and float(uniform["injection_rate"]) == pytest.approx(0.25 * 16 / 15)


REFUSED: dict[str, dict[str, Any]] = {
    "periodic arrivals": {"offered": OFFERED | {"arrivals": "periodic"}},
    "messages of two packets": {"offered": OFFERED | {"message": "128 B"}},
    "parts of a flit": {"offered": OFFERED | {"message": "40 B"}},
    "fast routers": {"router_latency": "48 ns"},
    "slow routers": {"router_latency": "80 ns"},
    "routers of two cycles without speedup": {"router_latency": "32 ns"},
    "routers of four cycles with speedup": {"speedup": 2},
    "another traffic": {"machine": TORUS, "routing": "dimension-order", "offered": OFFERED | {"traffic": "tornado"}},
    "latencies of a torus": {"machine": TORUS | {"latency": "32 ns"}, "routing": "dimension-order"},
    "latencies of a dragonfly": {"machine": BALANCED | {"latency": "16 ns"}},
    "a dragonfly that is not balanced": {"machine": BALANCED | {"groups": 5}},
    "two bandwidths": {"machine": PAIR | {"bandwidth": {"links": "1 GB/s", "host": "2 GB/s"}}},
    "a permutation of 18 nodes": {
        "machine": TORUS | {"shape": [3, 3], "nodes_per_router": 2},
        "offered": OFFERED | {"traffic": "complement"},
    },
    "links of nodes in an anynet": {"machine": PAIR | {"latency": "32 ns"}},
    "a ring": {"machine": TORUS | {"shape": [5]}},
    "Valiant": {"machine": TORUS, "routing": "valiant"},
    "virtual channels of the network": {"virtual_channels": 2},
}


@pytest.mark.parametrize("parts", REFUSED.values(), ids=REFUSED)
def test_what_booksim2_cannot_do(parts: dict[str, Any]) -> None:
    of = point(**parts)
    assert engine_of(of.engine).unsupported(of, of.machine.build())


ROUTER_CYCLES = {1: 4, 1.5: 3, 2: 2, 3: 2, 4: 1}
"""Cycles of a router by speedup: four stages, as many of them in a cycle."""


def test_jobs_are_refused() -> None:
    job = {"share": 1.0, "pattern": {"kind": "all-to-all", "message": "1 kB"}}
    of = Point.model_validate({"machine": PAIR, "routing": "minimal", "jobs": [job], "engine": "booksim2", "seed": 1})
    assert engine_of(of.engine).unsupported(of, of.machine.build())


@pytest.mark.parametrize(("speedup", "cycles"), ROUTER_CYCLES.items())
def test_stages_of_a_router_share_cycles(speedup: float, cycles: int) -> None:
    of = point(speedup=speedup, router_latency=f"{16 * cycles} ns")
    assert engine_of(of.engine).unsupported(of, of.machine.build()) is None


class TestWithTheProgram:
    @pytest.fixture(autouse=True)
    def installed(self, known: None) -> None:
        probe = engine_of(point().engine).probe()
        if not probe.found:
            pytest.skip(str(probe.reason))

    @pytest.mark.parametrize(
        ("machine", "routing"),
        [
            (TORUS, "dimension-order"),
            (PAIR | {"shape": [4]}, "minimal"),
            (TREE | {"down": [2, 2, 2], "up": [2, 2]}, "minimal"),
        ],
    )
    def test_latency_at_low_load_is_that_without_load(
        self, machine: dict[str, Any], routing: str, tmp_path: Path
    ) -> None:
        of = point(machine, routing, OFFERED | {"load": 0.05})
        record = attempt_point(of, engine_of(of.engine), built(of.machine), Limits(), tmp_path)
        assert record["status"] == "done", record["reason"]
        row, stdout = record["latency"], (tmp_path / "stdout").read_text()
        counted = [int(count) for count in re.findall(r"# of (?:switches|channels|nodes).*= *(\d+)$", stdout, re.M)]
        analysed = built(of.machine).machine
        assert counted in ([], [analysed.routers, analysed.links, analysed.nodes])
        # A source queues 0.05 x 3 / (2 x 0.95) cycles; about as much in the network.
        assert row["latency_mean_ns"] == pytest.approx(row["zero_load_ns"], rel=0.03)
        assert row["latency_mean_ns"] > row["zero_load_ns"] * 0.99
        assert row["accepted_load"] == pytest.approx(0.05, rel=0.05)
        assert np.isfinite(row["accepted_min"])

    @pytest.mark.parametrize("speedup", [1, 2, 4])
    def test_latency_of_a_message_alone(self, speedup: float, tmp_path: Path) -> None:
        """Three links and two routers, three flits behind the head, and 0.05 x 3 / (2 x 0.95) cycles in the queue."""
        cycles = ROUTER_CYCLES[speedup]
        offered = OFFERED | {"traffic": "complement", "load": 0.05}
        of = point(offered=offered, speedup=speedup, router_latency=f"{16 * cycles} ns")
        record = attempt_point(of, engine_of(of.engine), built(of.machine), Limits(), tmp_path)
        assert record["status"] == "done", record["reason"]
        assert record["latency"]["zero_load_ns"] == 16 * (3 + 2 * cycles + 4)
        queue = 0.05 * 3 / (2 * 0.95)
        assert record["latency"]["latency_mean_ns"] == pytest.approx(16 * (7 + 2 * cycles + queue), rel=0.003)
