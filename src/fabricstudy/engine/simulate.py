"""Simulate one point, whatever comes of it: a record with status and reason."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from fabricstudy.machine.base import Topology
from fabricstudy.machine.graph import Machine
from fabricstudy.machine.stage import keep_machine, load_machine
from fabricstudy.store import POINTS, Record, Store
from fabricstudy.structure.bound import bound_ns, bound_of_any_routing_ns, phase_bound_ns
from fabricstudy.structure.load import LinkLoads, has_loads, link_support
from fabricstudy.structure.sharing import link_sharing
from fabricstudy.structure.stage import keep_structure, load_structure
from fabricstudy.workload.messages import PlacedJob, WorkloadError
from fabricstudy.workload.placing import place

from .contract import Engine, EngineFailure, EngineResult, OtherBackground
from .point import PlannedPoint, Point
from .quality import loads_by_routes, mapping_record
from .run import Outcome, run
from .settings import Limits
from .validity import Validity, fingerprint, input_digest, validity

# Kept of a failed run; the input can be made again with `fabricstudy point`.
KEPT_OUTPUT_BYTES = 100_000

FIRST_GUESS = 4.0
"""How long a background lasts at first, over the highest bound of the other jobs."""

MOST_RUNS = 8
"""Runs of one point, each with a background that lasts as long as the one before it asked for."""

LINKS, LINK_PACKETS, LINK_STALLS = "links.npy", "link_packets.npy", "link_stall_ns.npy"
"""What is kept for each directed link: bytes, and packets and stalls where the engine tells them."""

_KEPT = (LINKS, LINK_PACKETS, LINK_STALLS)


@dataclass(frozen=True, eq=False)
class AnalysedMachine:
    """A machine with what a simulation needs of its analysis.

    Parameters
    ----------
    cut_side : bool array [routers]
        One side of the best cut known.
    """

    machine: Machine
    cut_side: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Stores:
    """Where the stages keep what they made, under one folder (``results``)."""

    results: Path

    @property
    def points(self) -> Store:
        """Finished simulations."""
        return Store(self.results / POINTS, "point_id")

    def machine(self, machine_id: str, config: Topology) -> AnalysedMachine:
        """Load a machine with its analysis, made anew if they were removed.

        The points of a batch come machine by machine, so one is kept.
        """
        return _analysed(self.results, machine_id, config)


@lru_cache(maxsize=1)
def _analysed(results: Path, machine_id: str, config: Topology) -> AnalysedMachine:
    keep_machine(results, machine_id, config)
    keep_structure(results, machine_id)
    machine = load_machine(results, machine_id)
    return AnalysedMachine(machine, load_structure(results, machine_id)[1])


def simulate(
    planned: PlannedPoint, engine: Engine, version: str | None, missing: str | None, stores: Stores, limits: Limits
) -> Record:
    """Give the record of a point: the stored one if it is finished, else that of a simulation done now.

    Parameters
    ----------
    version, missing : str or None
        What the engine's probe said: its version, or why it cannot be run.
    """
    store, point = stores.points, planned.point
    stored = store.record(planned.point_id)
    if validity(stored, point) is Validity.VALID:
        return _without_point(stored)
    if missing is not None and validity(stored, point) is Validity.INVALID:
        return _head(planned, engine, version) | {"status": "skipped", "reason": missing}
    with store.lock(planned.point_id):
        # Another process may have finished it while we waited.
        stored = store.record(planned.point_id)
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
            _strip(folder, record["status"])
            store.keep(folder, record | {"point": point.model_dump(mode="json")})
    return record


def _without_point(record: Record | None) -> Record:
    assert record is not None  # a valid record is one
    return {key: value for key, value in record.items() if key != "point"}


def _checked(
    stored: Record, planned: PlannedPoint, engine: Engine, analysed: AnalysedMachine, store: Store
) -> Record | None:
    """Prepare a point again; if the engine would get what it got, stamp its record anew, with our own part of it.

    The same input and the same program mean the same result. None if the point is to be simulated again.
    """
    folder = store.folder(planned.point_id)
    fresh: Record = {name: stored[name] for name in ("background_ns",) if name in stored}
    with store.workspace(planned.point_id) as work:
        try:
            _check_supported(planned.point, engine, analysed.machine)
            _prepare(planned.point, engine, analysed, work, fresh)
        except (WorkloadError, _NotDone):
            return None
        if fresh["input"] != stored["input"]:
            return None
        for job, before in zip(fresh["jobs"], stored["jobs"], strict=True):
            job["runtime_ns"] = before["runtime_ns"]
        if "simulated" in stored["sharing"]:
            fresh["sharing"]["simulated"] = stored["sharing"]["simulated"]
        if (folder / LINKS).exists():
            fresh["links"] = _class_loads(_kept_result(folder), analysed.machine)
        _strip(work, "done")
        for name in _KEPT:
            if (folder / name).exists():
                shutil.copy2(folder / name, work / name)
        # It was the program of the record that found it; here there may be none.
        made_by = replace(fingerprint(planned.point), program=stored["fingerprint"].split("-", 2)[2])
        record = stored | fresh | {"fingerprint": str(made_by)}
        store.keep(work, record)
    return record


def _kept_result(folder: Path) -> EngineResult:
    """Read what is kept for each link of a finished simulation."""
    arrays = {name: np.load(folder / name) if (folder / name).exists() else None for name in _KEPT}
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


def attempt(point: Point, engine: Engine, analysed: AnalysedMachine, limits: Limits, folder: Path) -> Record:
    """Place, prepare, run and read one point in the empty `folder`; give how it went."""
    start = time.process_time()
    record: Record = {"status": "done"}
    try:
        _run(point, engine, analysed, limits, folder, record)
    except WorkloadError as error:
        record |= {"status": "refused", "reason": str(error)}
    except _NotDone as error:
        record |= {"status": error.status, "reason": str(error)}
    except EngineFailure as error:
        record |= {"status": "failed", "reason": str(error)}
    except OSError:
        raise  # a full disk or a lost folder is no property of the point
    except Exception as error:
        # Whatever goes wrong with one point, the others have their rows, and this one says why.
        record |= {"status": "failed", "reason": f"{type(error).__name__}: {error}"}
    record["overhead_cpu_s"] = time.process_time() - start
    return record


def _run(point: Point, engine: Engine, analysed: AnalysedMachine, limits: Limits, folder: Path, record: Record) -> None:
    """Add to `record` as much as there is before something goes wrong."""
    machine = analysed.machine
    _check_supported(point, engine, machine)
    _check_memory(engine.predict_memory_bytes(point), limits)
    result = _simulated(point, engine, analysed, limits, folder, record)
    for job, runtime in zip(record["jobs"], result.job_runtime_ns, strict=True):
        job["runtime_ns"] = runtime
    if result.link_bytes is not None:
        record["links"] = _class_loads(result, machine)
    kept = zip(_KEPT, (result.link_bytes, result.link_packets, result.link_stall_ns), strict=True)
    for name, values in kept:
        if values is not None:
            np.save(folder / name, values)
    if result.job_link_packets is not None:
        record["sharing"]["simulated"] = _sharing_record(result.job_link_packets > 0)


def _simulated(
    point: Point, engine: Engine, analysed: AnalysedMachine, limits: Limits, folder: Path, record: Record
) -> EngineResult:
    """Prepare, run and read a point, and again as long as its background has to last another time."""
    for _ in range(MOST_RUNS):
        jobs, command = _prepare(point, engine, analysed, folder, record)
        exit_code = 0 if command is None else _run_program(command, folder, limits, record)
        try:
            return engine.read(folder, exit_code, point, analysed.machine, jobs)
        except OtherBackground as again:
            record["background_ns"] = again.needed_ns
            _empty(folder)
    raise EngineFailure(f"in {MOST_RUNS} runs the jobs in the background did not last as long as the others")


def _prepare(
    point: Point, engine: Engine, analysed: AnalysedMachine, folder: Path, record: Record
) -> tuple[list[PlacedJob], list[str] | None]:
    """Write the engine's input to the empty `folder` and add to `record` what is known before it runs."""
    machine = analysed.machine
    jobs = place(point, machine, analysed.cut_side)
    record["jobs"] = [_job_record(index, job, point, analysed) for index, job in enumerate(jobs)]
    record["sharing"] = _sharing_by_routes(jobs, point, machine)
    jobs = _with_background(jobs, record)
    command = engine.prepare(folder, point, machine, jobs)
    record["input"] = input_digest(folder, command)
    return jobs, command


