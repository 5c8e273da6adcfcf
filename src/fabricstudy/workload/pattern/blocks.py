"""Base of collective operations with a block for each rank or pair of ranks."""

from typing import ClassVar

import numpy as np
from pydantic import Field

from fabricstudy.core.arrays import Ints
from fabricstudy.core.input_files import MAX_TRAFFIC_BYTES
from fabricstudy.core.model import ConfigError

from ..block_sizes import BlockSizes, pair_blocks, rank_blocks
from .base import MessagePattern


class BlockPattern(MessagePattern):
    """Base of patterns whose blocks have `message` bytes each, or sizes of this mean; empty ones are not sent."""

    sizes_of_pairs: ClassVar[bool] = False
    """There is a block for each pair of ranks, not for each rank."""

    sizes: BlockSizes | None = Field(
        None, description="distribution of the block sizes, whose mean is `message`; default: all equal"
    )

    def check_ranks(self, ranks: int) -> None:
        super().check_ranks(ranks)
        if self.sizes is None:
            return
        total = int(self.message_bytes) * ranks * (ranks - 1 if self.sizes_of_pairs else 1)
        if total > MAX_TRAFFIC_BYTES:
            remedy = f"use a smaller message: {MAX_TRAFFIC_BYTES:.3g} bytes at most in total"
            raise ConfigError(f"the blocks have {total:.3g} bytes", remedy, ("message",), None, "out-of-range")
        try:
            self.sizes.check_ranks(ranks, self.sizes_of_pairs)
        except ConfigError as error:
            raise error.below("sizes") from None

    def rank_blocks(self, ranks: int) -> Ints:
        """Return the bytes of each rank's block, int64 [ranks]."""
        if self.sizes is None:
            return np.full(ranks, self.message_bytes, dtype=np.int64)
        return rank_blocks(self.sizes, ranks, int(self.message_bytes))

    def pair_blocks(self, ranks: int) -> Ints:
        """Return the bytes of the block from each rank to each other rank, int64 [ranks, ranks]."""
        assert self.sizes is not None
        return pair_blocks(self.sizes, ranks, int(self.message_bytes))
