"""Runs of CAPS: rows."""

from __future__ import annotations

from typing import Any

from ...study.analyses import Caps, CapsRun


def rows(config: Caps) -> list[dict[str, Any]]:
    """Give one row for each run."""
    return [{"run": label, **_facts(run)} for label, run in config.runs.items()]


def _facts(run: CapsRun) -> dict[str, Any]:
    factor, power = _split(run.ranks)
    return {
        "factor": factor,
        "power": power,
        "ranks_fit": int(factor <= 6),
        "dimension_fits": int(run.dimension % (factor * 7 ** (-(-power // 2))) == 0),
        "ranks_per_node": run.ranks / run.nodes,
        "memory_bytes": None if run.steps is None else 3 * (7 / 4) ** run.steps * 8 * run.dimension**2,
    }


def _split(ranks: int) -> tuple[int, int]:
    """Write a number as f 7^k with the largest k.

    Examples
    --------
    >>> _split(31213), _split(4802)
    ((13, 4), (2, 4))
    """
    power = 0
    while ranks % 7 == 0:
        ranks, power = ranks // 7, power + 1
    return ranks, power
