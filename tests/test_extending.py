"""The examples of the pages on extending, extracted and used as a study's own files."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

import networkx as nx
import numpy as np
import pytest
import yaml

from fabricstudy.core.extensions import load_extensions
from fabricstudy.engine.point import PlannedPoint, Point, machine_id, point_id
from fabricstudy.engine.registry import engine_named
from fabricstudy.engine.settings import Limits
from fabricstudy.engine.single_point import simulate_in_folder
from fabricstudy.machine.base import Topology
from fabricstudy.routing.base import Routing
from fabricstudy.routing.minimal import Minimal
from fabricstudy.schedule import Backfill, Jobs, NodePool, Order, simulate_schedule
from fabricstudy.structure.load import link_loads
from fabricstudy.structure.summary import describe_machine
from fabricstudy.study.file import load_study
from fabricstudy.study.plan import plan
from fabricstudy.workload.allocation.base import NO_JOB, Allocation, Request
from fabricstudy.workload.mapping import Slots, Tasks
from fabricstudy.workload.mapping.base import Mapping

from .machines import place_jobs, point_on

ROOT = Path(__file__).resolve().parents[1]
PAGE = "\n".join(
    (ROOT / f"docs/{name}.md").read_text() for name in ("extending", "extending-topology", "extending-routing")
)
BLOCKS = dict(re.findall(r"^```\w+ file=(\S+)\n(.*?)^```$", PAGE, re.M | re.S))
FILES = sorted(name for name in BLOCKS if name.endswith(".py"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all files of the pages."""
    path = tmp_path_factory.mktemp("page")
    for name, text in BLOCKS.items():
        (path / name).write_text(text)
    return path


@pytest.fixture(autouse=True)
def known(folder: Path) -> None:
    """Let all kinds of the page be known to a test."""
    load_extensions(FILES, folder)


def test_the_page_has_the_examples_that_are_tested_here() -> None:
    assert FILES == [
        "cyclic.py", "ecmp.py", "expansion.py", "mlfm.py", "mlfm_sizes.py", "stride.py", "tornado.py",
        "valiant_outside.py",
    ]  # fmt: skip


@pytest.mark.parametrize("arguments", [("check", "--ignore", "I001"), ("format", "--check")])
def test_the_examples_keep_to_the_style_of_the_house(folder: Path, arguments: tuple[str, ...]) -> None:
    command = [sys.executable, "-m", "ruff", *arguments, "--config", str(ROOT / "pyproject.toml"), *FILES]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("name", "rows"), [("tornado.yaml", 2), ("mlfm.yaml", 6), ("all-together.yaml", 1), ("valiant-outside.yaml", 3)]
)
def test_the_studies_are_planned(folder: Path, name: str, rows: int) -> None:
    assert len(plan(load_study(folder / name)).rows) == rows


RING: dict[str, Any] = {"kind": "torus", "shape": [8], "nodes_per_router": 1, "bandwidth": "1 GB/s"}


class TestTornado:
    def test_messages_by_hand(self) -> None:
        point = point_on(
            {"kind": "torus", "shape": [4], "nodes_per_router": 1, "bandwidth": "1 GB/s"}, pattern="tornado"
        )
        (job,) = place_jobs(point, point.machine.build())
        assert dict(zip(job.messages.source.tolist(), job.messages.destination.tolist(), strict=True)) == {
            0: 2, 1: 3, 2: 0, 3: 1,
        }  # fmt: skip
        assert len(job.messages) == point.jobs[0].pattern.traffic_messages(4)

    def test_it_loads_a_ring_as_its_literature_says(self) -> None:
        """On 8 routers each message takes 4 hops, half of it either way round: 2 messages on each of 16 links."""
        point = point_on(
            {"kind": "torus", "shape": [8], "nodes_per_router": 1, "bandwidth": "1 GB/s"}, pattern="tornado"
        )
        machine = point.machine.build()
        (job,) = place_jobs(point, machine)
        ends = (job.node_of_rank[job.messages.source], job.node_of_rank[job.messages.destination])
        assert link_loads(machine, *ends, job.messages.size_bytes, Minimal()).link_bytes.tolist() == [200_000.0] * 16


