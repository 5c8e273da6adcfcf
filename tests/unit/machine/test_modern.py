"""PolarFly, Jellyfish, Tofu-D and twisted tori against their definitions, hand counts and networkx."""

from __future__ import annotations

import itertools
from typing import Any

import networkx as nx
import numpy as np
import pytest
from pydantic import ValidationError

from fabricstudy.machine.base import Topology
from fabricstudy.machine.graph import Machine
from fabricstudy.machine.jellyfish import random_regular
from fabricstudy.routing.minimal import Minimal
from fabricstudy.routing.valiant import Valiant
from fabricstudy.structure.deadlock import is_deadlock_free
from fabricstudy.structure.load import router_link_loads
from fabricstudy.structure.summary import hop_figures

EXTENSIONS = ["twisted_torus"]


def config(kind: str, **keys: Any) -> Any:
    return Topology.model_validate({"kind": kind, "bandwidth": "1 GB/s"} | keys)


def graph_of(machine: Machine) -> nx.MultiGraph:
    graph = nx.MultiGraph()
    graph.add_nodes_from(range(machine.routers))
    rows = (machine.cable_tail, machine.cable_head, machine.cable_count)
    for tail, head, count in zip(*(row.tolist() for row in rows), strict=True):
        graph.add_edges_from([(tail, head)] * count)
    return graph


MACHINES: list[tuple[str, dict[str, Any]]] = [
    *[("polarfly", {"q": q, "nodes_per_router": 2}) for q in (2, 3, 4, 5, 7, 8, 9, 11)],
    ("jellyfish", {"routers": 20, "degree": 5, "nodes_per_router": 2}),
    ("jellyfish", {"routers": 7, "degree": 6, "nodes_per_router": 1}),
    ("tofu-d", {"units": [3, 2, 2]}),
    ("gemini", {"shape": [3, 4, 8]}),
    ("gemini", {"shape": [2, 2, 16]}),
    ("twisted-torus", {"shape": [4, 8]}),
    ("twisted-torus", {"shape": [2, 2, 4], "nodes_per_router": 3}),
    ("twisted-torus", {"shape": [3, 6, 6]}),
    ("twisted-torus", {"shape": [5, 7], "twist": [[0, 2], [0, 0]]}),
]


@pytest.mark.parametrize(("kind", "keys"), MACHINES)
def test_closed_forms_are_those_of_the_arrays(kind: str, keys: dict[str, Any]) -> None:
    own = config(kind, **keys)
    machine = own.build()
    assert (machine.routers, machine.nodes, machine.cables) == (own.routers, own.nodes, own.cables)
    graph = nx.Graph(graph_of(machine))
    diameter, mean_hops = hop_figures(machine)
    assert nx.is_connected(graph) and diameter == nx.diameter(graph)
    assert mean_hops == pytest.approx(nx.average_shortest_path_length(graph))
    assert own.typical_hops == pytest.approx(mean_hops, rel=0.35)
    assert is_deadlock_free(machine, Minimal()) and is_deadlock_free(machine, Valiant())


