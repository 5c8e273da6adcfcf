"""Collective operations: who knows what in the end, and bytes and phases in closed form."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from fabricstudy.core.model import ConfigError
from fabricstudy.workload.pattern.base import Pattern, Sends
from fabricstudy.workload.pattern.collective import two_trees

RANKS = [2, 3, 4, 5, 6, 7, 8, 11, 16, 24, 31, 32]


def pattern_of(kind: str, message: str = "", **keys: Any) -> Pattern:
    written = {"kind": kind, **({"message": message} if message else {}), **keys}
    return Pattern.model_validate(written, context={}, by_alias=True, by_name=False)


def total_bytes(sends: Sends) -> int:
    assert sends.size_bytes is not None
    return int(sends.size_bytes.sum())


def sends_of(pattern: Pattern, ranks: int) -> Sends:
    pattern.check_ranks(ranks)
    sends = pattern.sends(ranks, np.random.default_rng(0))
    assert sends.size_bytes is not None
    assert np.all(sends.size_bytes > 0) and np.all(sends.source != sends.destination)
    assert sorted(set(sends.phase.tolist())) == list(range(sends.phase.max(initial=-1) + 1))
    # What is stated in closed form is what is sent.
    told = {part.size_bytes: part.messages for part in pattern.traffic(ranks)}
    assert told == dict(Counter(sends.size_bytes.tolist()))
    return sends


def knows(sends: Sends, ranks: int) -> np.ndarray:
    """Whether rank i may have heard of rank j, bool [i, j]: a message brings what its sender knew before the phase."""
    known = np.eye(ranks, dtype=bool)
    for phase in range(sends.phase.max(initial=-1) + 1):
        before = known.copy()
        for source, destination in zip(sends.source[sends.phase == phase], sends.destination[sends.phase == phase],
                                       strict=True):  # fmt: skip
            known[destination] |= before[source]
    return known


def log2(ranks: int) -> int:
    return (ranks - 1).bit_length()


def folded(ranks: int) -> tuple[int, int]:
    """The power of two below, and how many ranks are above it."""
    power = 1 << (ranks.bit_length() - 1)
    return power, ranks - power


def depths(ranks: int) -> int:
    """Sum of the depths of all ranks of a binomial tree."""
    return sum(rank.bit_count() for rank in range(ranks))


@pytest.mark.parametrize("ranks", RANKS)
def test_all_reduce(ranks: int) -> None:
    size = 840 * ranks
    power, above = folded(ranks)
    between, unfold = power.bit_length() - 1, 2 * (above > 0)
    expected = {
        "ring": (2 * size * (ranks - 1), 2 * (ranks - 1)),
        "recursive-doubling": (size * power * between + 2 * above * size, between + unfold),
        "rabenseifner": (2 * size * (power - 1) + 2 * above * size, 2 * between + unfold),
        "tree": (2 * size * (ranks - 1), 2 * log2(ranks)),
    }
    for algorithm, (total, phases) in expected.items():
        sends = sends_of(pattern_of("all-reduce", f"{size} B", algorithm=algorithm, root=ranks // 2), ranks)
        assert (total_bytes(sends), sends.phase.max() + 1) == (total, phases), algorithm
        assert knows(sends, ranks).all(), algorithm
        if algorithm == "ring" or (algorithm == "rabenseifner" and not above):
            # The least that any all-reduce can send a rank (Patarasuk and Yuan 2009).
            sent = np.bincount(sends.source, sends.size_bytes)
            assert np.all(sent * ranks == 2 * size * (ranks - 1))


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("size", [1000, 300_001, 2_000_000])
def test_all_reduce_on_two_trees(ranks: int, size: int) -> None:
    sends = sends_of(pattern_of("all-reduce", f"{size} B", algorithm="double-tree"), ranks)
    assert knows(sends, ranks).all()
    assert total_bytes(sends) == 2 * size * (ranks - 1)
    trees = two_trees(ranks)
    for parent, depth in trees:
        assert np.bincount(parent[parent >= 0], minlength=ranks).max() <= 2
        assert int(depth.max()) <= log2(ranks) and np.all(depth[parent >= 0] == depth[parent[parent >= 0]] + 1)
    both = set(trees[0][0].tolist()) & set(trees[1][0].tolist()) - {-1}
    assert both == ({0} if ranks % 2 else set())
    deepest, segments = max(int(depth.max()) for _, depth in trees), max(1, min(16, size // 2**18))
    assert sends.phase.max() + 1 == segments + 2 * deepest - 1
    # What a rank sends up, it has received from its children in earlier steps, segment by segment.
    sent = np.bincount(sends.source, sends.size_bytes, ranks)
    assert sent.max() <= 2 * size + 4 * segments


@pytest.mark.parametrize(("ranks", "inside"), [(4, 2), (12, 4), (12, 3), (24, 8)])
def test_all_reduce_in_groups(ranks: int, inside: int) -> None:
    size, groups = 840 * ranks, ranks // inside
    sends = sends_of(pattern_of("all-reduce", f"{size} B", algorithm="hierarchical", inside=inside), ranks)
    assert knows(sends, ranks).all()
    assert sends.phase.max() + 1 == 2 * (inside - 1) + 2 * (groups - 1)
    across = sends.source // inside != sends.destination // inside
    assert sends.size_bytes is not None
    # Within each group as much as a ring of it, across as much as a ring of the groups.
    assert sends.size_bytes[~across].sum() == groups * 2 * (inside - 1) * size
    assert sends.size_bytes[across].sum() == 2 * (groups - 1) * size


def test_direct_all_reduce() -> None:
    for ranks in RANKS:
        size = 840 * ranks
        sends = sends_of(pattern_of("all-reduce", f"{size} B", algorithm="direct"), ranks)
        assert (total_bytes(sends), sends.phase.max() + 1) == (2 * size * (ranks - 1), 2)
        assert knows(sends, ranks).all()


@pytest.mark.parametrize(
    ("keys", "code"),
    [
        ({"algorithm": "hierarchical"}, "conflicting-keys"),
        ({"algorithm": "ring", "inside": 2}, "conflicting-keys"),
        ({"algorithm": "hierarchical", "inside": 4}, "does-not-fit"),
        ({"algorithm": "hierarchical", "inside": 6}, "does-not-fit"),
    ],
)
def test_groups_that_do_not_fit(keys: dict[str, Any], code: str) -> None:
    with pytest.raises((ConfigError, ValidationError)) as caught:
        pattern_of("all-reduce", "1 kB", **keys).check_ranks(6)
    assert code in str(getattr(caught.value, "code", "")) or "inside" in str(caught.value)


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("bytes_a_rank", [840, 7.3])
def test_reduce_scatter(ranks: int, bytes_a_rank: float) -> None:
    size = int(bytes_a_rank * ranks)
    power, above = folded(ranks)
    own = np.diff([size * rank // ranks for rank in range(ranks + 1)])
    expected = {
        "ring": (size * (ranks - 1), ranks - 1),
        "pairwise": (size * (ranks - 1), ranks - 1),
        "recursive-halving": (
            size * (power - 1) + above * size + own[0 : 2 * above : 2].sum(),
            power.bit_length() - 1 + 2 * (above > 0),
        ),
    }
    for algorithm, (total, phases) in expected.items():
        sends = sends_of(pattern_of("reduce-scatter", f"{size} B", algorithm=algorithm), ranks)
        assert (total_bytes(sends), sends.phase.max() + 1) == (total, phases), algorithm
        assert knows(sends, ranks).all(), algorithm


@pytest.mark.parametrize("ranks", RANKS)
def test_broadcast(ranks: int) -> None:
    size, root = 840 * ranks, ranks - 1
    expected = {
        "binomial": (size * (ranks - 1), log2(ranks)),
        "scatter-ring": (840 * depths(ranks) + size * (ranks - 1), log2(ranks) + ranks - 1),
    }
    if not folded(ranks)[1]:
        expected["scatter-recursive-doubling"] = (840 * depths(ranks) + size * (ranks - 1), 2 * log2(ranks))
    for algorithm, (total, phases) in expected.items():
        sends = sends_of(pattern_of("broadcast", f"{size} B", algorithm=algorithm, root=root), ranks)
        assert (total_bytes(sends), sends.phase.max() + 1) == (total, phases), algorithm
        assert knows(sends, ranks)[:, root].all(), algorithm
        assert np.all(np.bincount(sends.destination, sends.size_bytes, ranks)[:-1] >= size * (1 - 1 / ranks))


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("root", [0, 1])
def test_gather_and_scatter(ranks: int, root: int) -> None:
    for algorithm, total, phases in (("linear", 9 * (ranks - 1), 1), ("binomial", 9 * depths(ranks), log2(ranks))):
        up, down = (sends_of(pattern_of(kind, "9 B", algorithm=algorithm, root=root), ranks)
                    for kind in ("gather", "scatter"))  # fmt: skip
        for sends in (up, down):
            assert (total_bytes(sends), sends.phase.max() + 1) == (total, phases)
        assert knows(up, ranks)[root].all() and knows(down, ranks)[:, root].all()
        # Each rank hands on its own block and all that it got; the root keeps those of all.
        balance = np.bincount(up.source, up.size_bytes, ranks) - np.bincount(up.destination, up.size_bytes, ranks)
        assert balance.tolist() == [-9 * (ranks - 1) if rank == root else 9 for rank in range(ranks)]
        backwards = np.bincount(down.destination, down.size_bytes, ranks) - np.bincount(
            down.source, down.size_bytes, ranks
        )
        assert np.array_equal(balance, backwards)


@pytest.mark.parametrize("ranks", RANKS)
def test_barrier_and_incast(ranks: int) -> None:
    sends = sends_of(pattern_of("barrier", iterations=1), ranks)
    assert (total_bytes(sends), sends.phase.max() + 1) == (ranks * log2(ranks), log2(ranks))
    assert knows(sends, ranks).all()
    sends = sends_of(pattern_of("incast", "5 B", root=1), ranks)
    assert (len(sends.phase), sends.phase.max(), set(sends.destination)) == (ranks - 1, 0, {1})


def test_iterations_and_a_moved_root() -> None:
    once, thrice = (sends_of(pattern_of("broadcast", "64 B", algorithm="binomial", iterations=n), 8) for n in (1, 3))
    assert len(thrice.phase) == 3 * len(once.phase) and thrice.phase.max() == 8
    moved = sends_of(pattern_of("broadcast", "64 B", algorithm="binomial", root=3), 8)
    assert np.array_equal(moved.source, (once.source + 3) % 8)


# The switch-over points, at and beside them.
CHOICES = [
    ("all-reduce", "mpich", 2048, 16, "recursive-doubling"),
    ("all-reduce", "mpich", 2049, 16, "rabenseifner"),
    ("all-reduce", "mpich", 4000, 4096, "recursive-doubling"),
    ("all-reduce", "open-mpi", 9_999, 16, "recursive-doubling"),
    ("all-reduce", "open-mpi", 10_000, 16, "ring"),
    ("all-reduce", "open-mpi", 10_000, 10_000, "recursive-doubling"),
    ("reduce-scatter", "mpich", 524_287, 16, "recursive-halving"),
    ("reduce-scatter", "mpich", 524_288, 16, "pairwise"),
    ("reduce-scatter", "open-mpi", 12_288, 15, "recursive-halving"),
    ("reduce-scatter", "open-mpi", 12_289, 15, "ring"),
    ("reduce-scatter", "open-mpi", 262_144, 16, "recursive-halving"),
    ("reduce-scatter", "open-mpi", 262_145, 16, "ring"),
    ("reduce-scatter", "open-mpi", 100_000, 129, "recursive-halving"),
    ("reduce-scatter", "open-mpi", 100_000, 127, "ring"),
    ("broadcast", "mpich", 12_287, 16, "binomial"),
    ("broadcast", "mpich", 12_288, 16, "scatter-recursive-doubling"),
    ("broadcast", "mpich", 12_288, 7, "binomial"),
    ("broadcast", "mpich", 12_288, 15, "scatter-ring"),
    ("broadcast", "mpich", 524_288, 16, "scatter-ring"),
]


@pytest.mark.parametrize(("kind", "library", "size", "ranks", "expected"), CHOICES)
def test_libraries_switch_where_they_say(kind: str, library: str, size: int, ranks: int, expected: str) -> None:
    by_library: Any
    by_library, by_name = (pattern_of(kind, f"{size} B", algorithm=name) for name in (library, expected))
    assert by_library.chosen(ranks) == expected
    assert by_library.traffic(ranks) == by_name.traffic(ranks)


@pytest.mark.parametrize(("kind", "keys", "ranks", "path"), [
    ("all-reduce", {"algorithm": "ring"}, 65, "message"),
    ("all-reduce", {"algorithm": "rabenseifner"}, 128, "message"),
    ("reduce-scatter", {}, 65, "message"),
    ("broadcast", {"algorithm": "scatter-ring"}, 65, "message"),
    ("broadcast", {"algorithm": "scatter-recursive-doubling"}, 12, "algorithm"),
    ("gather", {"root": 9}, 9, "root"),
])  # fmt: skip
def test_what_cannot_be_is_refused(kind: str, keys: dict[str, Any], ranks: int, path: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        pattern_of(kind, "64 B", **keys).check_ranks(ranks)
    assert (refusal.value.code, refusal.value.keys) == ("does-not-fit", (path,))
    if path != "root":
        pattern_of(kind, "64 B", **keys).check_ranks(ranks // 2 + ranks % 2 if path == "message" else 16)


def test_traffic_of_many_ranks_needs_no_messages() -> None:
    (part,) = pattern_of("all-reduce", "100 kB", algorithm="ring").traffic(50_000)
    assert part == (2.0 * 50_000 * 49_999, 2, 2 * 49_999)
