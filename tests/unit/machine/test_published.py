"""Published machines against the numbers of their papers."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import numpy as np
import pytest

from fabricstudy.machine.base import published_machine
from fabricstudy.machine.graph import Machine
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
    "bluegene-l": (65_536, 65_536, 3 * 65_536, 7, 2),
    "bigben": (2_112, 2_112, 3 * 2_112, 7, 2),
    "jaguar-xt4": (8_064, 8_064, 2 * 8_064 + 20 * 16 * 24, 7, 4),  # a mesh along x
    "jaguar-xt5": (19_200, 19_200, 2 * 19_200 + 24 * 32 * 24, 7, 12),
    "titan": (19_200, 9_600, 3 * 9_600, 6 + 2, 16),
    "blue-waters": (27_648, 13_824, 3 * 13_824, 6 + 2, 32),
    "percs": (9_600, 9_600, 9_600 * (7 + 24) // 2 + 300 * 299 // 2, 7 + 24 + 10 + 1, 32),
    "pleiades": (16_384, 2_048, 1_024 * 11, 11 + 8, 8),
    "k-computer": (88_128, 88_128, 5 * 88_128, 11, 8),
    "edison": (5_760, 1_440, 1_440 * (15 + 15) // 2 + 105 * 24, 38, 24),
    "cori": (13_056, 3_264, 3_264 * (15 + 15) // 2 + 561 * 16, 40, 68),
    "piz-daint": (5_376, 1_344, 1_344 * (15 + 15) // 2 + 91 * 72, 44, 8),
    "theta": (4_608, 1_152, 1_152 * (15 + 15) // 2 + 66 * 48, 40, 64),
    "lumi-g": (3_072, 768, 24 * 496 + 276 * 20, 4 + 31 + 15, 64),
    "lumi-c": (2_048, 128, 8 * 120 + 28 * 16, 16 + 15 + 7, 128),
}
# Cabinets, places for nodes in each, compute nodes, and places of other nodes where their number is published. An XT
# blade has four routers and four compute nodes or two others.
PLACES = {
    "mira": (48, 1_024, 49_152, 0),
    "juqueen": (28, 1_024, 28_672, 0),
    "sequoia": (96, 1_024, 98_304, 0),
    "intrepid": (40, 1_024, 40_960, 0),
    "bluegene-l": (64, 1_024, 65_536, 0),  # Adiga et al. 2002; Livermore had 104 racks later
    "bigben": (22, 96, 2_068, 2 * 22),  # Pittsburgh: 22 I/O nodes
    "jaguar-xt4": (84, 96, 7_832, 2 * 116),  # Oak Ridge: 116 service and I/O nodes
    "jaguar-xt5": (200, 96, 18_688, 2 * 256),  # Oak Ridge: 256 service and I/O nodes
    "titan": (200, 96, 18_688, 512),  # Oak Ridge: 512 service and I/O nodes
    "blue-waters": (288, 96, 22_636 + 4_228, None),
    "k-computer": (864, 96 + 6, 82_944, 5_184),
    "fugaku": (414, 384, 396 * 384 + 36 * 192, 0),  # RIKEN: 396 racks, and 36 of half as many
    "edison": (30, 192, 5_586, None),
    "cori": (68, 192, 2_388 + 9_688, None),
    "piz-daint": (28, 192, 5_272, None),
    "theta": (24, 192, 4_392, None),
    "frontier": (74, 128, 9_408, None),
    "aurora": (166, 64, 10_624, 0),
    "lumi-g": (24, 128, 23 * 124 + 126, None),
    "lumi-c": (8, 256, 2_048, 0),
}
# Other totals of the sources, in the units of `measured`; the bisection in one direction.
TOTALS: dict[str, dict[str, float]] = {
    "mira": {"cores": 786_432, "bisection": 6_144 * 2, "router": 40},  # Oltchik and Schwartz, Table 6; ten links
    "juqueen": {"cores": 458_752, "bisection": 2_048 * 2, "router": 40},
    "juqueen-48": {"nodes": 48 * 512, "bisection": 3_072 * 2, "router": 40},  # Table 5
    "juqueen-54": {"nodes": 54 * 512, "bisection": 4_608 * 2, "router": 40},
    "sequoia": {"cores": 1_572_864, "router": 40},
    "intrepid": {"cores": 163_840, "router": 5.1},  # Desai et al.
    "bluegene-l": {"cores": 131_072, "bisection": 360, "router": 2.1},
    "bigben": {"router": 45.6},  # six ports of 7.6 GB/s
    "jaguar-xt4": {"router": 45.6},
    "jaguar-xt5": {"router": 57.6},
    "titan": {"routers": 9_600, "diameter": 32},  # 12 + 8 + 12
    "blue-waters": {"routers": 13_824, "diameter": 36},
    # NCSA in December 2010: 336 and 240 GB/s to hubs of the supernode; all of 1,128 GB/s but 40 of I/O and D links.
    "percs": {"local": 336, "remote": 240, "host": 192},
    "pleiades": {"diameter": 11, "host": 2 * 20 * 0.8 / 8},  # 20 Gb/s, coded 8b/10b
    "k-computer": {"router": 100, "cores": 705_024},  # ten links of 5 + 5 GB/s; 88,128 processors of eight cores
    "fugaku": {"cores": 7_630_848, "host": 2 * 38.1 / 0.934},  # Top500; measured injection and efficiency of a link
    "edison": {"global": 23_700, "row": 15 * 10.5, "column": 15 * 10.5},  # NERSC
    "cori": {"row": 15 * 10.5, "column": 15 * 10.5},
    "piz-daint": {"row": 15 * 10.5, "column": 15 * 10.5},
    "theta": {"row": 14_400 / 960 * 10.5, "column": 14_400 / 960 * 10.5},  # Argonne: ports of ranks 1 and 2, 20 racks
    "summit": {"cores": 202_752, "nodes": 256 * 18, "host": 50},
    "leonardo": {"nodes": 3_456 - 36, "cores": 110_592 - 36 * 32, "host": 100},
    "frontier": {"cores": 9_472 * 64, "diameter": 3},
    "aurora": {"cores": 1_104_896, "diameter": 3},
    "lumi-g": {"global": 276_000, "diameter": 3},
    "lumi-c": {"global": 22_400, "cores": 262_144},  # 2 CPUs of 64 cores (Kronberg 2024, zenodo.org/records/10683366)
    "tpu-v4": {"diameter": 24, "router": 600, "bisection": 25_600},
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
    assert set(COUNTS) == set(INSTANCES) == set(TOTALS) | set(STRUCTURE)
    assert all(len(totals) + (name in PLACES) >= 2 for name, totals in TOTALS.items())
    assert all(instance.about and instance.source for instance in INSTANCES.values())


def test_the_page_lists_the_totals() -> None:
    """A row a machine with its number of nodes, and a bisection exactly where one is tested."""
    page = (Path(__file__).parents[3] / "docs/concepts/published-machines.md").read_text()
    rows = {name: cells.split(" | ") for name, cells in re.findall(r"^\| `([^`]+)` \| (.*) \|$", page, re.M)}
    assert list(rows) == list(INSTANCES)
    for name, (nodes, _, across) in rows.items():
        assert nodes == "-" or nodes.startswith(f"{COUNTS[name][0]:,}"), name
        is_tested = name in STRUCTURE or (name in SAID and name != "aurora") or "bisection" in TOTALS[name]
        assert (across != "-") == (is_tested or name == "edison"), name


@pytest.mark.parametrize("name", PLACES)
def test_places_of_cabinets(name: str) -> None:
    cabinets, places, compute, others = PLACES[name]
    nodes = published_machine(name).nodes
    assert nodes == cabinets * places
    assert compute <= nodes if others is None else compute + others == nodes


def measured(machine: Machine) -> dict[str, float]:
    """Counts, and GB/s in both directions: of a node, of the router with most, of it by class, of all global links."""
    by_router = np.bincount(machine.link_tail, machine.link_capacity_Bps)
    names = {link.name: number for number, link in enumerate(machine.classes)}
    of_class = {
        name: np.bincount(machine.link_tail, machine.link_capacity_Bps * (machine.link_class == number))
        for name, number in names.items()
    }
    per_router = {name: 2 * capacity_Bps.max() / 1e9 for name, capacity_Bps in of_class.items()}
    return per_router | {
        "nodes": machine.nodes,
        "routers": machine.routers,
        "cores": machine.nodes * machine.cores_per_node,
        "router": 2 * by_router.max() / 1e9,
        "host": 2 * machine.host.bandwidth_Bps / 1e9,
        "global": of_class["global"].sum() / 1e9 if "global" in names else 0,
    }


@pytest.mark.parametrize("name", TOTALS)
def test_totals_of_the_sources(name: str) -> None:
    machine = published_machine(name).build()
    found = measured(machine)
    if "bisection" in TOTALS[name]:
        found["bisection"] = bisection_bounds(machine, quickly=True).upper_Bps / 1e9
    if "diameter" in TOTALS[name]:
        found["diameter"] = hop_figures(machine)[0]
    for total, published in TOTALS[name].items():
        assert found[total] == pytest.approx(published, rel=0.005), total


def test_measured_bandwidths_of_titan() -> None:
    """MPI gets what the protocol, about 35 % (Ezell 2015), leaves of a cable along x, y and z (Bland et al., 2012)."""
    classes = {link.name: link.bandwidth_Bps for link in published_machine("titan").build().classes}
    for dimension, measured_GBps in {"x": 5.87, "y": 3.47, "z": 6.09}.items():
        assert 0.6 < measured_GBps * 1e9 / classes[dimension] < 0.75, dimension


def test_hub_of_percs() -> None:
    """1,128 GB/s of a hub, of which 320 are D links and 40 I/O, and more than 300,000 cores (NCSA, December 2010)."""
    machine = published_machine("percs").build()
    found = measured(machine)
    assert found["local"] + found["remote"] + found["host"] + 320 + 40 == 1_128
    assert 2 * 10 * (machine.radix - 1 - 7 - 24) <= 320 and 300_000 < found["cores"] < 320_000


@pytest.mark.parametrize(("name", "ports"), [("lumi-g", 64), ("lumi-c", 64), ("frontier", 64), ("aurora", 64)])
def test_ports_of_slingshot_switches(name: str, ports: int) -> None:
    """A switch has 64 ports of 200 Gb/s, where each port of a node needs its own."""
    machine = published_machine(name).build()
    node_ports = machine.host.bandwidth_Bps / 25e9
    assert machine.radix + machine.nodes_of_router.max() * (node_ports - 1) <= ports


def test_bandwidth_between_partitions_of_lumi() -> None:
    """All pairs of LUMI-G and LUMI-C groups have 38.4 TB/s (site): with these, G groups use 504 of 512 global ports."""
    links_of_pair = 38_400 / (24 * 8) / 50
    assert links_of_pair == 4
    others = (2.4 + 7.2 + 9.6) * 1000 / 24 / 50  # to LUMI-M, -F and -P
    assert 23 * 20 + 8 * links_of_pair + others <= 32 * (64 - 16 - 31)


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
