"""Cray XC and IBM PERCS: machines of three link classes against networkx and brute force."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
from pydantic import ValidationError

from fabricstudy.machine.arrangement import GroupTopology
from fabricstudy.routing.minimal import MinimalRoutes
from fabricstudy.structure.bisection import bisection_bounds
from fabricstudy.structure.summary import describe_machine

from ...machines import least_cut_Bps
from . import test_aries, test_percs

ARIES = [test_aries.small(*shape) for shape in test_aries.SMALL]
PERCS = [test_percs.small(*shape) for shape in test_percs.SMALL]
SMALL = pytest.mark.parametrize("config", [*ARIES, *PERCS])


@SMALL
def test_closed_forms_are_those_of_the_arrays(config: GroupTopology) -> None:
    machine = config.build()
    groups, group_routers = config.group_shape
    assert (machine.routers, machine.nodes, machine.cables) == (config.routers, config.nodes, config.cables)
    assert machine.group is not None
    assert np.bincount(machine.group).tolist() == [group_routers] * groups
    assert np.bincount(machine.group[machine.node_router]).tolist() == [config.group_nodes] * groups


@pytest.mark.parametrize("small", [test_aries.small, test_percs.small])
def test_circulant_arrangement_of_an_even_number_of_groups(small: Any) -> None:
    with pytest.raises(ValidationError) as refusal:
        small(4, 2, 2, arrangement="circulant")
    error = refusal.value.errors()[0]["ctx"]["error"]
    assert (error.code, error.keys) == ("invalid-machine", ("arrangement",))


@SMALL
def test_hops_are_those_of_networkx(config: GroupTopology) -> None:
    machine = config.build()
    graph = nx.Graph(zip(machine.cable_tail.tolist(), machine.cable_head.tolist(), strict=True))
    summary = describe_machine(machine)
    assert summary.diameter == nx.diameter(graph)
    assert summary.mean_hops == pytest.approx(nx.average_shortest_path_length(graph))


@SMALL
def test_minimal_paths_hold_one_global_hop_and_two_local_paths_at_most(config: GroupTopology) -> None:
    """A path in a group is one hop in a PERCS machine, and a row and a column in a Cray XC."""
    machine = config.build()
    assert machine.group is not None
    distance = MinimalRoutes(machine).distance
    crossed, local = np.divmod(distance, 100)
    assert np.array_equal(crossed, machine.group[:, None] != machine.group)
    in_group = 2 if config.kind == "aries" else 1
    assert local.max() <= 2 * in_group and local[crossed == 0].max() <= in_group
    graph = nx.Graph()
    for tail, head, kind in zip(machine.cable_tail, machine.cable_head, machine.cable_class, strict=True):
        graph.add_edge(int(tail), int(head), weight=machine.hop_weight[kind])
    for router, hops in nx.all_pairs_dijkstra_path_length(graph):
        assert [hops[other] for other in range(machine.routers)] == distance[router].tolist()


def bandwidths(*links_GBps: int) -> dict[str, str]:
    names = ("row", "column", "global", "host")
    return {name: f"{value} GB/s" for name, value in zip(names, (*links_GBps, 1), strict=True)}


@pytest.mark.parametrize(
    ("small", "shape", "bandwidth"),
    [
        *(
            (test_aries.small, shape, bandwidths(*links))
            for shape in [(1, 2, 4), (2, 1, 4, 2), (2, 2, 2), (3, 2, 2, 2)]
            for links in [(1, 1, 1), (5, 1, 2), (1, 1, 7)]
        ),
        *(
            (test_percs.small, shape, bandwidth)
            for shape in [(1, 2, 3), (2, 2, 2, 3), (3, 2, 2), (4, 1, 3, 3)]
            for bandwidth in ("1 GB/s", test_percs.PUBLISHED)
        ),
    ],
)
def test_bisection_by_brute_force(small: Any, shape: tuple[int, ...], bandwidth: Any) -> None:
    machine = small(*shape, bandwidth=bandwidth).build()
    bounds = bisection_bounds(machine)
    assert bounds.exact and bounds.upper_Bps == least_cut_Bps(machine)
