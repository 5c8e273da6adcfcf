"""Workload definitions as files: the nodes of the ranks of each job, and what it sends in all.

A workload is one job in its place: what decides the nodes of its ranks. Points that differ in engine, routing,
bandwidth or latency, or in what other jobs send, share it, and so does the baseline run of a job.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from fabricstudy.core.model import Model
from fabricstudy.core.parquet import read_parquet, write_parquet
from fabricstudy.machine.base import Topology
from fabricstudy.machine.graph import Machine

from .job import Job
from .messages import Mask, WorkloadError
from .placing import Placement, generate_messages, placements

SPEEDS = frozenset({"bandwidth", "bandwidth_Bps", "latency", "latency_ns"})
"""Keys of a machine that place no rank."""

OF_ALLOCATION = ("share", "nodes", "allocation")
"""Keys of a job that decide which nodes it takes from the jobs after it."""

OF_TIME = frozenset({"compute", "background"})
"""Keys of a job that place no rank."""


class HasWorkloads(Protocol):
    """What of a point matters here."""

    @property
    def machine(self) -> Topology:
        """The machine."""

    @property
    def jobs(self) -> tuple[Job, ...]:
        """The jobs, in the order in which nodes are given out."""

    @property
    def seed(self) -> int:
        """Seed of all random choices."""


class WorkloadIds:
    """Ids of workloads; texts of machines and jobs are made once, since points share them."""

    def __init__(self) -> None:
        self._texts: dict[tuple[int, str], tuple[Model, str]] = {}

    def of(self, point: HasWorkloads) -> tuple[str, ...]:
        """Return "w" and 12 hexadecimal digits for each job of a point."""
        ids = []
        before = f"{point.seed}"
        for index, job in enumerate(point.jobs):
            # Where a pattern chooses partners by where it lies, the best cut counts, which depends on bandwidths.
            machine = self._text(point.machine, "whole" if job.pattern.follows_placement else "shape")
            text = f"{machine} {before} {index} {self._text(job, 'job')}"
            ids.append("w" + hashlib.sha256(text.encode()).hexdigest()[:12])
            before += " " + self._text(job, "allocation")
        return tuple(ids)

    def _text(self, model: Model, part: str) -> str:
        key = id(model), part
        if key not in self._texts:
            physics = model.physics()
            # What an extension makes of its keys is not known.
            kept = physics if "code" in physics else {key: physics[key] for key in physics if _counts(part, key)}
            self._texts[key] = model, json.dumps(kept, sort_keys=True)
        return self._texts[key][1]


def _counts(part: str, name: str) -> bool:
    if part == "allocation":
        return name in OF_ALLOCATION
    return not (part == "shape" and name in SPEEDS) and not (part == "job" and name in OF_TIME)


_COLUMNS = pa.schema(
    {
        "workload_id": pa.string(), "ranks": pa.int64(), "nodes": pa.int64(), "messages": pa.int64(),
        "bytes": pa.int64(), "phases": pa.int64(), "mapping_start": pa.string(), "reason": pa.string(),
        "node_of_rank": pa.list_(pa.int32()),
    }
)  # fmt: skip
"""One row a workload; one that cannot be placed has the reason alone."""


def write_workloads(rows: Iterable[Mapping[str, Any]], path: Path) -> None:
    """Write rows of workloads, as `workload_rows` gives them, as one Parquet file."""
    write_parquet(pa.Table.from_pylist(list(rows), schema=_COLUMNS), path)


def workload_rows(
    point: HasWorkloads, machine: Machine, cut_side: Mask, wanted: Mapping[int, str]
) -> Iterator[dict[str, Any]]:
    """Place jobs of a point and count what they send.

    Parameters
    ----------
    point : Point
        Jobs and seed.
    machine : Machine
        Its machine.
    cut_side : bool array [routers]
        One side of the machine's best cut.
    wanted : mapping
        Id of the workload by position of the job.
    """
    left = dict(wanted)
    try:
        for index, placement in placements(point, machine, wanted):
            (job,) = generate_messages(point, machine, cut_side, {index: placement})
            sent = job.messages
            yield {
                "workload_id": left.pop(index),
                "ranks": job.ranks,
                "nodes": len(np.unique(placement.node_of_rank)),
                "messages": len(sent),
                "bytes": job.bytes_sent,
                "phases": int(sent.phase.max(initial=-1)) + 1,
                "mapping_start": placement.mapping_start,
                "node_of_rank": placement.node_of_rank,
            }
    except WorkloadError as error:
        yield from ({"workload_id": identity, "reason": str(error)} for identity in left.values())


def read_placements(paths: Sequence[Path], wanted: Iterable[str]) -> dict[str, Placement | str]:
    """Return workloads by id, or the reason why one cannot be placed."""
    chosen = [("workload_id", "in", sorted(set(wanted)))]
    found: dict[str, Placement | str] = {}
    for path in paths:
        rows = read_parquet(path, chosen, ["workload_id", "mapping_start", "reason", "node_of_rank"])
        for row in rows.to_batches():
            nodes = row.column("node_of_rank")
            for number, (identity, start, reason) in enumerate(
                zip(*(row.column(name).to_pylist() for name in ("workload_id", "mapping_start", "reason")), strict=True)
            ):
                ranks = nodes[number].values
                found[identity] = reason or Placement(np.array(ranks, dtype=np.int32), start)
    return found
