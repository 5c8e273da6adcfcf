"""Enumeration and bisections of partitions against formulas, theorems, exact cuts and brute force."""

from __future__ import annotations

import itertools
import math
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricstudy.core.errors import FabricstudyError
from fabricstudy.machine.base import Topology, published_machine
from fabricstudy.machine.dimension import Dimension
from fabricstudy.machine.grid import GridConfig
from fabricstudy.structure.bisection import bisection_bounds
from fabricstudy.structure.partitions import PartitionSpace, geometries_by_size, partition_space
from fabricstudy.structure.production import PRODUCTION


def grid(kind: str, **more: Any) -> GridConfig:
    description = {"kind": kind, "bandwidth": "1 GB/s", **more}
    if kind.startswith("bluegene"):
        del description["bandwidth"]
    machine = Topology.model_validate(description)
    assert isinstance(machine, GridConfig)
    return machine


def whole(machine: GridConfig) -> tuple[PartitionSpace, tuple[int, ...]]:
    space = partition_space(machine)
    return space, space.canonical(space.blocks)


midplanes = st.lists(st.integers(1, 7), min_size=4, max_size=4)


@given(midplanes)
def test_two_n_over_l_on_blue_gene_q(sides: list[int]) -> None:
    space, geometry = whole(grid("bluegene-q", midplanes=sides))
    nodes = 512 * math.prod(sides)
    assert space.nodes(geometry) == nodes
    assert space.longest(geometry) == 4 * max(sides)
    assert space.bisection_links(geometry) == 2 * nodes // (4 * max(sides))
    assert space.bisection_Bps(geometry) == 2e9 * space.bisection_links(geometry)


@pytest.mark.parametrize(
    "machine",
    [
        grid("torus", shape=[4, 4]),
        grid("torus", shape=[5, 3]),
        grid("torus", shape=[4, 2, 2], pair_cables=2),
        grid("torus", shape=[4, 3, 2]),
        grid("torus", shape=[4, 4], wrap=[True, False]),
        grid("mesh", shape=[5, 4]),
        grid("mesh", shape=[3, 3, 3]),
        grid("hyperx", shape=[4, 3]),
        grid("hyperx", shape=[4, 4], bandwidth={"links": ["1 GB/s", "3 GB/s"], "host": "1 GB/s"}),
        grid("hypercube", dimensions=4),
    ],
    ids=lambda machine: f"{machine.kind}-{'x'.join(str(dimension.length) for dimension in machine.grid)}",
)
def test_the_flat_cut_is_the_bisection(machine: GridConfig) -> None:
    space, geometry = whole(machine)
    exact = bisection_bounds(machine.build())
    assert exact.exact and space.bisection_Bps(geometry) == pytest.approx(exact.upper_Bps)


@pytest.mark.parametrize("machine", ["mira", "juqueen", "intrepid"])
def test_theorems_on_whole_machines_agree(machine: str) -> None:
    config = published_machine(machine)
    assert isinstance(config, GridConfig)
    space, geometry = whole(config)
    assert bisection_bounds(config.build()).upper_Bps == space.bisection_Bps(geometry)


@pytest.mark.parametrize(("length", "gap"), [(8, 1), (9, 1), (12, 2), (14, 2), (10, 3), (7, 4)])
def test_cables_across_the_middle_of_an_express_line(length: int, gap: int) -> None:
    machine = grid("express-mesh", shape=[length], gap=gap).build()
    half = length // 2
    crossing = (machine.cable_tail < half) != (machine.cable_head < half)
    assert Dimension(length, gap=gap).cut() == machine.cable_count[crossing].sum()


def test_systems_of_table_1_of_jain() -> None:
    cuts = {}
    for name in ("express-mesh-11k-g1", "express-mesh-11k-g2"):
        config = published_machine(name)
        assert isinstance(config, GridConfig)
        space, geometry = whole(config)
        assert space.nodes(geometry) == config.nodes
        cuts[name] = space.bisection_links(geometry)
    assert cuts == {"express-mesh-11k-g1": 3000, "express-mesh-11k-g2": 3024}


