"""Candidates that are simulated: those nearest to the front by their bounds, and how probably others are better."""

import hashlib
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtr

from fabricstudy.core.arrays import Bools, Floats
from fabricstudy.core.errors import FabricstudyError
from fabricstudy.engine.registry import engine_of
from fabricstudy.structure.pareto import is_pareto_efficient
from fabricstudy.study.model import Study
from fabricstudy.study.plan import plan
from fabricstudy.table.files import read_table
from fabricstudy.workload.job import Job

SAMPLE = 20
"""Candidates far from the front that are simulated, too, drawn at random."""
MARGIN = 1.05


def nearest(rows: Sequence[dict[str, Any]], count: int) -> tuple[list[int], list[int]]:
    """Return the candidates that are simulated, by number: those nearest to the front, and a sample.

    The front is that of price, bound and the least possible taper, which tells apart what has the same bound.

    They are taken in whole layers: the front, the front of those without it, and so on, at least one. The sample is
    drawn of the others, by a digest of their labels.
    """
    costs = np.array(
        [[row["price_per_node"], row["bound_ns"], max(1.0, row["taper_lower"])] for row in rows]
    ).round(6)  # fmt: skip
    left, near = np.arange(len(rows)), list[int]()
    while len(left):
        front = is_pareto_efficient(costs[left])
        if near and len(near) + front.sum() > count - SAMPLE:
            break
        near += left[front].tolist()
        left = left[~front]
    lots = sorted(left.tolist(), key=lambda item: hashlib.sha256(rows[item]["machine"].encode()).hexdigest())
    return near, lots[:SAMPLE]


def miss_probability(bound_ns: Floats, limit_ns: Floats, ratios: Floats, proven: bool) -> Floats:
    """Return the probability that the time of each candidate is below a limit.

    The logarithms of time over bound are taken as normal, with the mean and variance of `ratios`. If the bound is
    `proven`, a time is never below it.
    """
    if len(ratios) < 2:
        return np.where(proven & (bound_ns >= limit_ns), 0.0, 1.0)
    logs = np.log(ratios)
    spread = max(logs.std(ddof=1), 1e-9) * np.sqrt(1 + 1 / len(logs))
    with np.errstate(divide="ignore"):
        distance = (np.log(limit_ns / bound_ns) - logs.mean()) / spread
    return np.where(proven & (bound_ns >= limit_ns), 0.0, stdtr(len(logs) - 1, distance))


def check_estimates(study: Study, file: Path) -> None:
    """Raise FabricstudyError if the engine of a study does not support its jobs, which are those of `file`."""
    point = next(iter(plan(study).points.values())).point
    reason = engine_of(point.engine).unsupported(point, point.machine.build())
    if reason is not None:
        raise FabricstudyError(f"{file}: {reason}; candidates are first run on flow: change its jobs", "unsupported")


def run_study(file: Path) -> None:
    """Run the study; its output goes to standard error."""
    command = [sys.executable, "-P", "-m", "fabricstudy.cli", "run", str(file)]
    if subprocess.run(command, stdout=sys.stderr, check=False).returncode:
        raise FabricstudyError(f"{file}: the run failed; continue with: fabricstudy run {file}")


def simulated_front(
    study: str, rows: Sequence[dict[str, Any]], chosen: tuple[list[int], list[int]], jobs: Sequence[Job], results: Path
) -> dict[str, Any]:
    """Return the front of price and simulated time, and how probably candidates that were not simulated are on it."""
    screening = read_table(results / study / "tables" / "screening.parquet")
    if screening["ratio"].isna().all():
        raise FabricstudyError(f"{study}: no candidate has both times; see reports/{study}/index.html")
    screening = screening.assign(time_ns=screening["estimate_ns"] * screening["ratio"])
    price = {row["machine"]: row["price_per_node"] for row in rows}
    done = screening[screening["time_ns"].notna()].sort_values("time_ns").drop_duplicates("machine")
    costs = np.column_stack([done["machine"].map(price), done["time_ns"]])
    best = done[is_pareto_efficient(costs)] if len(done) else done
    front = [
        {"machine": row["machine"], "routing": row["routing"], "price_per_node": price[row["machine"]],
         "time_ns": row["time_ns"]}
        for row in best.sort_values("time_ns", ascending=False).to_dict("records")
    ]  # fmt: skip
    others = [row for item, row in enumerate(rows) if item not in {*chosen[0], *chosen[1]} and not row["given"]]
    bound_ns = np.array([row["bound_ns"] for row in others])
    limit_ns = np.array([_fastest_ns(front, row["price_per_node"]) for row in others])
    proven = all(job.allocation.kind == "cluster" and job.mapping.kind == "linear" for job in jobs)
    ratios = _ratios(screening, [rows[item] for item in chosen[1]])
    found = {
        f"{name}_expected": float(miss_probability(bound_ns, limit_ns / margin, ratios, proven).sum())
        for name, margin in (("better", 1.0), ("much_better", MARGIN))
    }
    impossible: Bools = proven & (bound_ns >= limit_ns)
    return {
        "simulated_front": front, "on_flow": screening["machine"].nunique(), "simulated": len(done),
        "not_simulated": len(others), "certainly_worse": int(impossible.sum()), **found,
    }  # fmt: skip


def _fastest_ns(front: list[dict[str, Any]], price: float) -> float:
    return min((row["time_ns"] for row in front if row["price_per_node"] <= price), default=np.inf)


def _ratios(screening: pd.DataFrame, sample: list[dict[str, Any]]) -> Floats:
    """Return time over bound of the sample: simulated, or that of flow with the mean ratio to it."""
    mean = np.exp(np.log(screening["ratio"]).mean())
    time_ns = screening["time_ns"].fillna(screening["estimate_ns"] * mean).groupby(screening["machine"]).min()
    return np.array([time_ns[row["machine"]] / row["bound_ns"] for row in sample if row["machine"] in time_ns])


def front_sentences(found: dict[str, Any]) -> str:
    """Return what was simulated, and how many candidates that were not are expected to be better."""
    return (
        f"Of {found['on_flow']} candidates run on flow, {found['simulated']} were simulated. Of "
        f"{found['not_simulated']:,} others, {found['certainly_worse']:,} are certainly not on the front: their bound "
        "is above a time simulated at no higher price. Expected number of others that are on it: "
        f"{found['better_expected']:.2g}; that are faster by more than {MARGIN - 1:.0%}: "
        f"{found['much_better_expected']:.2g}. The probability that there is one is no higher than this number, by "
        f"the ratios of time and bound of {SAMPLE} drawn at random. A higher number of --simulate lowers it."
    )
