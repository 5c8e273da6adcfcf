"""Simulate one point, or read its record from the store."""

import logging
import platform
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from fabricstudy.core.columns import NOT_NEEDED
from fabricstudy.core.store import Record, Store
from fabricstudy.workload.messages import WorkloadError

from .attempt import attempt_point, check_supported, prepare, strip
from .definitions import AnalysedMachine
from .engine import Engine, Probe
from .offered_traffic import attempt_offered, stored_runs
from .outcome import OF_ENGINE, STORED
from .point import PlannedPoint, id_of
from .process import NotDone
from .records import describe_jobs, describe_links
from .settings import Limits
from .validity import fingerprint, is_valid, is_valid_with_same_input

OF_RUN = (
    "point_id", "machine_id", "engine", "version", "seed", "processes", "host", "started", "status", "reason",
    "exit_code", "cpu_s", "wall_s", "memory_bytes", "overhead_cpu_s", "point", "physics",
)  # fmt: skip
"""Entries of a record on the point and its simulation; all others are computed again when the code changes."""

OF_STORE = ("point", "physics", "files", "format")
"""Entries of a stored record that are not in the records of a batch."""

_LOG = logging.getLogger(__name__)


def simulate(
    planned: PlannedPoint,
    engine: Engine,
    probe: Probe,
    store: Store,
    machine_of: Callable[[PlannedPoint], AnalysedMachine],
    limits: Limits,
) -> Record:
    """Return the record of a point: the stored one if it is valid, else that of a new simulation.

    `probe` is that of the engine; `machine_of` returns the machine of a point, and is called if the point is prepared.
    """
    point = planned.point
    skipped = {"status": "skipped", "reason": probe.reason}
    stored, _ = _stored(planned, store)
    if is_valid(stored, point):
        return _of_batch(stored)
    if not probe.found and not is_valid_with_same_input(stored, point):
        return _head(planned, probe) | skipped
    with store.lock(planned.point_id):
        # Another process may have finished the point before the lock was free.
        stored, damage = _stored(planned, store)
        if damage:
            print(f"{planned.point_id}: {damage}; it is simulated again")
        if is_valid(stored, point):
            return _of_batch(stored)
        store.sweep(planned.point_id)
        if stored is not None and is_valid_with_same_input(stored, point):
            _LOG.info("point %s: its input is prepared, to compare it with that of its record", planned.point_id)
            try:
                checked = _checked(stored, planned, engine, machine_of(planned), store)
            except OSError:
                raise
            except Exception:
                checked = None  # a damaged record, or a point that cannot be prepared: the simulation shows which
            if checked is not None:
                return _of_batch(checked)
        record = _head(planned, probe)
        if not probe.found:
            return record | skipped
        with store.workspace(planned.point_id) as folder:
            record |= attempt_point(point, engine, machine_of(planned), limits, folder)
            record.pop("command", None)  # its folder is removed
            strip(folder, record["status"])
            store.keep(folder, record | {"point": point.model_dump(mode="json"), "physics": point.physics()})
    return record


def unneeded(planned: PlannedPoint, probe: Probe) -> Record:
    """Return the record of a point that results of other points make unnecessary."""
    return _head(planned, probe) | {
        "status": NOT_NEEDED,
        "reason": "precise or decided without it, over budget, or screened out",
    }


def _stored(planned: PlannedPoint, store: Store) -> tuple[Record | None, str | None]:
    """Return the intact record of a point, or None and the damage."""
    record, damage = store.record(planned.point_id), store.damage(planned.point_id)
    if record is not None and not damage and (identity := id_of(record["physics"])) != record["point_id"]:
        damage = f"its record holds the point {identity}"
    return (None, damage) if damage else (record, None)


def _of_batch(record: Record | None) -> Record:
    assert record is not None
    return {key: value for key, value in record.items() if key not in OF_STORE}


def _checked(
    stored: Record, planned: PlannedPoint, engine: Engine, analysed: AnalysedMachine, store: Store
) -> Record | None:
    """Prepare a point again; if the engine's input is the same, renew its record, else return None.

    The same input and the same program give the same result.
    """
    folder = store.folder(planned.point_id)
    fresh: Record = {name: stored[name] for name in ("background_ns",) if name in stored}
    with store.workspace(planned.point_id) as work:
        try:
            check_supported(planned.point, engine, analysed.machine)
            if planned.point.offered is None:
                jobs, command = prepare(planned.point, engine, analysed, work, fresh)
                # Without a program the result is computed by this code.
                if not command or fresh["input"] != stored["input"]:
                    return None
                describe_jobs(jobs, planned.point, analysed, fresh)
                _copy_result(folder, stored, work, fresh)
            else:
                attempt_offered(planned.point, engine, analysed, Limits(), work, fresh, stored_runs(folder, stored))
        except (WorkloadError, NotDone):
            return None
        strip(work, "done")
        describe_links(work, analysed.machine, fresh)
        # The times are those of the record's program, which may not be installed here.
        made_by = replace(fingerprint(planned.point), program=stored["fingerprint"].split("-", 2)[2])
        of_run = {name: stored[name] for name in OF_RUN if name in stored}
        record = of_run | fresh | {"fingerprint": str(made_by)}
        store.keep(work, record)
    return record


def _copy_result(folder: Path, stored: Record, work: Path, fresh: Record) -> None:
    """Copy what only the engine knows of jobs from a stored entry to a new one."""
    for job, before in zip(fresh["jobs"], stored["jobs"], strict=True):
        job |= {name: before[name] for name in OF_ENGINE if name in before}
    for name in STORED:
        if (folder / name).exists():
            shutil.copy2(folder / name, work / name)


def _head(planned: PlannedPoint, probe: Probe) -> Record:
    return {
        "point_id": planned.point_id,
        "machine_id": planned.machine_id,
        "engine": probe.name,
        "version": probe.version,
        "fingerprint": str(fingerprint(planned.point)),
        "seed": planned.point.seed,
        "processes": planned.point.engine.processes,
        "host": platform.node(),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "reason": None,
        "exit_code": None,
        "cpu_s": 0.0,
        "wall_s": 0.0,
        "memory_bytes": None,
        "overhead_cpu_s": 0.0,
        "jobs": [],
        "links": [],
        "sharing": {},
    }
