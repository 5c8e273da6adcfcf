"""Runs of the parallel Strassen algorithm CAPS."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from ..base import Model, Whole
from .base import Analysis


class CapsRun(Model):
    """One run."""

    ranks: Whole = Field(ge=1, le=10**9, description="MPI ranks")
    nodes: Whole = Field(ge=1, le=10**9, description="nodes that they run on")
    dimension: Whole = Field(ge=1, le=10**9, description="rows of the square matrices (n)")
    steps: Whole | None = Field(None, ge=0, le=20, description="breadth-first steps, for `memory_bytes`")


class Caps(Analysis):
    """Whether runs of CAPS keep its rules: f 7^k ranks, 1 <= f <= 6, and a dimension divisible by f 7^ceil(k / 2).

    (Ballard et al., SPAA 2012; the dimension is also divisible by 2 for each recursive step.) The columns: `run`
    tells rows apart; `factor` (f) and `power` (k, as large as can be); `ranks_fit` and `dimension_fits` (1 or 0);
    `ranks_per_node`; `memory_bytes` (three matrices of 8-byte numbers, 7/4 as large after each breadth-first step).
    """

    keys: ClassVar[tuple[str, ...]] = ("run",)
    numbers: ClassVar[tuple[str, ...]] = (
        "factor", "power", "ranks_fit", "dimension_fits", "ranks_per_node", "memory_bytes",
    )  # fmt: skip

    kind: Literal["caps"] = "caps"
    runs: dict[str, CapsRun] = Field(min_length=1, max_length=1000, description="{label: run}")
