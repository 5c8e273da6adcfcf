"""Rails against closed forms, hand counts and networkx."""

from __future__ import annotations

import itertools
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from fabricstudy.core.model import ConfigError
from fabricstudy.machine.base import Topology
from fabricstudy.machine.distances import hop_distances, longest_route
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.minimal import Minimal
from fabricstudy.structure.cost import bill_of_materials
from fabricstudy.structure.deadlock import is_deadlock_free
from fabricstudy.structure.load import link_loads
from fabricstudy.structure.prices.besta_2014 import TARIFF
from fabricstudy.structure.summary import describe_machine
from fabricstudy.study.file import validate_machine

BANDWIDTH = {"scale_up": "450 GB/s", "rail": "50 GB/s"}


def rails(domains: int, accelerators: int, **keys: Any) -> Any:
    own = {"kind": "rails", "domains": domains, "accelerators": accelerators, "bandwidth": BANDWIDTH}
    return Topology.model_validate(own | keys)


def graph_of(machine: Machine) -> nx.Graph:
    graph = nx.Graph()
    for tail, head, kind in zip(
        machine.cable_tail.tolist(), machine.cable_head.tolist(), machine.cable_class.tolist(), strict=True
    ):
        graph.add_edge(tail, head, weight=machine.hop_weight[kind], kind=machine.classes[kind].name)
    return graph


def parts(machine: Machine, *without: str) -> dict[str, int]:
    bill = bill_of_materials(machine, TARIFF, without=without)
    return {item.name: item.count for item in bill}


@pytest.mark.parametrize(
    ("domains", "accelerators", "keys", "switches", "cables"),
    [
        # Switches of domains, rails and spine; cables of scale_up, rail, uplink.
        (4, 8, {"spine": "none"}, (4, 8, 0), (32, 32, 0)),
        (4, 8, {}, (4, 8, 1), (32, 32, 32)),
        (4, 8, {"rails": 2, "spine": {"taper": 3}}, (4, 2, 1), (32, 32, 12)),
        # Rails of 32 on leaves of 16 + 16 ports: 8 leaves, and 4 switches that join all of them.
        (32, 4, {"radix": 32}, (32, 8, 4), (128, 128, 128)),
        (32, 4, {"radix": 32, "spine": "none"}, (32, 4, 0), (128, 128, 0)),
        # Two leaves of 16 + 16 ports and one switch above for each of 4 rails.
        (32, 4, {"radix": 31, "spine": "none"}, (32, 4 * (3 + 2), 0), (128, 128, 4 * 33)),
        # 8 pods of 2 rails: a rail of 8 has 2 leaves of 4 + 4 ports, a pod 4 switches above, the spine 16
        (8, 16, {"radix": 8}, (8, 16 * 2 + 8 * 4, 16), (128, 128, 256)),
        # 4 rails of 4 on switches of 4 ports: 32 leaves are too many for a spine of two levels in all.
        (4, 4, {"radix": 4}, (4, 8 + 4 * 2, 4), (16, 16, 32)),
        # Taper 3: leaves of 24 + 8 ports.
        (24, 8, {"radix": 32, "spine": {"taper": 3}}, (24, 8, 2), (192, 192, 64)),
    ],
)
def test_switches_and_cables_by_hand(
    domains: int, accelerators: int, keys: dict[str, Any], switches: tuple[int, ...], cables: tuple[int, ...]
) -> None:
    config = rails(domains, accelerators, **keys)
    machine = config.build()
    assert machine.routers - machine.nodes == sum(switches)
    count = np.bincount(machine.cable_class, machine.cable_count, 3)
    assert count.tolist() == list(cables)
    groups = np.bincount(machine.group)
    assert groups[:domains].tolist() == [accelerators + 1] * domains
    assert groups[domains:].sum() == switches[1] + switches[2]
    if "radix" in keys:
        switch = machine.nodes + domains
        ports = np.bincount(machine.link_tail, np.repeat(machine.cable_count, 2))[switch:]
        assert ports.max() <= keys["radix"]


@pytest.mark.parametrize(("domains", "taper", "uplinks"), [(8, 3, 3), (8, 2, 4), (7, 3, 3), (10, 4, 3), (9, 5, 2)])
def test_a_tapered_rail_has_an_uplink_for_each_begun_group_of_members(domains: int, taper: int, uplinks: int) -> None:
    """16 rails are too many for a spine of 8 ports without switches above their leaves."""
    config = rails(domains, 16, radix=8, spine={"taper": taper})
    assert config.members == domains
    machine = config.build()
    spine = machine.routers - config.sizes.spines
    to_spine = (machine.cable_tail >= spine) != (machine.cable_head >= spine)
    assert machine.cable_count[to_spine].sum() == 16 * uplinks


SHAPES = st.builds(
    lambda domains, per_rail, rail_count, radix, spine: (domains, per_rail * rail_count, rail_count, radix, spine),
    st.integers(2, 9), st.integers(1, 2), st.integers(1, 5), st.none() | st.integers(2, 12),
    st.sampled_from(["full", "none", {"taper": 2}, {"taper": 3}]),
)  # fmt: skip


