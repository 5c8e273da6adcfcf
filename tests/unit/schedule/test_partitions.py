"""Partitions, their cables, and what fits at once."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from fabricstudy.core.model import ConfigError
from fabricstudy.machine.base import Topology
from fabricstudy.schedule import Backfill, Jobs, NodePool, Order, PartitionList, Partitions, simulate_schedule
from fabricstudy.schedule.packing import max_disjoint_partitions
from fabricstudy.structure.partitions import geometries_by_size, partition_space
from fabricstudy.structure.production import PRODUCTION

ROW: Any = {"kind": "bluegene-p", "midplanes": [1, 4, 4]}
_1K, _2K, _4K, _8K = ({"shape": shape} for shape in ([1, 1, 2], [1, 1, 4], [1, 2, 4], [1, 4, 4]))
_1K_MESH, _4K_MESH = _1K | {"wrap": [True, True, False]}, _4K | {"wrap": [True, False, True]}


def partitions(listed: Any, machine: Any = "intrepid") -> Partitions:
    found = PartitionList.model_validate(listed).partitions(Topology.model_validate(machine))
    assert isinstance(found, Partitions)
    return found


@pytest.mark.parametrize(
    ("shapes", "most"),
    [([_8K], 1), ([_4K], 1), ([_2K], 4), ([_1K], 4), ([_1K_MESH], 8), ([_4K_MESH], 2), ([{"shape": [1, 1, 1]}], 16)],
)
def test_what_fits_into_a_row_at_once(shapes: list[Any], most: int) -> None:
    """Desai et al., section III, and with the meshes of section V-C."""
    assert len(max_disjoint_partitions(partitions(shapes, ROW))) == most


@pytest.mark.parametrize(
    ("first", "others", "most"), [(_4K, _2K, 2), (_4K, _1K, 2), (_4K_MESH, _2K, 2), (_4K_MESH, _1K_MESH, 4)]
)
def test_what_fits_beside_a_4k_partition(first: Any, others: Any, most: int) -> None:
    """With a 4K torus, two of 2K or two of 1K; the others of the eight midplanes can then be used singly alone."""
    of = partitions([first, others, {"shape": [1, 1, 1]}], ROW)
    assert len(max_disjoint_partitions(of, of.nodes == of.nodes[2], given=[0])) == most
    assert len(max_disjoint_partitions(of, of.nodes == 512, given=[0])) == 8


@pytest.mark.parametrize(("shape", "cables"), [(_1K, 4), (_1K_MESH, 1), (_2K, 4), (_4K, 24), (_4K_MESH, 12)])
def test_cables_are_those_of_the_real_partition_file(shape: Any, cables: int) -> None:
    """As many wires as Cobalt's description of Intrepid has for these partitions."""
    assert {len(partitions([shape]).cables_of(number)) for number in range(5)} == {cables}


def test_a_mesh_beside_each_torus_never_lowers_what_fits() -> None:
    torus, both = partitions("intrepid-torus"), partitions("intrepid-both")
    for nodes in np.unique(torus.nodes):
        assert len(max_disjoint_partitions(both, both.nodes == nodes)) >= len(
            max_disjoint_partitions(torus, torus.nodes == nodes)
        )


def test_conflicts_are_those_of_sets() -> None:
    of = partitions([_1K, _1K_MESH, _2K, _4K, _4K_MESH, _8K, {"shape": [1, 1, 1]}], ROW)
    found = of.conflicts
    for one in range(len(of)):
        row = slice(found.first[one], found.first[one + 1])
        midplanes, cables = set(of.midplanes_of(one)), set(of.cables_of(one))
        rivals = {
            other: bool(midplanes & set(of.midplanes_of(other)))
            for other in range(len(of))
            if midplanes & set(of.midplanes_of(other)) or cables & set(of.cables_of(other))
        }
        assert dict(zip(found.other[row].tolist(), found.shares_midplane[row].tolist(), strict=True)) == rivals


