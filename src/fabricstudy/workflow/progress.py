"""The progress of a study, read from the store: for local runs, clusters, and several runs at once."""

import json
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from fabricstudy.core.columns import DONE, FAILURES, NOT_NEEDED
from fabricstudy.core.input_files import changed_ns
from fabricstudy.core.store import Record, point_store, read_checksummed
from fabricstudy.engine.point import PlannedPoint
from fabricstudy.engine.registry import engine_of, missing_engines
from fabricstudy.engine.validity import is_current, is_valid_with_same_input
from fabricstudy.workflow.pipeline import Pipeline, RunChunk

# The pace is that of the points that ended in the last so many seconds.
PACE_S = 900.0


@dataclass(frozen=True)
class _Ended:
    """The needed part of the record of a point."""

    inode: int
    status: str
    used_cpu_s: float
    started: float
    ended: float


class Progress:
    """Reads the progress of a study; each poll reads only new records.

    A poll lists at most 256 folders, so that it may be repeated on a shared file system.
    """

    def __init__(self, pipeline: Pipeline, results: Path) -> None:
        self._pipeline = pipeline
        self._store = point_store(results)
        self._results = results / pipeline.name
        self._cost_s = {key: _cost_s(point) for key, point in pipeline.plan.points.items()}
        self._missing = missing_engines(point.point.engine for point in pipeline.plan.points.values())
        self._ended: dict[str, _Ended] = {}
        self._unchecked: set[str] = set()
        self._in_tables: dict[str, tuple[int, dict[str, _Ended], set[str]]] = {}

    def poll(self) -> dict[str, Any]:
        """Return the counts of done, failed and remaining points, and estimates for the remaining ones.

        Returns
        -------
        dict
            Points whose line in the file of a batch is damaged, and so in the tables, are failures. Those of a second
            stage that were not needed do not count.
            `runs_done` are the runs of schedules whose job has ended with the current digest. `left` are all points
            that have not ended, `unavailable` those without their engine; the times are those of the others.
            `unchecked` ended under other code: they are simulated again if the simulator's input changed. `left_cpu_s`
            is predicted, scaled by the error of the predictions so far; `left_s` is elapsed time at the current pace,
            or None if nothing ended recently. `combinations` are those whose seeds depend on results; `decided` are
            those without a point that is still to be simulated or found not to be needed.
        """
        self._read_new()
        of_batches, damaged = self._read_batches()
        all_ended = {key: ended for key, ended in (of_batches | self._ended).items() if key not in damaged}
        done = {key: ended for key, ended in all_ended.items() if ended.status == DONE}
        predicted_s = sum(self._cost_s[key] for key in done)
        used_s = sum(ended.used_cpu_s for ended in done.values())
        recorded = all_ended.keys() | self._unchecked | damaged
        left = {key: point for key, point in self._pipeline.plan.points.items() if key not in recorded}
        possible = [key for key, point in left.items() if point.point.engine.kind not in self._missing]
        left_s = sum(self._cost_s[key] for key in possible)
        pace = self._pace(time.time())
        counts = Counter(ended.status for ended in all_ended.values())
        counts["damaged"] = len(damaged)
        combinations, undecided = self._combinations(all_ended)
        failures = {status: counts[status] for status in (*FAILURES, "damaged") if counts[status]}
        return {
            "study": self._pipeline.name,
            "points": len(self._cost_s) - counts[NOT_NEEDED],
            "done": len(done),
            "failed": sum(failures.values()),
            "failures": failures,
            "left": len(left),
            "unchecked": len(self._unchecked - damaged),
            "unavailable": len(left) - len(possible),
            "missing_engines": self._missing,
            "left_cpu_s": round(left_s * (used_s / predicted_s if predicted_s else 1.0), 1),
            "left_s": round(left_s / pace, 1) if pace else None,
            "used_cpu_s": round(used_s, 1),
            "combinations": combinations,
            "decided": combinations - undecided,
            "runs": len(self._pipeline.plan.runs),
            "runs_done": sum(len(chunk.runs) for chunk in self._pipeline.run_chunks.values() if self._is_done(chunk)),
        }

    def _combinations(self, ended: Mapping[str, _Ended]) -> tuple[int, int]:
        """Return the number of combinations whose seeds depend on results, and of those with points to come."""
        plan = self._pipeline.plan
        adaptive = {name for name, part in plan.study.all_experiments.items() if part.seeds.is_adaptive}
        to_come: dict[tuple[object, ...], bool] = {}
        for row in plan.rows:
            if row.experiment in adaptive:
                key = (row.experiment, plan.points[row.point_id].point.engine.kind, *row.labels.values())
                to_come[key] = to_come.get(key, False) or row.point_id not in ended
        return len(to_come), sum(to_come.values())

    def _is_done(self, chunk: RunChunk) -> bool:
        """Return whether the file of a chunk has its current digest."""
        try:
            with (self._results / "schedule" / f"{chunk.name}.jsonl").open(encoding="utf-8") as lines:
                return bool(json.loads(lines.readline()).get("digest") == chunk.digest)
        except (OSError, ValueError):
            return False

    def _read_new(self) -> None:
        inodes = self._store.inodes()
        for key, planned in self._pipeline.plan.points.items():
            inode, ended = inodes.get(key), self._ended.get(key)
            if ended is not None and ended.inode == inode:
                continue
            self._ended.pop(key, None)
            self._unchecked.discard(key)
            record = self._store.record(key) if inode is not None else None
            if inode is None or record is None:
                continue
            if is_current(record, planned.point):
                self._ended[key] = _ended(record, inode)
            elif is_valid_with_same_input(record, planned.point):
                self._unchecked.add(key)

    def _read_batches(self) -> tuple[dict[str, _Ended], set[str]]:
        """Return the points that ended by the files of batches, from which tables are made, and the damaged ones."""
        for name, batch in self._pipeline.batches.items():
            path = self._results / "simulate" / f"{name}.jsonl"
            changed = changed_ns(path)
            if changed == self._in_tables.get(name, (-1,))[0]:
                continue
            records = [record for _, record in read_checksummed(path)] if changed >= 0 else []
            known = {record["point_id"]: record for record in records if record is not None}
            current = {
                point.point_id: _ended(known[point.point_id], -1)
                for point in batch.points
                if point.point_id in known and is_current(known[point.point_id], point.point)
            }
            ended = {key: point for key, point in current.items() if point.status in (DONE, *FAILURES, NOT_NEEDED)}
            lost = {point.point_id for point in batch.points} - known.keys() if None in records else set()
            self._in_tables[name] = changed, ended, lost
        parts = self._in_tables.values()
        return {k: v for _, ended, _ in parts for k, v in ended.items()}, set[str]().union(*(p[2] for p in parts))

    def _pace(self, now: float) -> float:
        """Return the predicted seconds that were simulated a second, recently."""
        recent = {key: ended for key, ended in self._ended.items() if ended.ended > now - PACE_S}
        if not recent:
            return 0.0
        # Of a simulation that began earlier, the part in the last `PACE_S` counts.
        start = max(now - PACE_S, min(ended.started for ended in recent.values()))
        parts = {key: (e.ended - max(e.started, start)) / max(e.ended - e.started, 1e-9) for key, e in recent.items()}
        return sum(self._cost_s[key] * part for key, part in parts.items()) / max(now - start, 1.0)


def _cost_s(point: PlannedPoint) -> float:
    return engine_of(point.point.engine).predict_cpu_s(point.point)


def _ended(record: Record, inode: int) -> _Ended:
    used_s = record["cpu_s"] + record["overhead_cpu_s"]
    started = datetime.fromisoformat(record["started"]).timestamp()
    return _Ended(inode, record["status"], used_s, started, started + record["wall_s"] + record["overhead_cpu_s"])
