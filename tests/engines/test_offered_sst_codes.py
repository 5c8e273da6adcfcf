"""Offered traffic on SST and CODES: closed forms, and what is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fabricstudy.engine.attempt import attempt_point
from fabricstudy.engine.built_point import BuiltPoint
from fabricstudy.engine.codes import Codes
from fabricstudy.engine.codes import offered as codes_offered
from fabricstudy.engine.codes.offered import offered_window as codes_window
from fabricstudy.engine.definitions import built
from fabricstudy.engine.engine import Engine
from fabricstudy.engine.outcome import LINKS as LINK_ARRAY
from fabricstudy.engine.point import Point
from fabricstudy.engine.registry import engine_named
from fabricstudy.engine.settings import Limits
from fabricstudy.engine.sst import Sst
from fabricstudy.engine.sst.offered import offered_window as sst_window

LINKS = {"bandwidth": "25 GB/s", "latency": "40 ns"}
DRAGONFLY = {"kind": "dragonfly", "groups": 9, "routers_per_group": 4, "nodes_per_router": 2} | LINKS
TORUS = {"kind": "torus", "shape": [8, 8]} | LINKS
RING = {"kind": "torus", "shape": [9]} | LINKS
SLIM_FLY = {"kind": "slim-fly", "q": 5, "nodes_per_router": 2} | LINKS
HYPERX = {"kind": "hyperx", "shape": [6, 6], "nodes_per_router": 2} | LINKS
TREE = {"kind": "fat-tree", "radix": 8} | LINKS
ARIES = {"kind": "aries", "groups": 2, "chassis_per_group": 2, "blades_per_chassis": 6, "bandwidth": "25 GB/s"}
CODES_TORUS = {"kind": "torus", "shape": [7, 7], "bandwidth": {"links": "25 GB/s", "host": "100 GB/s"}}
UP = {"kind": "dimension-order", "tie": "positive"}
GROUP = {"kind": "valiant", "via": "group"}
ADVERSARY = {"kind": "group-shift", "fixed": True}
TORNADO = {"kind": "tornado", "dimensions": 1}

NETWORK = {"packet": "256 B", "buffer": "16 kB", "router_latency": "100 ns"}


def needs(engine: Any, name: str) -> Any:
    """Return the engine as a parameter, skipped where it is absent."""
    probe = engine.probe()
    return pytest.param(name, marks=pytest.mark.skipif(not probe.found, reason=str(probe.reason)))


SST, CODES = needs(Engine(Sst), "sst"), needs(Engine(Codes), "codes")


def with_sst(*values: Any) -> Any:
    return pytest.param(SST.values[0], *values, marks=SST.marks)


def with_codes(*values: Any) -> Any:
    return pytest.param(CODES.values[0], *values, marks=CODES.marks)


def point_of(engine: Any, machine: Any, routing: Any, traffic: Any, load: Any, **offered: Any) -> Point:
    times = {"arrivals": "periodic", "warmup": 200, "measured": 800}
    return Point.model_validate(
        {
            "machine": machine, "routing": routing, "engine": engine, "seed": 1, "network": NETWORK,
            "offered": {"traffic": traffic, "load": load} | times | offered,
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


@pytest.mark.parametrize(
    ("engine", "machine", "routing", "shift"),
    [
        with_sst(RING, "dimension-order", 1),
        with_sst(RING, "dimension-order", 4),
        with_codes(DRAGONFLY, "minimal", 1),
        with_sst(DRAGONFLY, GROUP, 8),
        with_codes(DRAGONFLY, GROUP, 8),
    ],
)
def test_latency_without_load(engine: str, machine: Any, routing: Any, shift: int, tmp_path: Path) -> None:
    """Few paths are crossed; SST's crossbar adds part of a flit to each router, CODES noise to each packet."""
    row = row_of(point_of(engine, machine, routing, {"kind": "shift", "nodes": shift}, 0.02), tmp_path)
    # Of Valiant's detours each of 72 nodes draws a hundred.
    low = 1.0 if routing != GROUP else 0.99
    assert low <= row["latency_mean_ns"] / row["zero_load_ns"] <= 1.015
    assert row["state"] == "steady"