# Directed wires along X, as (from row, to row), of the partitions of these rows in Cobalt's description of Intrepid
# (tools/local_sim/simulator.xml).
_LOW, _HIGH = {(0, 1), (1, 0)}, {(2, 3), (3, 2)}
WIRES = {
    (0, 1): _LOW, (2, 3): _HIGH, (3, 4): _HIGH | {(2, 4), (4, 3)}, (2, 3, 4): _HIGH | {(2, 4), (4, 3)},
    (0, 1, 2, 3): _LOW | _HIGH | {(0, 2), (3, 1)},
    (1, 2, 3, 4): _LOW | _HIGH | {(0, 2), (3, 1), (2, 4), (4, 3)},
    (0, 1, 2, 3, 4): _LOW | _HIGH | {(0, 2), (3, 1), (2, 4), (4, 3)},
}  # fmt: skip


@pytest.mark.parametrize("name", ["intrepid-torus", "intrepid-mesh"])
def test_with_loops_rows_conflict_as_in_the_real_partition_file(name: str) -> None:
    """Without loops, as the source says, three pairs conflict that do not on the machine."""
    as_said, as_built = partitions(name), partitions(f"{name}-loops")
    assert as_built.listed == as_said.listed

    def rows(number: int) -> tuple[int, ...]:
        return tuple(sorted({midplane // 16 for midplane in as_said.midplanes_of(number)}))

    def pairs(of: Partitions) -> set[tuple[int, int]]:
        return {
            (one, int(other))
            for one in range(len(of))
            for other in of.conflicts.other[slice(*of.conflicts.first[one : one + 2])]
        }

    said, built = pairs(as_said), pairs(as_built)
    assert built < said
    assert {(rows(one), rows(other)) for one, other in said - built if one < other} == {
        ((0, 1), (2, 3)), ((0, 1), (3, 4)), ((0, 1), (2, 3, 4)),
    }  # fmt: skip
    of_rows = [number for number in range(len(as_built)) if len(rows(number)) > 1]
    assert sorted(map(rows, of_rows)) == sorted(WIRES)
    for one, other in itertools.product(of_rows, repeat=2):
        shares = bool(set(rows(one)) & set(rows(other)) or WIRES[rows(one)] & WIRES[rows(other)])
        assert ((one, other) in built) == shares


def test_a_split_line_closes_in_both_halves() -> None:
    whole = partitions({"kind": "shapes", "shapes": [_1K]}, {"kind": "bluegene-p", "midplanes": [1, 1, 4]})
    split = partitions(
        {"kind": "shapes", "shapes": [_1K], "loops": {"z": [[0, 1], [2, 3]]}},
        {"kind": "bluegene-p", "midplanes": [1, 1, 4]},
    )
    assert len(max_disjoint_partitions(whole)) == 1 and len(max_disjoint_partitions(split)) == 2


def test_cuboids_on_juqueen() -> None:
    """Corners of a ring of 7: 7 for each side but the whole; of a ring of 2: 2, and 1 for the whole."""
    assert len(partitions("juqueen", "juqueen")) == (6 * 7 + 1) * 3**3


def test_preferred_cuboids() -> None:
    by_bisection = partitions({"kind": "cuboids", "prefer": "bisection", "sizes": [4]}, "juqueen")
    links = np.array([variant.bisection_links for variant in by_bisection.variants])[by_bisection.variant]
    assert by_bisection.rank[links == 512].max() == 0 and by_bisection.rank[links == 256].min() == 1
    production = {"kind": "cuboids", "prefer": "production", "production": [[4, 1, 1, 1]], "sizes": [4]}
    by_list = partitions(production, "juqueen")
    lower = {partition.shape for partition, rank in zip(by_list.listed, by_list.rank, strict=True) if not rank}
    assert lower == {(4, 1, 1, 1)}


def test_the_proposed_list_of_mira_is_the_best_of_each_size() -> None:
    machine: Any = Topology.model_validate("mira")
    proposed = {size.blocks: size for size in geometries_by_size(partition_space(machine), PRODUCTION["mira-proposed"])}
    for size in geometries_by_size(partition_space(machine), PRODUCTION["mira"]):
        space = partition_space(machine)
        own = proposed[size.blocks].production
        assert own is not None and space.bisection_links(own) == space.bisection_links(size.best)


def test_a_torus_of_routers_shares_no_cables() -> None:
    torus = {"kind": "torus", "shape": [4, 4], "bandwidth": "1 GB/s"}
    of = partitions([{"shape": [2, 2]}, {"shape": [4, 1]}], torus)
    assert not any(of.listed[0].wrap) and of.listed[4].wrap == (True, True)
    assert (of.conflicts.shares_midplane).all()


@pytest.mark.parametrize(
    ("listed", "code", "path"),
    [
        ([{"shape": [6, 1, 1]}], "unsupported", ("shapes", "0", "shape")),
        ([{"shape": [1, 1]}], "out-of-range", ("shapes", "0", "shape")),
        ([{"shape": [1, 1, 2], "wrap": [True, False]}], "out-of-range", ("shapes", "0", "wrap")),
        ([_1K, _2K, _1K], "duplicate", ("shapes",)),
        ([{"shape": [1, 1, 1], "wrap": True}, {"shape": [1, 1, 1], "wrap": False}], "duplicate", ("shapes",)),
        ([{"shape": [1, 1, 4], "at": [[0, 0, 1]]}], "unsupported", ("shapes", "0", "at", "0")),
        ({"kind": "shapes", "shapes": [_1K], "loops": {"z": [[0, 4]]}}, "invalid-value", ("loops", "z", "0")),
        ({"kind": "shapes", "shapes": [_1K], "loops": {"z": [[1, 1]]}}, "invalid-value", ("loops", "z", "0")),
        ({"kind": "shapes", "shapes": [_1K], "loops": {"q": [[0, 1]]}}, "unknown-value", ("loops", "q")),
        ({"kind": "cuboids", "geometries": [[6, 5, 1]]}, "unsupported", ("geometries", "0")),
    ],
)
def test_what_cannot_be_is_refused(listed: Any, code: str, path: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError) as error:
        partitions(listed)
    assert (error.value.code, error.value.keys) == (code, path)


def test_a_ring_that_the_machine_cannot_close_is_refused() -> None:
    torus = {"kind": "torus", "shape": [4, 4], "bandwidth": "1 GB/s"}
    with pytest.raises(ConfigError) as error:
        partitions([{"shape": [2, 4], "wrap": True}], torus)
    assert error.value.keys == ("shapes", "0", "wrap")


@pytest.mark.parametrize(
    ("faults", "left"), [({"nodes": [3, 5]}, 30), ({"routers": [0]}, 30), ({"cables": [[0, 1]]}, 32)]
)
def test_on_a_machine_with_faults_jobs_run_on_the_nodes_that_are_left(faults: dict[str, Any], left: int) -> None:
    torus = {"kind": "torus", "shape": [4, 4], "nodes_per_router": 2, "bandwidth": "1 GB/s", "faults": faults}
    pool = PartitionList.model_validate("nodes").partitions(Topology.model_validate(torus))
    assert isinstance(pool, NodePool) and pool.machine_nodes == left
    # Two jobs of 16 nodes fit at once only if all nodes are left.
    jobs = Jobs.of(np.zeros(2), np.full(2, 100.0), np.full(2, 100.0), np.full(2, 16))
    found = simulate_schedule(pool, jobs, Order.model_validate("fcfs"), Backfill.model_validate("none"))
    assert found.start_s.tolist() == [0, 0 if left == 32 else 100]
    with pytest.raises(ConfigError) as error:
        partitions([{"shape": [2, 2]}], torus)
    assert (error.value.code, error.value.path) == ("unsupported", None)


def test_a_machine_without_cuboids_takes_nodes_alone() -> None:
    machine = {"kind": "fat-tree", "radix": 4, "bandwidth": "1 GB/s"}
    with pytest.raises(ConfigError) as error:
        partitions("cuboids", machine)
    assert error.value.code == "unsupported"
    assert PartitionList.model_validate("nodes").partitions(Topology.model_validate(machine)).machine_nodes == 16


def test_no_such_list() -> None:
    with pytest.raises(ValidationError) as error:
        PartitionList.model_validate("intrepid-toruss")
    assert error.value.errors()[0]["ctx"]["error"].code == "unknown-value"
