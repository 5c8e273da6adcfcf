"""Parallel cables between two routers: as many messages at once as there are cables, on packet, flow and analysis."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fabricstudy.engine.flow.adapter import Flow
from fabricstudy.engine.packet.adapter import Packet
from fabricstudy.engine.program_engine import ProgramEngine
from fabricstudy.structure.bound import load_time_ns
from fabricstudy.structure.load import link_loads

from ..machines import job_of, point_on
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
@pytest.mark.parametrize("engine", [Packet(), Flow()])
def test_four_messages_share_the_cables_between_two_routers(tmp_path: Path, engine: ProgramEngine, kind: str) -> None:
    """Four nodes send to the other router over k cables: 4 / k times the bytes of a message pass each cable."""
    if not engine.probe().found:
        pytest.skip(str(engine.probe().reason))
    key = next(key for key in PAIRS[kind] if key.startswith("links_"))
    jobs = [job_of(list(range(8)), [(0, node, 4 + node, SIZE) for node in range(4)])]
    for cables in (1, 2, 4):
        machine = PAIRS[kind] | {key: cables, "bandwidth": "1 GB/s"}
        name = "packet" if isinstance(engine, Packet) else "flow"
        point = point_on(machine, "minimal", engine=name, network={"packet": "1 kB"})
        built, folder = point.machine.build(), tmp_path / str(cables)
        folder.mkdir()
        command = engine.prepare(folder, point, built, jobs)
        assert command is not None
        exit_code = run(command, folder)
        (runtime_ns,) = engine.read(folder, exit_code, point, built, jobs).job_runtime_ns
        bound_ns = load_time_ns(built, link_loads(built, *ends(jobs), point.routing))
        assert bound_ns == pytest.approx(4 / cables * SIZE)
        assert runtime_ns is not None and bound_ns <= runtime_ns <= 1.1 * bound_ns
