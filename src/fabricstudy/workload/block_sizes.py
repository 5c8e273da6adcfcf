"""Block sizes of collective operations and their distributions, as in MPI_Allgatherv, Scatterv, Gatherv, Alltoallv."""

from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field, ValidationInfo, model_validator
from pydantic.json_schema import SkipJsonSchema

from fabricstudy.core import input_files
from fabricstudy.core.arrays import Floats, Ints
from fabricstudy.core.input_files import MAX_TRAFFIC_BYTES, InputFileError, position_text, whole
from fabricstudy.core.kinds import Kind
from fabricstudy.core.model import ConfigError, NoPhysics, Number, Whole, at_path, model_check
from fabricstudy.core.returned import Returned

from .pattern.base import MessagePattern
from .sizes import MessageSizes

MAX_SIZES = 65_536
"""Maximum numbers of a file of sizes, which are part of the point."""


class BlockSizes(Kind, family="block sizes"):
    """A distribution of block sizes with a given mean."""

    def weights(self, blocks: int) -> Floats:
        """Return the sizes of `blocks` blocks, 2 or more, up to a factor; not negative, float64 [blocks]."""
        raise NotImplementedError

    def pair_weights(self, ranks: int) -> Floats:
        """Return the sizes of the blocks from each rank to ranks 0, 1, ... without itself, up to a factor.

        float64 [ranks * (ranks - 1)]; default: the weight of the sender.
        """
        return np.repeat(self.weights(ranks), ranks - 1)

    def check_ranks(self, ranks: int, pairs: bool) -> None:
        """Raise ConfigError, with the path below the sizes, for an unsupported number of ranks.

        `pairs` states that there is a block for each pair of ranks.
        """


def whole_sizes(weights: Floats, mean_bytes: int) -> Ints:
    """Return integers proportional to `weights`, each rounded up or down, with this mean exactly; int64 [blocks].

    Examples
    --------
    >>> whole_sizes(np.array([1.0, 1, 2]), 5).tolist()
    [4, 4, 7]
    """
    ends = np.concatenate([[0.0], np.cumsum(weights)])
    sizes: Ints = np.diff(np.rint(ends * (mean_bytes * len(weights) / ends[-1])).astype(np.int64))
    return sizes


def rank_blocks(sizes: BlockSizes, ranks: int, mean_bytes: int) -> Ints:
    """Return the bytes of each rank's block, int64 [ranks]."""
    return whole_sizes(_weights(sizes, "weights", ranks, ranks), mean_bytes)


def _weights(sizes: BlockSizes, method: str, ranks: int, blocks: int) -> Floats:
    """Return what a method returns: a number for each block, not negative, and not all 0."""
    returned = Returned(sizes, method)
    with returned.time_limit():
        weights = returned.floats(getattr(sizes, method)(ranks), "weights", blocks)
    if not 0 < weights.sum() < np.inf:
        raise returned.error("returns weights without a mean")
    return weights


def pair_blocks(sizes: BlockSizes, ranks: int, mean_bytes: int) -> Ints:
    """Return the bytes of the block from each rank to each other rank, int64 [ranks, ranks]; 0 on the diagonal."""
    blocks = np.zeros((ranks, ranks), dtype=np.int64)
    blocks[~np.eye(ranks, dtype=bool)] = whole_sizes(
        _weights(sizes, "pair_weights", ranks, ranks * (ranks - 1)), mean_bytes
    )
    return blocks


class _Spread(BlockSizes):
    spread: Number = Field(1, ge=0, le=1, description="maximum deviation from the mean, over the mean")

    def weights(self, blocks: int) -> Floats:
        return np.linspace(1 - self.spread, 1 + self.spread, blocks)


class LinearSizes(_Spread, kind="linear"):
    """Sizes that increase linearly with the rank, from 1 - `spread` to 1 + `spread` of the mean.

    In an all-to-all the size is that of the sending rank.
    """


class _Shuffled(BlockSizes):
    seed: Whole = Field(0, ge=0, lt=2**31, description="seed of the order; that of the point has no effect")

    def weights(self, blocks: int) -> Floats:
        return np.random.default_rng(self.seed).permutation(super().weights(blocks))

    def pair_weights(self, ranks: int) -> Floats:
        return self.weights(ranks * (ranks - 1))


class UniformSizes(_Shuffled, _Spread, kind="uniform"):
    """Equally spaced sizes from 1 - `spread` to 1 + `spread` of the mean, in random order."""


class _Power(BlockSizes):
    exponent: Number = Field(1, ge=0, le=10, description="exponent; 0: all sizes are equal")

    def weights(self, blocks: int) -> Floats:
        return np.arange(1, blocks + 1, dtype=np.float64) ** -self.exponent


