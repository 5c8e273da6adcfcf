"""The mapping that Scotch finds, where its package is installed."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from tests.unit.workload.test_task_mapping import MACHINES, TORUS, hops_a_byte, mapped, random_tasks, slots_on, stencil

from fabricstudy.workload.mapping.base import Mapping
from fabricstudy.workload.messages import WorkloadError

EXTENSIONS = ["scotch"]

needs_scotch = pytest.mark.skipif(find_spec("scotchpy") is None, reason="the optional package scotchpy64 is absent")


def scotch() -> Any:
    """Return the module of the mapping."""
    return sys.modules[type(Mapping.model_validate("scotch")).__module__]


@needs_scotch
@pytest.mark.parametrize("machine", MACHINES)
def test_each_rank_has_a_core_on_each_machine_and_far_fewer_hops_than_by_chance(machine: str) -> None:
    whole = slots_on(MACHINES[machine])
    nodes = np.random.default_rng(2).permutation(whole.machine.nodes)[: whole.machine.nodes // 2 + 1]
    for slots in (whole, slots_on(MACHINES[machine], nodes.tolist())):
        tasks = random_tasks(slots.ranks, 1)
        mean = np.mean([hops_a_byte("random", slots, tasks, seed) for seed in range(5)])
        assert hops_a_byte("scotch", slots, tasks) < mean


@needs_scotch
@pytest.mark.parametrize("machine", [
    {**TORUS, "shape": [2, 8, 4]},
    {"kind": "mesh", "shape": [2, 8, 4]},
    {"kind": "torus", "shape": [2, 8, 4], "wrap": [False, True, False]},
    {"kind": "torus", "shape": [2, 8], "nodes_per_router": 2, "cores_per_node": 2},
])  # fmt: skip
def test_a_stencil_stays_together_on_grids_of_unequal_sides(machine: dict[str, Any]) -> None:
    """Were dimensions mixed up, the hops would be those of a random mapping: 2.5 on 16 nodes, 3.2 and more on 64."""
    tasks = stencil((2, 8, 4), periodic=False, shuffled=3)
    assert hops_a_byte("scotch", slots_on(machine), tasks) < 2.0


@needs_scotch
def test_scotch_repeats_itself_in_another_process() -> None:
    script = """
from fabricstudy.core.bundled_files import CONFIGS
from fabricstudy.core.extensions import load_extensions
from tests.unit.workload.test_task_mapping import TORUS, mapped, random_tasks, slots_on
load_extensions(["extensions/scotch.py"], CONFIGS)
print(mapped("scotch", slots_on(TORUS), random_tasks(64, 1), 7).tolist())
"""
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    tasks = random_tasks(64, 1)
    assert found.strip() == str(mapped("scotch", slots_on(TORUS), tasks, 7).tolist())
    assert mapped("scotch", slots_on(TORUS), tasks, 8).tolist() != mapped("scotch", slots_on(TORUS), tasks, 7).tolist()


def test_without_the_package_the_point_is_refused_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scotch(), "find_spec", lambda name: None)
    with pytest.raises(WorkloadError, match="scotchpy64"):
        mapped("scotch", slots_on(TORUS), random_tasks(64, 1))


def test_what_scotch_says_when_it_fails_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("raise SystemExit('no such luck')")
    monkeypatch.setattr(scotch(), "find_spec", lambda name: object())
    monkeypatch.setattr(scotch(), "SCOTCH_SCRIPT", broken)
    with pytest.raises(WorkloadError, match="no such luck"):
        mapped("scotch", slots_on(TORUS), random_tasks(64, 1))


def test_too_many_ranks_on_a_router_move_to_the_nearest_with_room() -> None:
    slots = slots_on({"kind": "mesh", "shape": [5], "cores_per_node": 2})
    router = np.array([0, 0, 0, 0, 2, 2, 3, 3, 4, 2])
    assert scotch().relieve_overfull_routers(router, slots).tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
