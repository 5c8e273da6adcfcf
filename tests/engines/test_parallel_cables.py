"""Parallel cables between two routers: as many messages at once as there are cables, on packet, flow and analysis."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fabricstudy.engine.built_point import BuiltPoint
from fabricstudy.engine.engine import Engine
from fabricstudy.engine.flow.adapter import Flow
from fabricstudy.engine.packet.adapter import Packet
from fabricstudy.structure.bound import load_time_ns
from fabricstudy.structure.load import link_loads

from ..machines import job_of, place_jobs, point_on
from .run_caminos import ends, run

SIZE = 400_000
PAIRS: dict[str, dict[str, Any]] = {
    "hyperx": {"kind": "hyperx", "shape": [2], "nodes_per_router": 4, "links_per_pair": 1},
    "mesh": {"kind": "mesh", "shape": [2], "nodes_per_router": 4, "links_per_pair": 1},
    "torus": {"kind": "torus", "shape": [2], "nodes_per_router": 4, "links_per_pair": 1},
    "dragonfly": {
        "kind": "dragonfly", "groups": 1, "routers_per_group": 2, "nodes_per_router": 4, "links_per_local_pair": 1,
    },
}  # fmt: skip


@pytest.mark.parametrize("kind", PAIRS)
@pytest.mark.parametrize("engine", [Engine(Packet), Engine(Flow)])
def test_four_messages_share_the_cables_between_two_routers(tmp_path: Path, engine: Engine, kind: str) -> None:
    """Four nodes send to the other router over k cables: 4 / k times the bytes of a message pass each cable."""
    if not engine.probe().found:
        pytest.skip(str(engine.probe().reason))
    key = next(key for key in PAIRS[kind] if key.startswith("links_"))
    jobs = [job_of(list(range(8)), [(0, node, 4 + node, SIZE) for node in range(4)])]
    for cables in (1, 2, 4):
        machine = PAIRS[kind] | {key: cables, "bandwidth": "1 GB/s"}
        point = point_on(machine, "minimal", engine=engine.name, network={"packet": "1 kB"})
        built, folder = point.machine.build(), tmp_path / str(cables)
        folder.mkdir()
        command = engine.write(BuiltPoint(point, built, jobs), folder)
        assert command is not None
        exit_code = run(command, folder)
        (runtime_ns,) = engine.result(BuiltPoint(point, built, jobs), folder, exit_code).job_runtime_ns
        bound_ns = load_time_ns(built, link_loads(built, *ends(jobs), point.routing))
        assert bound_ns == pytest.approx(4 / cables * SIZE)
        assert runtime_ns is not None and bound_ns <= runtime_ns <= 1.1 * bound_ns


@pytest.mark.parametrize("engine", [Engine(Packet), Engine(Flow)])
@pytest.mark.parametrize(
    ("machine", "routing"),
    [
        ({"kind": "torus", "shape": [5, 3], "links_per_pair": [3, 1]}, "dimension-order"),
        ({"kind": "mesh", "shape": [4, 3], "links_per_pair": [1, 2]}, "dimension-order"),
        ({"kind": "hyperx", "shape": [4, 3], "links_per_pair": 2}, "dimension-order"),
    ],
)
def test_the_cables_of_a_pair_carry_what_the_analysis_expects(
    tmp_path: Path, engine: Engine, machine: dict[str, Any], routing: str
) -> None:
    if not engine.probe().found:
        pytest.skip(str(engine.probe().reason))
    point = point_on(machine | {"bandwidth": "1 GB/s"}, routing, message="20 kB", engine=engine.name)
    built = point.machine.build()
    jobs = place_jobs(point, built)
    command = engine.write(BuiltPoint(point, built, jobs), tmp_path)
    assert command is not None
    result = engine.result(BuiltPoint(point, built, jobs), tmp_path, run(command, tmp_path))
    loads = link_loads(built, *ends(jobs), point.routing)
    assert result.link_bytes is not None and result.job_runtime_ns[0] is not None
    assert result.link_bytes == pytest.approx(loads.link_bytes)
    assert load_time_ns(built, loads) <= result.job_runtime_ns[0] <= 2 * load_time_ns(built, loads)


def test_beyond_the_bound_the_last_message_is_alone_on_one_of_two_cables(tmp_path: Path) -> None:
    """Routers draw the next sender, so that messages end one after the other; a sender alone fills one cable."""
    jobs = [job_of(list(range(8)), [(0, node, 4 + node, SIZE) for node in range(4)])]
    machine = PAIRS["hyperx"] | {"links_per_pair": 2, "bandwidth": "1 GB/s"}
    engine = {"kind": "packet", "record": "messages"}
    point = point_on(machine, "minimal", engine=engine, network={"packet": "1 kB"})
    prepared = BuiltPoint(point, point.machine.build(), jobs)
    command = Engine(Packet).write(prepared, tmp_path)
    assert command is not None
    result = Engine(Packet).result(prepared, tmp_path, run(command, tmp_path))
    assert result.messages is not None
    *_, before_ns, last_ns = sorted(result.messages[0]["arrived_ns"])
    assert last_ns == pytest.approx(2 * SIZE + (last_ns - before_ns) / 2, abs=2_000)  # of two packets
    assert before_ns < last_ns
