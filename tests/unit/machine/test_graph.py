"""The arrays of a machine: what they derive, keep and refuse."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fabricstudy.machine.definitions import read_machine, write_machines
from fabricstudy.machine.graph import LinkClass, Machine


def ints(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int32)


def triangle(**changed: Any) -> Machine:
    """Three routers, the first two with nodes; a double slow cable and two fast ones."""
    arrays: dict[str, Any] = {
        "kind": "triangle",
        "routers": 3,
        "node_router": ints(0, 0, 1),
        "cable_tail": ints(0, 1, 2),
        "cable_head": ints(1, 2, 0),
        "cable_class": ints(0, 1, 1),
        "cable_count": ints(2, 1, 1),
        "classes": (LinkClass("slow", 1e9, 5.0), LinkClass("fast", 4e9, 7.0)),
        "host": LinkClass("host", 3e9, 1.0),
        "cores_per_node": 4,
    }
    return Machine(**(arrays | changed))


def test_links_are_two_a_row() -> None:
    machine = triangle()
    assert (machine.nodes, machine.cables, machine.links) == (3, 4, 6)
    assert machine.link_tail.tolist() == [0, 1, 1, 2, 2, 0]
    assert machine.link_head.tolist() == [1, 0, 2, 1, 0, 2]
    assert machine.link_class.tolist() == [0, 0, 1, 1, 1, 1]
    assert machine.link_capacity_Bps.tolist() == [2e9, 2e9, 4e9, 4e9, 4e9, 4e9]
    assert machine.nodes_of_router.tolist() == [2, 1, 0]
    assert machine.radix == 5 and machine.hop_weight == (1, 1)


@pytest.mark.parametrize(
    "optional", [{}, {"group": ints(0, 0, 1)}, {"coordinates": np.eye(3, dtype=np.int32), "hop_weight": (1, 9)}]
)
def test_a_saved_machine_comes_back_whole(tmp_path: Path, optional: dict[str, Any]) -> None:
    machine = triangle(**optional)
    write_machines([("m1", {}, triangle()), ("m2", {}, machine)], tmp_path)
    loaded = read_machine((tmp_path,), "m2")
    for part in fields(Machine):
        before, after = getattr(machine, part.name), getattr(loaded, part.name)
        if isinstance(before, np.ndarray):
            assert before.dtype == after.dtype and np.array_equal(before, after)
        else:
            assert before == after


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"cable_head": ints(1, 2)}, "differ in length"),
        ({"hop_weight": (1, 2, 3)}, "hop_weight"),
        ({"group": ints(0, 0)}, "group"),
        ({"node_router": ints(0, 3)}, "node_router"),
        ({"cable_tail": ints(0, 1, -1)}, "cable_tail"),
        ({"cable_class": ints(0, 1, 2)}, "cable_class"),
        ({"cable_count": ints(2, 0, 1)}, "at least one cable"),
        ({"hop_weight": (0, 1)}, "weighs at least 1"),
        ({"host": LinkClass("host", 0.0, 1.0)}, "bandwidth must be positive"),
        ({"cable_head": ints(1, 2, 2)}, "a router with itself"),
        ({"cable_head": ints(1, 2, 1)}, "join the same routers"),
    ],
)
def test_contradictions_are_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        triangle(**changed)


def test_rows_of_two_classes_may_join_the_same_routers() -> None:
    machine = triangle(cable_head=ints(1, 0, 0))
    assert machine.links == 6
