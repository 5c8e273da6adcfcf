"""Grids against the definition of their cables, networkx and the closed forms of the literature."""

from __future__ import annotations

import itertools
import math
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricstudy.machine.base import Topology
from fabricstudy.machine.definitions import read_machine, write_machines
from fabricstudy.machine.dimension import Dimension
from fabricstudy.machine.graph import Machine
from fabricstudy.machine.grid import GridConfig


def config(kind: str, **keys: Any) -> GridConfig:
    config = Topology.model_validate({"kind": kind, "bandwidth": "1 GB/s", **keys})
    assert isinstance(config, GridConfig)
    return config


@st.composite
def grids(draw: st.DrawFn) -> GridConfig:
    kind = draw(st.sampled_from(["torus", "mesh", "hyperx", "express-mesh", "hypercube"]))
    if kind == "hypercube":
        return config(kind, dimensions=draw(st.integers(1, 6)))
    shape = draw(st.lists(st.integers(2, 7), min_size=1, max_size=3))
    more: dict[str, Any] = {"nodes_per_router": draw(st.integers(1, 3))}
    if kind == "torus":
        more |= {"wrap": draw(st.lists(st.booleans(), min_size=len(shape), max_size=len(shape)))}
        more |= {"pair_cables": draw(st.sampled_from([1, 2]))}
    if kind == "express-mesh":
        more |= {"gap": draw(st.integers(1, max(1, min(shape) - 2)))}
    more |= {"links_per_pair": draw(st.lists(st.integers(1, 4), min_size=len(shape), max_size=len(shape)))}
    return config(kind, shape=shape, **more)


def cables_between(dimension: Dimension, pair_cables: int, one: int, other: int) -> int:
    """Cables between two coordinates of a dimension, by the definition."""
    apart = abs(one - other)
    if dimension.wrap and dimension.length == 2:
        return pair_cables
    if dimension.wrap:
        return int(apart in (1, dimension.length - 1))
    express = dimension.gap is not None and any(apart == 1 + m * dimension.gap for m in range(1, dimension.length))
    return int(apart == 1 or express)


@given(grids())
@settings(deadline=None, max_examples=60)
def test_cables_are_those_of_the_definition(given_config: GridConfig) -> None:
    machine = given_config.build()
    lengths = [dimension.length for dimension in machine.dimensions]
    places = [place[::-1] for place in itertools.product(*map(range, lengths[::-1]))]  # the first goes fastest
    assert machine.coordinates is not None
    assert [tuple(row) for row in machine.coordinates.tolist()] == places
    pair_cables = getattr(given_config, "pair_cables", 1)
    parallel = getattr(given_config, "links_per_pair", [1] * len(lengths))
    expected = {}
    for tail, head in itertools.combinations(range(len(places)), 2):
        changed = [number for number in range(len(lengths)) if places[tail][number] != places[head][number]]
        if len(changed) == 1:
            (number,) = changed
            ends = places[tail][number], places[head][number]
            count = cables_between(machine.dimensions[number], pair_cables, *ends)
            if count:
                expected[tail, head] = (number, count * parallel[number])
    rows = zip(machine.cable_tail, machine.cable_head, machine.cable_class, machine.cable_count, strict=True)
    found = {(min(tail, head), max(tail, head)): (kind, count) for tail, head, kind, count in rows}
    assert found == expected
    assert machine.routers == given_config.routers and machine.cables == given_config.cables
    assert machine.nodes == given_config.nodes
    assert np.array_equal(machine.node_router, np.repeat(np.arange(machine.routers), given_config.nodes_per_router))