class PowerLawSizes(_Shuffled, _Power, kind="power-law"):
    """Sizes by a power law (Zipf): the i-th largest is proportional to i^-`exponent`; in random order."""


class SizesFile(BlockSizes, kind="file"):
    """Sizes listed in a text or CSV file: one integer per line and rank, scaled to the mean `message` of the pattern.

    For an all-to-all the file may have the full matrix, one line per sender, whose diagonal is ignored. To send exactly
    the listed bytes, set `message` to their mean. The numbers are part of the point.
    """

    file: Annotated[str, NoPhysics] = Field(min_length=1, description="the file, relative to the study's folder")
    listed: SkipJsonSchema[tuple[Whole, ...]] = ()
    columns: SkipJsonSchema[Whole] = 1

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: Any, info: ValidationInfo) -> Any:
        folder = input_files.folder_to_read(value, info, derived=("listed", "columns"))
        if folder is None:
            return value
        listed, columns = input_files.read(folder / value["file"], _listed, "invalid-data-file")[0]
        return {**value, "listed": listed, "columns": columns}

    def check_ranks(self, ranks: int, pairs: bool) -> None:
        lines = len(self.listed) // self.columns
        if lines != ranks:
            problem = f"the file has {lines} lines for {ranks} ranks"
            raise ConfigError(problem, "write one line per rank", ("file",), self.file, "invalid-data-file")
        if self.columns > 1 and not pairs:
            problem = f"a matrix of {lines} x {lines} sizes for an operation with one block per rank"
            raise ConfigError(problem, "write one size per line", ("file",), self.file, "invalid-data-file")

    def weights(self, blocks: int) -> Floats:
        return np.array(self.listed, dtype=np.float64)

    def pair_weights(self, ranks: int) -> Floats:
        if self.columns == 1:
            return super().pair_weights(ranks)
        return self.weights(ranks).reshape(ranks, ranks)[~np.eye(ranks, dtype=bool)]


def _listed(path: Path, data: bytes) -> tuple[tuple[int, ...], int]:
    """Return the numbers of a file, line after line, and the numbers per line: 1, or as many as there are lines."""
    written = input_files.numbered_lines(data)
    lines = [(line_number, line.replace(",", " ").split()) for line_number, line in written if line.strip()]
    columns = len(lines[0][1]) if lines else 0
    for line_number, words in lines:
        if len(words) != columns or columns not in (1, len(lines)):
            problem = f"{len(words)} numbers in a file of {len(lines)} lines"
            remedy = f"write one number per line, or {len(lines)} for a matrix"
            raise InputFileError(problem, remedy, position_text(line_number))
    if not 2 <= len(lines) * columns <= MAX_SIZES:
        problem = f"the file has {len(lines) * columns:,} numbers"
        raise InputFileError(problem, f"list 2 to {MAX_SIZES:,}, or use the pattern matrix for more")
    listed = tuple(whole(word, 0, MAX_TRAFFIC_BYTES, (line_number,)) for line_number, words in lines for word in words)
    sent = (size for index, size in enumerate(listed) if columns == 1 or index % (columns + 1))
    if not any(sent):
        raise InputFileError("all sizes are 0", "list at least one positive size")
    return listed, columns


class BlockPattern(MessagePattern):
    """Base of patterns whose blocks have `message` bytes each, or sizes of this mean; empty ones are not sent."""

    sizes_of_pairs: ClassVar[bool] = False
    """There is a block for each pair of ranks, not for each rank."""

    sizes: BlockSizes | None = Field(
        None, description="distribution of the block sizes, whose mean is `message`; default: all equal"
    )

    @model_check
    def _one_distribution(self) -> None:
        if self.sizes is not None and isinstance(self.message_bytes, MessageSizes):
            problem = "both message and sizes are distributions"
            raise ConfigError(problem, "write the mean as message", ("message",), code="conflicting-keys")

    def check_ranks(self, ranks: int) -> None:
        super().check_ranks(ranks)
        if self.sizes is None:
            return
        total = int(self.message_bytes) * ranks * (ranks - 1 if self.sizes_of_pairs else 1)
        if total > MAX_TRAFFIC_BYTES:
            remedy = f"use a smaller message: {MAX_TRAFFIC_BYTES:.3g} bytes at most in total"
            raise ConfigError(f"the blocks have {total:.3g} bytes", remedy, ("message",), None, "out-of-range")
        with at_path("sizes"):
            self.sizes.check_ranks(ranks, self.sizes_of_pairs)

    def rank_blocks(self, ranks: int) -> Ints:
        """Return the bytes of each rank's block, int64 [ranks]."""
        if self.sizes is None:
            return np.full(ranks, int(self.message_bytes), dtype=np.int64)
        return rank_blocks(self.sizes, ranks, int(self.message_bytes))