def _with_background(jobs: list[PlacedJob], record: Record) -> list[PlacedJob]:
    """Say how long jobs in the background last: what `record` says, or a guess, which is added to it."""
    if not any(job.background for job in jobs):
        return jobs
    bounds = [max(job["bound_ns"], job["phase_bound_ns"]) for job in record["jobs"] if job["bound_ns"] is not None]
    lasts_ns = record.setdefault("background_ns", FIRST_GUESS * max(bounds, default=0.0))
    return [replace(job, lasts_ns=lasts_ns) if job.background else job for job in jobs]


def _check_supported(point: Point, engine: Engine, machine: Machine) -> None:
    refusal = engine.unsupported(point, machine)
    if refusal is not None:
        raise _NotDone("refused", refusal)


def _check_memory(needed_bytes: float | None, limits: Limits) -> None:
    there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for limit_bytes, whose, remedy in (
        (limits.memory_bytes, "limits.memory is", "raise it in the study"),
        (there, "this computer has", "take a larger one, or another engine"),
    ):
        if needed_bytes is not None and needed_bytes > limit_bytes:
            needed, limit = f"{needed_bytes / 1e9:.2g} GB", f"{limit_bytes / 1e9:.2g} GB"
            raise _NotDone("memory", f"not started: it would need about {needed}, and {whose} {limit}; {remedy}")


