"""The kernel gives every job the start and the partition that the reference gives it."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np
import pytest

from fabricstudy.machine.base import Topology
from fabricstudy.schedule import Backfill, Jobs, Order, PartitionList, Partitions, simulate_schedule

from .reference import Job, Partition, Reference

CASES = 40
LINE = {"kind": "bluegene-p", "midplanes": [1, 1, 4]}
ROW = {"kind": "bluegene-p", "midplanes": [1, 4, 4]}
Q = {"kind": "bluegene-q", "midplanes": [3, 2, 2, 1]}
SMALL = [{"shape": [1, 1, 1]}, {"shape": [1, 1, 2]}, {"shape": [1, 1, 4]}]
MIXED = [
    {"shape": [1, 1, 1]}, {"shape": [1, 1, 2]}, {"shape": [1, 1, 2], "wrap": [True, True, False], "at": "any"},
    {"shape": [1, 1, 4]}, {"shape": [1, 2, 4]}, {"shape": [1, 2, 4], "wrap": [True, False, True]}, {"shape": [1, 4, 4]},
]  # fmt: skip
LOOPED = {"kind": "shapes", "shapes": SMALL, "loops": {"z": [[0, 1], [2, 3]]}}
LISTS: list[tuple[Any, Any]] = [(LINE, SMALL), (LINE, LOOPED), (ROW, MIXED), (Q, "cuboids")]


@cache
def partitions(place: int) -> Partitions:
    machine, listed = LISTS[place]
    found = PartitionList.model_validate(listed).partitions(Topology.model_validate(machine))
    assert isinstance(found, Partitions)
    return found


def drawn(rng: np.random.Generator, of: Partitions) -> Jobs:
    """Few jobs, with whole numbers for times, so that much happens at one instant."""
    size = int(rng.integers(1, 25))
    runtime = rng.integers(1, 12, size).astype(float)
    # Some ask for just what they need, some for less.
    request = np.maximum(runtime + rng.choice([0, 0, 1, 3, 9, -2], size), 1)
    nodes = rng.choice([1, 2, 3, 4, 5, 8, 16], size) * of.block_nodes
    return Jobs.of(rng.integers(0, rng.choice([5, 40]), size), runtime, request, np.minimum(nodes, of.nodes.max()))


def factor_of(factors: np.ndarray, of: Partitions, job: int, partition: int) -> float:
    return float(factors[job, of.variant[partition]])


@pytest.mark.parametrize("order", ["fcfs", "wfp", "shortest-first", "largest-first"])
@pytest.mark.parametrize("backfill", ["none", "easy", "conservative", "drain"])
def test_random_cases(order: str, backfill: str) -> None:
    # There the order decides nothing, which a few cases show.
    for seed in range(4 if backfill == "conservative" and order != "fcfs" else CASES):
        rng = np.random.default_rng([seed, 13])
        of = partitions(seed % len(LISTS))
        jobs = drawn(rng, of)
        by_variant = rng.choice([1.0, 1.05, 1.5], len(of.variants))
        factors = np.tile(by_variant, (len(jobs), 1))
        scale = bool(rng.integers(2))
        found = simulate_schedule(
            of, jobs, Order.model_validate(order), Backfill.model_validate(backfill), factors, scale_request=scale
        )
        listed = [
            Partition(int(of.nodes[p]), frozenset(of.midplanes_of(p)), frozenset(("c", c) for c in of.cables_of(p)))
            for p in range(len(of))
        ]
        columns = (jobs.submit_s, jobs.runtime_s, jobs.request_s, jobs.nodes)
        plain = [Job(*own) for own in zip(*(column.tolist() for column in columns), strict=True)]
        factor = partial(factor_of, factors, of)
        expected = Reference(plain, listed, order, backfill, factor, not scale).run()
        assert {job: (float(found.start_s[job]), int(found.partition[job])) for job in range(len(jobs))} == expected, (
            f"{seed=}"
        )