def mlfm(layers: int, columns: int, nodes: int = 1) -> Any:
    sizes = {"layers": layers, "columns": columns, "nodes_per_router": nodes}
    return Topology.model_validate({"kind": "mlfm", **sizes, "bandwidth": "1 GB/s"})


class TestMlfm:
    def test_the_published_cost(self) -> None:
        """Radix 2 h: h^3 + h^2 nodes, three ports and two links a node (Kathareios et al.)."""
        machine = mlfm(3, 4, 3).build()
        ports = np.bincount(machine.link_tail) + machine.nodes_of_router
        assert machine.nodes == 3**3 + 3**2 and set(ports) == {6}
        assert ports.sum() == 3 * machine.nodes and machine.cables + machine.nodes == 2 * machine.nodes

    @pytest.mark.parametrize("shape", [(1, 2, 1), (3, 4, 2), (2, 5, 1)])
    def test_closed_forms_are_those_of_the_arrays(self, shape: tuple[int, int, int]) -> None:
        config = mlfm(*shape)
        machine = config.build()
        assert (machine.routers, machine.nodes, machine.cables) == (config.routers, config.nodes, config.cables)
        assert machine.group is not None
        nodes_of_group = np.bincount(machine.group[machine.node_router], minlength=config.layers)
        assert nodes_of_group.tolist() == [config.group_nodes] * config.layers

    def test_two_columns_meet_in_one_middle_router_of_all_layers(self) -> None:
        config = mlfm(3, 4)
        machine = config.build()
        graph = nx.Graph(list(zip(machine.cable_tail.tolist(), machine.cable_head.tolist(), strict=True)))
        joined = [sorted({router % 4 for router in graph[middle]}) for middle in range(12, 18)]
        assert joined == [list(pair) for pair in itertools.combinations(range(4), 2)]
        assert all(graph.degree[middle] == 6 for middle in range(12, 18))
        # Routers of a column share three middle routers, those of different columns one: all are two hops apart.
        assert describe_machine(machine).diameter == 2 and describe_machine(machine).mean_hops == 2

    def test_who_simulates_it(self) -> None:
        machine, refusals = yaml_of("mlfm.yaml")["machine"], {}
        for name in ("analysis", "caminos", "sst", "codes"):
            point, engine = point_on(machine, engine=name), engine_named(name)
            assert engine.predict_cpu_s(point) >= 0
            refusals[name] = engine.unsupported(point, point.machine.build())
        assert refusals["analysis"] is None and refusals["caminos"] is None
        assert "nodes on each router" in str(refusals["sst"]) and "mlfm" in str(refusals["codes"])

    @pytest.mark.parametrize("routing", ["minimal", "valiant", "ugal"])
    def test_simulated(self, routing: str, tmp_path: Path) -> None:
        """With minimal routing, a byte between all nodes puts 24 bytes on a link.

        To each of three other columns go 2 x 6 bytes over a middle router; to the two others of the column 2 x 2 bytes
        each, over three middle routers alike: 12 + 8 / 3 up, and as much down.
        """
        probe = engine_named("caminos").probe()
        if not probe.found:
            pytest.skip(f"caminos: {probe.reason}")
        point = point_on(yaml_of("mlfm.yaml")["machine"], routing, message="4 kB")
        record = simulated(point, tmp_path / "run")
        (job,) = record["jobs"]
        assert record["status"] == "done", record["reason"]
        assert job["bound_ns"] <= job["runtime_ns"] < 4 * job["bound_ns"]
        built = point.machine.build()
        if routing != "ugal":
            source, goal = np.nonzero(~np.eye(built.nodes, dtype=bool))
            expected = link_loads(built, source, goal, np.full(len(source), 4000), point.routing).link_bytes.mean()
            assert record["links"][0]["load_mean_bytes"] == pytest.approx(expected, rel=0.05)
        if routing == "minimal":
            assert record["links"][0]["load_mean_bytes"] == pytest.approx((12 + 8 / 3) * 4000)


def yaml_of(name: str) -> Any:
    return yaml.safe_load(BLOCKS[name])


def simulated(point: Point, folder: Path) -> dict[str, Any]:
    own = PlannedPoint(point_id(point), machine_id(point.machine), point)
    found = simulate_in_folder(own, folder, Limits())
    record = found.get("record", found)
    assert isinstance(record, dict)
    return record


