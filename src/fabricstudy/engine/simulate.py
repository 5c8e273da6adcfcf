"""Simulate one point, whatever comes of it: a record with status and reason."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from fabricstudy.analyse import (
    bound_ns,
    bound_of_any_routing_ns,
    distances,
    has_loads,
    link_loads,
    link_sharing,
    link_support,
    load_structure,
)
from fabricstudy.fingerprint import source_digest
from fabricstudy.machine import Machine, load_machine
from fabricstudy.store import FINAL, Record, Store
from fabricstudy.study import Limits, PlannedPoint, Point
from fabricstudy.workload import PlacedJob, WorkloadError, hop_bytes, place

from .contract import Engine, EngineFailure, EngineResult
from .run import Outcome, run

# Kept of a failed run; the input can be made again with `fabricstudy point`.
KEPT_OUTPUT_BYTES = 100_000

LINKS, LINK_PACKETS, LINK_STALLS = "links.npy", "link_packets.npy", "link_stall_ns.npy"
"""What is kept for each directed link: bytes, and packets and stalls where the engine tells them."""


@dataclass(frozen=True, eq=False)
class AnalysedMachine:
    """A machine with what a simulation needs of its analysis.

    Parameters
    ----------
    half : bool array [routers]
        One side of the best cut known.
    distance : int array [routers, routers]
        Hops between routers.
    """

    machine: Machine
    half: npt.NDArray[np.bool_]
    distance: npt.NDArray[np.integer]


@dataclass(frozen=True)
class Stores:
    """Where the stages keep what they made, under one folder (``results``)."""

    results: Path

    @property
    def points(self) -> Store:
        """Finished simulations."""
        return Store(self.results / "points", "point_id")

    def machine(self, machine_id: str) -> AnalysedMachine:
        """Load a machine with its analysis; the points of a batch come machine by machine, so one is kept."""
        return _analysed(self.results, machine_id)


@lru_cache(maxsize=1)
def _analysed(results: Path, machine_id: str) -> AnalysedMachine:
    machine = load_machine(results, machine_id)
    return AnalysedMachine(machine, load_structure(results, machine_id)[1], distances(machine))


def fingerprint(engine: Engine) -> str:
    """Digest of all code of ours that can change what `engine` says of a point."""
    return f"{source_digest('machine', 'analyse', 'workload', 'engine/simulate.py')}-{engine.fingerprint()}"


def own_code(mark: str) -> list[str]:
    """Give what of a fingerprint tells our own code, of the stages and of the adapter; the rest tells the program."""
    return mark.split("-")[:2]


def holds(record: Record, mark: str, present: bool) -> bool:
    """Say whether a record stands as it is: made by this code, and by the program that is here, if one is.

    Parameters
    ----------
    mark : str
        The engine's `fingerprint` now.
    present : bool
        Whether its program is here.
    """
    made: str = record["fingerprint"]
    return made == mark if present else own_code(made) == own_code(mark)


def stands(record: Record, mark: str, present: bool) -> bool:
    """Say whether a record holds and is final, so that its point need not be simulated again."""
    return record["status"] in FINAL and holds(record, mark, present)


def simulate(
    planned: PlannedPoint, engine: Engine, version: str | None, missing: str | None, stores: Stores, limits: Limits
) -> Record:
    """Give the record of a point: the stored one if it is finished, else that of a simulation done now.

    Parameters
    ----------
    version, missing : str or None
        What the engine's probe said: its version, or why it cannot be run.
    """
    mark = fingerprint(engine)
    store = stores.points
    stored = _finished(store, planned.point_id, mark, missing is None)
    if stored is not None:
        return stored
    record = _head(planned, engine, version, mark)
    if missing is not None:
        return record | {"status": "skipped", "reason": missing}
    with store.lock(planned.point_id):
        # Another process may have finished it while we waited.
        stored = _finished(store, planned.point_id, mark, present=True)
        if stored is not None:
            return stored
        store.sweep(planned.point_id)
        with store.workspace(planned.point_id) as folder:
            analysed = stores.machine(planned.machine_id)
            record |= attempt(planned.point, engine, analysed, limits, folder)
            record.pop("command", None)  # it names a folder that goes
            _strip(folder, record["status"])
            store.keep(folder, record | {"point": planned.point.model_dump(mode="json")})
    return record


def _finished(store: Store, point_id: str, mark: str, present: bool) -> Record | None:
    stored = store.record(point_id)
    if stored is None or not stands(stored, mark, present):
        return None
    return {key: value for key, value in stored.items() if key != "point"}


def _head(planned: PlannedPoint, engine: Engine, version: str | None, mark: str) -> Record:
    return {
        "point_id": planned.point_id,
        "machine_id": planned.machine_id,
        "engine": engine.name,
        "version": version,
        "fingerprint": mark,
        "seed": planned.point.seed,
        "host": socket.gethostname(),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "reason": None,
        "exit_code": None,
        "cpu_s": 0.0,
        "wall_s": 0.0,
        "memory_bytes": 0,
        "overhead_cpu_s": 0.0,
        "jobs": [],
        "links": [],
        "sharing": {},
    }


def attempt(point: Point, engine: Engine, analysed: AnalysedMachine, limits: Limits, folder: Path) -> Record:
    """Place, prepare, run and read one point in the empty `folder`; give how it went."""
    start = time.process_time()
    found: Record = {"status": "done"}
    try:
        _run(point, engine, analysed, limits, folder, found)
    except WorkloadError as error:
        found |= {"status": "refused", "reason": str(error)}
    except _NotDone as error:
        found |= {"status": error.status, "reason": str(error)}
    except EngineFailure as error:
        found |= {"status": "failed", "reason": str(error)}
    found["overhead_cpu_s"] = time.process_time() - start
    return found


def _run(point: Point, engine: Engine, analysed: AnalysedMachine, limits: Limits, folder: Path, found: Record) -> None:
    """Add to `found` as much as there is before something goes wrong."""
    machine = analysed.machine
    refusal = engine.unsupported(point, machine)
    if refusal is not None:
        raise _NotDone("refused", refusal)
    _check_memory(engine.predict_memory_bytes(point), limits)
    jobs = place(point, machine, analysed.half, analysed.distance)
    found["jobs"] = [_job_record(index, job, point, analysed) for index, job in enumerate(jobs)]
    found["sharing"] = _sharing_by_routes(jobs, point, machine)
    command = engine.prepare(folder, point, machine, jobs)
    exit_code = 0 if command is None else _run_program(command, folder, limits, found)
    result = engine.read(folder, exit_code, point, machine, jobs)
    for job, runtime in zip(found["jobs"], result.job_runtime_ns, strict=True):
        job["runtime_ns"] = runtime
    if result.link_bytes is not None:
        found["links"] = _class_loads(result, machine)
        np.save(folder / LINKS, result.link_bytes)
    for name, values in ((LINK_PACKETS, result.link_packets), (LINK_STALLS, result.link_stall_ns)):
        if values is not None:
            np.save(folder / name, values)
    if result.job_link_packets is not None:
        found["sharing"]["simulated"] = _sharing_record(result.job_link_packets > 0)


def _check_memory(needed_bytes: float | None, limits: Limits) -> None:
    there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for limit_bytes, whose, remedy in (
        (limits.memory_bytes, "limits.memory is", "raise it in the study"),
        (there, "this computer has", "take a larger one, or another engine"),
    ):
        if needed_bytes is not None and needed_bytes > limit_bytes:
            needed, limit = f"{needed_bytes / 1e9:.2g} GB", f"{limit_bytes / 1e9:.2g} GB"
            raise _NotDone("memory", f"not started: it would need about {needed}, and {whose} {limit}; {remedy}")


def _run_program(command: list[str], folder: Path, limits: Limits, found: Record) -> int:
    """Run the simulator within the limits; give its exit code."""
    found["command"] = command
    outcome = run(command, folder, limits.time_s, limits.memory_bytes)
    found |= _usage(outcome)
    _check_limits(outcome, limits)
    return outcome.exit_code


def _sharing_by_routes(jobs: list[PlacedJob], point: Point, machine: Machine) -> Record:
    """Say how far the jobs share links by their routes alone; nothing unless two communicate."""
    if sum(len(job.messages) > 0 for job in jobs) < 2:
        return {}
    used = [
        link_support(
            machine, job.node_of_rank[job.messages.source], job.node_of_rank[job.messages.destination], point.routing
        )
        for job in jobs
    ]
    return {"routes": _sharing_record(np.array(used))}


def _sharing_record(used: npt.NDArray[np.bool_]) -> Record:
    found = link_sharing(used)
    return {"mls": found.mls, "tls": found.tls, "used": found.used.tolist(), "shared": found.shared.tolist()}


class _NotDone(Exception):
    def __init__(self, status: str, reason: str) -> None:
        super().__init__(reason)
        self.status = status


def _check_limits(outcome: Outcome, limits: Limits) -> None:
    if outcome.ended == "timeout":
        raise _NotDone("timeout", f"not finished within {limits.time_s:g} s; raise limits.time in the study")
    if outcome.ended == "memory":
        raise _NotDone("memory", f"needed more than {limits.memory_bytes / 1e9:g} GB; raise limits.memory in the study")
    if outcome.ended == "missing":
        raise EngineFailure("the simulator could not be started")
    if outcome.exit_code < 0:
        raise EngineFailure(f"the simulator was killed by {signal.Signals(-outcome.exit_code).name}")


def _usage(outcome: Outcome) -> Record:
    return {
        "exit_code": outcome.exit_code,
        "cpu_s": outcome.cpu_s,
        "wall_s": outcome.wall_s,
        "memory_bytes": outcome.memory_bytes,
    }


def _job_record(index: int, job: PlacedJob, point: Point, analysed: AnalysedMachine) -> Record:
    bound, method = _bound(job, point, analysed)
    return {
        "job": index,
        "ranks": job.ranks,
        "nodes": len(np.unique(job.node_of_rank)),
        "messages": len(job.messages),
        "bytes": job.bytes_sent,
        "bound_ns": bound,
        "bound_method": method,
        "hop_bytes": hop_bytes(job, analysed.machine, analysed.distance),
    }


def _bound(job: PlacedJob, point: Point, analysed: AnalysedMachine) -> tuple[float, str]:
    """Least time (ns) that the job's own bytes need on the links, and what that rests on."""
    messages = job.messages
    source, destination = job.node_of_rank[messages.source], job.node_of_rank[messages.destination]
    # The link loads of oblivious routing are known beforehand; an adaptive one may take any path.
    if has_loads(analysed.machine, point.routing):
        loads = link_loads(analysed.machine, source, destination, messages.size_bytes, point.routing)
        return bound_ns(analysed.machine, loads), "routed"
    bound = bound_of_any_routing_ns(analysed.machine, source, destination, messages.size_bytes, analysed.half)
    return bound, "cut"