@given(midplanes)
def test_every_cuboid_that_fits_stands_there_once(sides: list[int]) -> None:
    space = partition_space(grid("bluegene-q", midplanes=sides))
    every = itertools.product(*(range(1, side + 1) for side in sides))
    assert sorted(space.geometries()) == sorted({tuple(sorted(one, reverse=True)) for one in every})


def test_orientations_count_where_they_matter() -> None:
    torus = partition_space(grid("torus", shape=[8, 4]))
    # Along the dimension of 4 a partition of 4 is a ring, along the one of 8 it is a line.
    assert torus.bisection_links((2, 4)) == 4 and torus.bisection_links((4, 2)) == 2
    assert {(2, 4), (4, 2)} <= set(torus.geometries())
    assert (2, 4) not in partition_space(grid("mesh", shape=[8, 4])).geometries()
    eight = next(size for size in geometries_by_size(torus) if size.nodes == 8)
    assert (eight.best, eight.worst) == ((2, 4), (8, 1))


def test_orientations_count_where_only_some_dimensions_are_rings() -> None:
    """With a mesh dimension: two midplanes of a Blue Gene/P along a ring have twice the bisection of two along it."""
    space = partition_space(grid("bluegene-p", midplanes=[2, 2, 1], wrap=[True, False, True]))
    assert {(2, 1, 1), (1, 2, 1)} <= set(space.geometries())
    assert space.bisection_links((2, 1, 1)) == 2 * space.bisection_links((1, 2, 1)) == 128


def test_best_and_worst_are_so_by_brute_force() -> None:
    space = partition_space(grid("hyperx", shape=[5, 4, 3]))
    for size in geometries_by_size(space):
        same = [one for one in space.geometries() if math.prod(one) == size.blocks]
        links = [space.bisection_links(one) for one in same]
        assert len(same) == size.geometries
        assert space.bisection_links(size.best) == max(links)
        assert space.bisection_links(size.worst) == min(links)
    assert sum(size.geometries for size in geometries_by_size(space)) == len(space.geometries())


def test_only_the_sizes_of_a_list() -> None:
    mira = published_machine("mira")
    assert isinstance(mira, GridConfig)
    found = geometries_by_size(partition_space(mira), PRODUCTION["mira"])
    assert [size.blocks for size in found] == [1, 2, 4, 8, 16, 24, 32, 48, 64, 96]
    assert [size.production for size in found] == list(PRODUCTION["mira"])
    improvable = {size.blocks: size.best for size in found if size.best != size.production}
    assert improvable == {4: (2, 2, 1, 1), 8: (2, 2, 2, 1), 16: (2, 2, 2, 2), 24: (3, 2, 2, 2)}


def test_of_several_allowed_ones_the_worst_may_be_had() -> None:
    space = partition_space(grid("bluegene-q", midplanes=[4, 4, 3, 2]))
    (four,) = geometries_by_size(space, [[2, 2], [1, 4]])
    assert four.production == (4, 1, 1, 1)


@pytest.mark.parametrize("geometry", [[5], [2, 2, 2, 2, 2], [3, 3, 3], [0, 1], [4, 4, 4]])
def test_allowed_partitions_have_to_fit(geometry: list[int]) -> None:
    with pytest.raises(FabricstudyError, match="does not fit"):
        geometries_by_size(partition_space(grid("bluegene-q", midplanes=[4, 4, 2, 2])), [geometry])


def test_too_many_cuboids() -> None:
    with pytest.raises(FabricstudyError, match="too many"):
        geometries_by_size(partition_space(grid("mesh", shape=[200, 200, 200])))


@given(midplanes)
@settings(max_examples=30)
def test_a_shorter_longest_side_has_the_larger_bisection(sides: list[int]) -> None:
    assert all(
        size.misordered == 0 for size in geometries_by_size(partition_space(grid("bluegene-q", midplanes=sides)))
    )


def test_that_is_no_law_elsewhere() -> None:
    assert any(size.misordered for size in geometries_by_size(partition_space(grid("hyperx", shape=[6, 6, 6]))))


def test_sequoia_takes_less_than_a_second() -> None:
    sequoia = published_machine("sequoia")
    assert isinstance(sequoia, GridConfig)
    start = time.process_time()
    found = geometries_by_size(partition_space(sequoia))
    assert time.process_time() - start < 1
    assert found[-1].nodes == 98_304 and sum(size.geometries for size in found) == 34