@pytest.mark.parametrize(
    ("engine", "machine", "routing"),
    [
        with_codes(HYPERX, "dimension-order"),
        with_codes(TREE, "d-mod-k"),
        with_codes(SLIM_FLY, "minimal"),
    ],
)
def test_replayed_traffic_has_the_latency_of_its_paths(engine: str, machine: Any, routing: Any, tmp_path: Path) -> None:
    """Of the links of both nodes, these models have the latency of one cable."""
    point = point_of(engine, machine, routing, "uniform", 0.05, arrivals="poisson", measured=3000)
    row = row_of(point, tmp_path)
    # Some ns per router are noise; at a twentieth of the load some 2 ns are waiting.
    assert 0 <= row["latency_mean_ns"] - row["zero_load_ns"] <= 15
    assert row["state"] == "steady" and row["accepted_load"] == pytest.approx(row["offered_load"], rel=0.02)


@pytest.mark.parametrize("engine", [CODES])
def test_replayed_sources_are_md1_queues(engine: str, tmp_path: Path) -> None:
    """In row order no path to the next node is crossed; the mean wait is load / (2 (1 - load)) services."""
    small = HYPERX | {"shape": [3, 3], "nodes_per_router": 1}
    shift, rows = {"kind": "shift", "nodes": 1}, []
    for load in (0.05, 0.8):
        point = point_of(
            engine, small, "dimension-order", shift, load, arrivals="poisson", message="2048 B", measured=6000
        )
        network = point.network.model_copy(update={"packet_bytes": 2048})
        rows.append(row_of(point.model_copy(update={"network": network}), tmp_path / str(load)))
    calm, busy = rows
    # CODES adds up to 2 ns to the time of a packet on a link, 81.92 ns.
    least, most = (_md1_wait(0.8, service_ns) - _md1_wait(0.05, service_ns) for service_ns in (81.92, 83.92))
    assert 0.97 * least <= busy["latency_mean_ns"] - calm["latency_mean_ns"] <= 1.03 * most


def _md1_wait(load: float, service_ns: float) -> float:
    """Return the mean wait of messages that arrive at a load of a link on which one takes 81.92 ns."""
    busy = load * service_ns / 81.92
    return busy / (2 * (1 - busy)) * service_ns


@pytest.mark.parametrize("engine", [CODES])
def test_ugal_counts_its_minimal_paths(engine: str, tmp_path: Path) -> None:
    """Minimal links carry 1 / 8 under the adversary, 42 % of a load of 0.3, and some of the queues of the warm-up."""
    through = {"kind": "ugal", "via": "group"}
    few = row_of(point_of(engine, DRAGONFLY, through, ADVERSARY, 0.05), tmp_path / "few")
    many = row_of(
        point_of(engine, DRAGONFLY, through, {"kind": "group-shift"}, 0.3, arrivals="poisson"), tmp_path / "many"
    )
    assert few["minimal_share"] > 0.9
    assert 0.3 <= many["minimal_share"] <= 0.5