def _class_loads(result: EngineResult, machine: Machine) -> list[Record]:
    assert result.link_bytes is not None
    rows = []
    for index, link_class in enumerate(machine.classes):
        own = machine.link_class == index
        loads = result.link_bytes[own]
        if len(loads):
            row = {
                "class": link_class.name,
                "links": len(loads),
                "used": int(np.count_nonzero(loads)),
                "load_mean_bytes": float(loads.mean()),
                "load_max_bytes": float(loads.max()),
                "busy_max_ns": float((loads / machine.link_capacity_Bps[own]).max() * 1e9),
            }
            if result.link_packets is not None:
                row["packets"] = int(result.link_packets[own].sum())
            if result.link_stall_ns is not None:
                row["stall_mean_ns"] = float(result.link_stall_ns[own].mean())
                row["stall_max_ns"] = float(result.link_stall_ns[own].max())
            rows.append(row)
    return rows


def _strip(folder: Path, status: str) -> None:
    """Keep of a run the loads of the links, or what tells why it failed."""
    kept = {LINKS, LINK_PACKETS, LINK_STALLS} if status == "done" else {"stdout", "stderr"}
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name not in kept:
            path.unlink()
        elif status != "done":
            path.write_bytes(path.read_bytes()[-KEPT_OUTPUT_BYTES:])
