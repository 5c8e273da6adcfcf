"""Several ranks per core: sizes, equality with a coarser job, and mappings that move the ranks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricstudy.engine.job_traffic import traffic_by_job
from fabricstudy.engine.point import Point, point_id
from fabricstudy.workload.messages import PlacedJob, WorkloadError

from ...machines import place_jobs, point_on

EXTENSIONS = ["ordered"]

TORUS: dict[str, Any] = {"kind": "torus", "shape": [4, 4], "bandwidth": "1 GB/s"}
HALO: dict[str, Any] = {"kind": "stencil", "message": "1 kB", "dimensions": 2, "periodic": True}
BLOCKS = [(1, 2), (2, 2), (3, 4)]
"""Cores per node and ranks per core."""


def on_torus(pattern: dict[str, Any], cores: int = 1, seed: int = 1, **keys: Any) -> Point:
    job = {"share": 1.0, "pattern": {"message": "1 kB"} | pattern} | keys
    return point_on(TORUS | {"cores_per_node": cores}, "dimension-order", jobs=[job], seed=seed)


def placed(point: Point) -> PlacedJob:
    return place_jobs(point, point.machine.build())[0]


def between_nodes(job: PlacedJob, nodes: int = 16) -> np.ndarray:
    """Bytes from each node to each other node."""
    matrix = np.zeros((nodes, nodes), dtype=np.int64)
    messages = job.messages
    np.add.at(matrix, (job.node_of_rank[messages.source], job.node_of_rank[messages.destination]), messages.size_bytes)
    np.fill_diagonal(matrix, 0)
    return matrix


@pytest.mark.parametrize(("cores", "ranks"), BLOCKS)
def test_blocks_of_ranks_send_what_a_coarser_job_sends(cores: int, ranks: int) -> None:
    """From core to core a line of ranks has one message, and an all-to-all one for each pair of ranks."""
    for pattern, message in (({"kind": "stencil", "dimensions": 1}, 1), ({"kind": "all-to-all"}, ranks**2)):
        coarse = placed(on_torus(pattern | {"message": f"{message} kB"}, cores))
        fine = placed(on_torus(pattern, cores, ranks_per_core=ranks))
        assert fine.ranks == ranks * coarse.ranks == 16 * cores * ranks
        assert np.array_equal(between_nodes(fine), between_nodes(coarse))


@pytest.mark.parametrize(("shape", "ranks", "message"), [([8, 8], 4, 2), ([16, 16], 16, 4)])
def test_orb_maps_square_blocks_to_nodes(shape: list[int], ranks: int, message: int) -> None:
    """Blocks of 2 x 2 or 4 x 4 ranks, whose edges are 2 or 4 messages, so traffic is that of one rank per node."""
    fine = placed(on_torus(HALO | {"shape": shape}, ranks_per_core=ranks, mapping="orb"))
    coarse = placed(on_torus(HALO | {"message": f"{message} kB"}, mapping="orb"))
    assert np.array_equal(between_nodes(fine), between_nodes(coarse))


@given(
    mapping=st.sampled_from(["random", "orb", "curve", "recursive-bisection", "greedy", "exchange", "TXY"]),
    cores=st.integers(1, 2),
    ranks=st.integers(2, 4),
    seed=st.integers(0, 99),
)
@settings(deadline=None, max_examples=40)
def test_each_mapping_gives_each_node_as_many_ranks(mapping: str, cores: int, ranks: int, seed: int) -> None:
    written = {"kind": "ordered", "order": mapping} if mapping == "TXY" else mapping
    job = placed(on_torus(HALO, cores, seed, ranks_per_core=ranks, mapping=written))
    assert np.bincount(job.node_of_rank, minlength=16).tolist() == [cores * ranks] * 16


@pytest.mark.parametrize("mapping", ["recursive-bisection", "greedy", "exchange"])
def test_mappings_by_traffic_put_partners_on_one_node(mapping: str) -> None:
    """In blocks of 2 x 2, half of all bytes stay within nodes; in random blocks of 4 of 64 ranks 3 / 63."""
    job = placed(on_torus(HALO | {"numbering": "shuffled"}, ranks_per_core=4, mapping=mapping))
    total = job.bytes_sent
    assert between_nodes(job).sum() < 0.7 * total
    random = placed(on_torus(HALO | {"numbering": "shuffled"}, ranks_per_core=4, mapping="random"))
    assert between_nodes(random).sum() > 0.85 * total


def test_the_workload_is_that_of_as_many_cores() -> None:
    virtual, real = on_torus(HALO, 1, ranks_per_core=4, mapping="random"), on_torus(HALO, 4, mapping="random")
    one, other = placed(virtual), placed(real)
    assert np.array_equal(one.node_of_rank, other.node_of_rank)
    for name, column in vars(one.messages).items():
        assert np.array_equal(column, vars(other.messages)[name])
    assert traffic_by_job(virtual) == traffic_by_job(real)
    assert point_id(on_torus(HALO, 1, ranks_per_core=1)) == point_id(on_torus(HALO, 1)) != point_id(virtual)


def test_fewer_ranks_than_the_cores_may_have() -> None:
    job = placed(on_torus(HALO, 2, ranks_per_core=3, ranks_per_node=4))
    assert np.bincount(job.node_of_rank).tolist() == [4] * 16
    with pytest.raises(WorkloadError):
        placed(on_torus(HALO, 2, ranks_per_core=3, ranks_per_node=7))
