"""The least that any mapping can reach: never above a mapping, and exact where that is known."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricstudy.routing.minimal import Minimal
from fabricstudy.structure.bound import load_time_ns
from fabricstudy.structure.load import link_loads
from fabricstudy.workload.mapping import bound
from fabricstudy.workload.mapping.bound import mapping_bound, partners_bound
from fabricstudy.workload.mapping.tasks import Slots, Tasks

from .test_task_mapping import MACHINES, TORUS, bytes_times_hops, mapped, random_tasks, slots_on, stencil, tasks_with

SMALL: dict[str, dict[str, Any]] = {
    "ring": {"kind": "torus", "shape": [6]},
    "mesh": {"kind": "mesh", "shape": [3, 2]},
    "pairs": {"kind": "torus", "shape": [3], "nodes_per_router": 2},
    "cores": {"kind": "mesh", "shape": [3], "cores_per_node": 2},
    "groups": {"kind": "dragonfly", "groups": 3, "routers_per_group": 2, "nodes_per_router": 1},
}


def half(slots: Slots) -> np.ndarray:
    return np.arange(slots.machine.routers) < slots.machine.routers // 2


def time_ns(slots: Slots, tasks: Tasks, core: np.ndarray) -> float:
    """Link bound of one mapping under minimal routing."""
    node, sent = slots.node_of_core[core], tasks.messages
    assert sent is not None
    ends = node[sent.source], node[sent.destination]
    return load_time_ns(slots.machine, link_loads(slots.machine, *ends, sent.size_bytes, Minimal()))


@pytest.mark.parametrize("machine", SMALL)
@given(seed=st.integers(0, 1000), degree=st.integers(1, 5))
@settings(deadline=None, max_examples=4)
def test_no_mapping_at_all_is_better(machine: str, seed: int, degree: int) -> None:
    slots, tasks = slots_on(SMALL[machine]), random_tasks(6, seed, degree)
    found = mapping_bound(tasks.graph, slots, half(slots))
    every = [np.array(core) for core in itertools.permutations(range(6))]
    assert found.hop_bytes <= min(bytes_times_hops(slots, tasks, core) for core in every)
    assert partners_bound(tasks.graph, slots) <= found.hop_bytes
    assert found.time_ns <= min(time_ns(slots, tasks, core) for core in every[::7]) * (1 + 1e-12)


@pytest.mark.parametrize("machine", MACHINES)
def test_no_good_mapping_is_better_on_any_machine(machine: str) -> None:
    whole = slots_on(MACHINES[machine])
    for slots in (whole, slots_on(MACHINES[machine], list(range(1, whole.machine.nodes, 2)))):
        tasks = random_tasks(slots.ranks, 4)
        found = mapping_bound(tasks.graph, slots, half(slots))
        core = mapped("exchange", slots, tasks)
        assert 0 < found.hop_bytes <= bytes_times_hops(slots, tasks, core)
        assert 0 < found.time_ns <= time_ns(slots, tasks, core)


def test_exact_for_a_stencil_that_fits() -> None:
    slots, tasks = slots_on(TORUS), stencil((4, 4, 4))
    found = mapping_bound(tasks.graph, slots, half(slots))
    assert (found.hop_bytes, found.method) == (6 * 64 * 1000, "partners")


def test_exact_for_all_to_all() -> None:
    slots = slots_on(TORUS | {"bandwidth": {"links": "1 GB/s", "host": "99 GB/s"}})
    tasks = tasks_with(64, [(a, b, 10) for a in range(64) for b in range(64) if a != b])
    found = mapping_bound(tasks.graph, slots, half(slots))
    assert found.hop_bytes == pytest.approx(3 * 64**2 * 10)
    # Each way 32 x 32 messages cross the middle, over 2 x 4 x 4 cables; the bytes on all links take as long.
    assert found.time_ns == pytest.approx(32 * 32 * 10 / 32) == 3 * 64**2 * 10 / (64 * 6)


def test_the_spectrum_sees_what_partners_do_not() -> None:
    """Of a complete bipartite graph each rank has near partners enough, but not all of them at once."""
    tasks = tasks_with(64, [(a, b, 10) for a in range(32) for b in range(32, 64)])
    slots = slots_on(TORUS)
    found = mapping_bound(tasks.graph, slots, half(slots))
    assert found.method == "spectrum" and found.hop_bytes > 1.2 * partners_bound(tasks.graph, slots)
    assert mapping_bound(tasks.graph, slots, half(slots), largest_spectrum=63).method == "partners"


def test_a_line_of_three_by_hand() -> None:
    """Three ranks that all exchange 10 B on a line: one pair is two hops apart."""
    slots, tasks = slots_on({"kind": "mesh", "shape": [3]}), tasks_with(3, [(0, 1, 10), (1, 2, 10), (0, 2, 10)])
    assert mapping_bound(tasks.graph, slots, half(slots)).hop_bytes == pytest.approx(40.0)


@pytest.mark.parametrize("machine", [TORUS, MACHINES["mesh"], {"kind": "hyperx", "shape": [4, 3]}], ids=str)
def test_large_grids_are_bounded_from_their_middle(monkeypatch: pytest.MonkeyPatch, machine: dict[str, Any]) -> None:
    slots = slots_on(machine)
    tasks = random_tasks(slots.ranks, 2, degree=8)
    exact = partners_bound(tasks.graph, slots)
    monkeypatch.setattr(bound, "MAX_PAIRED_ROUTERS", 1)
    assert partners_bound(tasks.graph, slots) == exact
    part = slots_on(machine, list(range(0, slots.machine.nodes, 2)))
    fewer = random_tasks(part.ranks, 2, degree=8)
    loose = partners_bound(fewer.graph, part)
    monkeypatch.undo()
    assert 0 < loose <= partners_bound(fewer.graph, part)


def test_ranks_of_one_node_talk_for_free() -> None:
    """Two ranks a node: the second of two equal partners alone needs the host link, and one hop."""
    slots = slots_on(
        {"kind": "mesh", "shape": [2], "cores_per_node": 2, "bandwidth": {"links": "9 GB/s", "host": "1 GB/s"}}
    )
    tasks = tasks_with(4, [(0, 1, 1000), (0, 2, 1000)])
    found = mapping_bound(tasks.graph, slots, half(slots))
    assert found.time_ns == pytest.approx(1000.0)
