"""Chunks: every id once, small enough, and stable when one is added."""

from heapq import heapify, heapreplace
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricstudy.core.chunks import divide, divide_in_at_most

KEYS = st.lists(st.integers(0, 2**48 - 1).map("{:012x}".format), min_size=1, max_size=60, unique=True)


@given(KEYS, st.floats(0.5, 30), st.one_of(st.just(inf), st.floats(0.1, 30)))
def test_every_key_stands_in_one_chunk_and_chunks_are_small(keys: list[str], most: float, least: float) -> None:
    chunks = divide(keys, [1.0] * len(keys), most, least)
    assert sorted(key for chunk in chunks for key in chunk.keys) == sorted(keys)
    assert len({chunk.name for chunk in chunks}) == len(chunks)
    assert all(len(chunk.keys) <= max(most, 1) for chunk in chunks)


@given(KEYS, st.integers(1, 20))
def test_never_more_chunks_than_asked(keys: list[str], most: int) -> None:
    assert len(divide_in_at_most(keys, [1.0] * len(keys), 0.1, most)) <= most


@given(KEYS, st.floats(1, 10))
def test_an_added_key_moves_no_key_between_other_chunks(keys: list[str], most: float) -> None:
    old = keys[1:]
    if not old:
        return
    before = {chunk.keys for chunk in divide(old, [1.0] * len(old), most)}
    after = {chunk.keys for chunk in divide(keys, [1.0] * len(keys), most)}
    # Only the chunk that the new key falls into may split; all others stand as they were.
    assert len(before - after) <= 1


@pytest.mark.parametrize("cores", [8, 16, 32, 48, 64])
def test_smaller_chunks_at_the_end_keep_all_cores_busy(cores: int) -> None:
    """List scheduling, the largest first, of 10,000 items of a second."""
    keys = [f"{hash((7, number)) % 2**48:012x}" for number in range(10_000)]

    def busy(least: float) -> float:
        free_s = [0.0] * cores
        heapify(free_s)
        for chunk in sorted(divide(keys, [1.0] * len(keys), 120.0, least), key=lambda chunk: -len(chunk.keys)):
            heapreplace(free_s, free_s[0] + len(chunk.keys))
        return len(keys) / (cores * max(free_s))

    assert busy(20.0) > 0.95
    assert (busy(inf) < 0.95) == (cores == 48)  # equal chunks fit only powers of two


def test_nothing_gives_no_chunk() -> None:
    assert divide([], [], 1.0) == []


@pytest.mark.parametrize("target", [0.0, -5.0, float("nan"), float("inf")])
def test_no_chunk_has_such_a_cost(target: float) -> None:
    with pytest.raises(ValueError):
        divide_in_at_most(["0a", "f0"], [1.0, 1.0], target, 1)
