"""Runs of the parallel Strassen algorithm CAPS."""

from __future__ import annotations

from pydantic import Field

from fabricstudy.core.model import Model, Whole

from .base import Analysis, Row


def _facts(run: CapsRun) -> Row:
    factor, power = run.ranks, 0  # ranks = factor * 7**power
    while factor % 7 == 0:
        factor, power = factor // 7, power + 1
    return {
        "factor": factor, "power": power, "ranks_fit": int(factor <= 6),
        "dimension_fits": int(run.dimension % (factor * 7 ** (-(-power // 2))) == 0),
        "ranks_per_node": run.ranks / run.nodes,
        "memory_bytes": None if run.steps is None else 3 * (7 / 4) ** run.steps * 8 * run.dimension**2,
    }  # fmt: skip


class CapsRun(Model):
    """One run."""

    ranks: Whole = Field(ge=1, le=10**9, description="MPI ranks")
    nodes: Whole = Field(ge=1, le=10**9, description="nodes that they run on")
    dimension: Whole = Field(ge=1, le=10**9, description="rows of the square matrices (n)")
    steps: Whole | None = Field(None, ge=0, le=20, description="breadth-first steps, for `memory_bytes`")


class Caps(Analysis, kind="caps"):
    """Check of runs of CAPS: they need f 7^k ranks, 1 <= f <= 6, and a dimension divisible by f 7^ceil(k / 2).

    (Ballard et al., SPAA 2012; the dimension is also divisible by 2 for each recursive step.) The columns:

    * `run`: label of the row
    * `factor`, `power`: f, and the largest k
    * `ranks_fit`, `dimension_fits`: 1 or 0
    * `ranks_per_node`
    * `memory_bytes`: three matrices of 8-byte numbers, 7/4 as large after each breadth-first step
    """

    keys = ("run",)
    numbers = (
        "factor", "power", "ranks_fit", "dimension_fits", "ranks_per_node", "memory_bytes",
    )  # fmt: skip

    runs: dict[str, CapsRun] = Field(min_length=1, max_length=1000, description="{label: run}")

    def rows(self) -> list[Row]:
        return [{"run": label, **_facts(run)} for label, run in self.runs.items()]
