"""An external simulator in one Python file: the base class of engines that an extension defines.

A class with `kind`, `write` and `read` is an engine; its fields are the keys of a study. All else has a default. See
docs/add-a-simulator.md.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import inf
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from fabricstudy.core.arrays import Floats
from fabricstudy.core.errors import is_misspelling, suggestion
from fabricstudy.core.kinds import kind_of
from fabricstudy.core.model import ConfigError
from fabricstudy.core.returned import Returned
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.base import Routing
from fabricstudy.workload.messages import PlacedJob, WorkloadError

from .built_point import BuiltPoint
from .caveats import Caveat
from .content import content_digest, output_of, shared_libraries
from .contract import Probe, StreamBuffers
from .cost_model import WorkCounts, network_traffic, weighted_sum
from .failures import EngineFailure, Unsupported
from .outcome import EngineResult
from .point import Point
from .program_engine import FEATURES, ProgramEngine
from .registry import adapter_of
from .settings import EngineSettings
from .steady_state import SteadyRun

__all__ = [
    "BuiltPoint", "Caveat", "EngineFailure", "ExternalEngine", "Simulator", "SteadyRun", "Unsupported", "output_of",
]  # fmt: skip

NOMINAL_CPU_S = {"run": 0.1, "packet in a router": 1e-6}
"""Shares batches among jobs; `fabricstudy plan` scales it to the finished points."""

ROW = ("runtime_ns", "rank_mean_ns", "message_mean_ns", "message_p99_ns", "waiting_ns")
"""Keys of the row of a job: its runtime and, optionally, times that `EngineResult` describes."""

CONTRACT: dict[str, tuple[type[Any], type | None]] = {
    "program": (str, None), "stores_packets": (bool, None), "exit_codes": (tuple, int), "caveats": (tuple, Caveat),
    "features": (frozenset, str),
}  # fmt: skip
"""Attributes of a simulator: their types, and those of their items."""

MISSPELLING = 0.92
"""Likeness of `read_link` and `read_links`; `read_lines`, a name of its own, is less like it."""


class Simulator(EngineSettings):
    """Base class of an external simulator; a subclass has a `kind`, and its keys as fields."""

    program: ClassVar[str] = ""
    """Name of the program on PATH; with a "/", its path from the folder of the extension. The environment variable
    FABRICSTUDY_<KIND> names another one. Empty if `write` returns a command that needs none."""
    stores_packets: ClassVar[bool] = True
    """Whether a router receives a whole packet before it forwards it."""
    features: ClassVar[frozenset[str]] = frozenset()
    """Optional features that it supports, of `program_engine.FEATURES`, such as "routing: ecmp"; others are refused."""
    exit_codes: ClassVar[tuple[int, ...]] = (0,)
    """Exit codes of a finished run."""
    caveats: ClassVar[tuple[Caveat, ...]] = ()
    """Reasons why its times differ from those of other engines, for the report."""

    @classmethod
    def __pydantic_init_subclass__(cls, kind: str = "", **more: Any) -> None:
        _check_contract(cls)
        super().__pydantic_init_subclass__(kind=kind, **more)
        if kind:
            adapter_of(cls)(partial(ExternalEngine, cls))

    @classmethod
    def variable(cls) -> str:
        """Return the name of the environment variable that names the program."""
        return f"FABRICSTUDY_{kind_of(cls).upper().replace('-', '_')}"

    @classmethod
    def program_path(cls) -> Path | None:
        """Return the path of the program, or None if it is missing."""
        beside = Path(str(sys.modules[cls.__module__].__file__)).parent / cls.program
        named = os.environ.get(cls.variable()) or (str(beside) if "/" in cls.program else cls.program)
        found = shutil.which(named) or (named if "/" in named and Path(named).is_file() else None)
        return Path(found) if found else None

    @classmethod
    def probe(cls) -> str:
        """Return the version of the program, by default a digest of its content. Raises `EngineFailure` if missing."""
        if not cls.program:
            return "no program"
        path = cls.program_path()
        if path is None:
            raise EngineFailure(f"there is no program {cls.program}; install it, or set {cls.variable()} to its path")
        return content_digest([path, *shared_libraries(path)])

    def unsupported(self, point: BuiltPoint) -> str | None:
        """Return why the simulator cannot simulate a point, and what to use instead; None if it can.

        No job is placed yet. `write` raises `Unsupported` for what depends on messages.
        """
        return None

    def write(self, point: BuiltPoint, folder: Path) -> Sequence[str | Path]:
        """Write the input to the empty `folder`, and return the command to run there; raise `Unsupported` to refuse."""
        raise NotImplementedError

    def read(self, point: BuiltPoint, folder: Path) -> Sequence[Mapping[str, float | None]]:
        """Return one row per job, with `runtime_ns` and others of `ROW`; exit code 0 alone proves nothing.

        Standard output and error of the command are the files ``stdout`` and ``stderr``. Raises `EngineFailure` if the
        output is no result. Points with jobs are refused without this method.
        """
        raise NotImplementedError

    def read_links(self, point: BuiltPoint, folder: Path) -> Floats | None:
        """Return the bytes that crossed each directed link, float64 [links]; None if they are unknown."""
        return None

    def read_offered(self, point: BuiltPoint, folder: Path) -> SteadyRun:
        """Return what a run of offered traffic counted. Points with offered traffic are refused without this method."""
        raise NotImplementedError

    def on_cores(self, command: list[str]) -> list[str]:
        """Return the command on `processes` cores, if these change no result. `processes` is refused without it."""
        raise NotImplementedError

    def expected_routing(self, routing: Routing) -> Routing:
        """Return how packets of offered traffic are routed under a routing of the study, for latencies and bounds."""
        return routing

    def stored_bytes(self, point: BuiltPoint) -> float:
        """Return the bytes of a message that a router stores before it forwards them, for latencies without load."""
        return point.point.largest_packet_bytes if self.stores_packets else 0.0

    def host_latencies_ns(self, point: BuiltPoint) -> float:
        """Return the latencies of the links of both nodes together, for latencies without load."""
        return 2 * point.machine.host.latency_ns


class ExternalEngine(ProgramEngine):
    """The engine of a `Simulator`."""

    forecasts = False

    def __init__(self, kind: type[Simulator]) -> None:
        self._kind = kind
        self.name = self.title = kind_of(kind)
        self.caveats, self.exit_codes, self.features = kind.caveats, kind.exit_codes, kind.features

    @property
    def reading(self) -> str:
        return self._kind.__module__

    reading_offered = reading

    @property
    def runs_offered(self) -> bool:
        return self._kind.read_offered is not Simulator.read_offered

    @property
    def shares_cores(self) -> bool:
        return self._kind.on_cores is not Simulator.on_cores

    def probe(self) -> Probe:
        try:
            version = self._kind.probe()
        except Exception as error:
            reason = str(error) if isinstance(error, EngineFailure) else f"its probe failed: {error!r}"
            return Probe(self.name, False, reason=reason)
        return Probe(self.name, True, version=str(version))

    def program(self) -> str | None:
        return self.probe().version

    @staticmethod
    def work(point: Point) -> WorkCounts:
        packets = network_traffic(point, point.network.packet_bytes).in_routers
        return WorkCounts(cpu={"run": 1.0, "packet in a router": packets}, memory={})

    def predict_cpu_s(self, point: Point) -> float:
        return weighted_sum(self._counts(point).cpu, NOMINAL_CPU_S)

    def predict_memory_bytes(self, point: Point) -> float:
        return 0.0

    def stored_bytes(self, point: Point, machine: Machine) -> float:
        return _simulator(point).stored_bytes(BuiltPoint(point, machine))

    def host_latencies_ns(self, point: Point, machine: Machine) -> float:
        return _simulator(point).host_latencies_ns(BuiltPoint(point, machine))

    def expected_routing(self, point: Point) -> Routing:
        return _simulator(point).expected_routing(point.routing)

    def stream_buffers(self, point: Point, machine: Machine) -> StreamBuffers | None:
        return None

    def check(self, point: Point, machine: Machine) -> None:
        """Raise `Unsupported` for jobs without `read`, and by the own method of the simulator."""
        settings = _simulator(point)
        if point.offered is None and self._kind.read is Simulator.read:
            raise Unsupported(f"{self.title} runs offered traffic only; use packet for jobs")
        with Returned(settings, "unsupported").time_limit():
            reason = settings.unsupported(BuiltPoint(point, machine))
        if reason is not None:
            raise Unsupported(str(reason))

    def write(self, point: BuiltPoint, folder: Path) -> list[str]:
        settings, returned = _simulator(point.point), Returned(_simulator(point.point), "write")
        try:
            with Returned(settings, "write").time_limit():
                command = settings.write(point, folder)
        except Unsupported as refusal:
            raise WorkloadError(str(refusal)) from None
        if not isinstance(command, list | tuple) or not command:
            raise returned.error(f"returns {command!r:.80} instead of a command: a list of texts")
        if not all(isinstance(word, str | Path) and "\0" not in str(word) for word in command):
            raise returned.error("returns a command with words that are neither texts nor paths")
        return [str(word) for word in command]

    def on_cores(self, command: list[str], point: Point) -> list[str]:
        return _simulator(point).on_cores(command)

    def read(self, point: BuiltPoint, folder: Path) -> EngineResult:
        settings = _simulator(point.point)
        with Returned(settings, "read").time_limit():
            rows = settings.read(point, folder)
            links = settings.read_links(point, folder)
        _check_rows(rows, point.jobs, Returned(settings, "read"))
        if links is not None:
            links = Returned(settings, "read_links").floats(links, "bytes of links", point.machine.links)
        runtime_ns, *others = (tuple(row.get(name) for row in rows) for name in ROW)
        # An engine measures a time of all jobs, or of none.
        rank_ns, message_ns, p99_ns, waiting_ns = (of if any(ns is not None for ns in of) else () for of in others)
        return EngineResult(
            job_runtime_ns=runtime_ns,
            link_bytes=links,
            job_rank_mean_ns=rank_ns,
            job_message_mean_ns=message_ns,
            job_message_p99_ns=p99_ns,
            job_waiting_ns=waiting_ns,
        )

    def read_offered(self, point: BuiltPoint, folder: Path) -> SteadyRun:
        settings, machine = _simulator(point.point), point.machine
        returned = Returned(settings, "read_offered")
        with Returned(settings, "read_offered").time_limit():
            run = settings.read_offered(replace(point, load=None), folder)
        returned.instance(run, SteadyRun)
        batches = len(returned.integers(run.created, "created messages"))
        for name, rows in (("node_created", machine.nodes), ("node_arrived", machine.nodes), ("measured", batches)):
            returned.integers(getattr(run, name), name, rows, 2**62)
        returned.floats(run.latency_sum_ns, "sums of latencies", batches)
        if run.link_bytes is not None:
            returned.floats(run.link_bytes, "bytes of links", machine.links)
        return run


def _check_contract(kind: type[Simulator]) -> None:
    """Raise `ConfigError` for a misspelt member of a class, and for an attribute that is no value of the contract."""
    public = [name for name in vars(Simulator) if not name.startswith("_")]
    for name in [*vars(kind), *kind.model_fields]:
        meant = [known for known in public if name not in public and is_misspelling(name, known, MISSPELLING)]
        if meant:
            raise _attribute_error(kind, name, "the contract has no such name", suggestion(name, public))
    for name, (wanted, item) in CONTRACT.items():
        value = getattr(kind, name)
        if not isinstance(value, wanted) or (item and not all(isinstance(part, item) for part in value)):
            remedy = f"write a {wanted.__name__}" + (f" of {item.__name__}" if item else "")
            raise _attribute_error(kind, name, f"{value!r:.80} is no value of it", remedy)
    for feature in sorted(kind.features - FEATURES.keys()):
        raise _attribute_error(kind, "features", f"there is no feature '{feature}'", suggestion(feature, FEATURES))


def _attribute_error(kind: type[Simulator], name: str, problem: str, remedy: str) -> ConfigError:
    return ConfigError(problem, remedy, ("extensions",), f"{kind.__name__}.{name}", "extension")


def _simulator(point: Point) -> Simulator:
    assert isinstance(point.engine, Simulator)
    return point.engine


def _check_rows(rows: Any, jobs: Sequence[PlacedJob], returned: Returned) -> None:
    """Raise `ConfigError` unless there is one row per job, of known keys and of times."""
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


def _is_time(value: Any) -> bool:
    is_number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    return is_number and 0 <= value < inf
