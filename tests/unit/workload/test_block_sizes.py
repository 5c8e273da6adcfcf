"""Collective operations whose blocks differ in size: MPI_Allgatherv, Scatterv, Gatherv, Alltoallv and Alltoallw."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from fabricstudy.core.model import ConfigError
from fabricstudy.engine.point import Point
from fabricstudy.workload.block_sizes import BlockSizes, pair_blocks, rank_blocks
from fabricstudy.workload.messages import PlacedJob
from fabricstudy.workload.pattern.base import Pattern, Sends

from .test_collectives import knows, total_bytes

ALGORITHMS = [
    ("all-gather", "ring"), ("all-gather", "recursive-doubling"), ("all-to-all", "linear"), ("all-to-all", "pairwise"),
    ("all-to-all", "scattered"), ("gather", "linear"), ("gather", "binomial"), ("scatter", "linear"),
    ("scatter", "binomial"),
]  # fmt: skip
SIZES: list[dict[str, Any]] = [
    {"kind": "linear"},
    {"kind": "uniform", "spread": 0.5, "seed": 3},
    {"kind": "power-law", "exponent": 1.5, "seed": 7},
]


def sizes_of(written: dict[str, Any], folder: Path | None = None) -> BlockSizes:
    context = {} if folder is None else {"folder": folder}
    return BlockSizes.model_validate(written, context=context, by_alias=True, by_name=False)


def pattern_of(kind: str, algorithm: str, sizes: Any, folder: Path | None = None, **keys: Any) -> Any:
    written = {"kind": kind, "message": "600 B", "algorithm": algorithm, "sizes": sizes} | keys
    return Pattern.model_validate(written, context={"folder": folder or Path()}, by_alias=True, by_name=False)


def sends_of(pattern: Pattern, ranks: int) -> Sends:
    pattern.check_ranks(ranks)
    sends = pattern.sends(ranks, np.random.default_rng(0))
    assert sends.size_bytes is not None and np.all(sends.size_bytes > 0)
    return sends


@given(
    written=st.sampled_from(SIZES),
    ranks=st.integers(2, 40),
    mean=st.integers(1, 10**9),
    factor=st.floats(0, 1),
)
def test_the_mean_is_exact(written: dict[str, Any], ranks: int, mean: int, factor: float) -> None:
    key = "exponent" if written["kind"] == "power-law" else "spread"
    sizes = sizes_of(written | {key: factor})
    blocks, pairs = rank_blocks(sizes, ranks, mean), pair_blocks(sizes, ranks, mean)
    assert blocks.sum() == ranks * mean and pairs.sum() == ranks * (ranks - 1) * mean
    assert blocks.min() >= 0 and pairs.min() >= 0 and not pairs.diagonal().any()


def test_distributions_by_hand() -> None:
    assert rank_blocks(sizes_of({"kind": "linear"}), 5, 100).tolist() == [0, 50, 100, 150, 200]
    assert rank_blocks(sizes_of({"kind": "linear", "spread": 0.5}), 3, 100).tolist() == [50, 100, 150]
    uniform = [rank_blocks(sizes_of({"kind": "uniform", "seed": seed}), 5, 100).tolist() for seed in range(9)]
    assert all(sorted(blocks) == [0, 50, 100, 150, 200] for blocks in uniform)
    assert len(set(map(tuple, uniform))) > 5
    # 1, 1/2, 1/3, 1/4 and 1/6 of 1200, whose sum is 2700.
    power = rank_blocks(sizes_of({"kind": "power-law", "exponent": 1.0}), 4, 625)
    assert sorted(power.tolist()) == [300, 400, 600, 1200]
    # In an all-to-all the linear size is that of the sender.
    pairs = pair_blocks(sizes_of({"kind": "linear"}), 3, 100)
    assert pairs.tolist() == [[0, 0, 0], [100, 0, 100], [200, 200, 0]]


@pytest.mark.parametrize("equal", [{"kind": "linear", "spread": 0}, {"kind": "uniform", "spread": 0, "seed": 1},
                                   {"kind": "power-law", "exponent": 0}])  # fmt: skip
@pytest.mark.parametrize(("kind", "algorithm"), ALGORITHMS)
def test_equal_sizes_give_the_messages_of_the_plain_operation(
    point: Callable[..., Point], placed: Callable[[Point], list[PlacedJob]], kind: str, algorithm: str, equal: Any
) -> None:
    plain = {"kind": kind, "algorithm": algorithm, "message": "3 kB", "iterations": 2}
    plain |= {"root": 3} if kind in ("gather", "scatter") else {}
    with_sizes, without = (
        vars(placed(point({"nodes": 16, "pattern": plain | more}))[0].messages) for more in ({"sizes": equal}, {})
    )
    for name, column in without.items():
        assert column.dtype == with_sizes[name].dtype and column.tobytes() == with_sizes[name].tobytes(), name


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("ranks", [2, 7, 16])
def test_each_block_reaches_whom_it_is_for(sizes: dict[str, Any], ranks: int) -> None:
    blocks = rank_blocks(sizes_of(sizes), ranks, 600)
    root = ranks // 2
    down, up = (sends_of(pattern_of(kind, "binomial", sizes, root=root), ranks) for kind in ("scatter", "gather"))
    for sends, end in ((down, down.destination), (up, up.source)):
        other = sends.source if end is sends.destination else sends.destination
        balance = np.bincount(end, sends.size_bytes, ranks) - np.bincount(other, sends.size_bytes, ranks)
        assert balance.tolist() == [int(b) - (r == root) * blocks.sum() for r, b in enumerate(blocks)]
    direct = sends_of(pattern_of("scatter", "linear", sizes, root=root), ranks)
    assert dict(zip(direct.destination.tolist(), direct.size_bytes.tolist(), strict=True)) == {  # type: ignore[union-attr]
        rank: int(size) for rank, size in enumerate(blocks) if rank != root and size
    }
    for algorithm in ["ring"] + ["recursive-doubling"] * (ranks != 7):
        everywhere = sends_of(pattern_of("all-gather", algorithm, sizes), ranks)
        # Each rank receives all blocks but its own.
        received = np.bincount(everywhere.destination, everywhere.size_bytes, ranks)
        assert received.tolist() == (blocks.sum() - blocks).tolist()
        assert knows(everywhere, ranks)[:, blocks > 0].all()


@pytest.mark.parametrize("algorithm", ["linear", "pairwise", "scattered"])
@pytest.mark.parametrize("sizes", SIZES)
def test_all_to_all_sends_each_pair_its_block(algorithm: str, sizes: dict[str, Any]) -> None:
    blocks = pair_blocks(sizes_of(sizes), 9, 600)
    sends = sends_of(pattern_of("all-to-all", algorithm, sizes, window=4), 9)
    assert sends.size_bytes is not None
    matrix = np.zeros((9, 9), dtype=np.int64)
    np.add.at(matrix, (sends.source, sends.destination), sends.size_bytes)
    assert np.array_equal(matrix, blocks) and len(sends.phase) == np.count_nonzero(blocks)


def test_scattered_by_hand() -> None:
    """MPICH's loop: in steps of the window, rank - i for i from 0, where 0 is the rank itself."""
    sends = sends_of(pattern_of("all-to-all", "scattered", {"kind": "linear", "spread": 0}, window=3), 8)
    chunks = {0: [1, 2], 1: [3, 4, 5], 2: [6, 7]}
    expected = {(k, rank, (rank - i) % 8) for k, chunk in chunks.items() for i in chunk for rank in range(8)}
    sent = list(zip(sends.phase.tolist(), sends.source.tolist(), sends.destination.tolist(), strict=True))
    assert len(sent) == len(expected) and set(sent) == expected