@given(grids(), st.data())
@settings(deadline=None, max_examples=60)
def test_a_dimension_counts_the_cables_of_its_line(given_config: GridConfig, data: st.DataObject) -> None:
    """What is told of a dimension, against the cables of a machine that is this dimension alone."""
    number = data.draw(st.integers(0, len(given_config.grid) - 1))
    dimension, machine = given_config.grid[number], given_config.build()
    assert machine.coordinates is not None
    line = np.flatnonzero((np.delete(machine.coordinates, number, axis=1) == 0).all(axis=1))
    place = machine.coordinates[:, number]
    inside = np.isin(machine.cable_tail, line) & np.isin(machine.cable_head, line)
    tail, head, count = (
        place[machine.cable_tail[inside]],
        place[machine.cable_head[inside]],
        machine.cable_count[inside],
    )
    assert dimension.cables == count.sum()
    ends, cables = np.concatenate([tail, head]), np.concatenate([count, count])
    assert dimension.ports == np.bincount(ends, cables).max()
    side = data.draw(st.integers(1, dimension.length))
    across = (tail < side // 2) != (head < side // 2)
    assert dimension.cut(side) == count[across & (tail < side) & (head < side)].sum()
    graph = as_graph(machine).subgraph(line.tolist())
    for start, hops in nx.all_pairs_shortest_path_length(graph):
        assert {place[end]: far for end, far in hops.items()} == dict(enumerate(dimension.hops()[place[start]]))


def as_graph(machine: Machine) -> nx.Graph:
    graph = nx.empty_graph(machine.routers)
    graph.add_edges_from(zip(machine.cable_tail.tolist(), machine.cable_head.tolist(), strict=True))
    return graph


def product(*factors: nx.Graph) -> nx.Graph:
    """Cartesian product, numbered with the first factor fastest."""
    graph = factors[-1]
    for factor in factors[-2::-1]:
        graph = nx.convert_node_labels_to_integers(nx.cartesian_product(graph, factor), ordering="sorted")
    return graph


@pytest.mark.parametrize(
    ("grid", "oracle"),
    [
        (config("torus", shape=[5, 4, 3]), product(nx.cycle_graph(5), nx.cycle_graph(4), nx.cycle_graph(3))),
        (config("torus", shape=[5, 4], wrap=[True, False]), product(nx.cycle_graph(5), nx.path_graph(4))),
        (config("mesh", shape=[2, 6, 3]), product(nx.path_graph(2), nx.path_graph(6), nx.path_graph(3))),
        (config("hyperx", shape=[4, 3, 2]), product(*map(nx.complete_graph, (4, 3, 2)))),
        (config("hypercube", dimensions=5), product(*[nx.path_graph(2)] * 5)),
        (
            config("bluegene-q", midplanes=[1, 1, 1, 1]),
            product(*map(nx.cycle_graph, (4, 4, 4, 4)), nx.path_graph(2)),
        ),
    ],
    ids=lambda value: getattr(value, "kind", ""),
)
def test_router_graphs_are_products(grid: GridConfig, oracle: nx.Graph) -> None:
    assert nx.utils.graphs_equal(as_graph(grid.build()), oracle)


@pytest.mark.parametrize("length", range(4, 31))
@pytest.mark.parametrize("gap", [1, 2, 3])
def test_ports_of_an_express_dimension(length: int, gap: int) -> None:
    """Jain et al. count 2 + floor((k - 3) / g) ports a dimension of k routers."""
    if gap <= length - 2:
        machine = config("express-mesh", shape=[length], gap=gap).build()
        assert machine.radix - 1 == 2 + (length - 3) // gap


@pytest.mark.parametrize(
    ("grid", "cables", "radix"),
    [
        (config("bluegene-q", midplanes=[1, 1, 1, 1]), 4 * 512 + 512, 11),  # ten links a node, both fifth ones
        (config("bluegene-p", midplanes=[1, 1, 1]), 3 * 512, 7),
        (config("bluegene-p", midplanes=[1, 1, 2], wrap=[True, True, False]), 2 * 1024 + 64 * 15, 7),
        (config("torus", shape=[2, 2]), 4, 3),
        (config("torus", shape=[2, 2], pair_cables=2), 8, 5),
        (config("hypercube", dimensions=10), 10 * 512, 11),
        (config("hyperx", shape=[12, 10, 10], nodes_per_router=9), 17_400, 38),
    ],
)
def test_cables_and_ports(grid: GridConfig, cables: int, radix: int) -> None:
    machine = grid.build()
    assert (machine.cables, machine.radix) == (cables, radix)


def test_quantities_of_each_dimension() -> None:
    bandwidth = {"links": ["1 GB/s", "2 GB/s", "3 GB/s"], "host": "4 GB/s"}
    machine = config("torus", shape=[3, 4, 5], bandwidth=bandwidth, latency={"links": "7 ns"}, cores_per_node=3).build()
    assert [(c.name, c.bandwidth_Bps, c.latency_ns) for c in machine.classes] == [
        ("x", 1e9, 7.0), ("y", 2e9, 7.0), ("z", 3e9, 7.0)
    ]  # fmt: skip
    assert (machine.host.bandwidth_Bps, machine.host.latency_ns, machine.cores_per_node) == (4e9, 40.0, 3)
    assert [c.name for c in config("bluegene-q", midplanes=[1, 1, 1, 1]).build().classes] == list("abcde")
    assert [c.name for c in config("hypercube", dimensions=8).build().classes] == list("xyzwvuts")


@pytest.mark.parametrize("length", range(2, 10))
def test_hops_of_a_dimension_are_those_of_a_search(length: int) -> None:
    rings = [Dimension(length, wrap=True)]
    for dimension in [*rings, *(Dimension(length, gap=gap) for gap in (None, 1, 2, 3))]:
        far = nx.floyd_warshall_numpy(nx.from_numpy_array(dimension.joined()))
        assert dimension.hops().dtype == np.int16 and np.array_equal(dimension.hops(), far)


def test_grids_come_back_from_their_file(tmp_path: Any) -> None:
    machine = config("express-mesh", shape=[5, 4], gap=2, nodes_per_router=2).build()
    write_machines([("m", {}, machine)], tmp_path)
    loaded = read_machine((tmp_path,), "m")
    assert loaded.dimensions == (Dimension(5, False, 2), Dimension(4, False, 2))
    assert loaded.coordinates is not None and machine.coordinates is not None
    assert np.array_equal(loaded.coordinates, machine.coordinates)


def test_largest_published_grid() -> None:
    machine = config("bluegene-q", midplanes=[4, 4, 4, 3]).build()
    assert machine.routers == math.prod((16, 16, 16, 12, 2)) == 98_304
    degree = np.bincount(machine.link_tail, np.repeat(machine.cable_count, 2))
    assert np.all(degree == 10)
