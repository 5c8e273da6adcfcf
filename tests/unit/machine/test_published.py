"""Published machines against the numbers of their papers."""

from __future__ import annotations

import itertools

import pytest

from fabricstudy.machine.base import published_machine
from fabricstudy.machine.instances import INSTANCES
from fabricstudy.structure.bisection import bisection_bounds
from fabricstudy.structure.cut import cut_capacity_Bps
from fabricstudy.structure.summary import Structure, describe_machine, hop_figures

# Nodes, routers, cables, ports of the largest router, cores a node.
COUNTS = {
    "mira": (49_152, 49_152, 245_760, 11, 16),
    "juqueen": (28_672, 28_672, 143_360, 11, 16),
    "juqueen-48": (24_576, 24_576, 122_880, 11, 16),
    "juqueen-54": (27_648, 27_648, 138_240, 11, 16),
    "sequoia": (98_304, 98_304, 491_520, 11, 16),
    "intrepid": (40_960, 40_960, 122_880, 7, 4),
    "dragonfly-11k": (11_130, 1_590, 16_695, 28, 4),  # 7 + 14 + 7 ports; Table I of the paper says 29
    "fat-tree-11k": (10_648, 1_210, 21_296, 44, 4),  # 484 leaves, 484 aggregation, 242 core routers
    "slim-fly-11k": (10_830, 722, 10_469, 44, 4),
    "express-mesh-11k-g1": (10_800, 1_200, 17_400, 38, 4),
    "express-mesh-11k-g2": (10_080, 2_016, 19_152, 24, 4),
    "frontier": (9_472, 74 * 32, 74 * 496 + 4 * 2_701, 4 + 31 + 10, 64),
    "aurora": (10_624, 166 * 32, 166 * 496 + 2 * 13_695, 2 + 31 + 11, 104),
    "fugaku": (158_976, 158_976, 5 * 158_976, 11, 48),  # ten cables a router
    "leonardo": (
        3_420,
        19 * 36,
        19 * 18**2 + 18 * 171,
        36,
        32,
    ),  # a spine has 18 + 18 cables
    "summit": (4_608, 512 + 576 + 324, (512 + 576) * 18, 34, 44),
    "tpu-v4": (4_096, 4_096, 3 * 4_096, 7, 1),
}
# Diameter, mean hops, and least cables between halves as an interval.
STRUCTURE = {
    "dragonfly-11k": (3, 2.85, (2_809, 2_809)),
    "fat-tree-11k": (4, 3.91, (5_324, 5_324)),
    "slim-fly-11k": (2, 1.96, (3_430, 3_439)),
    "express-mesh-11k-g1": (3, 2.72, (3_000, 3_000)),
    "express-mesh-11k-g2": (6, 4.03, (3_024, 3_024)),
}


def test_all_are_listed_here() -> None:
    assert set(COUNTS) == set(INSTANCES)


@pytest.mark.parametrize("name", COUNTS)
def test_counts(name: str) -> None:
    machine = published_machine(name).build()
    assert (machine.nodes, machine.routers, machine.cables, machine.radix, machine.cores_per_node) == COUNTS[name]


@pytest.fixture(scope="module")
def table_1() -> dict[str, Structure]:
    return {name: describe_machine(published_machine(name).build()) for name in STRUCTURE}


@pytest.mark.parametrize("name", STRUCTURE)
def test_structure_of_table_1(name: str, table_1: dict[str, Structure]) -> None:
    found = table_1[name]
    diameter, mean_hops, (least, most) = STRUCTURE[name]
    assert found.diameter == diameter
    assert found.mean_hops == pytest.approx(mean_hops, abs=0.005)
    assert found.bisection.lower_Bps >= least * 10e9 and found.bisection.upper_Bps <= most * 10e9
    assert found.bisection.exact == (least == most)


def test_order_of_bisections_per_node(table_1: dict[str, Structure]) -> None:
    """FT > SF, G2 > G1 > DF, as section IV of the paper has it."""
    order = ["fat-tree-11k", "slim-fly-11k", "express-mesh-11k-g2", "express-mesh-11k-g1", "dragonfly-11k"]
    intervals = [(table_1[n].bisection.lower_Bps, table_1[n].bisection.upper_Bps, table_1[n].nodes) for n in order]
    for (lower, _, nodes), (_, upper, fewer) in itertools.pairwise(intervals):
        assert lower / nodes > upper / fewer


def test_order_of_cables() -> None:
    """Slim Fly needs the fewest, then dragonfly and G1, then G2 and the fat tree."""
    order = ["slim-fly-11k", "dragonfly-11k", "express-mesh-11k-g1", "express-mesh-11k-g2", "fat-tree-11k"]
    cables = [published_machine(name).cables for name in order]
    assert cables == sorted(cables)


@pytest.mark.parametrize("name", ["mira", "sequoia", "juqueen-54", "intrepid"])
def test_hops_of_tori(name: str) -> None:
    """Half of each even ring at most, a quarter on average, counting a router's distance to itself."""
    machine = published_machine(name).build()
    lengths = [dimension.length for dimension in machine.dimensions]
    diameter, mean_hops = hop_figures(machine)
    assert diameter == sum(length // 2 for length in lengths)
    assert mean_hops == pytest.approx(sum(lengths) / 4 * machine.routers / (machine.routers - 1))


# What the sources say of bandwidth, in TB/s: of all nodes together, and across groups, halves or pods.
SAID = {
    "frontier": (947.2, 270.1),  # global links of all pairs of groups, one direction; 57 % of what the nodes have, both
    "aurora": (2_124.8, 344.5),  # halves of 83 groups; 0.69 PB/s in both directions
    "summit": (115.2, 57.6),  # nodes inject "nearly a petabit/s"; full bisection
    "tpu-v4": (1_228.8, 25.6),
}


@pytest.mark.parametrize("name", SAID)
def test_bandwidths_of_the_sources(name: str) -> None:
    machine = published_machine(name).build()
    injected_TBps, across_TBps = SAID[name]
    assert machine.nodes * machine.host.bandwidth_Bps == pytest.approx(injected_TBps * 1e12, rel=1e-3)
    if name == "frontier":
        found_Bps = machine.link_capacity_Bps[machine.link_class == 1].sum() / 2
    elif name == "aurora":
        assert machine.group is not None
        half = machine.group < 83
        found_Bps = cut_capacity_Bps(machine, half)
    else:
        found_Bps = bisection_bounds(machine).upper_Bps
    assert found_Bps == pytest.approx(across_TBps * 1e12, rel=1e-3)
