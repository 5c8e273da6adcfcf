"""Offered traffic on CAMINOS: closed forms, conservation, and what is refused."""

from collections.abc import Container, Mapping
from math import exp, factorial
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

from fabricstudy.engine.attempt import attempt_point
from fabricstudy.engine.definitions import built
from fabricstudy.engine.offered_traffic import OfferedRuns
from fabricstudy.engine.point import PlannedPoint, Point
from fabricstudy.engine.registry import engine_named
from fabricstudy.engine.settings import Limits
from fabricstudy.engine.single_point import write_inputs
from fabricstudy.engine.steady_state import State, SteadyRun, growth, state_of, statistics
from fabricstudy.engine.validity import input_digest

DRAGONFLY = {"kind": "dragonfly", "groups": 9, "routers_per_group": 4, "nodes_per_router": 2}
TORUS = {"kind": "torus", "shape": [8, 8]}
GROUP = {"kind": "valiant", "via": "group"}
BUCKET = 1e-3
"""Width of a bucket of the histogram."""

UGAL = {"kind": "ugal", "via": "group"}
ADVERSARY = {"kind": "group-shift"}

EXACT = {"bandwidth": "1 GB/s", "latency": "128 ns"}
NETWORK = {"packet": "256 B", "buffer": "16 kB", "router_latency": "128 ns"}


def point_of(
    machine: Mapping[str, Any], routing: Any, traffic: Any, load: Any, engine: Any = "packet", **offered: Any
) -> Point:
    return Point.model_validate(
        {
            "machine": dict(machine) | EXACT, "routing": routing, "engine": engine, "seed": 1, "network": NETWORK,
            "offered": {"traffic": traffic, "load": load, "warmup": 500, "measured": 1000} | offered,
        },
        by_alias=True,
    )  # fmt: skip


def record_of(point: Point, folder: Path) -> dict[str, Any]:
    folder.mkdir(exist_ok=True)
    return attempt_point(point, engine_named(point.engine.kind), built(point.machine), Limits(), folder)


def row_of(point: Point, folder: Path) -> dict[str, Any]:
    record = record_of(point, folder)
    assert record["status"] == "done", record
    row: dict[str, Any] = record["latency"]
    return row


def run_of(point: Point, folder: Path, load: float, states: Container[State] = ("steady", "saturated")) -> SteadyRun:
    folder.mkdir(exist_ok=True)
    analysed = built(point.machine)
    assert point.offered is not None
    engine: Any = engine_named(point.engine.kind)
    return OfferedRuns(point, engine, analysed.machine, Limits(), folder, {"runs": []}).at(load, states)


@pytest.mark.parametrize(
    ("machine", "routing"),
    [
        (DRAGONFLY, "minimal"),
        (DRAGONFLY, GROUP),
        (TORUS, "dimension-order"),
        ({"kind": "fat-tree", "radix": 8, "pods": 8}, "minimal"),
        ({"kind": "hyperx", "shape": [4, 4], "nodes_per_router": 2}, "minimal"),
        ({"kind": "slim-fly", "q": 5, "nodes_per_router": 2}, "minimal"),
        ({"kind": "express-mesh", "shape": [5, 5], "gap": 1, "nodes_per_router": 2}, "dimension-order"),
    ],
)
def test_latency_without_load(machine: Any, routing: Any, tmp_path: Path) -> None:
    row = row_of(point_of(machine, routing, "uniform", 0.01), tmp_path)
    # A hundredth of the load waits; the mean of the pairs drawn differs from that of all pairs.
    assert row["latency_mean_ns"] == pytest.approx(row["zero_load_ns"], rel=0.015)


def test_no_message_is_faster_than_its_path(tmp_path: Path) -> None:
    """Neighbours on a torus: two routers, three links, in all cases."""
    point = point_of(TORUS, "dimension-order", "neighbours", 0.2)
    run = run_of(point, tmp_path, 0.2)
    assert run.histogram is not None
    assert run.histogram[0][0] == pytest.approx(3 * 128 + 2 * 128 + 256, rel=BUCKET)
    assert run.histogram[1].sum() == run.measured.sum()


