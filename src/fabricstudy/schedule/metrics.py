"""The rows of the tables: metrics of a schedule.

The *window* is from the first to the last submission, without the time in which the machine empties at the end.
Rejected jobs count only in `rejected`.
"""

from typing import Any

import numpy as np

from fabricstudy.core.arrays import Bools, Floats

from .jobs import Jobs
from .packing import max_disjoint_partitions
from .partitions import NodePool, Partitions
from .result import ScheduleResult

MetricsRow = dict[str, Any]

SLOWDOWN_THRESHOLD_S = 10.0
"""Least run time in the bounded slowdown (Feitelson, JSSPP 2001)."""

SATURATION_Z = 1.96
"""The absolute value of a standard normal number exceeds this in one of 20 cases."""

_SHARES = {
    "utilisation": "busy", "idle_no_cables": "cables", "idle_reserved": "held", "idle_fragmented": "scattered",
    "idle_no_jobs": "empty",
}  # fmt: skip
"""Columns that are shares of the machine, with the column of `UtilisationSeries` of each."""


def schedule_row(partitions: Partitions | NodePool, jobs: Jobs, scheduled: ScheduleResult) -> MetricsRow:
    """Return the metrics of a schedule: columns of the table `schedules`, of which shares are over the window."""
    ran = scheduled.ran
    window_s = (float(jobs.submit_s.min(initial=np.inf)), float(jobs.submit_s.max(initial=-np.inf)))
    occupied = jobs.nodes if isinstance(partitions, NodePool) else scheduled.class_nodes
    node_s = (scheduled.end_s - scheduled.start_s) * occupied
    end_s = scheduled.end_s[ran]
    return {
        "jobs": int(ran.sum()),
        "rejected": int((~ran).sum()),
        **_shares(partitions, jobs, scheduled, window_s),
        **_times(jobs, scheduled, ran),
        "makespan_s": float(end_s.max() - window_s[0]) if len(end_s) else None,
        "queue_max": int(scheduled.utilisation.queue.max(initial=0)),
        "backfilled": int(scheduled.backfilled.sum()),
        "degraded_node_s": float(node_s[ran & (scheduled.factor > 1)].sum()),
        "rounded_up": int((ran & (occupied > jobs.nodes)).sum()),
        "running_at_end": int((end_s > window_s[1]).sum()),
        "saturated": is_saturated(jobs, scheduled, node_s, window_s[1]),
    }


def _shares(
    partitions: Partitions | NodePool, jobs: Jobs, scheduled: ScheduleResult, window_s: tuple[float, float]
) -> dict[str, float | None]:
    length_s = window_s[1] - window_s[0]
    if not length_s > 0:
        return dict.fromkeys(["utilisation", "useful_utilisation", *list(_SHARES)[1:]])
    blocks = partitions.machine_nodes / partitions.block_nodes
    steps_s = np.diff(np.clip(np.append(scheduled.utilisation.time_s, np.inf), *window_s))
    shares: dict[str, float | None] = {
        name: float((getattr(scheduled.utilisation, use) * steps_s).sum()) / blocks / length_s
        for name, use in _SHARES.items()
    }
    inside_s = np.clip(scheduled.end_s, *window_s) - np.clip(scheduled.start_s, *window_s)
    useful = float(np.nansum(inside_s * jobs.nodes / scheduled.factor)) / partitions.machine_nodes / length_s
    return {"utilisation": shares["utilisation"], "useful_utilisation": useful} | shares


def _times(jobs: Jobs, scheduled: ScheduleResult, chosen: Bools) -> dict[str, float | None]:
    """Return waits, responses and slowdowns of the chosen jobs, bool [jobs]."""
    names = ("wait_mean_s", "wait_p95_s", "wait_max_s", "response_mean_s", "slowdown_mean")
    if not chosen.any():
        return dict.fromkeys(names)
    wait_s = scheduled.start_s[chosen] - jobs.submit_s[chosen]
    response_s = scheduled.end_s[chosen] - jobs.submit_s[chosen]
    slowdown = bounded_slowdown(response_s, jobs.runtime_s[chosen])
    values = (wait_s.mean(), np.percentile(wait_s, 95), wait_s.max(), response_s.mean(), slowdown.mean())
    return dict(zip(names, map(float, values), strict=True))


def bounded_slowdown(response_s: Floats, runtime_s: Floats) -> Floats:
    """Return response over run time, the run time of at least 10 s, and the ratio of at least 1.

    Examples
    --------
    >>> bounded_slowdown(np.array([100.0, 5.0, 90.0]), np.array([50.0, 1.0, 3.0])).tolist()
    [2.0, 1.0, 9.0]
    """
    return np.maximum(response_s / np.maximum(runtime_s, SLOWDOWN_THRESHOLD_S), 1.0)


def is_saturated(jobs: Jobs, scheduled: ScheduleResult, node_s: Floats, last_s: float) -> bool:
    """Return whether more work waits after `last_s` than by chance, so that means depend on the length of the trace.

    The node-seconds of jobs that arrive at random vary by the root of the sum of their squares. On a machine that can
    just serve them, the waiting node-seconds at the end are this root times the absolute value of a standard normal
    number: more than `SATURATION_Z` times the root in one of 20 traces, and on a faster machine in fewer.
    `node_s` (float64 [jobs]) are the nodes that each job occupies, times its run time; NaN for a rejected job.
    """
    waits = scheduled.ran & (jobs.submit_s <= last_s) & (scheduled.start_s > last_s)
    return bool(node_s[waits].sum() > SATURATION_Z * np.sqrt(np.nansum(node_s**2)))


def class_rows(jobs: Jobs, scheduled: ScheduleResult) -> list[MetricsRow]:
    """Return the times of each size class: `class_nodes`, `jobs`, and those of `schedule_row`."""
    classes = np.unique(scheduled.class_nodes[scheduled.ran])
    return [
        {"class_nodes": int(nodes), "jobs": int((scheduled.class_nodes == nodes).sum())}
        | _times(jobs, scheduled, scheduled.class_nodes == nodes)
        for nodes in classes
    ]


def list_rows(partitions: Partitions) -> list[MetricsRow]:
    """Return a row of the table `partition_lists` for each size class of a list."""
    cables = np.asarray(partitions.cable_table.sum(axis=1)).reshape(-1)
    rivals = partitions.conflicts.counts - 1
    links = np.array([variant.bisection_links for variant in partitions.variants])[partitions.variant]
    rows = []
    for nodes in np.unique(partitions.nodes):
        of_size = partitions.nodes == nodes
        most = len(max_disjoint_partitions(partitions, of_size))
        rows.append({
            "class_nodes": int(nodes),
            "partitions": int(of_size.sum()),
            "cables": float(cables[of_size].mean()),
            "conflicts": float(rivals[of_size].mean()),
            "concurrent_max": most,
            "concurrent_share": most * int(nodes) / partitions.machine_nodes,
            "bisection_links": int(links[of_size].max()),
        })  # fmt: skip
    return rows
