"""The packet engine through its adapter: closed forms, bounds, deadlock, traffic classes and congestion management."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from fabricstudy.engine.attempt import attempt_point
from fabricstudy.engine.built_point import BuiltPoint
from fabricstudy.engine.bundled import RESULT
from fabricstudy.engine.definitions import built
from fabricstudy.engine.engine import Engine
from fabricstudy.engine.failures import EngineFailure, Unsupported
from fabricstudy.engine.offered_traffic import OfferedRuns
from fabricstudy.engine.outcome import EngineResult
from fabricstudy.engine.packet.adapter import Packet
from fabricstudy.engine.point import Point
from fabricstudy.engine.settings import Limits
from fabricstudy.engine.steady_state import MAX_GROWTH, SteadyRun, growth, state_of
from fabricstudy.engine.virtual_channels import channel_classes
from fabricstudy.machine.base import Topology
from fabricstudy.machine.graph import LinkClass, Machine
from fabricstudy.routing.base import Routing
from fabricstudy.workload.messages import PlacedJob

from ..machines import job_of, line, point_on
from .run_caminos import run
from .test_bounds import FAMILIES, ROUTINGS, bounded, cabled, record_of
from .test_congestion import simulated, victim_point

pytestmark = pytest.mark.skipif(not Engine(Packet).probe().found, reason=str(Engine(Packet).probe().reason))

EXTENSIONS = ["twisted_torus"]
TEN = (
    "dragonfly", "express-mesh", "fat-tree", "hypercube", "hyperx", "jellyfish", "megafly", "slim-fly", "torus", "xgft",
)  # fmt: skip
ROUTER_NS = 100.0


def topology(kind: str, **more: Any) -> Topology:
    return Topology.model_validate(
        {"kind": kind, "bandwidth": "1 GB/s"} | FAMILIES[kind] | more, by_alias=True, by_name=False
    )


def fitting(machine: Topology) -> list[str]:
    """Return the routings that a machine has all that they need for."""
    return [kind for kind in ROUTINGS if Routing.model_validate({"kind": kind}).needs in (None, *machine.traits)]


def simulate(
    folder: Path, machine: Machine, jobs: list[PlacedJob], routing: str = "minimal", **network: Any
) -> tuple[EngineResult, dict[str, Any]]:
    """Return the result as read, and as written, of jobs on a machine."""
    one = {"nodes": 2, "pattern": {"kind": "idle"}}
    classes: dict[str | None, float] = network.get("classes", {None: 1.0})
    written = [one | ({"class": name} if name else {}) for name in classes]
    any_machine = {"kind": "mesh", "shape": [3, 3], "bandwidth": "1 GB/s"}
    point = point_on(any_machine, routing, engine="packet", jobs=written[: len(jobs)], network=network)
    folder.mkdir(exist_ok=True)
    exit_code = run(Engine(Packet).write(BuiltPoint(point, machine, jobs), folder), folder)
    return Engine(Packet).result(BuiltPoint(point, machine, jobs), folder, exit_code), json.loads(
        (folder / RESULT).read_text()
    )


def unequal(machine: Machine) -> Machine:
    """Return the machine with links that differ in bandwidth and latency by their class."""
    speeds, latencies = itertools.cycle((2e9, 1e9, 5e9)), itertools.cycle((13.0, 700.0, 31.5))
    classes = (LinkClass(of.name, next(speeds), next(latencies)) for of in machine.classes)
    return replace(machine, classes=tuple(classes), host=LinkClass("host", 4e9, 7.25))


def times_ps(machine: Machine, source: int, goal: int, size: int) -> set[int]:
    """Return the times of a packet on all lightest paths between two nodes."""
    graph = nx.Graph()
    for tail, head, of in zip(machine.cable_tail, machine.cable_head, machine.cable_class, strict=True):
        assert not graph.has_edge(tail, head)
        graph.add_edge(tail, head, weight=machine.hop_weight[of], of=machine.classes[of])
    times = set()
    ends = machine.node_router[source], machine.node_router[goal]
    for path in nx.all_shortest_paths(graph, *ends, weight="weight"):
        links = [machine.host, *(graph.edges[hop]["of"] for hop in itertools.pairwise(path)), machine.host]
        latency_ns = sum(link.latency_ns for link in links) + ROUTER_NS * len(path)
        times.add(round(1e3 * latency_ns + size * 1e12 / min(link.bandwidth_Bps for link in links)))
    return times


@pytest.mark.parametrize("kind", TEN)
def test_a_packet_alone_takes_latencies_and_the_bottleneck(kind: str, tmp_path: Path) -> None:
    machine, rng = unequal(topology(kind).build()), np.random.default_rng(1)
    for _ in range(6):
        source, goal = rng.choice(machine.nodes, 2, replace=False).tolist()
        size = int(rng.integers(1, 2001))
        _, result = simulate(tmp_path, machine, [job_of([source, goal], [(0, 0, 1, size)])])
        assert result["end_ps"] in times_ps(machine, source, goal, size)


@pytest.mark.parametrize("speeds", [(), (1e9,), (1e9, 4e9), (4e9, 2e9), (4e9, 1e9, 2e9), (2e9, 2e9, 2e9)])
def test_a_stream_has_the_rate_of_its_slowest_link(speeds: tuple[float, ...], tmp_path: Path) -> None:
    """10 MB between two nodes that are some hops apart, of unequal or equal links."""
    machine = unequal(line(list(speeds) or [1e9], host_Bps=4e9, nodes=2))
    classes = tuple(replace(of, bandwidth_Bps=speed) for of, speed in zip(machine.classes, speeds, strict=False))
    machine = replace(machine, classes=classes or machine.classes)
    goal = 2 * len(speeds) + 1
    _, result = simulate(tmp_path, machine, [job_of([0, goal], [(0, 0, 1, 10_000_000)])])
    assert {result["end_ps"]} == times_ps(machine, 0, goal, 10_000_000)


@pytest.mark.parametrize("kind", FAMILIES)
def test_no_runtime_is_below_its_bound(kind: str, tmp_path: Path) -> None:
    machine = topology(kind, bandwidth="1 GB/s", cores_per_node=1)
    records = [record_of(machine, routing, "packet", tmp_path / routing) for routing in fitting(machine)]
    assert len([bounded(record) for record in records if record["status"] != "unsupported"]) >= 2


@pytest.mark.parametrize("seed", range(4))
def test_no_runtime_on_unequal_cables_is_below_its_bound(seed: int, tmp_path: Path) -> None:
    machine = cabled(tmp_path / "machine", seed)
    for routing in ("minimal", "adaptive", "valiant", "ugal"):
        pattern = {"kind": ("stencil", "all-to-all")[seed % 2], "message": "25 kB"}
        bounded(record_of(machine, routing, "packet", tmp_path / routing, seed, pattern=pattern))


@pytest.mark.parametrize("kind", TEN)
def test_links_carry_each_byte_once_for_each_hop(kind: str, tmp_path: Path) -> None:
    machine, rng = topology(kind).build(), np.random.default_rng(2)
    ends = [rng.choice(machine.nodes, 2, replace=False).tolist() for _ in range(3 * machine.nodes)]
    messages = [(0, source, goal, int(rng.integers(1, 9000))) for source, goal in ends]
    _, result = simulate(tmp_path, machine, [job_of(list(range(machine.nodes)), messages)])
    graph = nx.Graph()
    for tail, head, of in zip(machine.cable_tail, machine.cable_head, machine.cable_class, strict=True):
        graph.add_edge(tail, head, weight=machine.hop_weight[of])
    far = dict(nx.all_pairs_dijkstra_path_length(graph))
    router, weight = machine.node_router, np.repeat(np.array(machine.hop_weight)[machine.cable_class], 2)
    expected = sum(size * far[router[source]][router[goal]] for _, source, goal, size in messages)
    assert np.dot(result["link_bytes"], weight) == expected
    assert result["injected_bytes"] == result["ejected_bytes"] == sum(size for *_, size in messages)


def neighbours(offsets: list[tuple[int, int, int]]) -> list[tuple[int, int]]:
    """Return each node of a 3 x 3 x 3 torus with those at some offsets."""
    cells = np.array(list(np.ndindex(3, 3, 3)))
    return [(source, int((cells[source] + of) % 3 @ (9, 3, 1))) for source in range(27) for of in offsets]


UNITS = [(1, 0, 0), (0, 1, 0), (0, 0, 1)]
OPPOSITE = [(-1, 0, 0), (0, -1, 0), (0, 0, -1)]


@pytest.mark.parametrize("size", [2000, 16_000, 100_000, 1_000_000, 4_000_000])
@pytest.mark.parametrize(
    "pairs",
    [neighbours(UNITS + OPPOSITE), neighbours([UNITS[0], OPPOSITE[0]]), neighbours([(1, 1, 1)])],
    ids=["halo", "ring", "permutation"],
)
def test_messages_that_share_no_link_take_the_time_of_one(
    pairs: list[tuple[int, int]], size: int, tmp_path: Path
) -> None:
    """Nodes have links a hundred times faster than cables, so that they hold little up."""
    machine = topology("torus", shape=[3, 3, 3], bandwidth={"links": "1 GB/s", "host": "100 GB/s"}).build()
    job = job_of(list(range(27)), [(0, *pair, size) for pair in pairs])
    _, result = simulate(tmp_path, machine, [job], "dimension-order")
    assert max(result["link_bytes"]) == size
    latency_ps = max(max(times_ps(machine, *pair, 0)) for pair in pairs)
    # The last of its messages begins behind a packet of each other one.
    injection_ps = 10 * (len(pairs) // 27 - 1) * min(size, 2000)
    assert 1000 * size < result["end_ps"] <= 1.02 * 1000 * size + latency_ps + injection_ps


def offered_run(machine: Topology, routing: str, folder: Path, traffic: str) -> SteadyRun:
    """Return a run at 1.2 times the saturation bound with the least buffers and channels."""
    analysed, network = built(machine), {"packet": "256 B", "buffer": "1024 B", "buffer_per": "channel"}
    least = channel_classes(Routing.model_validate({"kind": routing}), analysed.machine)
    offered = {"traffic": traffic, "load": 0.01, "message": "512 B", "warmup": 50, "measured": 1000}
    sections = {"machine": machine, "routing": {"kind": routing}, "engine": "packet", "seed": 1, "offered": offered}
    point = Point.model_validate(
        sections | {"network": network | {"virtual_channels": least}}, by_alias=True, by_name=False
    )
    folder.mkdir()
    record = attempt_point(point, Engine(Packet), analysed, Limits(), folder)
    if record["status"] == "unsupported":
        raise Unsupported(record["reason"])
    assert record["status"] == "done" and point.offered is not None, record["reason"]
    load = 1.2 * record["latency"]["saturation_bound"]
    return OfferedRuns(point, Engine(Packet), analysed.machine, Limits(), folder, {"runs": []}).at(load)


def is_overloaded(run: SteadyRun) -> bool:
    """Return whether the load is not sustained, by the rule of the saturation search.

    By its interval alone, Valiant's run on the mesh is undecided with 25 of 60 seeds.
    """
    return state_of(run) == "saturated" or growth(run).mean > MAX_GROWTH


def goes_on(run: SteadyRun) -> bool:
    """Return whether as many messages arrive in the last batches as in those before."""
    assert run.arrived is not None
    return float(run.arrived[-5:].mean()) > 0.7 * float(run.arrived.mean())


@pytest.mark.parametrize("kind", sorted({*FAMILIES} - {"bluegene-p", "bluegene-q"}))
def test_nothing_stops_above_saturation(kind: str, tmp_path: Path) -> None:
    """Not on Blue Genes, which are tori of 512 nodes."""
    machine, runs = topology(kind, bandwidth="1 GB/s"), 0
    for routing in fitting(machine):
        try:
            found = offered_run(machine, routing, tmp_path / routing, "uniform")
        except Unsupported:
            continue
        assert is_overloaded(found) and goes_on(found), routing
        runs += 1
    assert runs >= 2


def test_a_ring_with_one_channel_stops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = topology("torus", shape=[8], bandwidth={"links": "1 GB/s", "host": "4 GB/s"})
    for function in ("channel_classes", "virtual_channels"):
        monkeypatch.setattr(f"fabricstudy.engine.packet.files.{function}", lambda *_: 1)
    with pytest.raises(EngineFailure):
        offered_run(machine, "minimal", tmp_path / "run", "uniform")


def test_traffic_classes_share_a_link_by_their_shares(tmp_path: Path) -> None:
    """Both have 10 MB for a link of 1 GB/s; what the larger share leaves is free for the other one in the end."""
    machine = line([1e9], host_Bps=1e9, nodes=2)
    jobs = [job_of([node, node + 2], [(0, 0, 1, 10_000_000)]) for node in (0, 1)]
    result, _ = simulate(tmp_path, machine, jobs, classes={"bulk": 0.25, "urgent": 0.75})
    assert list(result.job_runtime_ns) == [pytest.approx(20e6, rel=0.02), pytest.approx(10e6 / 0.75, rel=0.02)]


def victim_ns(folder: Path, senders: int, managed: bool) -> float:
    """Return the runtime of a halo exchange beside an incast without end."""
    point = victim_point("packet", senders, managed)
    background, victim = point.jobs
    longer = victim.model_copy(update={"pattern": victim.pattern.model_copy(update={"iterations": 20})})
    point = point.model_copy(update={"jobs": (background, longer)})
    return float(simulated(folder, point)["jobs"][1]["runtime_ns"])


def test_congestion_management_helps_the_victim_of_an_incast(tmp_path: Path) -> None:
    alone = victim_ns(tmp_path / "alone", 0, False)
    unmanaged, managed = (victim_ns(tmp_path / str(on), 35, on) for on in (False, True))
    assert 20 * alone < unmanaged and alone < managed < unmanaged / 4


@pytest.mark.parametrize("routing", ["minimal", "valiant"])
@pytest.mark.parametrize("kind", TEN)
def test_congestion_management_slows_no_stream_down(kind: str, routing: str, tmp_path: Path) -> None:
    """The first window covers the longest way there and back, with long latencies, too."""
    machine = topology(kind, bandwidth="4 GB/s", latency="2 us").build()
    ends = [machine.nodes - 1, *np.random.default_rng(3).choice(machine.nodes - 1, 2, replace=False).tolist()]
    jobs = [job_of([0, end], [(0, 0, 1, 400_000)]) for end in ends]
    for job in jobs:
        off, on = (
            simulate(tmp_path, machine, [job], routing, congestion_management=managed, port_buffer="1 MB")[1]["end_ps"]
            for managed in (False, True)
        )
        # Over detours of different length packets arrive in bursts, which are marked.
        assert on == (off if routing == "minimal" else pytest.approx(off, rel=0.1))


def test_marks_keep_the_queue_of_two_senders_at_their_threshold(tmp_path: Path) -> None:
    """Up to 8 packets, and one for each sender, with the probe three (Alizadeh et al. 2010); 64 fit in the queue."""
    machine = {"kind": "mesh", "shape": [2], "nodes_per_router": 4, "bandwidth": "1 GB/s"}
    point = point_on(
        machine, engine={"kind": "packet", "crossbar_speedup": 4}, jobs=[{"nodes": 2, "pattern": {"kind": "idle"}}],
        network={"congestion_management": True},
    )  # fmt: skip
    incast = job_of([0, 1, 2], [(0, sender, 0, 6_000_000) for sender in (1, 2)])
    probe = job_of([0, 3], [(0, 1, 0, 2000)])
    probes = [replace(probe, start_ns=6e6 + 2.3e5 * number) for number in range(20)]
    alone, queued = (BuiltPoint(point, point.machine.build(), jobs) for jobs in ([probe], [incast, *probes]))
    for name, built_point in (("alone", alone), ("queued", queued)):
        (tmp_path / name).mkdir()
        run(Engine(Packet).write(built_point, tmp_path / name), tmp_path / name)
    (alone_ns,) = Engine(Packet).read(alone, tmp_path / "alone").job_runtime_ns
    _, *probe_ns = Engine(Packet).read(queued, tmp_path / "queued").job_runtime_ns
    packets = (np.array(probe_ns, dtype=np.float64) - float(alone_ns or 0)) / 2000
    assert packets.min() >= 8 / 2 and packets.max() <= 8 + 3


@pytest.mark.parametrize("kind", TEN)
def test_more_channels_change_little(kind: str, tmp_path: Path) -> None:
    """The default number of virtual channels decides no comparison: mean over seeds of an all-to-all, against 16."""
    # Of 16 nodes of a tree the last one decides, whose time varies by 10 % over seeds.
    config = topology(kind, **({"radix": 6} if kind == "fat-tree" else {}))
    analysed = built(config)
    times: dict[int | None, list[float]] = {None: [], 16: []}
    for channels, seed in itertools.product(times, range(3)):
        network = {} if channels is None else {"virtual_channels": channels}
        point = point_on(config, "minimal", message="16 kB", seed=seed, engine="packet", network=network)
        folder = tmp_path / f"{channels}-{seed}"
        folder.mkdir()
        record = attempt_point(point, Engine(Packet), analysed, Limits(), folder)
        times[channels].append(record["jobs"][0]["runtime_ns"])
    assert np.mean(times[None]) == pytest.approx(np.mean(times[16]), rel=0.05)


@pytest.mark.parametrize("routing", ["minimal", "adaptive"])
@pytest.mark.parametrize("size", ["16 kB", "64 kB"])
def test_an_all_to_all_on_a_full_tree_is_near_its_bound(size: str, routing: str, tmp_path: Path) -> None:
    point = point_on({"kind": "fat-tree", "radix": 8, "bandwidth": "25 GB/s"}, routing, message=size, engine="packet")
    job = simulated(tmp_path, point)["jobs"][0]
    assert 1 <= job["runtime_ns"] / job["bound_ns"] <= 1.1


def test_a_full_tree_saturates_near_its_bound(tmp_path: Path) -> None:
    sections = {
        "machine": {"kind": "fat-tree", "radix": 4, "bandwidth": "25 GB/s"},
        "routing": {"kind": "adaptive"},
        "engine": "packet",
        "seed": 1,
    }
    offered = {"traffic": "uniform", "load": "saturation"}
    point = Point.model_validate(sections | {"offered": offered}, by_alias=True, by_name=False)
    assert 0.9 <= simulated(tmp_path, point)["latency"]["over_bound"] <= 1
