"""Transposes of a 3D FFT with pencil decomposition."""

import numpy as np
from pydantic import Field

from fabricstudy.core.model import ConfigError, Whole
from fabricstudy.core.quantities import Size

from .base import MessagePattern, Sends, TrafficEstimate, all_to_all_along, concatenate_phases
from .stencil import balanced_shape


class PencilFft(MessagePattern, kind="pencil-fft"):
    """The two transposes of a pencil-decomposed 3D FFT (P3DFFT, Pekurovsky 2012): all-to-all in rows, then in columns.

    Ranks form a grid of rows and columns; a row has consecutive ranks. In each transpose a rank divides its `message`
    bytes equally among the ranks of its row or column, itself included.
    """

    message_bytes: Size = Field(alias="message", description="data of a rank, divided in each transpose")
    rows: Whole | None = Field(None, ge=1, description="rows of ranks; default: as square as their number allows")

    def grid(self, ranks: int) -> tuple[int, int]:
        """Return the numbers of rows and columns."""
        if self.rows is not None:
            return self.rows, ranks // self.rows
        columns, rows = balanced_shape(ranks, 2)
        return rows, columns

    def traffic(self, ranks: int) -> tuple[TrafficEstimate, ...]:
        return tuple(
            TrafficEstimate(float(ranks) * (length - 1) * self.iterations, self.part_bytes(length))
            for length in self.grid(ranks)
            if length > 1
        )

    def part_bytes(self, length: int) -> int:
        """Return the bytes to each rank of a row or column of `length` ranks."""
        return max(1, int(self.message_bytes) // length)

    def check_ranks(self, ranks: int) -> None:
        if self.rows is not None and ranks % self.rows:
            problem = f"{ranks} ranks cannot be divided into {self.rows} rows"
            raise ConfigError(problem, "use a divisor of the ranks", ("rows",), self.rows, "does-not-fit")

    def sends(self, ranks: int, rng: np.random.Generator) -> Sends:
        grid = np.arange(ranks, dtype=np.int32).reshape(self.grid(ranks))
        axes = [axis for axis in (1, 0) if grid.shape[axis] > 1]
        parts = [all_to_all_along(grid, axis, self.part_bytes(grid.shape[axis])) for axis in axes]
        return concatenate_phases(parts, self.iterations)
