"""The engine of `extensions/booksim2.py`, with recorded output, and with BookSim2 where it is installed."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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
from fabricstudy.engine.steady_state import SteadyRun

from ...machines import DRAGONFLY

ROOT = Path(__file__).resolve().parents[3]
RECORDED = ROOT / "tests/data/booksim2"
FINISHED = 255
"""Exit code of BookSim2 after a finished run."""

PAIR = {"kind": "mesh", "shape": [2], "nodes_per_router": 1, "bandwidth": "1 GB/s", "latency": "16 ns"}
TORUS = {"kind": "torus", "shape": [4, 4], "nodes_per_router": 1, "bandwidth": "1 GB/s", "latency": "16 ns"}
OFFERED = {"traffic": "uniform", "load": 0.25, "message": "64 B", "warmup": 100, "measured": 200}


@pytest.fixture(autouse=True)
def known() -> Iterator[None]:
    package = load_extensions(["booksim2.py"], ROOT / "extensions")
    yield
    unload_extensions(package)


def point(machine: dict[str, Any] = PAIR, routing: Any = "minimal", offered: Any = OFFERED, **network: Any) -> Point:
    parts = {"packet": "64 B", "buffer": "1 kB", "router_latency": "64 ns"} | network
    engine = {"kind": "booksim2", "replications": 8}
    sections = {"machine": machine, "routing": routing, "offered": offered, "network": parts, "engine": engine}
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
    of = point(offered=OFFERED | {"warmup": 10_000, "measured": 40_000})
    config(of, tmp_path)
    assert (tmp_path / part).read_text() == (RECORDED / part).read_text()


def read_offered(of: Point, folder: Path, exit_code: int = FINISHED) -> SteadyRun:
    engine = engine_of(of.engine)
    engine.check_exit(folder, exit_code)
    return engine.read_offered(BuiltPoint(of, of.machine.build()), folder)


def test_the_recorded_latency_is_that_of_a_geometric_queue(tmp_path: Path) -> None:
    """Two nodes send to each other: three links and two routers without load, 240 ns, and the queue of the sources.

    Arrivals in each cycle with probability 1/16 and a service of 4 cycles wait for 0.25 x 3 / (2 x 0.75) cycles, 8 ns.
    """
    for name in ("statistics", "booksim.config"):
        shutil.copy(RECORDED / name, tmp_path)
    (tmp_path / "stdout").write_text("")
    of = point(offered=OFFERED | {"warmup": 10_000, "measured": 40_000})
    run = read_offered(of, tmp_path)
    assert run.latency_sum_ns.sum() / run.measured.sum() == pytest.approx(248, rel=0.01)
    assert run.window_ns == 8 * 20_000 * 16 and len(run.created) == 8
    assert run.node_created / (run.window_ns / run.message_ns) == pytest.approx([0.25, 0.25], rel=0.03)
    assert run.created.sum() == run.node_created.sum() and abs(run.created.sum() - run.measured.sum()) <= 8 * 4


def statistics(sent: str, accepted: str) -> str:
    rows = {"pair_sent": sent, "pair_plat": "9 20 30 9", "accepted_packets": accepted}
    return "%====\n" + "".join(f"{name}(1,:) = [ {row} ];\n" for name, row in rows.items())


def test_messages_of_a_node_to_itself_are_not_counted(tmp_path: Path) -> None:
    """Eight simulations with 7 and 5 messages to the nodes themselves, 10 and 20 to the other one."""
    of = point()
    window = 100  # cycles: 200 messages of 4 cycles in 8 simulations
    (tmp_path / "statistics").write_text(8 * statistics("7 10 20 5", f"{27 / window} {15 / window}"))
    (tmp_path / "stdout").write_text("")
    run = read_offered(of, tmp_path)
    assert run.node_created.tolist() == [80, 160] and run.node_arrived.tolist() == [160, 80]
    assert run.measured.tolist() == run.created.tolist() == [30] * 8
    assert run.latency_sum_ns == pytest.approx([(10 * 20 + 20 * 30) * 16.0] * 8)


BROKEN = {
    "no file": (None, "", FINISHED),
    "a simulation is missing": (7 * statistics("0 1 1 0", "1 1"), "", FINISHED),
    "of another machine": (8 * statistics("0 1 1", "1 1"), "", FINISHED),
    "unstable": (8 * statistics("0 1 1 0", "1 1"), "Simulation unstable, ending ...\n", FINISHED),
    "exit code of an unstable one": (8 * statistics("0 1 1 0", "1 1"), "", 0),
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


@pytest.mark.parametrize(
    ("machine", "routing", "topology"),
    [
        (TORUS, "dimension-order", {"topology": "torus", "routing_function": "dim_order", "k": "4", "n": "2"}),
        (TORUS | {"kind": "mesh"}, "dimension-order", {"topology": "mesh", "k": "4", "n": "2"}),
        (BALANCED, "minimal", {"topology": "dragonflynew", "routing_function": "min", "k": "2", "n": "1"}),
        (PAIR | {"shape": [3]}, "minimal", {"topology": "anynet", "network_file": "anynet"}),
        (PAIR | {"kind": "fat-tree", "shape": None, "nodes_per_router": None, "radix": 4}, "minimal",
         {"topology": "anynet"}),
    ],
)  # fmt: skip
def test_topologies(machine: dict[str, Any], routing: str, topology: dict[str, str], tmp_path: Path) -> None:
    of = point({name: value for name, value in machine.items() if value is not None}, routing)
    assert engine_of(of.engine).unsupported(of, of.machine.build()) is None
    assert topology.items() <= config(of, tmp_path).items()


def test_each_cable_is_in_the_file_once_each_way(tmp_path: Path) -> None:
    of = point({"kind": "fat-tree", "radix": 4, "bandwidth": "1 GB/s", "latency": "16 ns"})
    config(of, tmp_path)
    machine = of.machine.build()
    lines = (tmp_path / "anynet").read_text().splitlines()
    links = sorted(zip(machine.link_tail.tolist(), machine.link_head.tolist(), strict=True))
    joined = [line.split() for line in lines if line.split()[2] == "router"]
    assert sorted((int(words[1]), int(words[3])) for words in joined) == links
    nodes = {int(words[3]): int(words[1]) for words in map(str.split, lines) if words[2] == "node"}
    assert [nodes[node] for node in range(machine.nodes)] == machine.node_router.tolist()


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
    "another traffic": {"machine": TORUS, "routing": "dimension-order", "offered": OFFERED | {"traffic": "tornado"}},
    "latencies of a torus": {"machine": TORUS | {"latency": "32 ns"}, "routing": "dimension-order"},
    "latencies of a dragonfly": {"machine": BALANCED | {"latency": "16 ns"}},
    "a dragonfly that is not balanced": {"machine": BALANCED | {"groups": 5}},
    "two bandwidths": {"machine": PAIR | {"bandwidth": {"links": "1 GB/s", "host": "2 GB/s"}}},
    "links of nodes in an anynet": {"machine": PAIR | {"latency": "32 ns"}},
    "a ring": {"machine": TORUS | {"shape": [5]}},
    "Valiant": {"machine": TORUS, "routing": "valiant"},
    "virtual channels of the network": {"virtual_channels": 2},
}


@pytest.mark.parametrize("parts", REFUSED.values(), ids=REFUSED)
def test_what_booksim2_cannot_do(parts: dict[str, Any]) -> None:
    of = point(**parts)
    assert engine_of(of.engine).unsupported(of, of.machine.build())


def test_jobs_are_refused() -> None:
    job = {"share": 1.0, "pattern": {"kind": "all-to-all", "message": "1 kB"}}
    of = Point.model_validate({"machine": PAIR, "routing": "minimal", "jobs": [job], "engine": "booksim2", "seed": 1})
    assert engine_of(of.engine).unsupported(of, of.machine.build())


class TestWithTheProgram:
    @pytest.fixture(autouse=True)
    def installed(self, known: None) -> None:
        probe = engine_of(point().engine).probe()
        if not probe.found:
            pytest.skip(str(probe.reason))

    @pytest.mark.parametrize(("machine", "routing"), [(TORUS, "dimension-order"), (PAIR | {"shape": [4]}, "minimal")])
    def test_latency_at_low_load_is_that_without_load(
        self, machine: dict[str, Any], routing: str, tmp_path: Path
    ) -> None:
        of = point(machine, routing, OFFERED | {"load": 0.05})
        record = attempt_point(of, engine_of(of.engine), built(of.machine), Limits(), tmp_path)
        assert record["status"] == "done", record["reason"]
        row = record["latency"]
        # A source queues 0.05 x 3 / (2 x 0.95) cycles; about as much in the network.
        assert row["latency_mean_ns"] == pytest.approx(row["zero_load_ns"], rel=0.03)
        assert row["latency_mean_ns"] > row["zero_load_ns"] * 0.99
        assert row["accepted_load"] == pytest.approx(0.05, rel=0.05)
        assert np.isfinite(row["accepted_min"])
