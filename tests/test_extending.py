"""The examples of docs/extending.md, extracted from the page and used as a study's own files."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import yaml

from fabricstudy.engine.foreground import foreground
from fabricstudy.engine.point import PlannedPoint, Point, machine_id, point_id
from fabricstudy.engine.registry import engine_named
from fabricstudy.engine.settings import Limits
from fabricstudy.extensions import load_extensions
from fabricstudy.machine.base import Topology
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.minimal import Minimal
from fabricstudy.schedule import Backfill, Jobs, Order, Pool, simulate
from fabricstudy.structure.load import link_loads
from fabricstudy.structure.summary import structure
from fabricstudy.study.file import load_study
from fabricstudy.study.plan import plan
from fabricstudy.workload.allocation.base import Allocation
from fabricstudy.workload.allocation.request import NOBODY, Request
from fabricstudy.workload.mapping import Slots, Tasks
from fabricstudy.workload.mapping.base import Mapping

from .machines import place_jobs, point_on

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs/extending.md").read_text()
BLOCKS = dict(re.findall(r"^```\w+ file=(\S+)\n(.*?)^```$", PAGE, re.M | re.S))
FILES = sorted(name for name in BLOCKS if name.endswith(".py"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all files of the page."""
    path = tmp_path_factory.mktemp("page")
    for name, text in BLOCKS.items():
        (path / name).write_text(text)
    return path


@pytest.fixture(autouse=True)
def known(folder: Path) -> None:
    """Let all kinds of the page be known to a test."""
    load_extensions(FILES, folder)


def test_the_page_has_the_examples_that_are_tested_here() -> None:
    assert FILES == ["cyclic.py", "expansion.py", "megafly.py", "megafly_sizes.py", "stride.py", "tornado.py"]


@pytest.mark.parametrize("arguments", [("check", "--ignore", "I001"), ("format", "--check")])
def test_the_examples_keep_to_the_style_of_the_house(folder: Path, arguments: tuple[str, ...]) -> None:
    command = [sys.executable, "-m", "ruff", *arguments, "--config", str(ROOT / "pyproject.toml"), *FILES]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(("name", "rows"), [("tornado.yaml", 2), ("megafly.yaml", 6), ("all-together.yaml", 1)])
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


def megafly(groups: int, leaves: int, spines: int, nodes: int = 1, links: int = 1) -> Any:
    sizes = {"leaves_per_group": leaves, "spines_per_group": spines, "nodes_per_leaf": nodes}
    own = {"kind": "megafly", "groups": groups, **sizes, "links_per_group_pair": links, "bandwidth": "1 GB/s"}
    return Topology.model_validate(own)


def levels(machine: Machine, config: Any) -> Any:
    """Whether each router is a leaf."""
    return np.arange(machine.routers) % config.routers_per_group < config.leaves_per_group


SHAPES = [(5, 2, 2, 2, 1), (4, 2, 3, 1, 1), (2, 1, 1, 1, 1), (3, 4, 2, 2, 3), (9, 4, 4, 4, 2), (6, 3, 4, 2, 3)]


