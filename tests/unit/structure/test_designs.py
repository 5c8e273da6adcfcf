"""Largest machines of a radix against machines that are built and closed forms."""

from __future__ import annotations

import math
from typing import Any

import pytest
from tests.bundled import bundled_extension

from fabricstudy.machine.base import Topology
from fabricstudy.machine.dimension import Dimension
from fabricstudy.structure.summary import describe_machine

DESIGN = bundled_extension("design")
ExpressMeshFamily, System, largest_system = DESIGN.ExpressMeshFamily, DESIGN.System, DESIGN.largest_system
EXPRESS_MESHES = [ExpressMeshFamily(gap=1), ExpressMeshFamily(gap=2)]
FAMILIES = [DESIGN.FatTreeFamily(), DESIGN.DragonflyFamily(), DESIGN.SlimFlyFamily(), *EXPRESS_MESHES]


def machine(**description: Any) -> Any:
    return Topology.model_validate({"bandwidth": "1 GB/s", **description}).build()


@pytest.mark.parametrize(("shape", "gap"), [((5, 4), 1), ((5, 4), 2), ((9,), 3)])
def test_express_meshes_as_built(shape: tuple[int, ...], gap: int) -> None:
    built = machine(kind="express-mesh", shape=list(shape), gap=gap)
    assert DESIGN.express_mesh_mean_hops(shape, gap) == pytest.approx(describe_machine(built).mean_hops)
    assert sum(Dimension(length, gap=gap).ports for length in shape) + 1 == built.radix


def test_a_dragonfly_as_built() -> None:
    found = largest_system(DESIGN.DragonflyFamily(), 7, True)
    assert found is not None
    built = machine(kind="dragonfly", groups=9, routers_per_group=4, nodes_per_router=2)
    assert (found.nodes, found.routers, found.radix) == (built.nodes, built.routers, built.radix) == (72, 36, 7)


def test_a_slim_fly_as_built() -> None:
    found = largest_system(DESIGN.SlimFlyFamily(), 11, True)
    assert found is not None and found.shape == "q = 5"
    built = machine(kind="slim-fly", q=5, nodes_per_router=found.nodes_per_router)
    assert (found.nodes, found.routers, found.radix) == (built.nodes, built.routers, built.radix)
    assert found.mean_hops == pytest.approx(describe_machine(built).mean_hops)


def test_a_fat_tree_as_built() -> None:
    found = largest_system(DESIGN.FatTreeFamily(), 9, True)
    built = machine(kind="fat-tree", radix=8)
    assert found is not None
    assert (found.nodes, found.routers, found.radix) == (built.nodes, built.routers, built.radix)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: f"{family.kind}-{getattr(family, 'gap', '')}")
def test_more_ports_never_give_less_and_are_never_exceeded(family: Any) -> None:
    for balanced in (True, False):
        nodes = 0
        for ports in range(6, 33):
            found = largest_system(family, ports, balanced)
            if found is None:
                continue
            assert found.radix <= ports
            assert found.nodes >= nodes
            nodes = found.nodes
            if balanced and found.balance is not None:
                assert found.nodes_per_router <= found.balance + 0.5
        assert nodes


def test_free_dragonflies_by_brute_force() -> None:
    for ports in (8, 13, 48):
        best = max(
            p * a * (a * h + 1) for h in range(1, ports) for p in range(1, ports) for a in [ports + 1 - h - p] if a >= 1
        )
        found = largest_system(DESIGN.DragonflyFamily(), ports, False)
        assert found is not None and found.nodes == best


def test_largest_hyperx_by_brute_force() -> None:
    found = largest_system(ExpressMeshFamily(dimensions=2, gap=1), 14, False)
    sizes = [(a, b, 14 - (a - 1) - (b - 1)) for a in range(2, 14) for b in range(2, 14)]
    assert found is not None and found.nodes == max(math.prod(size) for size in sizes if size[2] > 0)


def test_sizes_that_jain_et_al_give() -> None:
    """Table I, and the sizes that claims 3.9 and 3.10 are about."""
    slim_fly = largest_system(DESIGN.SlimFlyFamily(), 44, True)
    assert slim_fly is not None and (slim_fly.nodes, slim_fly.nodes_per_router) == (10_830, 15)
    nodes = {
        name: largest_system(family, 48, True).nodes
        for name, family in zip(("FT", "DF", "SF", "G1", "G2"), FAMILIES, strict=True)
    }
    assert (nodes["FT"], nodes["DF"], nodes["G1"]) == (27_648, 83_232, 26_364)
    shares = {
        (dimensions, gap): largest_system(ExpressMeshFamily(dimensions=dimensions, gap=gap), 48, True).node_share
        for dimensions, gap in ((2, 1), (3, 1), (2, 2), (3, 2))
    }
    assert shares == pytest.approx({(2, 1): 1 / 3, (3, 1): 1 / 4, (2, 2): 1 / 4, (3, 2): 1 / 5}, abs=0.02)
    assert nodes["SF"] < 27_000 and nodes["G2"] > 100_000


def test_a_router_serves_as_many_nodes_as_its_links_carry_messages() -> None:
    """10 links carry 10 messages at a time, and each of those of a node takes 2.5 hops: 4 nodes (Jain et al.)."""
    design = System("x", routers=20, nodes_per_router=4, nodes=80, links=10, mean_hops=2.5)
    assert (design.balance, design.node_share, design.radix) == (4, 4 / 14, 14)
    assert System("x", 20, 4, 80, 10).balance is None
