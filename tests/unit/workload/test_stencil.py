"""The stencil against networkx grids, and the shapes against all factorisations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import product
from math import prod
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricstudy.engine.point import Point
from fabricstudy.workload.messages import PlacedJob, WorkloadError
from fabricstudy.workload.pattern.stencil import Stencil, balanced_shape


def stencil(shape: Sequence[int], periodic: Any) -> Counter[tuple[int, int]]:
    config = Stencil.model_validate(
        {"message": "1 kB", "dimensions": len(shape), "shape": list(shape), "periodic": periodic}
    )
    got = config.sends(prod(shape), np.random.default_rng(0))
    assert np.all(got.phase == 0)
    return Counter(zip(got.source.tolist(), got.destination.tolist(), strict=True))


@given(shape=st.lists(st.integers(1, 5), min_size=1, max_size=4), periodic=st.booleans())
@settings(deadline=None)
def test_neighbours_are_those_of_a_grid(shape: list[int], periodic: bool) -> None:
    """As in networkx; it has one edge where a periodic dimension of length 2 has two, and a loop at length 1."""
    graph = nx.grid_graph(shape[::-1], periodic=periodic)
    number: dict[Any, int] = {node: rank for rank, node in enumerate(product(*map(range, shape)))}
    if len(shape) == 1:
        number = {node[0]: rank for node, rank in number.items()}
    expected: Counter[tuple[int, int]] = Counter()
    for tail, head in graph.edges:
        if tail == head:
            continue
        places = zip(np.atleast_1d(tail), np.atleast_1d(head), shape, strict=True)
        (length,) = [length for here, there, length in places if here != there]
        times = 2 if periodic and length == 2 else 1
        expected[number[tail], number[head]] += times
        expected[number[head], number[tail]] += times
    assert stencil(shape, periodic) == expected


@pytest.mark.parametrize(
    ("shape", "periodic", "messages"),
    [
        # Per dimension 2 x (lines) x (length - 1 inside, length if periodic).
        ((17, 4, 4), False, 2 * (16 * 16 + 68 * 3 + 68 * 3)),
        ((17, 4, 4), True, 2 * 3 * 272),
        ((6, 6, 4), True, 2 * 3 * 144),
        ((2, 1), True, 4),
        ((2, 1), False, 2),
    ],
)
def test_counts_by_hand(shape: tuple[int, ...], periodic: bool, messages: int) -> None:
    assert stencil(shape, periodic).total() == messages


def test_periodic_dimension_of_two_has_two_messages() -> None:
    assert stencil((2, 3), True)[0, 3] == 2


@given(ranks=st.integers(1, 400), dimensions=st.integers(1, 4))
@settings(deadline=None)
def test_shape_is_as_even_as_can_be(ranks: int, dimensions: int) -> None:
    def factorisations(number: int, parts: int) -> list[tuple[int, ...]]:
        if parts == 1:
            return [(number,)]
        divisors = [d for d in range(1, number + 1) if number % d == 0]
        return [(d, *rest) for d in divisors for rest in factorisations(number // d, parts - 1)]

    best = min(tuple(sorted(shape, reverse=True)) for shape in factorisations(ranks, dimensions))
    assert balanced_shape(ranks, dimensions) == best


def test_shape_that_does_not_hold_the_ranks_is_refused(
    point: Callable[..., Point], placed: Callable[[Point], list[PlacedJob]]
) -> None:
    pattern = {"kind": "stencil", "message": "1 kB", "shape": [4, 4, 4]}
    with pytest.raises(WorkloadError, match=r"^job 0: .*64.*144"):
        placed(point({"share": 1.0, "pattern": pattern}))