@pytest.mark.parametrize(
    ("machine", "routing", "traffic", "bound"),
    [
        (DRAGONFLY, "minimal", ADVERSARY, 1 / 8),
        (DRAGONFLY, GROUP, ADVERSARY, 1 / 2),
        (TORUS, "dimension-order", {"kind": "tornado", "dimensions": 1}, 1 / 3),
        (TORUS, "dimension-order", "complement", 1 / 2),
        (TORUS, "dimension-order", "transpose", 2 / 7),
    ],
)
def test_saturation_is_at_its_closed_form(
    machine: Any, routing: Any, traffic: Any, bound: float, tmp_path: Path
) -> None:
    """The search begins at the bound, so that a load above it is another run."""
    point = point_of(machine, routing, traffic, "saturation")
    row = row_of(point, tmp_path / "search")
    assert row["saturation_bound"] == pytest.approx(bound)
    assert 0.97 * bound <= row["saturation_load"] <= bound * (1 + 1e-9)
    # Of some traffics, other nodes carry so much that the whole backlog grows by no more than 1 %; it does grow.
    above = run_of(point, tmp_path / "above", 1.04 * bound)
    assert growth(above).mean > 0.005 and state_of(above) != "steady"
    assert state_of(run_of(point, tmp_path / "far above", 1.08 * bound)) == "saturated"


def test_a_hot_node_saturates_at_its_link(tmp_path: Path) -> None:
    """1 / (N share), to first order; its queue is half of the messages, so that the backlog shows it."""
    spot, bound = {"kind": "hot-spot", "share": 0.5}, 1 / (63 * 0.5 + 0.5)
    point = point_of(TORUS, "dimension-order", spot, "saturation", measured=4000)
    row = row_of(point, tmp_path / "search")
    assert row["saturation_bound"] == pytest.approx(bound)
    assert 0.97 <= row["over_bound"] <= 1 + 1e-9
    # Of some traffics, other nodes carry so much that the whole backlog grows by no more than 1 %; it does grow.
    above = run_of(point, tmp_path / "above", 1.04 * bound)
    assert growth(above).mean > 0.005 and state_of(above) != "steady"
    assert state_of(run_of(point, tmp_path / "far above", 1.08 * bound)) == "saturated"


def test_a_link_is_an_md1_queue(tmp_path: Path) -> None:
    """On a ring the paths to the next node do not cross, so packets wait for the links of their nodes alone.

    The mean wait is load / (2 (1 - load)) services, and its distribution that of Erlang (1909).
    """
    load, ring = 0.7, {"kind": "torus", "shape": [9]}
    point = point_of(
        ring, "dimension-order", {"kind": "shift", "nodes": 1}, load, measured=20_000,
    )  # fmt: skip
    run = run_of(point, tmp_path, load)
    assert run.histogram is not None
    row, no_load_ns, service_ns = statistics(run, np.ones(9)), run.histogram[0][0], 256.0
    assert no_load_ns == pytest.approx(row_of(point, tmp_path)["zero_load_ns"], rel=BUCKET)
    assert row["latency_mean_ns"] - no_load_ns == pytest.approx(load / (2 * (1 - load)) * service_ns, rel=0.04)
    for name, share in (("latency_p90_ns", 0.9), ("latency_p99_ns", 0.99)):
        t = (row[name] - no_load_ns) / service_ns
        terms = ((load * (k - t)) ** k * exp(-load * (k - t)) / factorial(k) for k in range(int(t) + 1))
        assert (1 - load) * sum(terms) == pytest.approx(share, abs=0.01)


def test_a_small_buffer_limits_a_link(tmp_path: Path) -> None:
    """2048 B are sent in each round trip of 2 (128 + 1920) ns and a packet, in which the link could carry 4352 B."""
    line = {"kind": "mesh", "shape": [2]}
    network = {"packet": "256 B", "port_buffer": "2048 B", "router_latency": "1920 ns", "virtual_channels": 1}
    point = point_of(line, "dimension-order", {"kind": "shift", "nodes": 1}, 0.9, measured=2000)
    point = point.model_copy(update={"network": type(point.network).model_validate(network, by_alias=True)})
    row = row_of(point, tmp_path)
    assert row["buffer_limit"] == pytest.approx(2048 / 4352) and row["buffer_needed_bytes"] == 4352
    assert row["state"] == "saturated" and row["accepted_load"] == pytest.approx(row["buffer_limit"], rel=0.01)


