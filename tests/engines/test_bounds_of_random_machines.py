"""No simulated time is below a bound, on random machines with faults, under random routings and jobs."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabricstudy.engine.engine import Engine
from fabricstudy.engine.packet.adapter import Packet

from .random_bounds import violations

pytestmark = pytest.mark.skipif(not Engine(Packet).probe().found, reason="the packet engine is not built")

SEEDS = 25


def test_no_random_point_breaks_a_bound(tmp_path: Path) -> None:
    found = {seed: violations(seed, tmp_path / str(seed)) for seed in range(SEEDS)}
    assert not {seed: wrong for seed, wrong in found.items() if wrong}
    assert sum(wrong is not None for wrong in found.values()) >= SEEDS // 2
