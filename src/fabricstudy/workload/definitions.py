"""Workload definitions as files: the nodes of the ranks of each job, and totals of its messages.

A workload is one placed job, identified by everything that its placement depends on. It is shared by points that differ
in engine, routing, bandwidth, latency or the traffic of other jobs, and by the job's baseline run.
"""

import hashlib
import json
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from fabricstudy.core.arrays import Bools
from fabricstudy.core.errors import FabricstudyError
from fabricstudy.core.model import Model
from fabricstudy.core.parquet import read_parquet, rows_writer
from fabricstudy.core.returned import failure_reason
from fabricstudy.machine.base import Topology
from fabricstudy.machine.graph import Machine

from .job import HasJobs
from .messages import WorkloadError
from .placing import Placement, generate_messages, placements

SPEEDS = frozenset({"bandwidth", "bandwidth_Bps", "latency", "latency_ns"})
"""Keys of a machine without effect on placement."""

OF_ALLOCATION = ("share", "nodes", "allocation")
"""Keys of a job that affect the allocation of later jobs."""

OF_TIME = frozenset({"compute", "background", "start_ns", "load"})
"""Keys of a job without effect on its placement."""


class HasWorkloads(HasJobs, Protocol):
    """A point, as far as its workloads depend on it."""

    @property
    def machine(self) -> Topology: ...


class WorkloadIds:
    """Ids of workloads; the JSON of machines and jobs is cached, since points share them."""

    def __init__(self) -> None:
        self._texts: dict[tuple[int, str], tuple[Model, str]] = {}

    def of(self, point: HasWorkloads) -> tuple[str, ...]:
        """Return the id of each job of a point: "w" and 12 hexadecimal digits."""
        ids = []
        before = f"{point.seed}"
        for index, job in enumerate(point.jobs):
            # A pattern that depends on the placement may depend on the best cut, and so on bandwidths.
            machine = self._text(point.machine, "whole" if job.pattern.follows_placement else "shape")
            text = f"{machine} {before} {index} {self._text(job, 'job')}"
            ids.append("w" + hashlib.sha256(text.encode()).hexdigest()[:12])
            before += " " + self._text(job, "allocation")
        return tuple(ids)

    def _text(self, model: Model, part: str) -> str:
        key = id(model), part
        if key not in self._texts:
            physics = model.physics()
            if "code" not in physics:  # any key of an extension may matter
                ignored = {"shape": SPEEDS, "job": OF_TIME, "allocation": physics.keys() - OF_ALLOCATION}.get(part, ())
                physics = {name: value for name, value in physics.items() if name not in ignored}
            self._texts[key] = model, json.dumps(physics, sort_keys=True)
        return self._texts[key][1]


_COLUMNS = {
    "workload_id": "string", "ranks": "int64", "nodes": "int64", "messages": "int64", "bytes": "int64",
    "phases": "int64", "mapping_start": "string", "reason": "string", "failed": "bool", "node_of_rank": "int32[]",
}  # fmt: skip
"""One row per workload; one that cannot be placed has only the reason."""


def write_workloads(rows: Iterable[Mapping[str, Any]], path: Path) -> None:
    """Write the rows of `workload_rows` as one Parquet file."""
    listed = list(rows)
    with rows_writer(path, _COLUMNS) as write:
        write({name: [row.get(name) for row in listed] for name in _COLUMNS})


def workload_rows(
    point: HasWorkloads, machine: Machine, cut_side: Bools, wanted: Mapping[int, str]
) -> Iterator[dict[str, Any]]:
    """Place jobs of a point and sum up their messages.

    `cut_side` (bool [routers]) is one side of the machine's best cut, `wanted` the workload ids by position of the job.
    """
    remaining = dict(wanted)
    try:
        for index, placement in placements(point, machine, wanted):
            (job,) = generate_messages(point, machine, cut_side, {index: placement})
            sent = job.messages
            yield {
                "workload_id": remaining.pop(index),
                "ranks": job.ranks,
                "nodes": len(np.unique(placement.node_of_rank)),
                "messages": len(sent),
                "bytes": job.bytes_sent,
                "phases": int(sent.phase.max(initial=-1)) + 1,
                "mapping_start": placement.mapping_start,
                "node_of_rank": placement.node_of_rank,
            }
    except (Exception, SystemExit) as error:
        head = {"reason": str(error), "failed": not isinstance(error, WorkloadError)}
        if head["failed"]:
            head["reason"] = failure_reason(error, "the log of the job that placed it")
            traceback.print_exc()
        yield from ({"workload_id": identity, **head} for identity in remaining.values())


def read_placements(paths: Sequence[Path], wanted: Iterable[str]) -> dict[str, Placement | FabricstudyError]:
    """Return workloads by id, or the reason why one cannot be placed."""
    chosen = {"workload_id": set(wanted)}
    placed: dict[str, Placement | FabricstudyError] = {}
    names = "workload_id", "mapping_start", "reason", "failed"
    for path in paths:
        rows = read_parquet(path, chosen, [*names, "node_of_rank"])
        for batch in rows.to_batches():
            texts = [batch.column(name).to_pylist() for name in names]
            for identity, start, reason, failed, nodes in zip(*texts, batch.column("node_of_rank"), strict=True):
                refusal = reason and (FabricstudyError(reason, "extension") if failed else WorkloadError(reason))
                placed[identity] = refusal or Placement(np.array(np.from_dlpack(nodes.values), np.int32), start)
    return placed
