"""Other numbers for the routers, rows in another order, cables told from their other end: it is the same machine."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricstudy.engine.records import job_critical_path_ns
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.base import Routing
from fabricstudy.structure.bisection import BisectionBounds, bisection_bounds
from fabricstudy.structure.bound import load_time_ns, lower_bound
from fabricstudy.structure.load import link_loads
from fabricstudy.study.file import validate_machine
from fabricstudy.workload.messages import Messages
from fabricstudy.workload.phases import from_phases

SPEEDS = {"local": "1 GB/s", "global": "3 GB/s", "host": "1 GB/s"}
MACHINES: dict[str, dict[str, Any]] = {
    "torus": {"kind": "torus", "shape": [3, 4], "bandwidth": {"links": ["2 GB/s", "1 GB/s"], "host": "1 GB/s"}},
    "mesh": {"kind": "mesh", "shape": [4, 3], "bandwidth": "1 GB/s"},
    "dragonfly": {"kind": "dragonfly", "groups": 4, "routers_per_group": 3, "nodes_per_router": 2, "bandwidth": SPEEDS},
    "aries": {
        "kind": "aries", "groups": 2, "chassis_per_group": 2, "blades_per_chassis": 4, "nodes_per_router": 2,
        "bandwidth": {"row": "1 GB/s", "column": "1 GB/s", "global": "2 GB/s", "host": "1 GB/s"},
    },
    "percs": {
        "kind": "percs", "supernodes": 3, "drawers_per_supernode": 2, "hubs_per_drawer": 2,
        "bandwidth": {"local": "24 GB/s", "remote": "5 GB/s", "global": "10 GB/s", "host": "24 GB/s"},
    },
    "fat-tree": {"kind": "fat-tree", "radix": 4, "bandwidth": "1 GB/s"},
    "hyperx": {"kind": "hyperx", "shape": [3, 3], "nodes_per_router": 2, "bandwidth": "1 GB/s"},
    "jellyfish": {"kind": "jellyfish", "routers": 10, "degree": 3, "nodes_per_router": 2, "bandwidth": "1 GB/s"},
    "rails": {"kind": "rails", "domains": 3, "accelerators": 4, "bandwidth": {"scale_up": "4 GB/s", "rail": "1 GB/s"}},
    "xgft": {"kind": "xgft", "down": [3, 4], "up": [2], "bandwidth": "1 GB/s"},
}  # fmt: skip


@cache
def known(name: str) -> tuple[Machine, BisectionBounds]:
    """Return a machine without what its family knows of it, and its bisection."""
    built = validate_machine(MACHINES[name]).build()
    plain = replace(built, kind="graph", coordinates=None, dimensions=())
    return plain, bisection_bounds(plain)


def relabelled(machine: Machine, rng: np.random.Generator) -> tuple[Machine, npt.NDArray[np.int32]]:
    """Return the machine told in another way, and the new number of each router."""
    number = rng.permutation(machine.routers).astype(np.int32)
    order, flip = rng.permutation(len(machine.cable_tail)), rng.random(len(machine.cable_tail)) < 0.5
    tail, head = number[machine.cable_tail[order]], number[machine.cable_head[order]]
    old = np.argsort(number)
    arrays = {name: getattr(machine, name) for name in ("group", "level")}
    moved: dict[str, Any] = {name: None if array is None else array[old] for name, array in arrays.items()}
    told = replace(
        machine,
        node_router=number[machine.node_router],
        cable_tail=np.where(flip, head, tail),
        cable_head=np.where(flip, tail, head),
        cable_class=machine.cable_class[order],
        cable_count=machine.cable_count[order],
        **moved,
    )
    return told, number


@given(name=st.sampled_from(sorted(MACHINES)), seed=st.integers(0, 2**31))
@settings(max_examples=40)
def test_bounds_and_loads_do_not_know_the_numbers(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    machine, cut = known(name)
    told, number = relabelled(machine, rng)
    source, destination = rng.integers(machine.nodes, size=(2, 60))
    size = rng.integers(1, 10_000, size=60)
    messages = (np.sort(rng.integers(3, size=60)), source, destination, size)
    sides = cut.cut_side, cut.cut_side[np.argsort(number)]
    for kind in ("minimal", "valiant", "adaptive"):
        routing = Routing.model_validate({"kind": kind})
        bounds = [
            lower_bound(one, source, destination, size, side, routing)
            for one, side in zip((machine, told), sides, strict=True)
        ]
        assert bounds[0].time_ns == pytest.approx(bounds[1].time_ns, rel=1e-6)
        if kind == "adaptive":
            continue
        loads = [link_loads(one, source, destination, size, routing) for one in (machine, told)]
        assert load_time_ns(machine, loads[0]) == pytest.approx(load_time_ns(told, loads[1]))
        for number_of_class in range(len(machine.classes)):
            of_class = [
                np.sort(found.link_bytes[one.link_class == number_of_class])
                for one, found in zip((machine, told), loads, strict=True)
            ]
            np.testing.assert_allclose(of_class[0], of_class[1], rtol=1e-9, atol=1e-6)
    operations, nodes = (
        from_phases(Messages(*(np.asarray(column) for column in messages)), None, machine.nodes),
        np.arange(machine.nodes, dtype=np.int32),
    )
    phases = [job_critical_path_ns(operations, nodes, one, 100.0) for one in (machine, told)]
    assert phases[0] == phases[1]


@given(name=st.sampled_from(sorted(MACHINES)), seed=st.integers(0, 2**31))
@settings(max_examples=10)
def test_the_bisection_does_not_know_the_numbers(name: str, seed: int) -> None:
    machine, found = known(name)
    again = bisection_bounds(relabelled(machine, np.random.default_rng(seed))[0])
    assert found.exact and again.exact
    assert again.upper_Bps == pytest.approx(found.upper_Bps, rel=1e-9)
    # What the family knows agrees with what the search found.
    assert bisection_bounds(validate_machine(MACHINES[name]).build()).upper_Bps == pytest.approx(
        found.upper_Bps, rel=1e-9
    )