@pytest.mark.parametrize(("kind", "algorithm"), ALGORITHMS)
@pytest.mark.parametrize("sizes", SIZES)
def test_traffic_has_all_bytes(kind: str, algorithm: str, sizes: dict[str, Any]) -> None:
    pattern = pattern_of(kind, algorithm, sizes, iterations=3)
    sends, traffic = sends_of(pattern, 16), pattern.traffic(16)
    assert sum(part.messages * part.size_bytes for part in traffic) == total_bytes(sends)
    if kind in ("gather", "scatter"):
        assert sends.size_bytes is not None
        assert {part.size_bytes: part.messages for part in traffic} == dict(Counter(sends.size_bytes.tolist()))
    else:
        assert len(sends.phase) <= pattern.traffic_messages(16)


def test_files(tmp_path: Path) -> None:
    (tmp_path / "ranks.txt").write_text("0\n100\n\n1700\n600\n")
    (tmp_path / "pairs.csv").write_text("9,1,2\n3,9,4\n0,5,9\n")
    by_rank, by_pair = ({"kind": "file", "file": name} for name in ("ranks.txt", "pairs.csv"))
    # With the mean of the file the bytes are those that it lists.
    assert rank_blocks(sizes_of(by_rank, tmp_path), 4, 600).tolist() == [0, 100, 1700, 600]
    assert rank_blocks(sizes_of(by_rank, tmp_path), 4, 6).tolist() == [0, 1, 17, 6]
    assert pair_blocks(sizes_of(by_rank, tmp_path), 4, 600)[2].tolist() == [1700, 1700, 0, 1700]
    pattern = pattern_of("all-to-all", "linear", by_pair, tmp_path, message="5 B")
    sends = sends_of(pattern, 3)
    assert total_bytes(sends) == 30
    pairs = zip(sends.source.tolist(), sends.destination.tolist(), strict=True)
    assert sorted(zip(pairs, sends.size_bytes.tolist(), strict=True)) == [  # type: ignore[union-attr]
        ((0, 1), 2), ((0, 2), 4), ((1, 0), 6), ((1, 2), 8), ((2, 1), 10),
    ]  # fmt: skip
    # The numbers are part of the point; the name of the file is not.
    (tmp_path / "same.txt").write_text("0 \n100\n1700\n600")
    again = pattern_of("scatter", "linear", {"kind": "file", "file": "same.txt"}, tmp_path)
    assert again.physics() == pattern_of("scatter", "linear", by_rank, tmp_path).physics()
    (tmp_path / "same.txt").write_text("1\n100\n1700\n600")
    assert again.physics() != pattern_of("scatter", "linear", {"kind": "file", "file": "same.txt"}, tmp_path).physics()


