"""Closed forms of bisections against exhaustive search, and against the tables of the literature."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricstudy.machine.base import Topology
from fabricstudy.machine.graph import Machine
from fabricstudy.structure.bisection import bisection_bounds
from fabricstudy.structure.closed_form import closed_form
from fabricstudy.structure.cut import cut_capacity_Bps

from ...machines import least_cut_Bps

# Oltchik and Schwartz, Tables 5 to 7: midplanes of a Blue Gene/Q partition, and links across its bisection.
BLUE_GENE_Q = {
    (1, 1, 1, 1): 256, (2, 1, 1, 1): 256, (3, 1, 1, 1): 256, (7, 1, 1, 1): 256,
    (4, 1, 1, 1): 256, (2, 2, 1, 1): 512, (4, 2, 1, 1): 512, (2, 2, 2, 1): 1024, (4, 4, 1, 1): 1024,
    (2, 2, 2, 2): 2048, (4, 3, 2, 1): 1536, (3, 2, 2, 2): 2048, (4, 4, 2, 1): 2048, (4, 4, 3, 1): 3072,
    (4, 4, 2, 2): 4096, (4, 4, 3, 2): 6144, (6, 1, 1, 1): 256, (3, 2, 1, 1): 512, (6, 2, 1, 1): 512,
    (3, 2, 2, 1): 1024, (4, 2, 2, 1): 1024, (6, 2, 2, 1): 1024, (5, 2, 2, 2): 2048, (6, 2, 2, 2): 2048,
    (7, 2, 2, 2): 2048, (3, 3, 1, 1): 768, (3, 3, 2, 1): 1536, (3, 3, 3, 1): 2304, (3, 3, 2, 2): 3072,
    (4, 3, 2, 2): 3072, (3, 3, 3, 2): 4608,
}  # fmt: skip


def machine_of(kind: str, **keys: Any) -> Machine:
    return Topology.model_validate({"kind": kind, "bandwidth": "1 GB/s", **keys}).build()


@st.composite
def small_grids(draw: st.DrawFn) -> Machine:
    """Grids of up to 16 routers, whose dimensions differ in bandwidth and are rings, lines or cliques."""
    shape = draw(st.lists(st.integers(2, 9), min_size=1, max_size=4).filter(lambda shape: math.prod(shape) <= 16))
    weights = draw(st.lists(st.integers(1, 4), min_size=len(shape), max_size=len(shape)))
    keys: dict[str, Any] = {"shape": shape, "bandwidth": {"links": [f"{w} GB/s" for w in weights], "host": "1 GB/s"}}
    keys["links_per_pair"] = draw(st.lists(st.integers(1, 3), min_size=len(shape), max_size=len(shape)))
    kind = draw(st.sampled_from(["torus", "mesh", "hyperx"]))
    if kind == "torus":
        keys["wrap"] = draw(st.lists(st.booleans(), min_size=len(shape), max_size=len(shape)))
        keys["pair_cables"] = draw(st.sampled_from([1, 2]))
    return machine_of(kind, **keys)


@given(small_grids())
@settings(deadline=None, max_examples=60)
def test_grids_against_all_cuts(machine: Machine) -> None:
    found, least_Bps = closed_form(machine), least_cut_Bps(machine)
    assert found is not None and found.lower_Bps <= least_Bps * (1 + 1e-12)
    if found.cut_side is not None:
        assert cut_capacity_Bps(machine, found.cut_side) == pytest.approx(least_Bps)
        assert np.count_nonzero(found.cut_side) == machine.routers // 2
        assert found.lower_Bps == pytest.approx(least_Bps)


@pytest.mark.parametrize(
    ("kind", "shape"),
    [
        ("torus", [4, 3]), ("torus", [6, 2]), ("torus", [4, 2, 2]), ("mesh", [4, 3]), ("mesh", [4, 4]),
        ("mesh", [6, 2]), ("hyperx", [4, 4]), ("hyperx", [6, 2]), ("hyperx", [3, 2]), ("hyperx", [4, 2, 2]),
    ],
)  # fmt: skip
def test_even_grids_are_settled(kind: str, shape: list[int]) -> None:
    """So the property above has cases with a cut, of each kind."""
    machine = machine_of(kind, shape=shape)
    found = bisection_bounds(machine)
    assert found.exact and found.method.startswith("closed form: ")
    assert found.lower_Bps == found.upper_Bps == least_cut_Bps(machine)


@pytest.mark.parametrize(
    ("keys", "links"),
    [
        ({"kind": "torus", "shape": [16, 8, 8]}, 2 * 1024 // 16),
        ({"kind": "torus", "shape": [16, 8, 8], "wrap": [False, True, True]}, 1024 // 16),
        ({"kind": "mesh", "shape": [8, 8, 8]}, 64),
        ({"kind": "hypercube", "dimensions": 10}, 512),
        ({"kind": "hyperx", "shape": [12, 10, 10]}, 120 * 25),
        ({"kind": "hyperx", "shape": [4, 4, 4]}, 64),
        ({"kind": "hyperx", "shape": [4, 6], "links_per_pair": [6, 4]}, 144),
        ({"kind": "torus", "shape": [8, 4], "links_per_pair": [3, 1]}, 16),
        ({"kind": "express-mesh", "shape": [6, 6], "gap": 1}, 6 * 9),
        ({"kind": "torus", "shape": [2, 2, 2], "pair_cables": 2}, 8),
        ({"kind": "bluegene-p", "midplanes": [1, 4, 4], "wrap": True}, 512),
        ({"kind": "bluegene-p", "midplanes": [1, 4, 4], "wrap": [True, False, False]}, 256),
    ],
)
def test_links_across(keys: dict[str, Any], links: int) -> None:
    found = closed_form(machine_of(**keys))
    assert found is not None and found.cut_side is not None
    assert found.lower_Bps == links * 1e9


@pytest.mark.parametrize("midplanes", BLUE_GENE_Q, ids=str)
def test_blue_gene_q_partitions(midplanes: tuple[int, int, int, int]) -> None:
    machine = Topology.model_validate({"kind": "bluegene-q", "midplanes": list(midplanes)}).build()
    found = bisection_bounds(machine)
    assert found.exact and found.upper_Bps == BLUE_GENE_Q[midplanes] * 2e9
    assert np.count_nonzero(found.cut_side) == machine.routers // 2


def test_odd_dimensions_have_a_bound_only() -> None:
    machine = machine_of("torus", shape=[3, 3])
    found = closed_form(machine)
    assert found is not None and found.cut_side is None
    assert found.lower_Bps <= least_cut_Bps(machine) == bisection_bounds(machine).upper_Bps
    assert closed_form(machine_of("express-mesh", shape=[6, 6], gap=2)) is None


@pytest.mark.parametrize("row", range(0, 32, 3))
@pytest.mark.parametrize("cables", [2, 9])
def test_one_faster_cable(row: int, cables: int) -> None:
    """A torus of 4x4 routers has four cuts of the same cables; one without the faster one remains."""
    machine = machine_of("torus", shape=[4, 4])
    counts = machine.cable_count.copy()
    counts[row] = cables
    uneven = replace(machine, cable_count=counts)
    found = closed_form(uneven)
    assert found is not None and found.lower_Bps == least_cut_Bps(uneven) == bisection_bounds(uneven).upper_Bps


@pytest.mark.parametrize("shape", [[2, 4, 2], [3, 2, 2], [2, 2, 4], [4, 2, 2], [2, 3, 3]], ids=str)
@pytest.mark.parametrize("links_GBps", [[9.375, 4.6875, 9.375, 9.375, 15], [1, 3, 1, 4, 2]], ids=str)
def test_gemini_against_all_cuts(shape: list[int], links_GBps: list[float]) -> None:
    bandwidth = {"links": [f"{link} GB/s" for link in links_GBps], "host": "8 GB/s"}
    machine = machine_of("gemini", shape=shape, bandwidth=bandwidth)
    found, least_Bps = closed_form(machine), least_cut_Bps(machine)
    assert found is not None and found.lower_Bps <= least_Bps * (1 + 1e-12)
    assert found.cut_side is None or cut_capacity_Bps(machine, found.cut_side) == pytest.approx(least_Bps)
    assert bisection_bounds(machine).upper_Bps == pytest.approx(least_Bps)


def least_leaf_cut_Bps(machine: Machine) -> float:
    """Least capacity between halves of the leaves; for each of them by maximum flow, which places the others."""
    assert machine.level is not None
    leaves = np.flatnonzero(machine.level == 0).tolist()
    graph = nx.DiGraph()
    rows = zip(machine.link_tail.tolist(), machine.link_head.tolist(), machine.link_capacity_Bps, strict=True)
    graph.add_weighted_edges_from(rows, weight="capacity")
    least_Bps = np.inf
    for half in itertools.combinations(leaves, len(leaves) // 2):
        ends = graph.copy()
        ends.add_edges_from(("source", leaf) for leaf in half)
        ends.add_edges_from((leaf, "target") for leaf in leaves if leaf not in half)
        least_Bps = min(least_Bps, nx.maximum_flow_value(ends, "source", "target"))
    return float(least_Bps)


@pytest.mark.parametrize("core_GBps", [0.5, 1, 2])
@pytest.mark.parametrize(("radix", "pods", "core_cables"), [(4, 2, 1), (4, 2, 2), (4, 3, 1), (6, 2, 3), (2, 2, 1)])
def test_fat_trees_against_all_cuts(radix: int, pods: int, core_cables: int, core_GBps: float) -> None:
    bandwidth = {"pod": "1 GB/s", "core": f"{core_GBps} GB/s", "host": "1 GB/s"}
    machine = machine_of("fat-tree", radix=radix, pods=pods, core_cables=core_cables, bandwidth=bandwidth)
    least_Bps = least_leaf_cut_Bps(machine)
    known, found = closed_form(machine), bisection_bounds(machine)
    assert known is not None and known.lower_Bps <= least_Bps
    assert found.exact and found.upper_Bps == pytest.approx(least_Bps)
    if core_GBps >= 1 or pods % 2 == 0:
        assert known.cut_side is not None and cut_capacity_Bps(machine, known.cut_side) == known.lower_Bps == least_Bps
        assert np.count_nonzero(known.cut_side & (machine.level == 0)) == pods * radix // 2 // 2