@given(SHAPES)
@settings(deadline=None, max_examples=60)
def test_any_machine_is_connected_within_its_radix_and_keeps_to_the_ways_out(shape: tuple[Any, ...]) -> None:
    domains, accelerators, rail_count, radix, spine = shape
    try:
        config = rails(domains, accelerators, rails=rail_count, radix=radix, spine=spine)
    except ValidationError as error:
        assert radix is not None and "radix" in str(error)
        return
    machine = config.build()
    assert (machine.routers, machine.nodes, machine.cables) == (config.routers, config.nodes, config.cables)
    ports = np.bincount(machine.link_tail, np.repeat(machine.cable_count, 2), machine.routers)
    assert radix is None or ports[machine.nodes + domains :].max() <= radix
    assert ports[: machine.nodes].tolist() == [2] * machine.nodes
    graph = graph_of(machine)
    hops = dict(nx.all_pairs_shortest_path_length(graph))
    found = hop_distances(machine).matrix()
    assert nx.is_connected(graph)
    assert all(found[a, b] == hops[a][b] for a in range(machine.routers) for b in range(machine.routers))
    node = np.arange(machine.nodes)
    for a, b in itertools.islice(itertools.combinations(node.tolist(), 2), 60):
        same_domain = a // accelerators == b // accelerators
        same_rail = a % accelerators % rail_count == b % accelerators % rail_count
        for path in nx.all_shortest_paths(graph, a, b, weight="weight"):
            classes = {graph[tail][head]["kind"] for tail, head in itertools.pairwise(path)}
            assert (classes == {"scale_up"}) == same_domain
            forwards = any(middle < machine.nodes for middle in path[1:-1])
            assert forwards == (not same_domain and not same_rail and spine == "none")


def test_hops_of_a_machine() -> None:
    """Of the 31 others 7 are in the domain, 3 on the rail, and 21 four hops away, with and without a spine."""
    for spine in ("full", "none"):
        config = rails(4, 8, spine=spine)
        machine = config.build()
        node = np.arange(32)
        hops = hop_distances(machine).matrix()[np.ix_(node, node)]
        assert np.bincount(hops[0]).tolist() == [1, 0, 10, 0, 21] and longest_route(machine) == 4
        assert config.typical_hops == pytest.approx(hops.mean(), abs=0.1)
        assert is_deadlock_free(machine, Minimal())


def test_loads_of_all_to_all_by_hand() -> None:
    """4 domains of 8, a byte between all: 28 nodes are outside a domain, 21 of them on neither.

    With a spine a network port carries 24 bytes, those for other domains. Without one it carries as many. What goes to
    other rails, 21, crosses the scale-up link of its source or of the accelerator that forwards it, on both of its
    links: half of the 21 before the rail and half of it after, and the 7 bytes within the domain.
    """
    for spine, up in (("full", 7.0), ("none", 7 + 21.0)):
        machine = rails(4, 8, spine=spine).build()
        source, destination = np.nonzero(~np.eye(32, dtype=bool))
        loads = link_loads(machine, source, destination, np.ones(len(source)), Minimal()).link_bytes
        assert loads[machine.link_class == 1] == pytest.approx(24.0)
        assert loads[machine.link_class == 0] == pytest.approx(up)
        if spine == "full":
            assert loads[machine.link_class == 2].sum() == pytest.approx(2 * 32 * 21.0)


def test_bisection_by_hand() -> None:
    """Two domains against two: the 32 network ports of one half, whose rails' switches stand on the other side.

    8 rails of 4: each switch is cut from 2 of its members, 50 GB/s each; with a spine no less.
    """
    for spine in ("none", "full"):
        found = describe_machine(rails(4, 8, spine=spine).build())
        assert found.bisection.upper_Bps == 16 * 50e9
        assert found.radix == (8 if spine == "none" else 32)


def test_cost_of_the_spine() -> None:
    """The spine of 4 domains of 8 is a switch of 32 ports, 32 cables, and 4 ports more on each switch of a rail."""
    with_spine, without = (rails(4, 8, spine=spine).build() for spine in ("full", "none"))
    assert parts(without) == {
        "routers-4": 8, "routers-8": 4, "cables-scale_up": 32, "cables-rail": 32, "all": 76,
    }  # fmt: skip
    assert parts(without, "scale_up") == {"routers-4": 8, "cables-scale_up": 0, "cables-rail": 32, "all": 40}
    assert parts(with_spine)["routers-32"] == 1 and parts(with_spine)["cables-uplink"] == 32


@pytest.mark.parametrize(
    ("keys", "path"),
    [
        ({"rails": 3}, "rails"),
        ({"radix": 2, "spine": "none"}, "radix"),
        ({"spine": "half"}, "spine"),
        ({"spine": {"taper": 0}}, "spine"),
        ({"bandwidth": {"scale_up": "1 GB/s"}}, "rail"),
    ],
)
def test_what_cannot_be_built(keys: dict[str, Any], path: str) -> None:
    with pytest.raises(ValidationError, match=path):
        rails(4, 8, **keys)


@pytest.mark.parametrize("spine", [5, 0, -1, True, "5", "all"])
def test_the_remedy_for_a_wrong_spine_is_a_spine(spine: Any) -> None:
    config = {"domains": 4, "accelerators": 4, "bandwidth": "1 GB/s"}
    with pytest.raises(ConfigError) as caught:
        validate_machine({"kind": "rails", **config, "spine": spine})
    taper = int(caught.value.remedy.split("taper: ")[1].rstrip("}"))
    assert validate_machine({"kind": "rails", **config, "spine": {"taper": taper}}).nodes == 16
