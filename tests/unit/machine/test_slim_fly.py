"""Slim Flies of all three kinds of q, and the finite fields below them."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from fabricstudy.machine.finite_field import galois_field, prime_of
from fabricstudy.machine.graph import Machine
from fabricstudy.machine.slim_fly import SlimFlyConfig, generator_sets

ORDERS = [3, 4, 5, 7, 8, 9, 11, 13, 16, 25, 27]
FIELDS = {2: (2, 1), 4: (2, 2), 5: (5, 1), 8: (2, 3), 9: (3, 2), 27: (3, 3)}


def config(q: int) -> SlimFlyConfig:
    return SlimFlyConfig.model_validate({"q": q, "nodes_per_router": 2, "bandwidth": "1 GB/s"})


def as_graph(machine: Machine) -> nx.Graph:
    return nx.Graph(zip(machine.cable_tail.tolist(), machine.cable_head.tolist(), strict=True))


@pytest.mark.parametrize("q", FIELDS)
def test_axioms_of_a_field(q: int) -> None:
    elements = galois_field(*FIELDS[q])
    plus, times = elements.plus, elements.times
    every = np.arange(q)
    for table, neutral, group in ((plus, 0, every), (times, 1, every[1:])):
        assert np.array_equal(table, table.T)
        assert np.array_equal(table[neutral], every)
        assert np.array_equal(table[table[:, :, None], every], table[every[:, None, None], table[None]])
        inner = table[np.ix_(group, group)]
        assert np.array_equal(np.sort(inner, axis=1), np.broadcast_to(group, inner.shape))  # so there are inverses
    left = times[every[:, None, None], plus[None]]
    assert np.array_equal(left, plus[times[:, :, None], times[:, None, :]])


@pytest.mark.parametrize("q", FIELDS)
def test_powers_are_those_of_one_element(q: int) -> None:
    elements = galois_field(*FIELDS[q])
    assert sorted(elements.powers.tolist()) == list(range(1, q))
    assert elements.powers[0] == 1
    if q > 2:
        assert np.array_equal(elements.powers[1:], elements.times[elements.powers[:-1], elements.powers[1]])


def test_prime_powers() -> None:
    found = [q for q in range(2, 50) if prime_of(q) is not None]
    assert found == [2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 19, 23, 25, 27, 29, 31, 32, 37, 41, 43, 47, 49]


@pytest.mark.parametrize("q", ORDERS)
def test_generator_sets_hold_the_negatives(q: int) -> None:
    elements = galois_field(*next((p, n) for p in (2, 3, 5, 7, 11, 13) for n in (1, 2, 3, 4) if p**n == q))
    sets = generator_sets(elements, config(q).delta)
    negative = np.argmax(elements.plus == 0, axis=1)
    for members in sets:
        assert len(set(members.tolist())) == len(members) == config(q).degree - q
        assert set(negative[members].tolist()) == set(members.tolist()) and 0 not in members
    assert set(np.concatenate(sets).tolist()) == set(range(1, q))


@pytest.mark.parametrize("q", ORDERS)
def test_every_router_has_the_degree_and_reaches_all_in_two_hops(q: int) -> None:
    machine, described = config(q).build(), config(q)
    graph = as_graph(machine)
    assert 4 * round(q / 4) == q - described.delta
    assert (machine.routers, machine.cables, machine.nodes) == (described.routers, described.cables, described.nodes)
    assert {degree for _, degree in graph.degree} == {(3 * q - described.delta) // 2}
    steps = nx.to_numpy_array(graph, nodelist=range(machine.routers), dtype=np.float32)
    assert np.all(np.eye(len(steps)) + steps + steps @ steps > 0)


@pytest.mark.parametrize("q", [5, 8, 11])
def test_groups(q: int) -> None:
    """Local cables stay in a group; a router has one cable to each group of the other side."""
    machine = config(q).build()
    assert machine.group is not None and np.array_equal(machine.group, np.arange(2 * q * q) // q)
    tail, head = machine.group[machine.cable_tail], machine.group[machine.cable_head]
    local = machine.cable_class == 0
    assert np.array_equal(tail == head, local)
    assert [machine.classes[kind].name for kind in (0, 1)] == ["local", "global"]
    across = {*zip(machine.cable_tail[~local].tolist(), head[~local].tolist(), strict=True)}
    assert across == {(router, group) for router in range(q * q) for group in range(q, 2 * q)}


def test_q_5_is_the_hoffman_singleton_graph() -> None:
    """It is the only graph of 50 routers and degree 7 without triangles and squares (Hoffman, Singleton 1960)."""
    graph = as_graph(config(5).build())
    assert len(graph) == 50 and {degree for _, degree in graph.degree} == {7}
    assert nx.girth(graph) == 5
