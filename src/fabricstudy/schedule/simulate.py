"""One schedule from beginning to end."""

from typing import Any

import numpy as np
import numpy.typing as npt

from .backfill.base import Backfill
from .jobs import Floats, Ints, Jobs
from .order.base import Order
from .order.fcfs import Fcfs
from .partitions import NodePool, Partitions
from .result import ScheduleResult, UtilisationSeries
from .state import ScheduleState, initial_state, size_classes


def simulate_schedule(
    partitions: Partitions | NodePool,
    jobs: Jobs,
    order: Order,
    backfill: Backfill,
    factors: Floats | None = None,
    scale_request: bool = True,
    kill: bool = False,
) -> ScheduleResult:
    """Run jobs on partitions.

    Parameters
    ----------
    order, backfill : Order, Backfill
        Which waiting job comes first, and which may start before its turn.
    factors : float64 array [jobs, variants], optional
        How many times as long each job runs on a partition of each variant; infinite where it never takes one. Left
        out: 1.
    scale_request : bool, optional
        Whether the requested time grows by the same factor.
    kill : bool, optional
        Whether a job ends when the time that it asked for is over.

    Raises
    ------
    ConfigError
        If the rule of backfilling needs partitions, and there are none.
    ValueError
        If a time or a factor is not above zero, or there is not one factor for each job and variant.

    Examples
    --------
    Two jobs of 1,024 nodes in one line of four midplanes: each torus takes all cables of the line, so that the second
    job has to wait for the first one; as meshes, open along the line, both start at once.

    >>> from fabricstudy.machine.base import Topology
    >>> from fabricstudy.schedule.partition_list import PartitionList
    >>> line = Topology.model_validate({"kind": "bluegene-p", "midplanes": [1, 1, 4]})
    >>> jobs = Jobs.of([0, 0], [60, 60], [60, 60], [1024, 1024])
    >>> order, backfill = Order.model_validate("fcfs"), Backfill.model_validate("easy")
    >>> for name, wrap in {"torus": [True], "mesh": [True, True, False]}.items():
    ...     partitions = PartitionList.model_validate([{"shape": [1, 1, 2], "wrap": wrap}]).partitions(line)
    ...     print(name, simulate_schedule(partitions, jobs, order, backfill).start_s.tolist())
    torus [0.0, 60.0]
    mesh [0.0, 0.0]
    """
    if factors is None:
        factors = np.ones((len(jobs), len(partitions.variants)))
    if factors.shape != (len(jobs), len(partitions.variants)):
        raise ValueError(f"factors of shape {factors.shape} for {len(jobs)} jobs, {len(partitions.variants)} variants")
    if not all((part > 0).all() for part in (jobs.runtime_s, jobs.request_s, jobs.nodes, factors)):
        raise ValueError("run times, requests, nodes and factors have to be above zero")
    variant_nodes = np.array([variant.nodes for variant in partitions.variants], dtype=np.int64)
    class_nodes = size_classes(jobs.nodes, variant_nodes, factors)
    kept = np.flatnonzero(class_nodes)
    order = order if backfill.follows_order else Fcfs()
    task = initial_state(
        partitions, jobs.at(kept), class_nodes[kept], factors[kept], order, scale_request, kill, backfill.needs_above
    )
    from .kernel import compiled_score

    score = compiled_score(type(order))
    if isinstance(partitions, NodePool):
        times, counts, spans = backfill.schedule_on_nodes(task, score, partitions)
        class_nodes = np.where(class_nodes > 0, jobs.nodes, 0)
    else:
        times, counts = backfill.schedule(task, score)
        spans = np.empty((0, 3), dtype=np.int64)
    spans[:, 0] = kept[spans[:, 0]]
    spans = spans[np.lexsort((spans[:, 1], spans[:, 0]))]
    return _result(partitions, len(jobs), kept, class_nodes, task, UtilisationSeries(times, *counts.T), spans)


def _result(
    partitions: Partitions | NodePool,
    size: int,
    kept: Ints,
    class_nodes: Ints,
    task: ScheduleState,
    instants: UtilisationSeries,
    spans: Ints,
) -> ScheduleResult:
    def spread(of_kept: npt.NDArray[Any], otherwise: Any) -> npt.NDArray[Any]:
        whole = np.full(size, otherwise, dtype=of_kept.dtype)
        whole[kept] = of_kept
        return whole

    done = task.jobs
    variant = 0 if isinstance(partitions, NodePool) else partitions.variant[done["partition"]]
    factor = task.factor[np.arange(len(kept)), variant]
    return ScheduleResult(
        start_s=spread(done["start_s"], np.nan),
        end_s=spread(done["end_s"], np.nan),
        partition=spread(done["partition"], -1),
        class_nodes=class_nodes,
        factor=spread(factor, np.nan),
        backfilled=spread(done["backfilled"] > 0, False),
        promised_s=spread(done["promised_s"], np.nan),
        instants=instants,
        spans=spans,
    )