def _run_program(command: list[str], folder: Path, limits: Limits, record: Record) -> int:
    """Run the simulator within the limits; give its exit code."""
    record["command"] = command
    outcome = run(command, folder, limits.time_s, limits.memory_bytes)
    record |= _usage(outcome, record)
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
    sharing = link_sharing(used)
    return {"mls": sharing.mls, "tls": sharing.tls, "used": sharing.used.tolist(), "shared": sharing.shared.tolist()}


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


def _usage(outcome: Outcome, before: Record) -> Record:
    """What a run used, with the runs of the same point before it."""
    memory_bytes = [memory for memory in (before.get("memory_bytes"), outcome.memory_bytes) if memory is not None]
    return {
        "exit_code": outcome.exit_code,
        "cpu_s": outcome.cpu_s + before.get("cpu_s", 0.0),
        "wall_s": outcome.wall_s + before.get("wall_s", 0.0),
        "memory_bytes": max(memory_bytes, default=None),
    }


def _job_record(index: int, job: PlacedJob, point: Point, analysed: AnalysedMachine) -> Record:
    machine = analysed.machine
    loads = loads_by_routes(job, machine, point.routing)
    # What a job in the background sends depends on the others, and may be nothing at all.
    bound, method = (None, None) if job.background else _bound(job, loads, point, analysed)
    return {
        "job": index,
        "ranks": job.ranks,
        "nodes": len(np.unique(job.node_of_rank)),
        "messages": len(job.messages),
        "bytes": job.bytes_sent,
        "bound_ns": bound,
        "bound_method": method,
        "phase_bound_ns": None if job.background else _phase_bound_ns(job, point, analysed),
        **mapping_record(job, point.jobs[index].pattern, machine, loads, analysed.cut_side),
    }


def _phase_bound_ns(job: PlacedJob, point: Point, analysed: AnalysedMachine) -> float:
    sent = job.messages
    messages = sent.phase, sent.source, sent.destination, sent.size_bytes
    latency_ns = point.network.router_latency_ns
    return phase_bound_ns(analysed.machine, job.node_of_rank, messages, latency_ns)


def _bound(job: PlacedJob, loads: LinkLoads, point: Point, analysed: AnalysedMachine) -> tuple[float, str]:
    """Least time (ns) that the job's own bytes need on the links, and what that rests on."""
    # The link loads of oblivious routing are known beforehand; an adaptive one may take any path.
    if has_loads(analysed.machine, point.routing):
        return bound_ns(analysed.machine, loads), "routed"
    messages = job.messages
    source, destination = job.node_of_rank[messages.source], job.node_of_rank[messages.destination]
    bound = bound_of_any_routing_ns(analysed.machine, source, destination, messages.size_bytes, analysed.cut_side)
    return bound, "cut"


def _class_loads(result: EngineResult, machine: Machine) -> list[Record]:
    assert result.link_bytes is not None
    rows = []
    for index, link_class in enumerate(machine.classes):
        of_class = machine.link_class == index
        loads = result.link_bytes[of_class]
        if len(loads):
            row = {
                "class": link_class.name,
                "links": len(loads),
                "used": int(np.count_nonzero(loads)),
                "load_mean_bytes": float(loads.mean()),
                "load_max_bytes": float(loads.max()),
                "busy_max_ns": float((loads / machine.link_capacity_Bps[of_class]).max() * 1e9),
            }
            if result.link_packets is not None:
                row["packets"] = int(result.link_packets[of_class].sum())
            if result.link_stall_ns is not None:
                row["stall_mean_ns"] = float(result.link_stall_ns[of_class].mean())
                row["stall_max_ns"] = float(result.link_stall_ns[of_class].max())
            rows.append(row)
    return rows


def _empty(folder: Path) -> None:
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def _strip(folder: Path, status: str) -> None:
    """Keep of a run the loads of the links, or what tells why it failed."""
    kept = set(_KEPT) if status == "done" else {"stdout", "stderr"}
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name not in kept:
            path.unlink()
        elif status != "done":
            path.write_bytes(path.read_bytes()[-KEPT_OUTPUT_BYTES:])