@pytest.mark.parametrize("engine", [CODES])
def test_traces_and_the_synthetic_program_agree(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program's uniform traffic leaves out one node, whose pairs are near."""
    point = point_of(engine, DRAGONFLY, "minimal", "uniform", 0.5)
    rows = []
    for sources in (True, False):
        monkeypatch.setattr(codes_offered, "has_sources", lambda point, machine, found=sources: found)
        rows.append(row_of(point, tmp_path / str(sources)))
    synthetic, replayed = rows
    assert replayed["latency_mean_ns"] == pytest.approx(synthetic["latency_mean_ns"], rel=0.02)
    assert replayed["accepted_load"] == pytest.approx(synthetic["accepted_load"], rel=0.005)
    assert replayed["offered_load"] == pytest.approx(0.5)


@pytest.mark.parametrize("engine", [CODES])
def test_replayed_arrivals_saturate_where_the_hot_node_is_full(engine: str, tmp_path: Path) -> None:
    """All senders are equal, though one destination receives less than is sent to it."""
    spot = {"kind": "hot-spot", "share": 0.1}
    row = row_of(point_of(engine, HYPERX, "dimension-order", spot, 0.3, arrivals="poisson"), tmp_path)
    # Of the 0.3 (71 x 0.1 + 0.9) that are sent to the hot node it takes 1.
    assert row["state"] == "saturated"
    assert row["accepted_load"] == pytest.approx(0.3 - (0.3 * (7.1 + 0.9) - 1) / 72, rel=0.03)
    assert row["jain"] > 0.99 and row["accepted_min"] > 0.8 * row["accepted_load"]


@pytest.mark.parametrize(
    ("engine", "machine", "routing", "traffic", "load"),
    [
        with_sst(DRAGONFLY, "minimal", "uniform", 0.5),
        with_sst(TORUS, UP, "transpose", 0.2),
        with_codes(DRAGONFLY, "minimal", "uniform", 0.5),
        with_codes(DRAGONFLY, GROUP, ADVERSARY, 0.25),
    ],
)
def test_below_saturation_all_is_accepted(
    engine: str, machine: Any, routing: Any, traffic: Any, load: float, tmp_path: Path
) -> None:
    """Node 0 of a transpose is idle; on SST it collects the latencies."""
    row = row_of(point_of(engine, machine, routing, traffic, load), tmp_path)
    assert row["state"] == "steady"
    assert row["offered_load"] == pytest.approx(load, rel=0.01)
    assert row["accepted_load"] == pytest.approx(row["offered_load"], rel=0.005)
    assert row["latency_low_ns"] <= row["latency_mean_ns"] <= row["latency_high_ns"]
    assert row["latency_mean_ns"] >= 0.99 * row["zero_load_ns"]


@pytest.mark.parametrize(
    ("engine", "machine", "routing", "traffic", "bound"),
    [
        with_sst(DRAGONFLY, "minimal", ADVERSARY, 1 / 8),
        with_sst(DRAGONFLY, "minimal", {"kind": "group-shift"}, 1 / 8),
        with_sst(TORUS, UP, TORNADO, 1 / 3),
        with_sst(TORUS, UP, "complement", 1 / 2),
        with_codes(DRAGONFLY, "minimal", ADVERSARY, 1 / 8),
    ],
)
def test_no_bound_is_exceeded(
    engine: str, machine: Any, routing: Any, traffic: Any, bound: float, tmp_path: Path
) -> None:
    row = row_of(point_of(engine, machine, routing, traffic, "saturation", warmup=500), tmp_path)
    assert row["saturation_bound"] == pytest.approx(bound)
    assert 0.95 * bound <= row["saturation_load"] <= bound * (1 + 1e-9)


@pytest.mark.parametrize("engine", [SST, CODES])
def test_a_load_above_the_bound_saturates(engine: str, tmp_path: Path) -> None:
    row = row_of(point_of(engine, DRAGONFLY, "minimal", ADVERSARY, 0.3, warmup=1000), tmp_path)
    assert row["state"] == "saturated"
    assert row["accepted_load"] == pytest.approx(1 / 8, rel=0.02)
    assert row["backlog_growth"] == pytest.approx(1 - (1 / 8) / 0.3, rel=0.02)


@pytest.mark.parametrize(("engine", "arrivals"), [with_sst("periodic"), with_codes("poisson")])
def test_links_carry_the_expected_load(engine: str, arrivals: str, tmp_path: Path) -> None:
    """Eight nodes of a group send over one cable."""
    row = row_of(point_of(engine, DRAGONFLY, "minimal", ADVERSARY, 0.1, arrivals=arrivals), tmp_path)
    assert row["link_max"] == pytest.approx(0.8, rel=0.01 if arrivals == "periodic" else 0.1)


@pytest.mark.parametrize("engine", [SST])
def test_detours_avoid_the_groups_of_source_and_destination(engine: str, tmp_path: Path) -> None:
    """Eight nodes of a group use two global links each, spread over seven; that to the next group is idle."""
    point = point_of(engine, DRAGONFLY, GROUP, ADVERSARY, 0.2)
    row = row_of(point, tmp_path)
    machine = built(point.machine).machine
    between = np.flatnonzero(machine.link_class == 1)
    window_ns = row["messages"] / machine.nodes / 0.2 * 10.24
    loads = np.load(tmp_path / LINK_ARRAY)[between] / machine.link_capacity_Bps[between] * 1e9 / window_ns
    assert np.count_nonzero(loads) == 9 * 7
    assert loads.sum() / (9 * 7) == pytest.approx(0.2 * 16 / 7, rel=0.02)


@pytest.mark.parametrize("engine", [SST, CODES])
def test_valiant_saturates_where_detours_avoid_two_groups(engine: str, tmp_path: Path) -> None:
    """Above 7 / 16, and below 1 / 2, the bound where detours avoid the group of the source only."""
    row = row_of(point_of(engine, DRAGONFLY, GROUP, ADVERSARY, 0.47, warmup=500), tmp_path)
    assert row["state"] == "saturated" and row["saturation_bound"] == pytest.approx(7 / 16)
    assert 0.85 * 7 / 16 <= row["accepted_load"] <= 1.01 * 7 / 16


@pytest.mark.parametrize("engine", ["caminos", SST, CODES])
def test_engines_agree_below_saturation(engine: str, tmp_path: Path) -> None:
    """Waiting at half the load is some per cent of the latency, with flits, phits or packets."""
    row = row_of(point_of(engine, DRAGONFLY, "minimal", "uniform", 0.5), tmp_path)
    assert 1.01 <= row["latency_mean_ns"] / row["zero_load_ns"] <= 1.05


@pytest.mark.parametrize(
    ("engine", "changes"),
    [
        ("sst", {"arrivals": "poisson"}),
        ("sst", {"arrivals": "bursts", "burst": 8}),
        ("sst", {"message": "1 kB"}),
        ("sst", {"traffic": {"kind": "hot-spot", "share": 0.05}}),
        ("sst", {"traffic": "neighbours"}),
        ("sst", {"machine": SLIM_FLY}),
        ("sst", {"engine": {"kind": "sst", "processes": 2}}),
        ("codes", {"machine": CODES_TORUS, "routing": "dimension-order"}),
        ("codes", {"machine": ARIES, "message": "307 B"}),
        ("codes", {"engine": {"kind": "codes", "processes": 2}}),
    ],
)
def test_what_the_sources_cannot_offer_is_refused(engine: str, changes: dict[str, Any]) -> None:
    usual = {"engine": engine, "machine": DRAGONFLY, "routing": "minimal", "traffic": "uniform", "load": 0.5}
    machine = built(DRAGONFLY_POINT.machine).machine
    assert engine_named(engine).unsupported(point_of(**usual), machine) is None
    refused = point_of(**usual | changes)
    assert engine_named(engine).unsupported(refused, built(refused.machine).machine) is not None


DRAGONFLY_POINT = point_of("sst", DRAGONFLY, "minimal", "uniform", 0.5)


@pytest.mark.parametrize("load", [0.013, 0.1, 1 / 3, 0.9, 1.0])
def test_lengths_of_a_run(load: float) -> None:
    """Batches have whole messages, and the warm-up is as long as the study's or longer."""
    this = BuiltPoint(DRAGONFLY_POINT, built(DRAGONFLY_POINT.machine).machine)
    sst, codes = sst_window(this, load), codes_window(this, load)
    message_ns = 10.24
    assert sst.batch_ps == sst.batch_messages * sst.interval_ps - 1
    assert sst.interval_ps == pytest.approx(1000 * message_ns / load, rel=1e-4)
    assert sst.warmup_batches * (sst.batch_ps + 1) >= 200 * 1000 * message_ns * 0.999
    assert codes.begin_ns >= 200 * message_ns
    assert codes.end_ns - codes.begin_ns == pytest.approx(codes.messages * message_ns / load)


@pytest.mark.parametrize("engine", [SST])
def test_accepted_load_is_the_mean_of_its_batches(engine: str, tmp_path: Path) -> None:
    """All nodes receive about as many messages; if each number were rounded, so would be their sum."""
    row = row_of(point_of(engine, DRAGONFLY, "minimal", ADVERSARY, 0.5, measured=100, batches=10), tmp_path)
    assert row["accepted_load"] == pytest.approx((row["accepted_low"] + row["accepted_high"]) / 2)