@pytest.mark.parametrize("load", [0.01, 0.02, 0.05])
@pytest.mark.parametrize(
    "machine",
    [
        {"kind": "dragonfly", "groups": 5, "routers_per_group": 2, "nodes_per_router": 2},
        {"kind": "mesh", "shape": [2]},
    ],
)
def test_small_loads_are_steady_on_fast_links(machine: Any, load: float, tmp_path: Path) -> None:
    """Latencies are hundreds of message times, and few of the messages of a short window arrive in it."""
    network = {"packet": "256 B"}
    for seed in range(1, 4):
        point = Point.model_validate(
            {
                "machine": machine | {"bandwidth": "800 Gb/s"}, "routing": "minimal", "engine": "packet", "seed": seed,
                "network": network, "offered": {"traffic": "uniform", "load": load, "warmup": 0, "measured": 200},
            },
            by_alias=True,
        )  # fmt: skip
        row = row_of(point, tmp_path / str(seed))
        assert row["state"] == "steady" and row["messages"] >= 19_000
        assert row["growth_low"] <= row["backlog_growth"] <= row["growth_high"] < 0.01


def test_long_cables_saturate_at_the_limit_of_the_buffer(tmp_path: Path) -> None:
    point = Point.model_validate(
        {
            "machine": {"kind": "mesh", "shape": [2], "bandwidth": "800 Gb/s", "latency": "2 us"}, "seed": 1,
            "routing": "minimal", "engine": "packet", "network": {"packet": "256 B", "port_buffer": "64 kB"},
            "offered": {"traffic": "uniform", "load": "saturation"},
        },
        by_alias=True,
    )  # fmt: skip
    row = row_of(point, tmp_path)
    assert row["buffer_limit"] == pytest.approx(0.1524, rel=1e-3)
    assert row["saturation_load"] == pytest.approx(row["buffer_limit"], rel=0.03)
    assert row["saturation_low"] <= row["buffer_limit"] <= row["saturation_high"] <= 0.2


def test_a_slow_cable_saturates_at_its_closed_form_whatever_the_window(tmp_path: Path) -> None:
    """One cable at a tenth of the bandwidth has the messages of 8 nodes to the next group."""
    point = Point.model_validate(
        {
            "machine": {"kind": "dragonfly", "groups": 5, "routers_per_group": 4, "nodes_per_router": 2,
                        "bandwidth": "25 GB/s", "faults": {"cables": 14, "degraded": {"cables": "20 %", "to": 0.1}}},
            "routing": "minimal", "engine": "packet", "network": {"packet": "256 B", "buffer": "16 kB"}, "seed": 3,
            "offered": {"traffic": ADVERSARY, "load": "saturation", "warmup": 300, "measured": 600},
        },
        by_alias=True,
    )  # fmt: skip
    row = row_of(point, tmp_path)
    assert row["saturation_bound"] == pytest.approx(1 / 80)
    assert row["saturation_load"] == pytest.approx(1 / 80, rel=0.03)
    assert row["saturation_low"] <= row["saturation_load"] <= row["saturation_high"] <= 1 / 80 * (1 + 1e-9)
    assert row["saturation_low"] >= 0.95 / 80


def test_littles_law_holds_in_each_batch(tmp_path: Path) -> None:
    """Mean backlog = arrivals a time x mean time in the system, over a long enough time."""
    run = run_of(point_of(DRAGONFLY, UGAL, "uniform", 0.6), tmp_path, 0.6)
    assert run.arrived is not None and run.mean_backlog is not None
    batch_ns = run.window_ns / len(run.measured)
    expected = run.latency_sum_ns / batch_ns
    # What crosses the ends of a batch is some 1 % of its messages.
    np.testing.assert_allclose(run.mean_backlog, expected, rtol=0.05)
    assert run.mean_backlog.sum() == pytest.approx(expected.sum(), rel=0.005)


