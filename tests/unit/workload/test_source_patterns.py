"""Patterns of the sources, against their definitions written out rank by rank."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricstudy.engine.point import Point
from fabricstudy.machine.distances import hop_distances
from fabricstudy.workload.messages import WorkloadError
from fabricstudy.workload.pattern.base import Pattern
from fabricstudy.workload.placing import place

EXTENSIONS = ["b_eff", "caps", "low_diameter"]

PATTERN = Pattern


def sent(ranks: int, **pattern: Any) -> Counter[tuple[int, int, int, int]]:
    """(phase, source, destination, bytes) of a pattern, counted."""
    config: Any = PATTERN.model_validate({"message": "1000 B"} | pattern)
    found = config.sends(ranks, np.random.default_rng(1))
    size = np.full(len(found.phase), config.message_bytes) if found.size_bytes is None else found.size_bytes
    return Counter(
        zip(*(column.tolist() for column in (found.phase, found.source, found.destination, size)), strict=True)
    )


def test_sub_all_to_all_is_an_all_to_all_on_each_line() -> None:
    shape = (2, 3, 4)
    expected: Counter[tuple[int, int, int, int]] = Counter()
    cells = list(np.ndindex(*shape))
    for source, here in enumerate(cells):
        for destination, there in enumerate(cells):
            differs = [axis for axis in range(3) if here[axis] != there[axis]]
            if len(differs) == 1:
                expected[2 - differs[0], source, destination, 1000] += 1
    assert sent(24, kind="sub-all-to-all", shape=shape) == expected


@pytest.mark.parametrize(("rows", "ranks"), [(None, 12), (2, 12), (1, 5), (6, 6), (None, 49)])
def test_pencil_transposes_exchange_all_but_the_own_part(rows: int | None, ranks: int) -> None:
    found = sent(ranks, kind="pencil-fft", message="1 MB", **({"rows": rows} if rows else {}))
    rows = rows or {12: 3, 49: 7}[ranks]
    columns = ranks // rows
    expected: Counter[tuple[int, int, int, int]] = Counter()
    phase = 0
    ways: list[tuple[int, Callable[[int], int]]] = [(columns, lambda r: r // columns), (rows, lambda r: r % columns)]
    for length, together in ways:
        for a in range(ranks):
            for b in range(ranks):
                if a != b and together(a) == together(b):
                    expected[phase, a, b, 1_000_000 // length] += 1
        phase += length > 1
    assert found == expected


@pytest.mark.parametrize(
    ("algorithm", "ranks"), [("ring", 2), ("ring", 7), ("recursive-doubling", 2), ("recursive-doubling", 16)]
)
def test_all_gather_brings_every_block_everywhere(algorithm: str, ranks: int) -> None:
    """Each message carries the blocks that its sender holds and, on a ring, got last; in the end all hold all."""
    holds, last = [{rank} for rank in range(ranks)], [{rank} for rank in range(ranks)]
    found = sent(ranks, kind="all-gather", algorithm=algorithm)
    for phase in range(max(row[0] for row in found) + 1):
        news = {}
        for _, source, destination, size in (row for row in found if row[0] == phase):
            blocks = last[source] if algorithm == "ring" else set(holds[source])
            assert size == 1000 * len(blocks)
            news[destination] = blocks
        for destination, blocks in news.items():
            holds[destination] |= blocks
            last[destination] = blocks
    assert holds == [set(range(ranks))] * ranks


def test_strassen_steps_by_hand() -> None:
    """49 ranks, two steps: first over sevenths of all, then within each; 7/4 as much; products half of factors."""
    found = sent(49, kind="strassen-bfs", steps=2, message="1600 B")
    for (phase, source, destination, size), number in found.items():
        step = {0: 0, 1: 1, 2: 1, 3: 0}[phase]
        assert number == 1 and size == {0: 1600, 1: 2800, 2: 1400, 3: 800}[phase]
        if step == 0:
            assert source % 7 == destination % 7 and source != destination
        else:
            assert source // 7 == destination // 7 and source != destination
    assert Counter(row[0] for row in found) == dict.fromkeys(range(4), 6 * 49)


def test_b_eff_has_rings_of_the_sizes_it_states() -> None:
    found = sent(64, kind="b-eff")
    for phase, size in enumerate((2, 4, 8, 16, 32, 64)):
        for shuffled in (False, True):
            rows = [row for row in found.elements() if row[0] == phase + 6 * shuffled]
            assert ring_sizes(rows) == [size] * (64 // size)
        expected: Counter[tuple[int, int, int, int]] = Counter()
        for rank in range(64):
            first = rank - rank % size
            for turn in (1, -1):
                expected[phase, rank, first + (rank - first + turn) % size, 1000] += 1
        assert Counter({row: n for row, n in found.items() if row[0] == phase}) == expected


def ring_sizes(rows: Iterable[tuple[int, int, int, int]]) -> list[int]:
    """Sizes of the cycles that sends to both neighbours form; each rank sends twice."""
    after: dict[int, list[int]] = {}
    for _, source, destination, _ in rows:
        after.setdefault(source, []).append(destination)
    sizes, left = [], set(after)
    while left:
        rank = left.pop()
        ring = {rank}
        while others := [other for member in ring for other in after[member] if other not in ring]:
            ring.update(others)
        sizes.append(len(ring))
        left -= ring
    return sizes


@pytest.mark.parametrize("ranks", [2, 3, 5, 17, 31])
def test_b_eff_divides_any_number_of_ranks(ranks: int) -> None:
    found = sent(ranks, kind="b-eff")
    assert sum(found.values()) == 24 * ranks
    assert all(ring_sizes([row for row in found.elements() if row[0] == p]) for p in range(12))
    assert all(source != destination for _, source, destination, _ in found)


@pytest.mark.parametrize("ranks", [2, 17, 64])
def test_b_eff_consists_of_its_halves(ranks: int) -> None:
    natural, shuffled = (sent(ranks, kind="b-eff", rings=half) for half in ("natural", "shuffled"))
    later = Counter({(phase + 6, *message): count for (phase, *message), count in shuffled.items()})
    assert natural + later == sent(ranks, kind="b-eff")
    half: Any = PATTERN.model_validate({"kind": "b-eff", "message": "1000 B", "rings": "natural"})
    assert half.traffic_messages(ranks) == natural.total() and half.traffic(ranks)[0].phases == 6


@given(ranks=st.integers(1, 30).map(lambda half: 2 * half), shuffled=st.booleans())
@settings(deadline=None)
def test_pairs_are_pairs(ranks: int, shuffled: bool) -> None:
    partner = {source: destination for _, source, destination, _ in sent(ranks, kind="pairs", shuffled=shuffled)}
    assert all(partner[partner[rank]] == rank != partner[rank] for rank in range(ranks))
    if not shuffled:
        assert partner == {rank: (rank + ranks // 2) % ranks for rank in range(ranks)}


def test_spread_partners_are_the_next_ranks_with_equal_chance() -> None:
    found = sent(200, kind="spread", degree=[50, 50], neighbourhood=5)
    steps: Counter[Any] = Counter()
    for (_, source, destination, _), number in found.items():
        steps[(destination - source) % 200] += number
    assert set(steps) == {1, 2, 3, 4, 5}
    # Binomial(10,000, 1/5): five standard deviations are 200.
    assert all(abs(number - 2000) < 200 for number in steps.values())


def test_spread_reaches_all_ranks_where_nothing_is_said() -> None:
    assert {(b - a) % 20 for _, a, b, _ in sent(20, kind="spread", degree=[60, 60])} == set(range(1, 20))


def test_mesh_partners_are_in_the_neighbourhood() -> None:
    """On a periodic 7 x 9 grid with 2 steps at most: 25 places less the own."""
    found = sent(63, kind="unstructured-mesh", dimensions=2, shape=[7, 9], degree=[80, 90], neighbourhood=2)
    steps: Counter[Any] = Counter()
    for (_, a, b, _), number in found.items():
        steps[(b // 9 - a // 9 + 3) % 7 - 3, (b % 9 - a % 9 + 4) % 9 - 4] += number
    assert set(steps) == {(i, j) for i in range(-2, 3) for j in range(-2, 3)} - {(0, 0)}
    mean = sum(steps.values()) / 24
    assert all(abs(number - mean) < 5 * mean**0.5 for number in steps.values())


def test_degrees_have_equal_chance_and_stay_for_all_iterations() -> None:
    found = sent(600, kind="spread", degree=[3, 5], iterations=2)
    first, second = ({row[1:]: n for row, n in found.items() if row[0] == phase} for phase in (0, 1))
    assert first == second
    degree: Counter[Any] = Counter()
    for (source, _, _), number in first.items():
        degree[source] += number
    # Binomial(600, 1/3): five standard deviations are 58.
    assert all(abs(number - 200) < 58 for number in Counter(degree.values()).values())
    assert set(degree.values()) == {3, 4, 5}


def torus_point(shape: Sequence[int], job: dict[str, Any], **machine: Any) -> Point:
    return Point.model_validate(
        {
            "machine": {"kind": "torus", "shape": shape, "bandwidth": "1 GB/s"} | machine,
            "routing": "minimal",
            "jobs": [job],
            "engine": "caminos",
            "seed": 1,
        }
    )


@pytest.mark.parametrize(("shape", "wrap", "hops"), [((8, 4, 4), True, 8), ((8, 4, 4), False, 13), ((5, 3), True, 3)])
def test_ping_pong_goes_the_longest_way_and_back(shape: tuple[int, ...], wrap: bool, hops: int) -> None:
    job = {"share": 1.0, "pattern": {"kind": "ping-pong", "message": "1 kB", "iterations": 3}, "mapping": "random"}
    point = torus_point(shape, job, wrap=wrap)
    machine = point.machine.build()
    (placed,) = place(point, machine, np.zeros(machine.routers, dtype=bool))
    messages, router = placed.messages, machine.node_router[placed.node_of_rank]
    assert messages.phase.tolist() == list(range(6))
    assert np.all(hop_distances(machine).matrix()[router[messages.source], router[messages.destination]] == hops)
    assert np.array_equal(messages.source[1:], messages.destination[:-1])
    assert len(set(messages.source.tolist())) == 2


@pytest.mark.parametrize(
    ("job", "values"),
    [
        ({"nodes": 15, "pattern": {"kind": "pairs"}}, "15"),
        ({"nodes": 15, "pattern": {"kind": "strassen-bfs"}}, "7.*15"),
        ({"nodes": 12, "pattern": {"kind": "all-gather", "algorithm": "recursive-doubling"}}, "12"),
        ({"nodes": 12, "pattern": {"kind": "pencil-fft", "rows": 5}}, "12.*5"),
        ({"nodes": 1, "pattern": {"kind": "pairs"}}, "2"),
    ],
)
def test_numbers_of_ranks_that_do_not_fit_are_refused(job: dict[str, Any], values: str) -> None:
    job["pattern"]["message"] = "1 kB"
    point = torus_point((4, 4), job)
    machine = point.machine.build()
    with pytest.raises(WorkloadError, match=f"job 0: .*{values}"):
        place(point, machine, np.zeros(machine.routers, dtype=bool))
