"""The bound on the runtime."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import networkx as nx
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricstudy.engine.records import job_critical_path_ns
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.dimension_order import DimensionOrder
from fabricstudy.routing.minimal import Minimal
from fabricstudy.routing.ugal import Ugal
from fabricstudy.routing.valiant import Valiant
from fabricstudy.structure.bound import (
    computing_bound_ns,
    load_time_ns,
    lower_bound,
)
from fabricstudy.structure.load import link_loads
from fabricstudy.structure.message_times import message_times_ns
from fabricstudy.study.file import validate_machine
from fabricstudy.workload.messages import Computing, Messages
from fabricstudy.workload.phases import from_phases


def bounds(
    machine: Machine, source: npt.ArrayLike, destination: npt.ArrayLike, size: npt.ArrayLike, half: npt.ArrayLike
) -> dict[str, float]:
    messages = np.array(source), np.array(destination), np.array(size)
    cut_side = np.array(half, dtype=bool)
    found = {r.kind: load_time_ns(machine, link_loads(machine, *messages, r)) for r in (Minimal(), Valiant())}
    own = {"own": lower_bound(machine, *messages, cut_side, Minimal()).time_ns}
    return found | own | {"any": lower_bound(machine, *messages, cut_side).time_ns}


def test_the_fullest_cable_bounds(from_graph: Callable[..., Machine]) -> None:
    # 0 -- 1 == 2: 3 GB over the single slow cable of 1 GB/s, 4 GB over two fast ones of 2.5 GB/s together.
    graph = nx.path_graph(3)
    graph.edges[1, 2].update(kind=1, count=2)
    machine = from_graph(graph, node_router=[0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2])
    source, destination = [0, 1, 2, 4, 5, 6, 7], [4, 5, 6, 8, 9, 10, 11]
    found = bounds(machine, source, destination, [1e9] * 7, [1, 0, 0])
    assert found["minimal"] == found["own"] == found["any"] == pytest.approx(3e9)
    found = bounds(machine, [4, 5, 6, 7], [8, 9, 10, 11], [2e9] * 4, [1, 0, 0])
    assert found["minimal"] == pytest.approx(2e9)  # the host links: 2 GB at 1 GB/s, not 8 GB at 5 GB/s


@pytest.mark.parametrize(("source", "destination"), [([0, 0], [1, 2]), ([1, 2], [0, 0])])
def test_the_fullest_host_link_bounds_in_either_direction(
    from_graph: Callable[..., Machine], source: list[int], destination: list[int]
) -> None:
    machine = from_graph(nx.complete_graph(3))
    found = bounds(machine, source, destination, [1e9, 2e9], [1, 0, 0])
    assert found["minimal"] == found["own"] == found["any"] == pytest.approx(3e9)


def test_a_cut_bounds_any_routing(from_graph: Callable[..., Machine]) -> None:
    # Two squares joined by one cable: 4 GB must cross 1 GB/s, whatever the routes.
    graph = nx.disjoint_union(nx.complete_graph(4), nx.complete_graph(4))
    graph.add_edge(3, 4)
    machine = from_graph(graph)
    messages = np.arange(4), np.arange(4, 8), np.full(4, 1e9)
    found = lower_bound(machine, *messages, np.arange(8) < 4)
    assert found.time_ns == pytest.approx(4e9) and found.method == "cut"


def test_a_group_bounds_any_routing(dragonfly: Callable[..., Machine]) -> None:
    # 8 GB from the nodes of group 0 to as many others leave by its 8 global cables of 0.5 GB/s.
    machine = dragonfly(9, 4, ratio=0.5)
    half = np.arange(36) % 2 == 0
    found = lower_bound(machine, np.arange(8), np.arange(8, 16), np.full(8, 1e9), half)
    assert found.time_ns == pytest.approx(2e9) and found.method == "cut"


def test_bytes_times_hops_bound_any_routing(from_graph: Callable[..., Machine]) -> None:
    """Each router of a ring of 8 sends to the opposite one: four hops on 16 links, but two links around each router."""
    machine = from_graph(nx.cycle_graph(8))
    messages = np.arange(8), (np.arange(8) + 4) % 8, np.full(8, 1e9)
    found = lower_bound(machine, *messages, np.arange(8) % 2 == 0)
    assert found.time_ns == pytest.approx(2e9) and found.method == "hop-bytes"


def test_bytes_with_one_path_bound_a_fixed_routing(machine_of: Callable[..., Machine]) -> None:
    """On a ring of 6 upwards three messages share a link; cuts, which know no direction, count half of that."""
    machine = machine_of("torus", shape=[6], bandwidth={"links": "1 GB/s", "host": "9 GB/s"})
    messages = np.arange(3), np.arange(3) + 3, np.full(3, 1e9)
    up = lower_bound(machine, *messages, np.arange(6) < 3, DimensionOrder(tie="positive"))
    assert up.time_ns == pytest.approx(3e9) and up.method == "paths"
    assert lower_bound(machine, *messages, np.arange(6) < 3, DimensionOrder()).time_ns == pytest.approx(1.5e9)


def test_detours_are_bounded_by_what_any_path_takes(dragonfly: Callable[..., Machine]) -> None:
    machine = dragonfly(9, 4)
    messages = np.arange(8), np.arange(8, 16), np.full(8, 1e9)
    half = np.arange(36) < 18
    any_path = lower_bound(machine, *messages, half)
    assert lower_bound(machine, *messages, half, Valiant()) == lower_bound(machine, *messages, half, Ugal()) == any_path
    assert any_path.time_ns < lower_bound(machine, *messages, half, Minimal()).time_ns


@given(seed=st.integers(0, 10_000), routers=st.integers(2, 10))
@settings(deadline=None, max_examples=40)
def test_no_split_beats_the_bounds(random_machine: Callable[..., Machine], seed: int, routers: int) -> None:
    machine = random_machine(seed, routers)
    random = np.random.default_rng(seed)
    source, destination = random.integers(0, routers, (2, 30))
    found = bounds(machine, source, destination, random.integers(1, 10**9, 30), random.random(routers) < 0.5)
    assert found["any"] <= found["own"] <= found["minimal"] * (1 + 1e-12)
    assert found["any"] <= found["valiant"] * (1 + 1e-12)


def test_nothing_to_send_takes_no_time(dragonfly: Callable[..., Machine]) -> None:
    machine = dragonfly(3, 2)
    none = np.array([], dtype=np.int32)
    found = bounds(machine, none, none, none, np.arange(6) < 3)
    assert set(found.values()) == {0.0}


def phases(
    machine: Machine,
    rows: Sequence[tuple[int, ...]],
    computing: Sequence[tuple[float, ...]] = (),
    router_ns: float = 100.0,
) -> float:
    """The phase bound of (phase, source, destination, bytes) and (phase, rank, before, beside), one rank a node."""
    messages = Messages(*(np.array(column) for column in zip(*rows, strict=True)))
    computations = Computing(*(np.array(column) for column in zip(*computing, strict=True))) if computing else None
    nodes = np.arange(machine.nodes, dtype=np.int32)
    return job_critical_path_ns(from_phases(messages, computations, len(nodes)), nodes, machine, router_ns)


def test_phases_follow_each_other(from_graph: Callable[..., Machine]) -> None:
    """One message of 1 kB to the next of three routers, then one from there to the last; each takes three cables."""
    machine = from_graph(nx.path_graph(3))
    one = 1000 / machine.host.bandwidth_Bps * 1e9 + 2 * machine.host.latency_ns + machine.classes[0].latency_ns + 200
    assert phases(machine, [(0, 0, 1, 1000)]) == pytest.approx(one)
    assert phases(machine, [(0, 0, 1, 1000), (1, 1, 2, 1000)]) == pytest.approx(2 * one)
    # Who has nothing to wait for sends at once, whatever the number of its phase.
    assert phases(machine, [(0, 0, 1, 1000), (1, 2, 1, 1000)]) == pytest.approx(one)
    assert phases(machine, [(0, 0, 1, 1000), (0, 1, 2, 1000), (0, 2, 1, 500)]) == pytest.approx(one)


def test_a_ring_all_gather_waits_for_each_of_its_steps(from_graph: Callable[..., Machine]) -> None:
    """The example of the analysis page: many short phases, of which the link bound knows nothing."""
    ranks = 8
    machine = from_graph(nx.cycle_graph(ranks))
    rows = [(step, rank, (rank + 1) % ranks, 2000) for step in range(ranks - 1) for rank in range(ranks)]
    one = phases(machine, [(0, 0, 1, 2000)])
    assert phases(machine, rows) == pytest.approx((ranks - 1) * one)


def test_messages_within_a_node_take_no_time(from_graph: Callable[..., Machine]) -> None:
    machine = from_graph(nx.path_graph(2))
    operations = from_phases(Messages(*(np.array([column]) for column in (0, 0, 1, 1000))), None, 2)
    assert job_critical_path_ns(operations, np.array([1, 1], dtype=np.int32), machine, 100.0) == 0.0


TIMES = st.tuples(st.integers(0, 4000), st.integers(0, 4000))


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4), st.integers(0, 4), st.integers(1, 5000)), min_size=1),
    st.dictionaries(st.tuples(st.integers(0, 3), st.integers(0, 4)), TIMES),
)
@settings(deadline=None, max_examples=60)
def test_the_phase_bound_is_the_longest_chain_of_waiting(
    from_graph: Callable[..., Machine], rows: list[tuple[int, ...]], times: dict[tuple[int, int], tuple[float, float]]
) -> None:
    """Against the longest path through the graph of who waits for whom."""
    machine = from_graph(nx.cycle_graph(5))
    rows = sorted(rows, key=lambda row: row[:2])
    # A rank computes in phases in which it has a message.
    has_some = {(phase, end) for phase, *ends, _ in rows for end in ends}
    computing = [(*key, *times[key]) for key in sorted(times) if key in has_some]
    waits = nx.DiGraph()
    for rank in range(5):
        for phase in range(4):
            before, beside = times[phase, rank] if (phase, rank) in has_some & set(times) else (0, 0)
            waits.add_edge((rank, phase), (rank, phase, "posted"), weight=before)
            waits.add_edge((rank, phase, "posted"), (rank, phase + 1), weight=beside)
    for phase, source, destination, size in rows:
        time = phases(machine, [(0, source, destination, size)])
        for end in (source, destination):
            edge = (source, phase, "posted"), (end, phase + 1)
            before = waits.get_edge_data(*edge, {"weight": 0.0})["weight"]
            waits.add_edge(*edge, weight=max(before, time))
    assert phases(machine, rows, computing) == pytest.approx(nx.dag_longest_path_length(waits))


def test_what_is_computed_bounds_beside_the_links() -> None:
    """4 us on the links, begun after 2 us; a rank that computes for 10 us needs them whatever it sends."""
    assert computing_bound_ns(4000, 2000, 3000) == 6000
    assert computing_bound_ns(4000, 2000, 10_000) == 10_000


def test_the_latency_of_messages_is_at_most_that_of_their_path() -> None:
    """Local cables of 10 ns, global ones of 1 us: messages within a group take local ones only."""
    machine = validate_machine(
        {
            "kind": "dragonfly", "groups": 3, "routers_per_group": 2, "nodes_per_router": 1, "bandwidth": "1 GB/s",
            "latency": {"local": "10 ns", "global": "1 us", "host": "5 ns"},
        }
    ).build()  # fmt: skip
    graph = nx.Graph()
    for tail, head, kind in zip(machine.cable_tail, machine.cable_head, machine.cable_class, strict=True):
        graph.add_edge(int(tail), int(head), ns=machine.classes[kind].latency_ns)
    source, destination = (ends.ravel() for ends in np.divmod(np.arange(36), 6))
    _, latency_ns = message_times_ns(machine, source, destination, np.zeros(36), 100.0)
    for a, b, found_ns in zip(source.tolist(), destination.tolist(), latency_ns.tolist(), strict=True):
        path = nx.shortest_path(graph, a, b, weight="ns")
        exact_ns = nx.path_weight(graph, path, "ns") + 2 * 5 + 100 * len(path) if a != b else 0
        assert found_ns <= exact_ns
        assert found_ns == exact_ns or a // 2 != b // 2
