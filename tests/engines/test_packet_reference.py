"""The packet engine against an independent slow reference, to the picosecond."""

from __future__ import annotations

from pathlib import Path

import pytest

from .packet_points import PointFiles, random_point, simulate
from .packet_reference import PROGRAM, Simulation, differences

needs_packet = pytest.mark.skipif(not PROGRAM.exists(), reason=f"{PROGRAM} has not been built")

POINTS, CHUNK = 200, 20

SETTINGS = """packet 1
seed 1
routing minimal split router
ugal 1 1 0 0
class_weight 1
bandwidth_Bps 1000000000.0 1000000000.0
latency_ns 0 0
router_latency_ns 0
packet_bytes 100
buffer_bytes 400
buffers port
channels 1 1 one
crossbar_speedup 1
injection 1
traffic_classes 1
job_classes 0
congestion_management 0
overhead 0 0 0
times 1
"""
"""A byte takes a nanosecond, and nothing else takes any time."""


def pair(ports: int) -> str:
    """Return two routers, each with a node, joined by a cable for each port of a node."""
    nodes = "0\n" * ports + "1\n" * ports
    return f"graph 1\nrouters 2\nclasses 1\nnodes {2 * ports}\n{nodes}cables 1\n0 1 0 {ports}\n"


def messages(ports: str, sizes: list[int]) -> str:
    """Return eager messages from node 0 to node 1, all posted at once; operation k sends message k."""
    count = len(sizes)
    sends = "".join(f"1 0 0 {size} {count + number}\n" for number, size in enumerate(sizes))
    receives = "".join(f"2 1 0 0 {number}\n" for number in range(count))
    head = f"operations 1\n{ports}\njobs 1\nranks 2\n0\n1\nstreams 0\noperations {2 * count}\n"
    return f"{head}{sends}{receives}dependencies 0\n"


def end_ns(point: PointFiles, folder: Path) -> list[float]:
    """Return when each operation has ended, according to the program and to the reference."""
    code, result = simulate(PROGRAM, point, folder)
    assert code == 0 and not isinstance(result, str), result
    assert not differences(PROGRAM, point, folder)
    return [time / 1e3 for time in result["operation_ps"][1::2]]


@needs_packet
class TestByHand:
    def test_a_port_that_is_idle_gets_the_message_behind_one_that_waited(self, tmp_path: Path) -> None:
        point = PointFiles(SETTINGS, pair(2), messages("ports 2", [300, 100, 100, 100]))
        assert end_ns(point, tmp_path) == [300, 100, 400, 300, 300, 100, 400, 300]

    def test_a_divided_message_has_arrived_with_the_last_of_its_parts(self, tmp_path: Path) -> None:
        point = PointFiles(SETTINGS, pair(2), messages("stripes 2", [101]))
        assert end_ns(point, tmp_path) == [100, 100]

    def test_a_rank_that_posts_late_has_its_turn(self, tmp_path: Path) -> None:
        operations = (
            "operations 1\njobs 1\nranks 3\n0\n0\n1\nstreams 1\noperations 7\n"
            "1 0 0 100 4\n1 0 0 100 5\n0 1 0 1 0\n1 1 0 100 6\n"
            "2 2 0 0 0\n2 2 0 0 1\n2 2 0 0 3\ndependencies 1\n2 3 0\n"
        )
        point = PointFiles(SETTINGS, pair(1), operations)
        assert end_ns(point, tmp_path) == [100, 300, 0.001, 200, 100, 300, 200]

    def test_the_reference_knows_a_deadlock(self, tmp_path: Path) -> None:
        needs_itself = messages("jobs 1", [9]).replace("jobs 1\njobs 1", "jobs 1")
        needs_itself = needs_itself.replace("dependencies 0\n", "dependencies 1\n0 0 0\n")
        point = PointFiles(SETTINGS, pair(1), needs_itself)
        assert Simulation(point.settings, point.machine, point.operations).run() is None
        assert simulate(PROGRAM, point, tmp_path)[0] == 3


@needs_packet
@pytest.mark.parametrize("first", range(0, POINTS, CHUNK))
def test_random_points_have_the_times_of_the_reference(first: int, tmp_path: Path) -> None:
    different = {number: differences(PROGRAM, random_point(number), tmp_path) for number in range(first, first + CHUNK)}
    assert not {number: found for number, found in different.items() if found}