def test_messages_and_bytes_are_conserved(tmp_path: Path) -> None:
    run = run_of(point_of(DRAGONFLY, "minimal", "uniform", 0.5), tmp_path, 0.5)
    assert run.created is not None and run.arrived is not None and run.backlog is not None
    assert run.created.sum() == run.node_created.sum() == run.measured.sum() + run.lost
    assert run.arrived.sum() == run.node_arrived.sum() == run.created.sum() + run.backlog[0] - run.backlog[2]
    assert run.lost == 0 and run.link_bytes is not None and run.hops is not None
    mean_hops = run.hops @ np.arange(len(run.hops)) / run.hops.sum()
    assert run.link_bytes.sum() == pytest.approx(256 * run.arrived.sum() * mean_hops, rel=0.02)


def test_equal_seeds_give_equal_numbers_and_all_routings_the_same_arrivals(tmp_path: Path) -> None:
    point, any_state = point_of(DRAGONFLY, "minimal", "uniform", 0.3), get_args(State)
    first, second = (run_of(point, tmp_path, 0.3, any_state) for _ in range(2))
    np.testing.assert_array_equal(first.latency_sum_ns, second.latency_sum_ns)
    other = run_of(point_of(DRAGONFLY, GROUP, "uniform", 0.3), tmp_path, 0.3, any_state)
    np.testing.assert_array_equal(first.node_created, other.node_created)
    assert other.latency_sum_ns.sum() > first.latency_sum_ns.sum()


def test_vertex_transitive_machines_are_fair(tmp_path: Path) -> None:
    row = row_of(point_of(TORUS, "dimension-order", "uniform", 0.5, measured=4000), tmp_path)
    assert row["jain"] > 0.998


@pytest.mark.parametrize("arrivals", [{"arrivals": "periodic"}, {"arrivals": "bursts", "burst": 8}])
def test_other_arrivals_offer_the_same_load(arrivals: Any, tmp_path: Path) -> None:
    bursty = "burst" in arrivals
    row = row_of(point_of(DRAGONFLY, "minimal", "uniform", 0.3, measured=4000, **arrivals), tmp_path)
    plain = row_of(point_of(DRAGONFLY, "minimal", "uniform", 0.3, measured=4000), tmp_path)
    assert row["offered_load"] == pytest.approx(0.3, rel=0.03)
    # Messages of a burst follow each other at the rate of the link, and so do not wait at their own node.
    waits = [one["network_latency_mean_ns"] - one["zero_load_ns"] for one in (row, plain)]
    assert (waits[0] > 1.1 * waits[1]) is bursty


def test_a_saturated_run_says_so(tmp_path: Path) -> None:
    row = row_of(point_of(DRAGONFLY, "minimal", ADVERSARY, 0.5), tmp_path)
    assert row["state"] == "saturated"
    assert row["accepted_load"] == pytest.approx(1 / 8, rel=0.02) and row["backlog_growth"] > 0.5


def test_a_message_of_several_packets_arrives_with_its_last(tmp_path: Path) -> None:
    row = row_of(point_of(TORUS, "dimension-order", {"kind": "shift", "nodes": 1}, 0.01, message="1 kB"), tmp_path)
    # Four packets, which follow each other without a gap; a node in eight sends round the ring.
    assert row["latency_p50_ns"] == pytest.approx(3 * 128 + 2 * 128 + 1000, rel=0.03)


def test_the_analysis_has_both_asymptotes(tmp_path: Path) -> None:
    row = row_of(point_of(DRAGONFLY, "minimal", ADVERSARY, 0.5, engine="analysis"), tmp_path)
    assert row["saturation_bound"] == pytest.approx(1 / 8) and row["zero_load_ns"] > 0
    assert "state" not in row


def test_flow_has_no_latency_under_load(tmp_path: Path) -> None:
    record = record_of(point_of(DRAGONFLY, "minimal", "uniform", 0.5, engine="flow"), tmp_path)
    assert record["status"] == "unsupported"