@pytest.mark.parametrize(
    "text", ["", "5\n", "0\n0\n", "1\n2 3\n", "1 2 3\n4 5 6\n", "-1\n2\n", "1.5\n2\n", "x\n2\n", "7 0\n0 7\n"]
)
def test_bad_files(tmp_path: Path, text: str) -> None:
    (tmp_path / "sizes.txt").write_text(text)
    with pytest.raises(ValidationError) as refusal:
        sizes_of({"kind": "file", "file": "sizes.txt"}, tmp_path)
    (mistake,) = (error["ctx"]["error"] for error in refusal.value.errors())
    assert (mistake.code, mistake.keys) == ("invalid-data-file", ("file",))


@pytest.mark.parametrize(("kind", "text", "ranks"), [
    ("scatter", "1\n2\n3\n", 4), ("all-to-all", "1\n2\n3\n", 4), ("scatter", "1 2\n3 4\n", 2),
    ("all-gather", "1 2\n3 4\n", 2),
])  # fmt: skip
def test_files_of_another_shape(tmp_path: Path, kind: str, text: str, ranks: int) -> None:
    (tmp_path / "sizes.txt").write_text(text)
    algorithm = "ring" if kind == "all-gather" else "linear"
    pattern = pattern_of(kind, algorithm, {"kind": "file", "file": "sizes.txt"}, tmp_path)
    with pytest.raises(ConfigError) as refusal:
        pattern.check_ranks(ranks)
    assert (refusal.value.code, refusal.value.keys) == ("invalid-data-file", ("sizes", "file"))


def test_bytes_beyond_64_bits() -> None:
    pattern = pattern_of("scatter", "linear", {"kind": "linear"}, message="4000000 TiB")
    with pytest.raises(ConfigError) as refusal:
        pattern.check_ranks(8)
    assert (refusal.value.code, refusal.value.keys) == ("out-of-range", ("message",))
