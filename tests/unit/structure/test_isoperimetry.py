"""Bounds, constructions and the exhaustive search against each other, brute force and networkx."""

from __future__ import annotations

import itertools
import math

import networkx as nx
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.bundled import bundled_extension
from tests.isoperimetry import cubic_torus_bound, harper_cut, lindsey_order, weighted_dragonfly

ISO = bundled_extension("isoperimetry")
lindsey_cut, product_weights, edge_profile = ISO.lindsey_cut, ISO.product_weights, ISO.edge_profile
best_cuboid_cuts, cuboid_cut, s_r, torus_bound = ISO.best_cuboid_cuts, ISO.cuboid_cut, ISO.s_r, ISO.torus_bound

Matrix = npt.NDArray[np.float64]
shapes = st.lists(st.integers(3, 7), min_size=1, max_size=3)


def cut_of(weights: Matrix, chosen: npt.ArrayLike) -> float:
    """Weight of the links that leave a set."""
    inside = np.zeros(len(weights), bool)
    inside[np.asarray(chosen, int)] = True
    return float(weights[inside][:, ~inside].sum())


def box(lengths: list[int], sides: tuple[int, ...]) -> list[int]:
    """Vertices of the cuboid in the corner."""
    vertices = np.arange(math.prod(lengths)).reshape(lengths, order="F")
    return list(vertices[tuple(slice(side) for side in sides)].reshape(-1))


@pytest.mark.parametrize("shape", [[3, 4], [5], [4, 3, 3]])
def test_products_are_those_of_networkx(shape: list[int]) -> None:
    torus = nx.grid_graph(dim=shape, periodic=True)
    weights = product_weights(shape, "torus")
    assert nx.is_isomorphic(nx.from_numpy_array(weights), torus)
    cliques = nx.complete_graph(shape[0])
    for length in shape[1:]:
        cliques = nx.cartesian_product(cliques, nx.complete_graph(length))
    assert nx.is_isomorphic(nx.from_numpy_array(product_weights(shape, "hyperx")), cliques)


def test_a_hypercube_is_a_torus_and_a_product_of_cliques_of_two() -> None:
    cube = product_weights([2, 2, 2], "hyperx")
    assert nx.is_isomorphic(nx.from_numpy_array(cube), nx.hypercube_graph(3))
    np.testing.assert_array_equal(cube, product_weights([2, 2, 2], "torus"))
    np.testing.assert_array_equal(2 * cube, product_weights([2, 2, 2], "torus", pair_cables=2))


@given(shapes, st.data())
def test_links_that_leave_a_cuboid(lengths: list[int], data: st.DataObject) -> None:
    sides = tuple(data.draw(st.integers(1, length)) for length in lengths)
    weights = [data.draw(st.sampled_from([1.0, 3.0])) for _ in lengths]
    assert cuboid_cut(lengths, sides, "torus", 1, weights) == cut_of(
        product_weights(lengths, "torus", weights=weights), box(lengths, sides)
    )
    assert cuboid_cut(lengths, sides, "hyperx", 1, weights) == cut_of(
        product_weights(lengths, "hyperx", weights=weights), box(lengths, sides)
    )


@pytest.mark.parametrize(("pair_cables", "cut"), [(1, 3), (2, 4)])
def test_both_readings_of_a_ring_of_two(pair_cables: int, cut: int) -> None:
    assert cuboid_cut([6, 2], [1, 1], pair_cables=pair_cables) == cut
    assert cut_of(product_weights([6, 2], "torus", pair_cables), [0]) == cut