def test_neighbours_need_adjacent_routers_with_nodes(tmp_path: Path) -> None:
    tree = {"kind": "fat-tree", "radix": 4}
    record = record_of(point_of(tree, "minimal", "neighbours", 0.5, engine="analysis"), tmp_path)
    assert record["status"] == "unsupported" and "neighbour" in record["reason"]


def test_a_load_beyond_the_hot_node_is_refused_by_the_network(tmp_path: Path) -> None:
    """The mean hides a hot spot; the 99th percentile does not."""
    spot = {"kind": "hot-spot", "share": 0.05}
    row = row_of(point_of(DRAGONFLY, "minimal", spot, 0.2, measured=4000), tmp_path)
    assert row["saturation_bound"] == pytest.approx(1 / (71 * 0.05 + 0.95))
    assert row["latency_p99_ns"] > 2 * row["latency_p50_ns"]


@pytest.mark.parametrize("load", [0.4, "saturation"])
def test_the_written_input_is_that_of_the_first_run(load: Any, tmp_path: Path) -> None:
    point = point_of(DRAGONFLY, "minimal", "uniform", load, warmup=50, measured=200, batches=8)
    command = write_inputs(PlannedPoint("p0", "m0", point), tmp_path / "input")
    machine = built(point.machine).machine
    digest = input_digest(tmp_path / "input", command, machine, [])
    assert digest == record_of(point, tmp_path / "run")["runs"][0]["input"]


STEPS = {"kind": "table", "cdf": {"512 B": 0.75, "4096 B": 1}, "steps": True}
"""Mean 1,408 B; most are two packets, the others sixteen."""


def test_messages_of_different_sizes_offer_the_load_in_bytes(tmp_path: Path) -> None:
    for number, arrivals in enumerate(({}, {"arrivals": "bursts", "burst": 3})):
        row = row_of(
            point_of(TORUS, "dimension-order", "uniform", 0.3, message=STEPS, **arrivals), tmp_path / str(number)
        )
        assert row["state"] == "steady"
        assert row["offered_load"] == pytest.approx(0.3, rel=0.03) and row["accepted_load"] == pytest.approx(
            0.3, rel=0.03
        )


def test_latency_without_load_is_that_of_the_mean_size(tmp_path: Path) -> None:
    row = row_of(point_of(DRAGONFLY, "minimal", "uniform", 0.004, message=STEPS), tmp_path)
    assert row["latency_mean_ns"] == pytest.approx(row["zero_load_ns"], rel=0.02)
    # The shortest path has two host links and a router; a message of 4,096 B takes 4,096 ns at least.
    assert row["latency_max_ns"] > 4096 > row["latency_p50_ns"]


def test_latency_of_a_queue_of_different_sizes_is_that_of_pollaczek_and_khinchine(tmp_path: Path) -> None:
    """Poisson arrivals, one sender and one receiver a pair: the source queue is M/G/1, and nothing else waits."""
    load = 0.5
    row = row_of(point_of(TORUS, "dimension-order", "neighbours", load, message=STEPS, measured=12_000), tmp_path)
    mean, square = 0.75 * 512 + 0.25 * 4096, 0.75 * 512**2 + 0.25 * 4096**2
    waiting = load * square / mean / 2 / (1 - load)  # 1 B takes 1 ns
    queued = row["latency_mean_ns"] - row["network_latency_mean_ns"]
    assert queued == pytest.approx(waiting, rel=0.06)


def test_times_and_destinations_are_those_of_messages_of_one_size(tmp_path: Path) -> None:
    one, several = (
        run_of(point_of(TORUS, "dimension-order", "uniform", 0.2, message=message), tmp_path / name, 0.2)
        for name, message in (("one", "1408 B"), ("several", STEPS))
    )
    np.testing.assert_array_equal(one.created, several.created)
    assert several.created_load is not None and one.created_load is not None
    assert np.array_equal(one.created_load, one.created) and not np.array_equal(several.created_load, one.created)


@pytest.mark.parametrize("engine", ["caminos", "sst", "codes"])
def test_others_have_one_size(engine: str) -> None:
    point = point_of(TORUS, "minimal", "uniform", 0.2, engine=engine, message=STEPS)
    assert "one size" in str(engine_named(engine).unsupported(point, point.machine.build()))
