"""Batches: the points of one Snakemake job, their files, and running them."""

import hashlib
import os
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from math import ceil, inf
from pathlib import Path

from fabricstudy.core.chunks import divide_in_at_most
from fabricstudy.core.files import atomic_text
from fabricstudy.core.parquet import rows_writer
from fabricstudy.core.store import Store, checksummed_line

from .definitions import AnalysedMachine
from .outcome import LINK_COLUMNS, MESSAGES, OPERATIONS, link_rows, recorded_rows
from .point import PlannedPoint, canonical_json
from .registry import engine_of
from .settings import Limits
from .simulate import simulate, unneeded

# Snakemake's overhead grows with its jobs.
MAX_BATCHES = 400
# A small study is divided further, to use several cores; the overhead of a job is about two seconds.
MIN_BATCHES_PER_GROUP = 4
MIN_BATCH_CPU_S = 10.0
BATCHES_PER_GROUP = 128
"""For so many, batches may be larger than the target; twice the cores of a large computer."""
LAST_BATCHES = 8.0
"""How much smaller the last batches of a large study are, which fill the cores at the end."""
LAST_OF_TARGET = 6.0
"""Last batches are no smaller than the target over this factor: more batches cost more than idle cores."""
# Requests to a cluster: memory of two Snakemakes and this process, and how much slower its nodes may be.
OWN_MEMORY_MB = 1500
SLOWNESS = 3.0
MEMORY_SLACK = 2.0
"""Memory of a simulation to request first, over the prediction."""
START_S = 300.0


@dataclass(frozen=True)
class Batch:
    """Points of one engine, ordered by machine, that one Snakemake job simulates."""

    name: str
    engine: str
    points: tuple[PlannedPoint, ...]
    cpu_s: float
    limits: Limits
    processes: int = 1
    """Cores that work on each point, at most."""
    memory_bytes: float = inf
    """Predicted memory of the largest point."""
    second_stage: bool = False
    """Whether results of other batches decide which of its points are simulated."""

    def memory_MB(self, attempt: int) -> int:
        """Return the memory to request: that of a simulation plus an overhead that grows with each attempt.

        A simulation may use up to its limit. The first attempt requests twice the prediction, if that is less.
        """
        most_bytes = self.limits.memory_bytes
        simulation_bytes = min(most_bytes, MEMORY_SLACK * self.memory_bytes) if attempt == 1 else most_bytes
        simulation_MB: int = ceil(simulation_bytes / 1e6)
        return simulation_MB + attempt * OWN_MEMORY_MB

    def time_min(self, attempt: int) -> int:
        """Return the minutes to request: three times the prediction, plus the time limit of one simulation."""
        once_min: int = ceil((SLOWNESS * self.cpu_s / self.processes + self.limits.time_s + START_S) / 60)
        return attempt * once_min

    @property
    def digest(self) -> str:
        """Digest of points and limits."""
        ids = " ".join(point.point_id for point in self.points)
        return hashlib.sha256(f"{ids} {canonical_json(self.limits.model_dump(mode='json'))}".encode()).hexdigest()[:16]


def make_batches(
    points: Iterable[PlannedPoint], limits: Limits, target_cpu_s: float, second_stage: Collection[str] = ()
) -> list[Batch]:
    """Divide points into batches of about `target_cpu_s` of predicted processor time.

    The points of a batch have the same engine, and as many processes each; those of the second stage have batches of
    their own.
    """
    groups: dict[tuple[str, int, bool], list[PlannedPoint]] = {}
    for point in points:
        engine = point.point.engine
        groups.setdefault((engine.kind, engine.processes, point.point_id in second_stage), []).append(point)
    return [
        replace(batch, name=f"second-{batch.name}", second_stage=True) if second else batch
        for (engine, processes, second), group in sorted(groups.items())
        for batch in _batches_of(engine, processes, group, limits, target_cpu_s, MAX_BATCHES // len(groups))
    ]


def _batches_of(
    engine: str, processes: int, points: list[PlannedPoint], limits: Limits, target_cpu_s: float, most: int
) -> list[Batch]:
    program = engine_of(points[0].point.engine)
    by_key = {point.machine_id[1:] + point.point_id[1:]: point for point in points}
    costs: dict[str, float] = {}
    sizes_bytes: dict[str, float] = {}
    for key, planned in by_key.items():
        costs[key] = program.predict_cpu_s(planned.point)
        sizes_bytes[key] = program.predict_memory_bytes(planned.point)
    total_cpu_s = sum(costs.values())
    most_cpu_s = min(
        2 * target_cpu_s,
        max(total_cpu_s / BATCHES_PER_GROUP, target_cpu_s),
        max(total_cpu_s / MIN_BATCHES_PER_GROUP, MIN_BATCH_CPU_S),
    )
    name = engine if processes == 1 else f"{engine}-on{processes}"
    batches = []
    least_cpu_s = most_cpu_s
    if most_cpu_s >= target_cpu_s:
        least_cpu_s = max(most_cpu_s / LAST_BATCHES, target_cpu_s / LAST_OF_TARGET)
    for chunk in divide_in_at_most(list(costs), list(costs.values()), most_cpu_s, most, least_cpu_s):
        chosen, cpu_s = tuple(by_key[key] for key in chunk.keys), sum(costs[key] for key in chunk.keys)
        memory_bytes = max(sizes_bytes[key] for key in chunk.keys)
        batches.append(Batch(f"{name}-{chunk.name}", engine, chosen, cpu_s, limits, processes, memory_bytes))
    return batches


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS
        return os.cpu_count() or 1


def at_most(planned: PlannedPoint, cores: int) -> PlannedPoint:
    """Return the point with no more processes than `cores`; id, input and record do not depend on them."""
    point = planned.point
    if point.engine.processes <= cores:
        return planned
    engine = point.engine.model_copy(update={"processes": max(1, cores)})
    return replace(planned, point=point.model_copy(update={"engine": engine}))


def run_batch(
    batch: Batch,
    store: Store,
    machine_of: Callable[[PlannedPoint], AnalysedMachine],
    records: Path,
    links: Path,
    with_links: Collection[str] = (),
    with_operations: Collection[str] = (),
    cores: int = 1,
    needed: Collection[str] | None = None,
) -> None:
    """Simulate the points of a batch and write their records, one JSON object per line, to the file `records`.

    The file `links` is Parquet with one row per directed link of the points `with_links`; records of the points
    `with_operations` have start and end of the operations of small jobs. The `cores` that Snakemake
    grants limit, with those of this computer, the processes of a point. Points that are not `needed`, if given, are not
    simulated. For `machine_of` see `simulate`.
    """
    cores = min(cores, usable_cores())
    engine = engine_of(batch.points[0].point.engine)
    probe = engine.probe()
    with atomic_text(records) as out, rows_writer(links, LINK_COLUMNS) as write_links:
        for planned in batch.points:
            if needed is None or planned.point_id in needed:
                record = simulate(at_most(planned, cores), engine, probe, store, machine_of, batch.limits)
            else:
                record = unneeded(planned, probe)
            if record["status"] == "done":
                folder = store.folder(planned.point_id)
                if planned.point_id in with_operations:
                    record["operations"] = recorded_rows(folder / OPERATIONS)
                if messages := recorded_rows(folder / MESSAGES):
                    record["messages"] = messages
                if planned.point_id in with_links:
                    rows = link_rows(planned.point_id, machine_of(planned).machine, folder)
                    if rows:
                        write_links(rows)
            out.write(checksummed_line(record) + "\n")
