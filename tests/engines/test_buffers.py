"""Streams of packets on links whose bandwidth times round trip is above the buffer, against the closed form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fabricstudy.engine.attempt import attempt_point
from fabricstudy.engine.buffers import least_buffer_limit, may_be_short
from fabricstudy.engine.caminos.adapter import Caminos
from fabricstudy.engine.definitions import built
from fabricstudy.engine.engine import Engine
from fabricstudy.engine.packet.adapter import Packet
from fabricstudy.engine.point import Point
from fabricstudy.engine.registry import engine_named
from fabricstudy.engine.settings import SWITCH_BUFFERS, Limits, Network

from ..machines import point_on

PACKET, ROUTER_NS = 2000, 100.0
RING = {"kind": "torus", "shape": [6], "nodes_per_router": 1}
PAIR = {"kind": "mesh", "shape": [2], "nodes_per_router": 1}
# Bytes that one class of channels may have of an input, by hand: half of the equal part of a class is its own.
CASES: list[tuple[dict[str, Any], str, dict[str, Any], int]] = [
    (PAIR, "dimension-order", {"port_buffer": "64 kB"}, 64_000),
    (RING, "dimension-order", {"port_buffer": "64 kB"}, 48_000),
    (RING, "minimal", {"port_buffer": "60 kB"}, 40_000),
    (RING, "minimal", {"port_buffer": "9 kB"}, 5_000),
    (PAIR, "dimension-order", {"buffer_per": "channel", "buffer": "9 kB", "virtual_channels": 4}, 36_000),
    (RING, "dimension-order", {"buffer_per": "channel", "buffer": "9 kB", "virtual_channels": 6}, 27_000),
]


def point_of(machine: dict[str, Any], routing: str, network: dict[str, Any], engine: str = "packet") -> Point:
    """Return a point whose first node sends 1 MB to its neighbour; of the cable, a round trip has 1,200 ns."""
    links = {"bandwidth": "100 GB/s", "latency": "500 ns"}
    jobs = [{"nodes": 2, "pattern": {"kind": "ping-pong", "message": "1 MB"}}]
    return point_on(links | machine, routing, engine=engine, jobs=jobs, network={"packet": "2 kB"} | network)


def runtime_ns(point: Point, engine: Engine, folder: Path) -> float:
    folder.mkdir()
    record = attempt_point(point, engine, built(point.machine), Limits(), folder)
    assert record["status"] == "done", record["reason"]
    return float(record["jobs"][0]["runtime_ns"])


def stream_ns(packets: int, held: int, trip_ns: float = 1200.0) -> float:
    """Return the time of a message over a cable, whose receiver has room for so many packets; 20 ns each."""
    starts = [0.0] * packets
    for index in range(1, packets):
        starts[index] = starts[index - 1] + 20.0
        if index >= held:
            # Two latencies of cable and router after it began, and the time of its tail.
            starts[index] = max(starts[index], starts[index - held] + trip_ns + 20.0)
    return starts[-1] + 20.0 + (500 + 50) * 2 + 500 + 100


@pytest.mark.skipif(not Engine(Packet).probe().found, reason="no program")
@pytest.mark.parametrize(("machine", "routing", "network", "stream_bytes"), CASES)
def test_a_stream_has_the_rate_that_the_buffer_allows(
    tmp_path: Path, machine: dict[str, Any], routing: str, network: dict[str, Any], stream_bytes: int
) -> None:
    point = point_of(machine, routing, network)
    limit = least_buffer_limit(point, point.machine.build(), Engine(Packet))
    assert limit is not None and may_be_short(point, point.machine.build())
    held, rel = stream_bytes // PACKET, 0.0
    if "buffer_per" in network:
        # Each channel has room for whole packets. Packets draw channels at random.
        held, rel = stream_bytes // 9000 * (9000 // PACKET), 0.03
    assert limit.share == pytest.approx(held * PACKET / 122_000)
    assert runtime_ns(point, Engine(Packet), tmp_path / "short") == pytest.approx(
        2 * stream_ns(500, held), rel=rel, abs=0
    )
    key = limit.key.removeprefix("network.")
    enough = point_of(machine, routing, network | {key: f"{limit.needed_bytes} B"})
    after = least_buffer_limit(enough, enough.machine.build(), Engine(Packet))
    assert after is not None and after.share == 1
    assert runtime_ns(enough, Engine(Packet), tmp_path / "enough") == pytest.approx(
        2 * stream_ns(500, 500), rel=rel, abs=0
    )


@pytest.mark.skipif(not Engine(Packet).probe().found, reason="no program")
def test_a_node_waits_for_the_buffer_of_its_router(tmp_path: Path) -> None:
    """Between a node and the room behind it are the latency of its cable and half of that of the router, both ways."""
    links = {"bandwidth": {"links": "200 GB/s", "host": "100 GB/s"}, "latency": {"links": "50 ns", "host": "500 ns"}}
    point = point_of(PAIR | links, "dimension-order", {"port_buffer": "64 kB"})
    limit = least_buffer_limit(point, point.machine.build(), Engine(Packet))
    held = 64_000 // PACKET
    assert limit is not None and limit.share == pytest.approx(held * PACKET / (1100 * 100 + PACKET))
    expected_ns = 2 * stream_ns(500, held, 1100.0)
    assert runtime_ns(point, Engine(Packet), tmp_path / "node") == pytest.approx(expected_ns, rel=0.03)


@pytest.mark.skipif(not Engine(Caminos).probe().found, reason="no program")
def test_a_run_that_waits_for_credits_is_not_ended(tmp_path: Path) -> None:
    """In CAMINOS, too, it takes as long as the buffer allows; a limit of cycles ended it before."""
    point = point_of(PAIR, "minimal", {"buffer": "8 kB"}, "caminos")
    limit = least_buffer_limit(point, point.machine.build(), Engine(Caminos))
    assert limit is not None and limit.share == pytest.approx(8 / 122)
    expected_ns = 2 * (1e6 / 100 * 122 / 8 + 1700)
    assert runtime_ns(point, Engine(Caminos), tmp_path / "caminos") == pytest.approx(expected_ns, rel=0.02)


def test_buffers_are_compared_with_the_link_that_needs_most() -> None:
    point = point_of(PAIR, "minimal", {"port_buffer": "121 kB"})
    limit = least_buffer_limit(point, point.machine.build(), Engine(Packet))
    assert limit is not None and limit.link_class == "x" and limit.needed_bytes == 122_000 and limit.share < 1
    flow = point_of(PAIR, "minimal", {}, "flow")
    assert least_buffer_limit(flow, flow.machine.build(), engine_named("flow")) is None


@pytest.mark.parametrize("name", SWITCH_BUFFERS)
def test_the_name_of_a_switch_is_the_buffer_of_a_port(name: str) -> None:
    switch = SWITCH_BUFFERS[name]
    network = Network.model_validate({"port_buffer": name}, by_alias=True, by_name=False)
    assert network.port_buffer_bytes == switch.port_bytes
    assert switch.port_bytes * switch.ports <= switch.switch_bytes < (switch.port_bytes + 1) * switch.ports
