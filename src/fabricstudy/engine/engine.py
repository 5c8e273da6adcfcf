"""An engine as the other packages see it: a kind of simulator, with what all kinds have in common."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from operator import is_not
from pathlib import Path
from typing import Any

import numpy as np

from fabricstudy.core.kinds import kind_of
from fabricstudy.core.returned import Returned
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.base import Routing
from fabricstudy.workload.messages import PlacedJob, WorkloadError

from .built_point import BuiltPoint
from .cost_model import WorkCounts, weighted_sum
from .failures import EngineFailure, Unsupported
from .features import refusal
from .outcome import EngineResult
from .point import Point
from .simulator import Simulator
from .steady_state import SteadyRun
from .stream_buffers import StreamBuffers

NOMINAL_CPU_S = {"run": 0.1, "packet in a router": 1e-6}
"""Times of an engine without cost model share batches among jobs; `fabricstudy plan` scales them to finished points."""

ROW = ("runtime_ns", "rank_mean_ns", "message_mean_ns", "message_p99_ns", "waiting_ns")
"""Keys of the row of a job: its runtime and, optionally, times that `EngineResult` describes."""


@dataclass(frozen=True)
class Probe:
    """Whether an engine is installed: its version, or why it is missing."""

    name: str
    found: bool
    version: str | None = None
    reason: str | None = None


class Engine:
    """The engine of a kind of simulator.

    It asks the settings of a point, which are an instance of this kind, and checks what they return.
    """

    def __init__(self, kind: type[Simulator]) -> None:
        self.kind = kind
        self.name = kind_of(kind)
        self.title = kind.title or self.name
        self.simulates, self.bundled, self.caveats = kind.simulates, kind.bundled, kind.caveats
        self._last: tuple[tuple[object, ...], WorkCounts | None] = ((), None)

    def _settings(self, point: Point) -> Simulator:
        assert isinstance(point.engine, self.kind), (point.engine, self.kind)
        return point.engine

    def probe(self) -> Probe:
        """Look for the program; cheap, and never raises."""
        try:
            return Probe(self.name, True, version=str(self.kind.probe()).strip())
        except Exception as error:
            reason = str(error) if isinstance(error, EngineFailure) else f"its probe failed: {error!r}"
            return Probe(self.name, False, reason=reason)

    def program(self, is_offered: bool = False) -> str | None:
        """Return what identifies the installed program, for jobs or offered traffic; None if there is none."""
        try:
            return self.kind.program_digest(is_offered)
        except Exception:
            return None

    def reading(self, is_offered: bool = False) -> str:
        """Return the module that reads results of jobs, or of offered traffic."""
        return (self.kind.read_offered if is_offered else self.kind.read).__module__

    @property
    def runs_offered(self) -> bool:
        """Whether it runs offered traffic."""
        return self.kind.read_offered is not Simulator.read_offered

    @property
    def runs_jobs(self) -> bool:
        """Whether it runs jobs."""
        return self.kind.read is not Simulator.read

    @property
    def shares_cores(self) -> bool:
        """Whether its program gives the same result on several cores; other points are unsupported."""
        return self.kind.on_cores is not Simulator.on_cores

    @property
    def forecasts(self) -> bool:
        """Whether the predicted time of a point was fitted; else it is known up to a factor only."""
        return self.kind.cost_model() is not None

    def predict_cpu_s(self, point: Point) -> float:
        """Predict the processor time of a point, that of all cores together (planning builds no machine)."""
        law = self.kind.cost_model()
        shared = self.kind.cost_of_sharing if point.engine.processes > 1 else 1.0
        return shared * weighted_sum(self._counts(point).cpu, NOMINAL_CPU_S if law is None else law.cpu_s)

    def predict_memory_bytes(self, point: Point) -> float:
        """Predict the memory of a point, so that one too large is not started; 0 without a cost model."""
        law = self.kind.cost_model()
        alone = 0.0 if law is None else weighted_sum(self._counts(point).memory, law.memory_bytes)
        return alone + (self._settings(point).sharing_bytes(point) if point.engine.processes > 1 else 0.0)

    def _counts(self, point: Point) -> WorkCounts:
        """Return the work of a point; points of a study that differ in their seeds share their parts, and follow."""
        parts = (point.machine, point.routing, *point.jobs, point.offered, point.network, point.engine)
        last, counts = self._last
        if counts is None or len(parts) != len(last) or any(map(is_not, parts, last)):
            counts = self.kind.work(point)
            self._last = parts, counts
        return counts

    def stored_bytes(self, point: Point, machine: Machine) -> float:
        """Return the bytes of a message that a router stores before it forwards them."""
        return self._settings(point).stored_bytes(BuiltPoint(point, machine))

    def stream_buffers(self, point: Point, machine: Machine) -> StreamBuffers | None:
        """Return the buffers that a stream of packets has in a router; None if unknown or unlimited."""
        return self._settings(point).stream_buffers(BuiltPoint(point, machine))

    def host_latencies_ns(self, point: Point, machine: Machine) -> float:
        """Return the latencies of the links of both nodes together, without load."""
        return self._settings(point).host_latencies_ns(BuiltPoint(point, machine))

    def expected_routing(self, point: Point) -> Routing:
        """Return the routing by which the engine routes offered traffic, for the asymptotes of the load."""
        return self._settings(point).expected_routing(point)

    def lacks(self, point: Point) -> str | None:
        """Return why an optional feature that the point uses is unsupported, or None; cheap, for planning."""
        return refusal(point, self.kind.features, self.title) if self.simulates else None

    def unsupported(self, point: Point, machine: Machine) -> str | None:
        """Return why the engine cannot simulate this point, or None if it can."""
        if lacking := self.lacks(point):
            return lacking
        if point.offered is None and not self.runs_jobs:
            return f"{self.title} runs offered traffic only; use packet for jobs"
        settings = self._settings(point)
        try:
            with Returned(settings, "unsupported").time_limit():
                reason = settings.unsupported(BuiltPoint(point, machine))
        except Unsupported as error:
            return str(error)
        return None if reason is None else str(reason)

    def write(self, point: BuiltPoint, folder: Path) -> list[str]:
        """Write the input of the jobs, or of offered traffic at `point.load`, to the empty `folder`.

        Return the command to run there, empty if nothing needs to run.
        """
        settings, returned = self._settings(point.point), Returned(self._settings(point.point), "write")
        try:
            with returned.time_limit():
                command = settings.write(point, folder)
        except Unsupported as reason:
            raise WorkloadError(str(reason)) from None
        if not isinstance(command, list | tuple):
            raise returned.error(f"returns {command!r:.80} instead of a command: a list of texts")
        if not all(isinstance(word, str | Path) and "\0" not in str(word) for word in command):
            raise returned.error("returns a command with words that are neither texts nor paths")
        return [str(word) for word in command]

    def on_cores(self, command: list[str], point: Point) -> list[str]:
        """Return a command of `write` on the cores of the point; raise `EngineFailure` if a launcher is missing."""
        return self._settings(point).on_cores(command, point)

    def check_exit(self, folder: Path, exit_code: int) -> None:
        """Raise `EngineFailure` unless the exit code is one of a finished run."""
        if exit_code not in self.kind.exit_codes:
            texts = ((folder / name).read_text(errors="replace") for name in ("stderr", "stdout"))
            lines = [line.strip() for text in texts for line in text.splitlines()]
            reasons = (line for sign in self.kind.signs_of_failure for line in lines if sign.search(line))
            reason = next(reasons, lines[-1] if lines else "(no output)")
            raise EngineFailure(f"{self.title} ended with {exit_code}: {reason}")

    def read(self, point: BuiltPoint, folder: Path) -> EngineResult:
        """Read the output of a finished run of jobs.

        Standard output and error are the files ``stdout`` and ``stderr`` in `folder`. Raises `EngineFailure` if the run
        did not finish its traffic, or wrote something that is not a result, and `BackgroundMismatch` if background jobs
        must last longer or shorter; then the point is written and run again.
        """
        settings, returned = self._settings(point.point), Returned(self._settings(point.point), "read")
        with returned.time_limit():
            result = settings.read(point, folder)
            links = settings.read_links(point, folder)
        if not isinstance(result, EngineResult):
            result = _result_of_rows(result, point.jobs, returned)
        elif len(result.job_runtime_ns) != len(point.jobs):
            raise returned.error(f"returns {len(result.job_runtime_ns)} runtimes for {len(point.jobs)} jobs")
        if links is None:
            return result
        links = Returned(settings, "read_links").floats(links, "bytes of links", point.machine.links)
        return replace(result, link_bytes=links)

    def read_offered(self, point: BuiltPoint, folder: Path) -> SteadyRun:
        """Read the output of a run of offered traffic; raise `EngineFailure` if it is no result."""
        settings, machine = self._settings(point.point), point.machine
        returned = Returned(settings, "read_offered")
        with returned.time_limit():
            run = settings.read_offered(point, folder)
        returned.instance(run, SteadyRun)
        batches = len(returned.integers(run.created, "created messages"))
        returned.integers(run.measured, "measured messages", batches, 2**62)
        for name in ("node_created", "node_arrived"):
            returned.floats(getattr(run, name), name, machine.nodes)
        returned.floats(run.latency_sum_ns, "sums of latencies", batches)
        if run.link_bytes is not None:
            returned.floats(run.link_bytes, "bytes of links", machine.links)
        return run

    def result(self, point: BuiltPoint, folder: Path, exit_code: int) -> EngineResult:
        """Return the result of a run that ended by itself."""
        self.check_exit(folder, exit_code)
        return self.read(point, folder)


def _result_of_rows(rows: Any, jobs: Sequence[PlacedJob], returned: Returned) -> EngineResult:
    """Return the result of one row per job; raise `ConfigError` unless they have known keys, and times."""
    if not isinstance(rows, list | tuple) or not all(isinstance(row, Mapping) for row in rows):
        raise returned.error(f"returns {rows!r:.80} instead of a list of mappings")
    if len(rows) != len(jobs):
        raise returned.error(f"returns {len(rows)} rows for {len(jobs)} jobs")
    for number, row in enumerate(rows):
        unknown = row.keys() - set(ROW)
        if unknown:
            raise returned.error(f"returns the keys {sorted(map(str, unknown))} of job {number}; use {', '.join(ROW)}")
        for name, value in {"runtime_ns": None, **row}.items():
            if not _is_time(value) and (name == "runtime_ns" or value is not None):
                raise returned.error(f"returns {value!r:.80} as {name} of job {number}, which is no time")
    runtime_ns, *others = (tuple(row.get(name) for row in rows) for name in ROW)
    # An engine measures a time of all jobs, or of none.
    rank_ns, message_ns, p99_ns, waiting_ns = (of if any(ns is not None for ns in of) else () for of in others)
    return EngineResult(
        job_runtime_ns=runtime_ns,
        job_rank_mean_ns=rank_ns,
        job_message_mean_ns=message_ns,
        job_message_p99_ns=p99_ns,
        job_waiting_ns=waiting_ns,
    )


def _is_time(value: Any) -> bool:
    is_number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    return is_number and 0 <= value < inf