def test_stride_gives_nodes_by_hand() -> None:
    machine = mlfm(2, 2, 2).build()
    holder = np.full(machine.nodes, NO_JOB, dtype=np.int32)
    holder[1] = 0
    rng = np.random.default_rng(1)
    policy: Any = Allocation.model_validate({"kind": "stride", "stride": 3})
    # Free are 0, 2, 3, 4, 5, 6, 7: places 0, 3, 6, then 1, 4.
    assert policy.allocate(Request(machine, holder, 5, rng, rng)).nodes.tolist() == [0, 4, 7, 2, 5]


def test_cyclic_seats_by_hand() -> None:
    machine = mlfm(2, 2, 2).build()
    seats = Slots(machine, np.array([5, 6, 7], dtype=np.int32), 2)
    policy: Any = Mapping.model_validate("cyclic")
    core = policy.map_ranks(seats, Tasks(6), np.random.default_rng(1))
    assert seats.node_of_core[core].tolist() == [5, 6, 7, 5, 6, 7] and sorted(core) == list(range(6))


def test_sizes_by_hand(folder: Path) -> None:
    rows = load_study(folder / "sizes.yaml").analyses["sizes"].rows()
    assert rows[0] == {"radix": 8, "routers": 30, "nodes": 80}


def test_an_order_by_expansion_factor_by_hand() -> None:
    """At 100 s a job of 100 s has waited 99 s, one of 10 s only 20 s: 1.99 against 3, so the later one goes first."""
    nodes = NodePool(1)
    jobs = Jobs.of([0, 1, 80], [100, 100, 10], [100, 100, 10], [1, 1, 1])
    found = simulate_schedule(nodes, jobs, Order.model_validate("expansion"), Backfill.model_validate("none"))
    assert found.start_s.tolist() == [0, 110, 100]


class TestRoutings:
    MACHINE: ClassVar[dict[str, Any]] = yaml.safe_load(BLOCKS["valiant-outside.yaml"])["machine"]

    def test_paths_of_valiant_outside_by_hand(self) -> None:
        """Twelve of twenty routers are in other groups than those of both ends; within a group packets go straight."""
        machine = point_on(self.MACHINE).machine.build()
        routes: Any = Routing.model_validate("valiant-outside").routes(machine)
        assert machine.group is not None
        ends = machine.group[0], machine.group[19]
        paths = [path for _, path in routes.paths(0, 19)]
        assert len(paths) == 12 and all({*machine.group[path]} - {*ends} for path in paths)
        assert [path for _, path in routes.paths(0, 1)] == [[1]]

    def test_ecmp_takes_one_shortest_path_and_spreads_destinations(self) -> None:
        machine = point_on({"kind": "xgft", "down": [4, 4], "up": [4], "bandwidth": "1 GB/s"}).machine.build()
        source, goal = np.nonzero(~np.eye(machine.nodes, dtype=bool))
        size = np.ones(len(source))
        loads = [
            link_loads(machine, source, goal, size, Routing.model_validate(kind)).link_bytes
            for kind in ("destination-hash", "minimal")
        ]
        # Each pair of leaves has its own spine: 4 x 4 bytes on two of its cables, and 12 on all of them if they split.
        assert set(loads[0].tolist()) == {0.0, 16.0} and set(loads[1].tolist()) == {12.0}

    @pytest.mark.parametrize("engine", ["caminos", "flow", "packet", "sst"])
    @pytest.mark.parametrize("routing", ["valiant-outside", "destination-hash"])
    def test_simulated(self, routing: str, engine: str, tmp_path: Path) -> None:
        probe = engine_named(engine).probe()
        if not probe.found:
            pytest.skip(f"{engine}: {probe.reason}")
        point = point_on(self.MACHINE, routing, message="8 kB", engine=engine)
        record = simulated(point, tmp_path / "run")
        assert record["status"] == "done", record["reason"]
        (job,) = record["jobs"]
        assert job["bound_ns"] <= job["runtime_ns"] * 1.001
        built = point.machine.build()
        source, goal = np.nonzero(~np.eye(built.nodes, dtype=bool))
        expected = link_loads(built, source, goal, np.full(len(source), 8000), point.routing).link_bytes.mean()
        links = record["links"]
        found = np.average([row["load_mean_bytes"] for row in links], weights=[row["links"] for row in links])
        assert found == pytest.approx(expected, rel=0.06)
