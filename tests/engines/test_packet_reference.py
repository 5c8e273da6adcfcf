"""The packet engine against an independent slow reference, to the picosecond."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from .packet_points import PROGRAM, RECEIVE, Machine, Message, Point
from .packet_random import crowded_point, differences, random_point
from .packet_reference import Simulation

pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason=f"{PROGRAM} has not been built")

POINTS, CHUNK, CROWDED = 150, 30, 60


def pair(messages: list[Message], ranks: tuple[int, ...] = (0, 1), ports: int = 1, striped: bool = False) -> Point:
    """Return two routers, each with a node, joined by a cable for each port of a node."""
    machine = Machine(2, [(0, 1, 0, ports)], [0, 1])
    return Point(machine, [0] * ports + [1] * ports, list(ranks), messages, ports, striped)


def end_ns(point: Point, folder: Path) -> list[float]:
    """Return when each operation has ended, according to the program and to the reference."""
    code, result = point.simulate(folder)
    assert code == 0, result
    assert not differences(point, folder)
    return [time / 1e3 for time in result["operation_ps"][1::2]]


class TestByHand:
    def test_a_port_that_is_idle_gets_the_message_behind_one_that_waited(self, tmp_path: Path) -> None:
        point = pair([Message(0, 1, size) for size in (300, 100, 100, 100)], ports=2)
        assert end_ns(point, tmp_path) == [300, 100, 400, 300, 300, 100, 400, 300]

    def test_a_divided_message_has_arrived_with_the_last_of_its_parts(self, tmp_path: Path) -> None:
        assert end_ns(pair([Message(0, 1, 101)], ports=2, striped=True), tmp_path) == [100, 100]

    def test_a_rank_that_posts_late_has_its_turn(self, tmp_path: Path) -> None:
        messages = [Message(0, 2, 100), Message(0, 2, 100), Message(1, 2, 100, posted_ps=1)]
        point = pair(messages, ranks=(0, 0, 1))
        assert end_ns(point, tmp_path) == [100, 300, 0.001, 200, 100, 300, 200]

    def test_a_port_without_room_for_a_packet_sends_the_smaller_one_behind_it(self, tmp_path: Path) -> None:
        """At 410 ns port 1 has room for 90 B, and the first message 100 B left, which port 0 sends at 500 ns.

        Port 1 is the one whose packets lose the first draws for the cable, as with this seed.
        """
        messages = [Message(0, 1, size) for size in (600, 400, 10, 10)]
        point = replace(pair(messages, ports=2, striped=True), machine=Machine(2, [(0, 1, 0, 1)], [0, 1]), injection=2)
        point = replace(point, seed=3)
        assert end_ns(point, tmp_path)[:4] == [600, 400, 410, 510]

    def test_a_lane_is_chosen_among_all_whose_credits_are_back(self, tmp_path: Path) -> None:
        """Nine packets take 200 ns each on the cable; the last one of the first message is the seventh."""
        speeds: dict[str, Any] = {"bandwidth_Bps": (5e8, 1e9, 2e9), "latency_ns": (10, 10, 10), "injection": 2}
        point = replace(pair([Message(0, 1, 400), Message(0, 1, 500)]), per_channel=True, channels=2, **speeds)
        assert end_ns(point, tmp_path) == [350, 450, 10 + 7 * 200 + 20, 10 + 9 * 200 + 20]

    @pytest.mark.parametrize("per_channel", [False, True])
    def test_a_packet_does_not_wait_behind_those_that_go_elsewhere(self, per_channel: bool, tmp_path: Path) -> None:
        """At 300 ns node 0 sends to node 3, to which nobody else does, and behind packets to node 1, which are late."""
        floods = [Message(2, 1, 1000), Message(4, 1, 1000)]
        messages = [Message(0, 1, 300), Message(0, 3, 100), *floods]
        point = Point(Machine(1, [], [0]), [0] * 5, list(range(5)), messages, per_channel=per_channel)
        ends = dict(zip(point.operations(), end_ns(point, tmp_path), strict=True))
        assert (ends[RECEIVE, 1] == 400) is not per_channel

    def test_the_reference_knows_a_deadlock(self, tmp_path: Path) -> None:
        """Each node of a ring without a dateline sends far more than buffers hold to the one three routers ahead."""
        ring = Machine(8, [(k, (k + 1) % 8, 0, 1) for k in range(8)], list(range(8)))
        messages = [Message(k, (k + 3) % 8, 10_000) for k in range(8)]
        point = Point(ring, list(range(8)), list(range(8)), messages, scheme="hops")
        assert Simulation(point).run() is None
        assert point.simulate(tmp_path)[0] == 3


@pytest.mark.parametrize("first", range(0, POINTS, CHUNK))
def test_random_points_have_the_times_of_the_reference(first: int, tmp_path: Path) -> None:
    different = {number: differences(random_point(number), tmp_path) for number in range(first, first + CHUNK)}
    assert not {number: found for number, found in different.items() if found}


@pytest.mark.parametrize("first", range(0, CROWDED, CHUNK))
def test_crowded_points_have_the_times_of_the_reference(first: int, tmp_path: Path) -> None:
    different = {number: differences(crowded_point(number), tmp_path) for number in range(first, first + CHUNK)}
    assert not {number: found for number, found in different.items() if found}