@given(shapes)
def test_no_cuboid_breaks_the_bound(lengths: list[int]) -> None:
    cuts = best_cuboid_cuts(lengths)
    for size in range(1, math.prod(lengths) // 2 + 1):
        assert cuts[size] >= torus_bound(lengths, size) * (1 - 1e-12)


@given(st.lists(st.integers(2, 6), min_size=1, max_size=4))
def test_with_double_links_it_holds_for_lengths_of_two(lengths: list[int]) -> None:
    cuts = best_cuboid_cuts(lengths, pair_cables=2)
    for size in range(1, math.prod(lengths) // 2 + 1):
        assert cuts[size] >= torus_bound(lengths, size) * (1 - 1e-12)


@given(shapes)
def test_the_sets_of_the_lemma_meet_the_bound(lengths: list[int]) -> None:
    descending = sorted(lengths, reverse=True)
    for size in range(1, math.prod(lengths) // 2 + 1):
        sides = s_r(lengths, size)
        if sides is not None:
            assert math.prod(sides) == size
            assert cuboid_cut(descending, sides) == pytest.approx(torus_bound(lengths, size), rel=1e-12)


def test_such_sets_exist() -> None:
    assert s_r([4, 8, 4], 64) == (4, 4, 4)
    assert s_r([5, 5], 4) == (2, 2)
    assert s_r([5, 5], 3) is None


@given(st.integers(3, 9), st.integers(1, 4), st.data())
def test_equal_lengths_give_the_bound_of_bollobas_and_leader(length: int, dimensions: int, data: st.DataObject) -> None:
    size = data.draw(st.integers(1, length**dimensions // 2))
    assert torus_bound([length] * dimensions, size) == pytest.approx(cubic_torus_bound(length, dimensions, size))


@pytest.mark.parametrize("size", [0, 9])
def test_the_bound_is_for_at_most_half(size: int) -> None:
    with pytest.raises(ValueError, match="half"):
        torus_bound([4, 4], size)


def brute_force(weights: Matrix) -> tuple[list[float], list[float]]:
    """Least cut of each size, and small-set expansion, straight from the definitions."""
    vertices = range(len(weights))
    cuts, expansion = [0.0], [math.inf]
    for size in range(1, len(weights) + 1):
        sets = list(itertools.combinations(vertices, size))
        cuts.append(min(cut_of(weights, chosen) for chosen in sets))
        ratios = []
        for chosen in sets:
            cut, inside = cut_of(weights, chosen), weights[np.ix_(chosen, chosen)].sum() / 2
            ratios.append(cut / (cut + inside) if cut + inside else math.inf)
        expansion.append(min(expansion[-1], *ratios))
    return cuts, expansion


@settings(max_examples=12, deadline=None)
@given(st.integers(2, 7), st.data())
def test_the_search_finds_what_brute_force_finds(vertices: int, data: st.DataObject) -> None:
    pairs = list(itertools.combinations(range(vertices), 2))
    drawn = data.draw(st.lists(st.sampled_from([0.0, 1.0, 2.5, 4.0]), min_size=len(pairs), max_size=len(pairs)))
    weights = np.zeros((vertices, vertices))
    for (one, other), weight in zip(pairs, drawn, strict=True):
        weights[one, other] = weights[other, one] = weight
    found = edge_profile(weights)
    cuts, expansion = brute_force(weights)
    np.testing.assert_allclose(found.cut, cuts)
    if all(weights.sum(axis=1) > 0):
        np.testing.assert_allclose(found.expansion, expansion)


def test_the_search_refuses_what_it_cannot_do() -> None:
    with pytest.raises(ValueError, match="at most 28"):
        edge_profile(np.zeros((29, 29)))
    with pytest.raises(ValueError, match="symmetric"):
        edge_profile(np.triu(np.ones((4, 4)), 1))


@pytest.mark.parametrize("shape", [[3, 3], [4, 3], [4, 4], [5, 3], [5, 4], [6, 3], [7, 3]])
def test_no_set_at_all_breaks_the_bound_on_small_tori(shape: list[int]) -> None:
    cuts = edge_profile(product_weights(shape, "torus")).cut
    for size in range(1, math.prod(shape) // 2 + 1):
        assert cuts[size] >= torus_bound(shape, size) * (1 - 1e-12)


def test_single_links_in_a_ring_of_two_break_it() -> None:
    assert edge_profile(product_weights([5, 2, 2], "torus")).cut[1] < torus_bound([5, 2, 2], 1)


@pytest.mark.parametrize("dimensions", [1, 2, 3, 4])
def test_harper_is_right_about_hypercubes(dimensions: int) -> None:
    exact = edge_profile(product_weights([2] * dimensions, "hyperx")).cut
    assert [harper_cut(dimensions, size) for size in range(2**dimensions + 1)] == list(exact)
    assert [lindsey_cut([2] * dimensions, size) for size in range(2**dimensions + 1)] == list(exact)


@pytest.mark.parametrize("shape", [[4, 3], [3, 5], [3, 3, 2], [2, 4, 2], [6]])
def test_lindsey_is_right_about_products_of_cliques(shape: list[int]) -> None:
    weights = product_weights(shape, "hyperx")
    exact, order = edge_profile(weights).cut, lindsey_order(shape)
    for size in range(len(weights) + 1):
        assert lindsey_cut(shape, size) == exact[size] == cut_of(weights, order[:size])


def test_a_clique_halved_is_the_bisection_also_with_weights() -> None:
    for shape, weights in (([6, 4], [1.0, 3.0]), ([4, 4], [1.0, 2.0]), ([6, 2], [1.0, 3.0])):
        half = math.prod(shape) // 2
        exact = edge_profile(product_weights(shape, "hyperx", weights=weights)).cut[half]
        assert exact == min(length * half * weight / 2 for length, weight in zip(shape, weights, strict=True))


def test_a_dragonfly_with_weights() -> None:
    weights = weighted_dragonfly(4, 3, 2)
    graph = nx.from_numpy_array(weights)
    of_weight = {weight: sum(data["weight"] == weight for *_, data in graph.edges(data=True)) for weight in (1, 3, 4)}
    assert of_weight == {1: 4 * 2 * 3, 3: 4 * 3, 4: 6}
    assert all(
        degree <= 1 for _, degree in nx.Graph([e for e in graph.edges if graph.edges[e]["weight"] == 4]).degree()
    )
    # Two groups against two: four links between groups.
    assert cut_of(weights, range(12)) == 16
    small = weighted_dragonfly(3, 2, 1)
    np.testing.assert_allclose(edge_profile(small).cut, brute_force(small)[0])
    # The ends of a global link cut two light links; a whole group would cut two global ones.
    assert edge_profile(small).cut[2] == 2 < cut_of(small, [0, 1]) == 8