class TestMegafly:
    def test_counts_by_hand(self) -> None:
        """5 groups of 2 leaves and 2 spines: 4 local cables a group, 10 pairs of groups; each router has 4 ports."""
        machine = megafly(5, 2, 2, 2).build()
        assert (machine.routers, machine.nodes, machine.cables, machine.radix) == (20, 20, 30, 4)

    def test_the_published_size(self) -> None:
        """Radix 64: 1,025 groups of 32 + 32 routers and 1,024 nodes (Flajslik et al. 2018; 32 x 32 + 1 groups)."""
        config = megafly(1025, 32, 32, 32)
        assert (config.nodes, config.routers, config.global_ports_per_spine) == (1_049_600, 65_600, 32)

    @pytest.mark.parametrize("shape", SHAPES)
    def test_closed_forms_are_those_of_the_arrays(self, shape: tuple[int, ...]) -> None:
        config = megafly(*shape)
        machine = config.build()
        assert (machine.routers, machine.nodes, machine.cables) == (config.routers, config.nodes, config.cables)
        assert machine.group is not None
        nodes_of_group = np.bincount(machine.group[machine.node_router])
        assert nodes_of_group.tolist() == [config.group_nodes] * config.groups

    @pytest.mark.parametrize("shape", SHAPES)
    def test_the_graph_is_that_of_its_definition(self, shape: tuple[int, ...]) -> None:
        config = megafly(*shape)
        machine = config.build()
        leaf = levels(machine, config)
        assert np.array_equal(machine.nodes_of_router > 0, leaf)
        local = machine.cable_class == 0
        groups = machine.group
        assert groups is not None
        own = {tuple(sorted(pair)) for pair in zip(machine.cable_tail[local], machine.cable_head[local], strict=True)}
        every = {
            (a, b) if a < b else (b, a)
            for a in np.flatnonzero(leaf) for b in np.flatnonzero(~leaf) if groups[a] == groups[b]
        }  # fmt: skip
        assert (
            own == every and not leaf[machine.cable_tail[~local]].any() and not leaf[machine.cable_head[~local]].any()
        )
        cables = np.zeros((config.groups, config.groups), dtype=int)
        ends = groups[machine.cable_tail[~local]], groups[machine.cable_head[~local]]
        np.add.at(cables, ends, machine.cable_count[~local])
        assert np.array_equal(cables + cables.T, config.links_per_group_pair * (1 - np.eye(config.groups, dtype=int)))
        ports = np.bincount(machine.cable_tail[~local], machine.cable_count[~local], machine.routers)
        ports += np.bincount(machine.cable_head[~local], machine.cable_count[~local], machine.routers)
        assert ports.max() == config.global_ports_per_spine

    @pytest.mark.parametrize("shape", SHAPES)
    def test_hops(self, shape: tuple[int, ...]) -> None:
        """Two hops between leaves of a group, three between groups."""
        config = megafly(*shape)
        groups, leaves = config.groups, config.leaves_per_group
        found = structure(config.build())
        hops = groups * leaves * (2 * (leaves - 1) + 3 * (groups - 1) * leaves)
        assert found.diameter == 3 and found.mean_hops == pytest.approx(
            hops / (groups * leaves) / (groups * leaves - 1)
        )

    def test_minimal_paths_hold_one_global_hop_at_most(self) -> None:
        config = megafly(5, 2, 2)
        machine = config.build()
        graph = nx.Graph()
        for tail, head, kind in zip(machine.cable_tail, machine.cable_head, machine.cable_class, strict=True):
            graph.add_edge(int(tail), int(head), weight=machine.hop_weight[kind], glob=int(kind == 1))
        leaves = np.flatnonzero(levels(machine, config)).tolist()
        for a in leaves:
            for b in leaves:
                path = nx.dijkstra_path(graph, a, b)
                crossed = sum(graph[u][v]["glob"] for u, v in itertools.pairwise(path))
                assert crossed == (a // 4 != b // 4)

    def test_loads_of_all_to_all_by_hand(self) -> None:
        """5 groups of 2 leaves, 2 spines, 2 nodes a leaf, a byte between all nodes.

        A global link carries what 4 nodes send to 4: 16. Up and down between a leaf and a spine goes what 2 nodes send
        to the 4 nodes of each of the 2 groups that the spine leads to, 16, and half of the 4 to the other leaf: 18.
        """
        machine = megafly(5, 2, 2, 2).build()
        source, destination = np.nonzero(~np.eye(machine.nodes, dtype=bool))
        loads = link_loads(machine, source, destination, np.ones(len(source)), Minimal()).link_bytes
        assert set(loads[machine.link_class == 1]) == {16.0} and set(loads[machine.link_class == 0]) == {18.0}

    @pytest.mark.parametrize(("shape", "links"), [((4, 2, 3, 1, 1), 4), ((2, 2, 2, 1, 2), 2), ((5, 2, 2, 2, 1), 6)])
    def test_bisection_by_hand(self, shape: tuple[int, ...], links: int) -> None:
        """Two groups against two: 4 links. One against one, twice joined: 2. Two against two, and the fifth between.

        The fifth group's leaves part, each with the spine whose groups are on its side: 4 links, and 2 local ones.
        """
        found = structure(megafly(*shape).build()).bisection
        assert (found.lower_Bps, found.upper_Bps) == (links * 1e9, links * 1e9)

    def test_who_simulates_it(self) -> None:
        machine, refusals = yaml_of("megafly.yaml")["machine"], {}
        for name in ("analysis", "caminos", "sst", "codes"):
            point, engine = point_on(machine, engine=name), engine_named(name)
            assert engine.predict_cpu_s(point) >= 0
            refusals[name] = engine.unsupported(point, point.machine.build())
        assert refusals["analysis"] is None and refusals["caminos"] is None
        assert "nodes on each router" in str(refusals["sst"]) and "megafly" in str(refusals["codes"])

    @pytest.mark.parametrize("routing", ["minimal", "valiant", "ugal"])
    def test_simulated(self, routing: str, tmp_path: Path) -> None:
        probe = engine_named("caminos").probe()
        if not probe.found:
            pytest.skip(f"caminos: {probe.reason}")
        machine = yaml_of("megafly.yaml")["machine"]
        point = point_on(machine, routing, message="4 kB")
        record = simulated(point, tmp_path / "run")
        (job,) = record["jobs"]
        assert record["status"] == "done", record["reason"]
        assert job["bound_ns"] <= job["runtime_ns"] < 4 * job["bound_ns"]
        classes = {row["class"]: row for row in record["links"]}
        if routing == "minimal":
            # Each byte between groups takes one global hop, as the loads by hand say.
            assert classes["global"]["load_mean_bytes"] == 16 * 4000
            assert classes["local"]["load_mean_bytes"] == 18 * 4000
        if routing == "valiant":
            built = point.machine.build()
            ends = np.nonzero(~np.eye(built.nodes, dtype=bool))
            expected = link_loads(built, *ends, np.full(len(ends[0]), 4000), point.routing).link_bytes
            on_global = expected[built.link_class == 1].mean()
            assert on_global > 1.5 * 16 * 4000
            assert classes["global"]["load_mean_bytes"] == pytest.approx(on_global, rel=0.05)


def yaml_of(name: str) -> Any:
    return yaml.safe_load(BLOCKS[name])


def simulated(point: Point, folder: Path) -> dict[str, Any]:
    own = PlannedPoint(point_id(point), machine_id(point.machine), point)
    found = foreground(own, folder, Limits())
    record = found.get("record", found)
    assert isinstance(record, dict)
    return record


def test_stride_gives_nodes_by_hand() -> None:
    machine = megafly(2, 2, 1, 2).build()
    holder = np.full(machine.nodes, NOBODY, dtype=np.int32)
    holder[1] = 0
    rng = np.random.default_rng(1)
    policy: Any = Allocation.model_validate({"kind": "stride", "stride": 3})
    # Free are 0, 2, 3, 4, 5, 6, 7: places 0, 3, 6, then 1, 4.
    assert policy.allocate(Request(machine, holder, 5, rng, rng)).nodes.tolist() == [0, 4, 7, 2, 5]


def test_cyclic_seats_by_hand() -> None:
    machine = megafly(2, 2, 1, 2).build()
    seats = Slots(machine, np.array([5, 6, 7], dtype=np.int32), 2)
    policy: Any = Mapping.model_validate("cyclic")
    core = policy.map_ranks(seats, Tasks(6), np.random.default_rng(1))
    assert seats.node_of_core[core].tolist() == [5, 6, 7, 5, 6, 7] and sorted(core) == list(range(6))


def test_sizes_by_hand(folder: Path) -> None:
    rows = load_study(folder / "all-together.yaml").analyses["sizes"].rows()
    assert rows[0] == {"radix": 8, "groups": 17, "routers": 136, "nodes": 272}


def test_an_order_by_expansion_factor_by_hand() -> None:
    """At 100 s a job of 100 s has waited 99 s, one of 10 s only 20 s: 1.99 against 3, so the later one goes first."""
    nodes = Pool(1)
    jobs = Jobs.of([0, 1, 80], [100, 100, 10], [100, 100, 10], [1, 1, 1])
    found = simulate(nodes, jobs, Order.model_validate("expansion"), Backfill.model_validate("none"))
    assert found.start_s.tolist() == [0, 110, 100]
