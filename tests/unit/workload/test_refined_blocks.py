"""Adaptively refined meshes: the octree against brute force, faces, and messages by hand."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from fabricstudy.core.model import ConfigError
from fabricstudy.workload.mapping.curve import morton
from fabricstudy.workload.pattern.base import Pattern, Sends

from ...machines import place_jobs, point_on

EXTENSIONS = ["refined_blocks"]

FACE = 8 * 8 * 4 * 10
"""Bytes of a whole face by default, with 10 B per cell."""


def pattern_of(**keys: Any) -> Any:
    return Pattern.model_validate({"kind": "refined-blocks", "message": "10 B"} | keys)


def sends_of(pattern: Any, ranks: int) -> Sends:
    pattern.check_ranks(ranks)
    sends: Sends = pattern.sends(ranks, np.random.default_rng(0))
    assert np.all(sends.source != sends.destination)
    assert {part.size_bytes: part.messages for part in pattern.traffic(ranks)} == dict(Counter(sizes_of(sends)))
    return sends


def sizes_of(sends: Sends) -> list[int]:
    assert sends.size_bytes is not None
    sizes: list[int] = sends.size_bytes.tolist()
    return sizes


def touching_area(tree: Any) -> dict[tuple[int, int], int]:
    """Area by which each two blocks touch, in faces of the finest level: every pair is compared, and shifted copies."""
    finest = int(tree.level.max())
    edge = 1 << (finest - tree.level)
    low = tree.finest_corner
    domain = 1 << finest
    shifts = [np.zeros(3, dtype=int)]
    if tree.periodic:
        shifts += [sign * domain * axis for axis in np.eye(3, dtype=int) for sign in (1, -1)]
    areas: Counter[tuple[int, int]] = Counter()
    for a, b in itertools.product(range(len(edge)), repeat=2):
        for shift in shifts:
            if a == b and not shift.any():
                continue
            overlap = np.minimum(low[a] + edge[a], low[b] + shift + edge[b]) - np.maximum(low[a], low[b] + shift)
            if sorted(overlap > 0) == [False, True, True] and overlap.min() == 0:
                areas[a, b] += int(np.prod(overlap[overlap > 0]))
    return dict(areas)


def found_area(tree: Any, found: Any) -> dict[tuple[int, int], int]:
    finest = int(tree.level.max())
    areas: Counter[tuple[int, int]] = Counter()
    for a, b, quarters in zip(*(column.tolist() for column in vars(found).values()), strict=True):
        larger = finest - min(int(tree.level[a]), int(tree.level[b]))
        areas[a, b] += quarters * 4**larger // 4 if larger else quarters // 4
    return dict(areas)


MESHES: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "levels": st.sampled_from([[0, 0], [0, 2], [1, 1], [1, 3], [2, 3], [1, 4]]),
        "centres": st.sampled_from([None, 1, 3]),
        "radius": st.sampled_from([0.0, 0.1, 0.35]),
        "seed": st.integers(0, 99),
        "periodic": st.booleans(),
    }
)


@given(mesh=MESHES)
@settings(deadline=None, max_examples=60)
def test_blocks_fill_the_domain_in_morton_order_and_neighbours_differ_by_one_level(mesh: dict[str, Any]) -> None:
    tree, found = pattern_of(**mesh).tree()
    assert (0.125**tree.level).sum() == 1
    cells = np.zeros((1 << int(tree.level.max()),) * 3, dtype=int)
    for corner, edge in zip(tree.finest_corner, 1 << (int(tree.level.max()) - tree.level), strict=True):
        cells[tuple(slice(low, low + edge) for low in corner)] += 1
    assert np.all(cells == 1)
    assert abs(tree.level[found.source] - tree.level[found.destination]).max(initial=0) <= 1
    assert np.all(np.diff(morton(tree.finest_corner)) > 0)
    # The area of each block's six faces: within the domain all of it, in a periodic domain also at its faces.
    finest = int(tree.level.max())
    area = np.zeros(len(tree.level))
    larger = 4.0 ** (finest - np.minimum(tree.level[found.source], tree.level[found.destination]))
    np.add.at(area, found.source, found.quarters * larger / 4)
    outside = (tree.corner == 0).sum(axis=1) + (tree.corner == (1 << tree.level)[:, None] - 1).sum(axis=1)
    covered = 6 - (0 if tree.periodic else outside)
    assert area.tolist() == (covered * 4.0 ** (finest - tree.level)).tolist()


@given(mesh=MESHES.filter(lambda mesh: mesh["levels"][1] < 4))
@settings(deadline=None, max_examples=20)
def test_contacts_are_those_of_brute_force(mesh: dict[str, Any]) -> None:
    tree, found = pattern_of(**mesh).tree()
    if len(tree.level) <= 150:
        assert found_area(tree, found) == touching_area(tree)


def test_a_sphere_is_resolved_where_its_surface_is() -> None:
    """Blocks of the finest level around the surface: each refined block has 8, and the sphere passes through some."""
    tree, _ = pattern_of(levels=[2, 5], radius=0.3).tree()
    edge = 0.5**tree.level
    corners = (tree.corner[:, None] + np.indices((2, 2, 2)).reshape(3, -1).T) * edge[:, None, None]
    distance = np.linalg.norm(corners - 0.5, axis=2)
    crossed = (distance.min(axis=1) < 0.3) & (distance.max(axis=1) > 0.3)
    assert np.all(tree.level[crossed] == 5) and (tree.level < 5).any()
    # Blocks of the finest level are within a block of the level before that the surface passes.
    finest, diagonal = tree.level == 5, 3**0.5 / 16
    assert np.all(distance[finest].min(axis=1) < 0.3 + diagonal)
    assert np.all(distance[finest].max(axis=1) > 0.3 - diagonal)
    # Symmetric about the centre, as the sphere is.
    mirrored = {(level, *corner) for level, corner in zip(tree.level, map(tuple, tree.corner), strict=True)}
    assert mirrored == {(n, *((1 << n) - 1 - np.array(rest))) for n, *rest in mirrored}


def test_one_refined_block_by_hand() -> None:
    """Seven blocks and eight of half the edge: 9 and 12 whole faces between equals, and 3 faces in quarters."""
    sends = sends_of(pattern_of(levels=[1, 2], centres=1, radius=0), 15)
    assert Counter(sizes_of(sends)) == {FACE: 2 * (9 + 12), FACE // 4: 2 * 3 * 4}
    assert sends.phase.max() == 0
    larger = sends_of(pattern_of(levels=[1, 2], centres=1, radius=0, cells=16, guard=1, iterations=2), 15)
    assert Counter(sizes_of(larger)) == {16 * 16 * 10: 2 * 42, 8 * 8 * 10: 2 * 24}


@pytest.mark.parametrize(("level", "periodic"), [(1, False), (1, True), (2, False), (2, True)])
@pytest.mark.parametrize("aggregate", [False, True])
def test_uniform_refinement_is_a_stencil(level: int, periodic: bool, aggregate: bool) -> None:
    length = 1 << level
    blocks = pattern_of(levels=[level, level], periodic=periodic, aggregate=aggregate)
    stencil = Pattern.model_validate(
        {"kind": "stencil", "message": f"{FACE} B", "shape": [length] * 3, "periodic": periodic}
    )
    fine, plain = sends_of(blocks, length**3), stencil.sends(length**3, np.random.default_rng(0))
    row_major = np.ravel_multi_index(blocks.coordinates(length**3).T, (length,) * 3)
    assert sorted(row_major) == list(range(length**3))
    bytes_of_pair: Counter[tuple[int, int]] = Counter()
    pairs = list(zip(row_major[fine.source].tolist(), row_major[fine.destination].tolist(), strict=True))
    for pair, size in zip(pairs, sizes_of(fine), strict=True):
        bytes_of_pair[pair] += size
    expected = Counter(zip(plain.source.tolist(), plain.destination.tolist(), strict=True))
    assert bytes_of_pair == {pair: FACE * count for pair, count in expected.items()}
    assert Counter(pairs) == (dict.fromkeys(expected, 1) if aggregate else expected)


@given(mesh=MESHES.filter(lambda mesh: mesh["levels"][0] > 0), ranks=st.integers(2, 8))
@settings(deadline=None, max_examples=40)
def test_ranks_send_each_other_the_same(mesh: dict[str, Any], ranks: int) -> None:
    each, together = (sends_of(pattern_of(aggregate=flag, **mesh), ranks) for flag in (False, True))
    totals = []
    for sends in (each, together):
        matrix = np.zeros((ranks, ranks), dtype=np.int64)
        np.add.at(matrix, (sends.source, sends.destination), sizes_of(sends))
        assert np.array_equal(matrix, matrix.T)
        totals.append(matrix)
    assert np.array_equal(totals[0], totals[1]) and len(together.source) == np.count_nonzero(totals[0])
    blocks = np.bincount(pattern_of(**mesh).rank_of_block(ranks))
    assert len(blocks) == ranks and blocks.max() - blocks.min() <= 1


def test_the_seed_decides() -> None:
    meshes = [pattern_of(levels=[1, 4], centres=2, radius=0.1, seed=seed).tree()[0] for seed in (1, 1, 2)]
    assert np.array_equal(meshes[0].corner, meshes[1].corner)
    assert not np.array_equal(meshes[0].corner, meshes[2].corner)


@pytest.mark.parametrize("mapping", ["linear", "orb", "curve", "greedy", "recursive-bisection"])
def test_every_mapping_applies(mapping: str) -> None:
    machine = {"kind": "torus", "shape": [4, 4, 4], "bandwidth": "1 GB/s"}
    pattern = {"kind": "refined-blocks", "message": "10 B", "levels": [2, 4]}
    this = point_on(machine, "dimension-order", jobs=[{"share": 1.0, "pattern": pattern, "mapping": mapping}])
    (job,) = place_jobs(this, this.machine.build())
    assert sorted(job.node_of_rank.tolist()) == list(range(64))


@pytest.mark.parametrize(("keys", "ranks"), [({"levels": [1, 1]}, 9), ({"levels": [8, 8]}, 9)])
def test_too_few_and_too_many_blocks(keys: dict[str, Any], ranks: int) -> None:
    with pytest.raises(ConfigError) as refusal:
        pattern_of(**keys).check_ranks(ranks)
    assert (refusal.value.code, refusal.value.keys) == ("does-not-fit", ("levels",))


def test_descending_levels() -> None:
    with pytest.raises(ValidationError) as refusal:
        pattern_of(levels=[3, 2])
    (mistake,) = (error["ctx"]["error"] for error in refusal.value.errors())
    assert (mistake.code, mistake.keys) == ("out-of-range", ("levels",))
