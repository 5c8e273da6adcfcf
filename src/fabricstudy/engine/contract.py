"""The contract between fabricstudy and a simulator."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from fabricstudy.machine.graph import Machine
from fabricstudy.routing.base import Routing

from .built_point import BuiltPoint
from .caveats import Caveat
from .failures import EngineFailure
from .outcome import EngineResult
from .point import Point
from .steady_state import SteadyRun


@dataclass(frozen=True)
class Probe:
    """Whether an engine is installed: its version, or why it is missing."""

    name: str
    found: bool
    version: str | None = None
    reason: str | None = None


@dataclass(frozen=True)
class StreamBuffers:
    """Bytes that packets of one class of virtual channels may have in an input of a router."""

    key: str
    """The key of the study that sets them, and its value."""
    key_bytes: int
    from_cable: int
    from_host: int
    channels: int = 1
    """Channels among which they are divided."""


class Engine(Protocol):
    """A simulator: all that the other packages ask of one, with defaults.

    Bundled engines derive from this class, those of extensions from `simulator.Simulator`, which answers for them;
    docs/add-a-simulator.md lists the members of both.
    """

    name: str
    simulates: bool = True
    """Whether it returns runtimes; comparisons of engines leave others out."""
    bundled: bool = False
    """Whether the program is part of this repository, and so of an artifact."""
    caveats: tuple[Caveat, ...] = ()
    """Reasons why its times differ from those of other engines, in the order of the report."""

    @property
    def reading(self) -> str:
        """The module that reads results; validity depends on it and on what it imports from the engine's package."""
        return type(self).read.__module__

    def probe(self) -> Probe:
        """Look for the program; cheap, and never raises."""

    def program(self) -> str | None:
        """Return a unique version or digest of the installed program; None if there is none."""

    def sources(self) -> str:
        """Return a digest of files that affect a run and are no Python modules, such as a script for the program."""
        return ""

    forecasts: bool = True
    """Whether the predicted time of a point was fitted; else it is known up to a factor only."""

    def predict_cpu_s(self, point: Point) -> float:
        """Predict the CPU seconds of a point from closed forms (planning builds no machine)."""

    def predict_memory_bytes(self, point: Point) -> float | None:
        """Predict the memory of a point, so that one too large is not started; None where the engine needs little."""
        return None

    def stored_bytes(self, point: Point, machine: Machine) -> float:
        """Return the bytes of a message that a router stores before it forwards them: a packet by default."""
        return point.largest_packet_bytes

    def stream_buffers(self, point: Point, machine: Machine) -> StreamBuffers | None:
        """Return the buffers that a stream of packets has in a router; None where links need no credit."""
        return None

    def host_latencies_ns(self, point: Point, machine: Machine) -> float:
        """Return the latencies of the links of both nodes together, without load."""
        return 2 * machine.host.latency_ns

    def expected_routing(self, point: Point) -> Routing:
        """Return the routing by which the engine routes offered traffic, for the asymptotes of the load."""
        return point.routing

    def lacks(self, point: Point) -> str | None:
        """Return the refusal of an optional feature that the point uses; cheap, for planning. None without one."""
        return None

    def unsupported(self, point: Point, machine: Machine) -> str | None:
        """Return why the engine cannot simulate this point, or None if it can."""
        return None

    def write(self, point: BuiltPoint, folder: Path) -> list[str] | None:
        """Write the input of the jobs, or of offered traffic at `point.load`, to the empty `folder`.

        Return the command to run there, or None if nothing needs to run.
        """
        return None

    def check_exit(self, folder: Path, exit_code: int) -> None:
        """Raise `EngineFailure` unless the exit code is one of a finished run."""
        return

    def read(self, point: BuiltPoint, folder: Path) -> EngineResult:
        """Apply the engine's own success test to a finished run of jobs, and read its output.

        Standard output and error are the files ``stdout`` and ``stderr`` in `folder`. Raises `EngineFailure` if the run
        did not finish its traffic, or wrote something that is not a result, and `BackgroundMismatch` if background jobs
        must last longer or shorter; then the point is written and run again.
        """

    def read_offered(self, point: BuiltPoint, folder: Path) -> SteadyRun:
        """Read the output of a run of offered traffic; raise `EngineFailure` if it is no result."""
        raise EngineFailure(f"{self.name} does not run offered traffic")

    def result(self, point: BuiltPoint, folder: Path, exit_code: int) -> EngineResult:
        """Return the result of a run that ended by itself."""
        self.check_exit(folder, exit_code)
        return self.read(point, folder)

    @property
    def shares_cores(self) -> bool:
        """Whether its program gives the same result on several cores; other points are unsupported."""
        return type(self).on_cores is not Engine.on_cores

    def on_cores(self, command: list[str], point: Point) -> list[str]:
        """Return a command of `write` on the cores of the point; raise `EngineFailure` if a launcher is missing."""
        raise EngineFailure(f"{self.name} runs on one core")

    @property
    def runs_offered(self) -> bool:
        """Whether it runs offered traffic."""
        return type(self).read_offered is not Engine.read_offered

    @property
    def reading_offered(self) -> str:
        """As `reading`, for offered traffic."""
        return type(self).read_offered.__module__

    def offered_program(self) -> str | None:
        """As `program`, for offered traffic."""
        return self.program()
