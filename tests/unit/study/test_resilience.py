"""Resilience against networkx, hand counts and the known shares at which networks are disconnected."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
from pydantic import ValidationError

from fabricstudy.analysis import resilience
from fabricstudy.analysis.base import Analysis
from fabricstudy.analysis.resilience import disconnected_at, sources_of
from fabricstudy.machine.base import Topology
from fabricstudy.machine.faults import fault_order
from fabricstudy.machine.graph import Machine
from fabricstudy.structure.summary import hop_figures

from ...machines import DRAGONFLY

SLIM_FLY = {"kind": "slim-fly", "q": 5, "nodes_per_router": 2, "bandwidth": "1 GB/s"}
TREE = {"kind": "fat-tree", "radix": 4, "bandwidth": "1 GB/s"}
STAR = {"kind": "xgft", "down": [2, 4], "up": [2], "parallel": 2, "bandwidth": "1 GB/s"}
TORUS = {"kind": "torus", "shape": [4, 4], "bandwidth": "1 GB/s"}
SMALL = [DRAGONFLY, SLIM_FLY, TREE, STAR, TORUS]


def rows(machine: dict[str, Any], **keys: Any) -> list[dict[str, Any]]:
    return list(Analysis.model_validate({"kind": "resilience", "machines": {"m": machine}} | keys).rows())


def left_of(machine: Machine, order: Any, failed: int) -> nx.MultiGraph:
    rows = np.repeat(np.arange(len(machine.cable_count)), machine.cable_count)[order[failed:]]
    graph = nx.MultiGraph(zip(machine.cable_tail[rows].tolist(), machine.cable_head[rows].tolist(), strict=True))
    graph.add_nodes_from(range(machine.routers))
    return graph


def is_connected(machine: Machine, graph: nx.MultiGraph) -> bool:
    part = nx.node_connected_component(graph, int(machine.node_router[0]))
    return bool(set(machine.node_router.tolist()) <= part)


@pytest.mark.parametrize("machine", SMALL, ids=lambda machine: machine["kind"])
@pytest.mark.parametrize("seed", range(1, 6))
def test_the_cable_that_disconnects_is_that_of_networkx(machine: dict[str, Any], seed: int) -> None:
    built = Topology.model_validate(machine).build()
    order = fault_order(np.arange(built.cables), seed)
    first = disconnected_at(built, order)
    assert is_connected(built, left_of(built, order, first - 1))
    assert not is_connected(built, left_of(built, order, first))


@pytest.mark.parametrize("machine", SMALL, ids=lambda machine: machine["kind"])
def test_rows_are_those_of_networkx(machine: dict[str, Any]) -> None:
    built = Topology.model_validate(machine).build()
    ends = sorted(set(built.node_router.tolist()))
    for row in rows(machine, percent=[0, 15], draws=4, bounds="none"):
        hops = []
        for seed in range(1, 5):
            graph = left_of(built, fault_order(np.arange(built.cables), seed), row["failed"])
            if is_connected(built, graph):
                distance = dict(nx.all_pairs_shortest_path_length(nx.Graph(graph)))
                hops.append([distance[a][b] for a in ends for b in ends if a != b])
        assert row["connected"] == len(hops) / 4
        if hops:
            assert (row["diameter_low"], row["diameter_high"]) == (min(map(max, hops)), max(map(max, hops)))
            assert row["mean_hops"] == pytest.approx(np.median([np.mean(one) for one in hops]))
        assert row["uniform_load"] is row["bisection_upper_Bps"] is None


def test_a_sample_of_sources_estimates_the_hops(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Topology.model_validate(TORUS | {"shape": [12, 12]}).build()
    whole = hop_figures(machine)
    assert hop_figures(machine, sources_of(machine)) == pytest.approx(whole)
    monkeypatch.setattr(resilience, "MAX_EXACT", 100)
    monkeypatch.setattr(resilience, "SAMPLED_ROUTERS", 20)
    assert len(sources_of(machine)) == 20
    # A torus looks the same from each router.
    assert hop_figures(machine, sources_of(machine)) == pytest.approx(whole)


DISCONNECTED = {
    "Slim Fly q = 5": (SLIM_FLY, 45, 63),
    "Slim Fly q = 17": (SLIM_FLY | {"q": 17}, 71, 81),
    "Jellyfish": (
        {"kind": "jellyfish", "routers": 578, "degree": 25, "nodes_per_router": 2, "bandwidth": "1 GB/s"},
        70,
        79,
    ),
    "HyperX": ({"kind": "hyperx", "shape": [8, 8], "nodes_per_router": 2, "bandwidth": "1 GB/s"}, 64, 79),
    "dragonfly": (DRAGONFLY, 33, 53),
    "fat tree": (TREE | {"radix": 16}, 41, 58),
    "hypercube": ({"kind": "hypercube", "dimensions": 9, "bandwidth": "1 GB/s"}, 39, 53),
    "torus": (TORUS | {"shape": [8, 8, 8]}, 28, 42),
}
"""Range of 10 to 90 % of the draws of another program that removes cables until networkx finds two components."""


@pytest.mark.parametrize("name", DISCONNECTED)
def test_medians_of_disconnection_are_in_the_known_range(name: str) -> None:
    machine, low, high = DISCONNECTED[name]
    (row,) = rows(machine, percent=[0], draws=40, bounds="none")
    assert low <= row["disconnected_percent"] <= high
    assert row["disconnected_percent_low"] < row["disconnected_percent"] < row["disconnected_percent_high"]


def test_throughput_of_the_dragonfly_falls_by_a_third() -> None:
    whole, left = rows(DRAGONFLY, percent=[0, 2])
    assert whole["uniform_load"] == whole["uniform_load_low"] == pytest.approx(1.044, abs=0.001)
    assert 0.6 < left["uniform_load"] < 0.85
    # One cable joins two groups of eight nodes.
    assert whole["adversary_load"] == pytest.approx(1 / 8)
    assert whole["bisection_lower_Bps"] <= whole["bisection_upper_Bps"] == 20e9
    assert left["bisection_upper_Bps_high"] <= 20e9


def test_bounds_only_fall() -> None:
    found = rows(SLIM_FLY, percent=[0, 2, 5, 10, 20])
    for metric in ("bisection_lower_Bps", "uniform_load"):
        assert np.all(np.diff([row[metric] for row in found]) < 0)


@pytest.mark.parametrize(
    ("keys", "path"), [({"percent": [0.1]}, "percent"), ({"percent": [100]}, "percent"), ({"draws": 0}, "draws")]
)
def test_wrong_keys_are_refused(keys: dict[str, Any], path: str) -> None:
    with pytest.raises(ValidationError) as caught:
        rows(DRAGONFLY, **keys)
    error = caught.value.errors()[0]
    context = error.get("ctx", {}).get("error")
    assert path in (*error["loc"], *getattr(context, "keys", ()))
