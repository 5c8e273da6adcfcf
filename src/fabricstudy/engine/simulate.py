"""Simulate one point, or take it from the store: a record with status and reason."""

from __future__ import annotations

import shutil
import socket
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from fabricstudy.store import Record, Store
from fabricstudy.workload.messages import WorkloadError

from .attempt import TIMES, attempt, check_supported, prepare, strip
from .contract import Engine, EngineResult
from .limits import NotDone
from .point import PlannedPoint
from .records import class_loads
from .settings import Limits
from .stores import KEPT, LINK_PACKETS, LINK_STALLS, LINKS, AnalysedMachine, Stores
from .validity import Validity, fingerprint, validity


def simulate(
    planned: PlannedPoint, engine: Engine, version: str | None, missing: str | None, stores: Stores, limits: Limits
) -> Record:
    """Give the record of a point: the stored one if it is finished, else that of a simulation done now.

    Parameters
    ----------
    version, missing : str or None
        Result of the engine's probe: its version, or why it cannot be run.
    """
    store, point = stores.points, planned.point
    stored = stores.point(planned.point_id)
    if validity(stored, point) is Validity.VALID:
        return _without_point(stored)
    if missing is not None and validity(stored, point) is Validity.INVALID:
        return _head(planned, engine, version) | {"status": "skipped", "reason": missing}
    with store.lock(planned.point_id):
        # Another process may have finished it while we waited.
        stored = stores.point(planned.point_id)
        standing = validity(stored, point)
        if standing is Validity.VALID:
            return _without_point(stored)
        store.sweep(planned.point_id)
        analysed = stores.machine(planned.machine_id, point.machine)
        if standing is Validity.UNCHECKED and stored is not None:
            try:
                checked = _checked(stored, planned, engine, analysed, store)
            except OSError:
                raise
            except Exception:
                checked = None  # a damaged record, or a point that cannot be prepared: simulating it tells which
            if checked is not None:
                return _without_point(checked)
        record = _head(planned, engine, version)
        if missing is not None:
            return record | {"status": "skipped", "reason": missing}
        with store.workspace(planned.point_id) as folder:
            record |= attempt(point, engine, analysed, limits, folder)
            record.pop("command", None)  # it names a folder that goes
            strip(folder, record["status"])
            store.keep(folder, record | {"point": point.model_dump(mode="json")})
    return record


def _without_point(record: Record | None) -> Record:
    assert record is not None  # a valid record is one
    return {key: value for key, value in record.items() if key != "point"}


def _checked(
    stored: Record, planned: PlannedPoint, engine: Engine, analysed: AnalysedMachine, store: Store
) -> Record | None:
    """Prepare a point again; if the engine would get the same input, stamp its record anew, with our part of it.

    The same input and the same program mean the same result. None if the point is to be simulated again.
    """
    folder = store.folder(planned.point_id)
    fresh: Record = {name: stored[name] for name in ("background_ns",) if name in stored}
    with store.workspace(planned.point_id) as work:
        try:
            check_supported(planned.point, engine, analysed.machine)
            prepare(planned.point, engine, analysed, work, fresh)
        except (WorkloadError, NotDone):
            return None
        if fresh["input"] != stored["input"]:
            return None
        for job, before in zip(fresh["jobs"], stored["jobs"], strict=True):
            job |= {name: before[name] for name in TIMES if name in before}
        if "simulated" in stored["sharing"]:
            fresh["sharing"]["simulated"] = stored["sharing"]["simulated"]
        if (folder / LINKS).exists():
            fresh["links"] = class_loads(kept_result(folder), analysed.machine)
        strip(work, "done")
        for name in KEPT:
            if (folder / name).exists():
                shutil.copy2(folder / name, work / name)
        # The times are from the record's program, which may not be installed here.
        made_by = replace(fingerprint(planned.point), program=stored["fingerprint"].split("-", 2)[2])
        record = stored | fresh | {"fingerprint": str(made_by)}
        store.keep(work, record)
    return record


def kept_result(folder: Path) -> EngineResult:
    """Read what is kept for each link of a finished simulation."""
    arrays = {name: np.load(folder / name) if (folder / name).exists() else None for name in KEPT}
    return EngineResult(
        (), link_bytes=arrays[LINKS], link_packets=arrays[LINK_PACKETS], link_stall_ns=arrays[LINK_STALLS]
    )


def _head(planned: PlannedPoint, engine: Engine, version: str | None) -> Record:
    return {
        "point_id": planned.point_id,
        "machine_id": planned.machine_id,
        "engine": engine.name,
        "version": version,
        "fingerprint": str(fingerprint(planned.point)),
        "seed": planned.point.seed,
        "processes": planned.point.engine.processes,
        "host": socket.gethostname(),
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
