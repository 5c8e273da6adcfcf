"""Patterns of many objects a rank: patches with computes, states with planes."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from fabricstudy.core.model import ConfigError
from fabricstudy.workload.pattern.base import Pattern

EXTENSIONS = ["namd", "openatom"]


def pattern_of(**keys: Any) -> Any:
    """Return a pattern of any kind, of which each has its own fields."""
    return Pattern.model_validate({"message": "1 kB", **keys})


def sent(pattern: Pattern, ranks: int) -> dict[tuple[int, int, int], int]:
    """Bytes by phase, source and destination."""
    pattern.check_ranks(ranks)
    sends = pattern.sends(ranks, np.random.default_rng(0))
    keys = list(zip(sends.phase.tolist(), sends.source.tolist(), sends.destination.tolist(), strict=True))
    assert len(set(keys)) == len(keys) and all(a != b for _, a, b in keys)
    assert len(keys) <= pattern.traffic_messages(ranks)
    assert sends.size_bytes is not None
    return dict(zip(keys, sends.size_bytes.tolist(), strict=True))


def near(one: tuple[int, ...], other: tuple[int, ...], shape: tuple[int, ...], away: int) -> bool:
    return all(min((a - b) % n, (b - a) % n) <= away for a, b, n in zip(one, other, shape, strict=True))


@pytest.mark.parametrize(("shape", "away"), [((6, 6, 4), 1), ((3, 2, 1), 1), ((5, 5, 3), 2)])
def test_computes_are_all_pairs_near_each_other_once(shape: tuple[int, ...], away: int) -> None:
    places = list(itertools.product(*map(range, shape)))
    expected = {
        (i, j) for i, a in enumerate(places) for j, b in enumerate(places) if i <= j and near(a, b, shape, away)
    }
    first, second = pattern_of(kind="patches", patches=shape, away=away).computes()
    assert set(zip(first.tolist(), second.tolist(), strict=True)) == expected and len(first) == len(expected)


def test_patches_on_a_rank_each_by_hand() -> None:
    """Three patches in a row, periodic: all near each other; six computes, so two for each rank."""
    pattern = pattern_of(kind="patches", patches=[3, 1, 1], forces="2 kB")
    # Computes 00 01 | 02 11 | 12 22: rank 0 needs patches 0, 1; rank 1 needs 0, 1, 2; rank 2 needs 1, 2.
    out = {(0, 1, 0): 1000, (0, 0, 1): 1000, (0, 2, 1): 1000, (0, 1, 2): 1000}
    assert sent(pattern, 3) == out | {(1, b, a): 2000 for _, a, b in out}


def test_a_rank_gets_a_patch_once_and_several_patches_together() -> None:
    pattern = pattern_of(kind="patches", patches=[4, 4, 2], split=3)
    computes = [pair for pair in zip(*pattern.computes(), strict=True) for _ in range(3)]
    needed = {(patch, 2 * k // len(computes)) for k, pair in enumerate(computes) for patch in pair}
    away = [sum(1 for patch, rank in needed if rank != patch // 16 == home) for home in (0, 1)]
    there = {(0, 0, 1): 1000 * away[0], (0, 1, 0): 1000 * away[1]}
    assert sent(pattern, 2) == there | {(1, b, a): size for (_, a, b), size in there.items()} and min(away) > 0


def test_states_and_planes_each_on_a_rank_by_hand() -> None:
    """Two states of two planes: ranks 0 1 / 2 3; sums of plane 0 on rank 0, of plane 1 on rank 3."""
    rows = {(0, a, b): 1000 for a, b in [(0, 1), (1, 0), (2, 3), (3, 2)]}
    to_sums, back = {(1, 2, 0): 1000, (1, 1, 3): 1000}, {(2, 0, 2): 1000, (2, 3, 1): 1000}
    columns = {(3, a, b): 1000 for a, b in [(0, 2), (2, 0), (1, 3), (3, 1)]}
    assert sent(pattern_of(kind="states-planes", states=2, planes=2), 4) == rows | to_sums | back | columns


@pytest.mark.parametrize(("group", "silent"), [("states", 0), ("planes", 3)])
def test_grouped_parts_cost_nothing_among_themselves(group: str, silent: int) -> None:
    """A rank a state has all of its planes; a rank a plane all of its states, and sums them itself."""
    found = sent(pattern_of(kind="states-planes", states=4, planes=4, group=group), 4)
    phases = sorted({phase for phase, _, _ in found})
    assert len(phases) == (3 if silent == 0 else 1)
    # All to all between states (a part of each plane), or between planes.
    assert [size for (phase, _, _), size in found.items() if phase == phases[-1]] == [4000] * 12


def test_coordinates_are_states_and_planes() -> None:
    pattern = pattern_of(kind="states-planes", states=4, planes=6)
    assert pattern.coordinates(12).tolist() == [[s, 2 * p] for s in range(4) for p in range(3)]


def test_parts_that_cannot_be_dealt_are_refused() -> None:
    with pytest.raises(ConfigError) as refusal:
        pattern_of(kind="states-planes", states=4, planes=4).check_ranks(5)
    assert refusal.value.keys == ("states",)