class TestPolarFly:
    @pytest.mark.parametrize("q", [3, 4, 5, 7, 8])
    def test_friends_have_one_common_friend(self, q: int) -> None:
        """Any two routers have exactly one common neighbour, which may be one of them if it is a quadric."""
        machine = config("polarfly", q=q, nodes_per_router=1).build()
        joined = np.zeros((machine.routers, machine.routers), dtype=int)
        joined[machine.cable_tail, machine.cable_head] = joined[machine.cable_head, machine.cable_tail] = 1
        quadric = joined.sum(axis=1) == q
        assert quadric.sum() == q + 1 and set(joined.sum(axis=1)) == {q, q + 1}
        joined[quadric, quadric] = 1
        common = joined @ joined
        assert np.array_equal(common, 1 + q * np.eye(machine.routers, dtype=int))

    def test_the_smallest_of_the_paper(self) -> None:
        """q = 31, radix 32: 993 routers (Lakhotia et al.), of 1,025 by Moore's bound; mean hops 2 - degree / 992."""
        machine = config("polarfly", q=31, nodes_per_router=16).build()
        diameter, mean_hops = hop_figures(machine)
        assert (machine.routers, machine.cables, machine.radix, diameter) == (993, 31 * 32**2 // 2, 48, 2)
        assert mean_hops == pytest.approx(2 - 2 * machine.cables / 993 / 992)

    def test_no_prime_power(self) -> None:
        with pytest.raises(ValidationError) as refusal:
            config("polarfly", q=6, nodes_per_router=1)
        assert refusal.value.errors()[0]["ctx"]["error"].keys == ("q",)


class TestJellyfish:
    @pytest.mark.parametrize(("routers", "degree"), [(4, 3), (6, 4), (10, 3), (21, 10), (40, 20), (50, 3), (60, 45)])
    def test_simple_regular_and_connected(self, routers: int, degree: int) -> None:
        for seed in range(5):
            tail, head = random_regular(routers, degree, seed)
            graph = nx.Graph(list(zip(tail.tolist(), head.tolist(), strict=True)))
            assert graph.number_of_edges() == routers * degree // 2 == len(tail) and np.all(tail < head)
            assert set(dict(graph.degree).values()) == {degree} and nx.is_connected(graph)

    def test_the_seed_decides(self) -> None:
        first, again, other = (random_regular(40, 5, seed) for seed in (1, 1, 2))
        assert np.array_equal(first, again) and not np.array_equal(first, other)

    def test_all_graphs_come_out_alike(self) -> None:
        """Of six routers with three cables there are 70 graphs, 10 of them K_{3,3}: 1/7 (Bollobás 1980 and by hand)."""
        draws = 700
        bipartite = sum(
            nx.is_bipartite(nx.Graph(list(zip(*map(list, random_regular(6, 3, seed)), strict=True))))
            for seed in range(draws)
        )
        assert bipartite / draws == pytest.approx(1 / 7, abs=0.05)

    @pytest.mark.parametrize(("routers", "degree"), [(5, 5), (5, 3)])
    def test_what_cannot_be(self, routers: int, degree: int) -> None:
        with pytest.raises(ValidationError) as refusal:
            config("jellyfish", routers=routers, degree=degree, nodes_per_router=1)
        assert refusal.value.errors()[0]["ctx"]["error"].keys == ("degree",)


class TestTofuD:
    def test_ports_and_unit(self) -> None:
        """Ten cables a router: two along x, y, z and b, one along a and c (Ajima et al. 2018)."""
        machine = Topology.model_validate({"kind": "tofu-d", "units": [3, 4, 5]}).build()
        graph = graph_of(machine)
        assert machine.nodes == 12 * 60 and set(dict(graph.degree).values()) == {10}
        assert [link.name for link in machine.classes] == list("xyzabc")
        unit = nx.cartesian_product(nx.cartesian_product(nx.path_graph(2), nx.cycle_graph(3)), nx.path_graph(2))
        assert machine.coordinates is not None
        first = np.flatnonzero((machine.coordinates[:, :3] == 0).all(axis=1)).tolist()
        assert nx.is_isomorphic(nx.Graph(graph.subgraph(first)), unit)


class TestGemini:
    def test_links_of_a_router(self) -> None:
        """40 of the 48 tiles of a Gemini are links, of three lanes each (Alverson et al. 2010)."""
        machine = Topology.model_validate({"kind": "gemini", "shape": [3, 4, 24]}).build()
        lane_Gbps = {"x": 3.125, "y": 3.125, "z": 3.125, "mezzanine": 6.25, "backplane": 5}
        link_Bps = np.array([lane_Gbps[link.name] * 3 / 8 * 1e9 for link in machine.classes])[machine.link_class]
        tiles = np.bincount(machine.link_tail, machine.link_capacity_Bps / link_Bps, machine.routers)
        assert set(tiles.tolist()) == {40} and machine.nodes == 2 * machine.routers

    def test_blades_and_chassis(self) -> None:
        """A blade has two routers, a chassis eight blades, a cabinet three chassis along z."""
        machine = Topology.model_validate({"kind": "gemini", "shape": [2, 4, 24]}).build()
        names = [link.name for link in machine.classes]
        for name, size, count in [("mezzanine", 2, 2 * 2 * 24), ("backplane", 8, 2 * 4 * 3)]:
            rows = machine.cable_class == names.index(name)
            parts = nx.Graph(zip(machine.cable_tail[rows].tolist(), machine.cable_head[rows].tolist(), strict=True))
            chains = [parts.subgraph(part) for part in nx.connected_components(parts)]
            assert len(chains) == count and all(nx.is_isomorphic(chain, nx.path_graph(size)) for chain in chains)


class TestTwistedTorus:
    @pytest.mark.parametrize(
        ("shape", "generators"),
        [
            ((4, 8), [(4, -4), (0, 8)]),
            ((3, 3, 6), [(3, 0, -3), (0, 3, -3), (0, 0, 6)]),
            ((3, 6, 6), [(3, -3, -3), (0, 6, 0), (0, 0, 6)]),
        ],
    )
    def test_it_is_the_lattice_graph(self, shape: tuple[int, ...], generators: Any) -> None:
        """Joining the points of a large box by steps, and calling those alike that differ by the lattice."""
        machine = config("twisted-torus", shape=list(shape)).build()
        inverse = np.linalg.inv(np.array(generators).T)

        def same(one: Any, other: Any) -> bool:
            turns = inverse @ (np.array(one) - np.array(other))
            return bool(np.allclose(turns, np.rint(turns)))

        place = [tuple(reversed(point)) for point in itertools.product(*map(range, reversed(shape)))]
        expected = nx.MultiGraph()
        for router, point in enumerate(place):
            for along in range(len(shape)):
                step = tuple(at + (axis == along) for axis, at in enumerate(point))
                expected.add_edge(router, next(number for number, other in enumerate(place) if same(step, other)))
        assert nx.utils.edges_equal(graph_of(machine).edges, expected.edges)

    @pytest.mark.parametrize("shape", [[4, 8], [4, 4, 8], [4, 8, 8]])
    def test_a_symmetric_twist_loads_all_links_alike(self, shape: list[int]) -> None:
        """All-to-all by minimal paths; the torus of the same lengths loads its long dimension most."""
        most = {}
        for kind in ("torus", "twisted-torus"):
            machine = config(kind, shape=shape).build()
            loads = router_link_loads(machine, np.ones((machine.routers,) * 2), Minimal())
            mean = [loads[machine.link_class == number].mean() for number in range(len(shape))]
            assert (np.ptp(mean) < 1e-9 * max(mean)) == (kind == "twisted-torus")
            most[kind] = loads.max()
        assert most["twisted-torus"] < 0.8 * most["torus"]

    @pytest.mark.parametrize(("shape", "diameter"), [([4, 8], 4), ([4, 4, 8], 6), ([4, 8, 8], 6)])
    def test_diameter(self, shape: list[int], diameter: int) -> None:
        """a in the plane (Cámara et al. 2010) and 3 a / 2 in space (Camarero et al. 2015), less than the torus has."""
        found, _ = hop_figures(config("twisted-torus", shape=shape).build())
        assert found == diameter < sum(length // 2 for length in shape)

    @pytest.mark.parametrize(
        ("keys", "path"),
        [
            ({"shape": [4, 6]}, ("shape",)),
            ({"shape": [8, 4]}, ("shape",)),
            ({"shape": [4, 8], "twist": [[0, 4]]}, ("twist",)),
            ({"shape": [4, 8], "twist": [[0, 8], [0, 0]]}, ("twist", "0", "1")),
            ({"shape": [4, 8], "twist": [[0, 4], [1, 0]]}, ("twist", "1", "0")),
        ],
    )
    def test_what_cannot_be(self, keys: dict[str, Any], path: tuple[str, ...]) -> None:
        with pytest.raises(ValidationError) as refusal:
            config("twisted-torus", **keys)
        assert refusal.value.errors()[0]["ctx"]["error"].keys == path
