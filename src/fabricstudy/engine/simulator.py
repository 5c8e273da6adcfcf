"""A simulator in one Python class: the contract of all engines, bundled ones and those of extensions.

A class with `kind`, `write` and `read` is an engine; its fields are the keys of a study. All else has a default. See
docs/add-a-simulator.md.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, ClassVar

from fabricstudy.core.arrays import Floats
from fabricstudy.core.errors import is_misspelling, suggestion
from fabricstudy.core.kinds import kind_of
from fabricstudy.core.model import ConfigError
from fabricstudy.routing.base import Routing

from .built_point import BuiltPoint
from .caveats import Caveat
from .content import content_digest, output_of, shared_libraries
from .cost_model import CostModel, WorkCounts, network_traffic
from .failures import EngineFailure, Unsupported
from .features import FEATURES
from .outcome import EngineResult
from .point import Point
from .settings import EngineSettings
from .steady_state import SteadyRun
from .stream_buffers import StreamBuffers

__all__ = [
    "BuiltPoint", "Caveat", "EngineFailure", "EngineResult", "Simulator", "SteadyRun", "Unsupported", "output_of",
]  # fmt: skip

CONTRACT: dict[str, tuple[type[Any], type | None]] = {
    "program": (str, None), "title": (str, None), "exit_codes": (tuple, int), "caveats": (tuple, Caveat),
    "features": (frozenset, str), "signs_of_failure": (tuple, re.Pattern), "scripts": (tuple, Path),
    "simulates": (bool, None), "bundled": (bool, None), "cost_of_sharing": (float, None),
}  # fmt: skip
"""Attributes of a simulator: their types, and those of their items."""

MISSPELLING = 0.92
"""Likeness of `read_link` and `read_links`; `read_lines`, a name of its own, is less like it."""


class Simulator(EngineSettings):
    """Base class of simulators; a subclass has a `kind`, and its keys as fields."""

    program: ClassVar[str] = ""
    """Name of the program on PATH; with a "/", its path from the folder of the class. The environment variable
    FABRICSTUDY_<KIND> names another one. Empty if `write` returns a command that needs none."""
    title: ClassVar[str] = ""
    """The name in messages; the kind by default."""
    features: ClassVar[frozenset[str]] = frozenset()
    """Optional features that it supports, of `features.FEATURES`, such as "routing: ecmp"; others are refused."""
    exit_codes: ClassVar[tuple[int, ...]] = (0,)
    """Exit codes of a finished run."""
    signs_of_failure: ClassVar[tuple[re.Pattern[str], ...]] = ()
    """Lines that say why a run failed, the most specific first; without a match the last line is the reason."""
    caveats: ClassVar[tuple[Caveat, ...]] = ()
    """Reasons why its times differ from those of other engines, in the order of the report."""
    scripts: ClassVar[tuple[Path, ...]] = ()
    """Files besides the program that affect every run; results are valid until they change."""
    simulates: ClassVar[bool] = True
    """Whether it returns runtimes; comparisons of engines leave others out."""
    bundled: ClassVar[bool] = False
    """Whether the program is part of this repository, and so of an artifact."""
    cost_of_sharing: ClassVar[float] = 1.0
    """Processor time of a point on several cores over that on one core, approximately."""

    @classmethod
    def __pydantic_init_subclass__(cls, kind: str = "", **more: Any) -> None:
        _check_contract(cls)
        if kind:
            _check_methods(cls)
        super().__pydantic_init_subclass__(kind=kind, **more)

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

    @classmethod
    def program_digest(cls, is_offered: bool) -> str | None:
        """Return what identifies the program of jobs, or of offered traffic; by default its version. None without it.

        A result is valid while this is the same.
        """
        return cls.probe()

    @classmethod
    def cost_model(cls) -> CostModel | None:
        """Return the constants of the forecasts; without, they are learned from finished points."""
        return None

    @staticmethod
    def work(point: Point) -> WorkCounts:
        """Count the operations of a point from closed forms, for forecasts."""
        packets = network_traffic(point, point.network.packet_bytes).in_routers
        return WorkCounts(cpu={"run": 1.0, "packet in a router": packets}, memory={})

    def sharing_bytes(self, point: Point) -> float:
        """Return the memory that a point on several cores needs in addition to that on one."""
        return 0.0

    def unsupported(self, point: BuiltPoint) -> str | None:
        """Return, or raise as `Unsupported`, why the simulator cannot simulate a point, and what to use instead.

        None if it can. No job is placed yet; `write` raises `Unsupported` for what depends on messages.
        """
        return None

    def write(self, point: BuiltPoint, folder: Path) -> Sequence[str | Path]:
        """Write the input to the empty `folder`, and return the command to run there; raise `Unsupported` to refuse.

        The command is empty if nothing needs to run.
        """
        raise NotImplementedError

    def read(self, point: BuiltPoint, folder: Path) -> EngineResult | Sequence[Mapping[str, float | None]]:
        """Return one row per job, with `runtime_ns` and others of `engine.ROW`; exit code 0 alone proves nothing.

        Standard output and error of the command are the files ``stdout`` and ``stderr``. A simulator that measures more
        returns an `EngineResult`. Raises `EngineFailure` if the output is no result, and `BackgroundMismatch` if
        background jobs must last longer or shorter. Points with jobs are refused without this method.
        """
        raise NotImplementedError

    def read_links(self, point: BuiltPoint, folder: Path) -> Floats | None:
        """Return the bytes that crossed each directed link, float64 [links]; None if they are unknown."""
        return None

    def read_offered(self, point: BuiltPoint, folder: Path) -> SteadyRun:
        """Return what a run of offered traffic counted. Points with offered traffic are refused without this method."""
        raise NotImplementedError

    def on_cores(self, command: list[str], point: Point) -> list[str]:
        """Return the command on `processes` cores, if these change no result. `processes` is refused without it."""
        raise NotImplementedError

    def expected_routing(self, point: Point) -> Routing:
        """Return how packets of offered traffic are routed, for latencies and bounds; by default as the study says."""
        return point.routing

    def stored_bytes(self, point: BuiltPoint) -> float:
        """Return the bytes of a message that a router stores before it forwards them: a packet by default."""
        return point.point.largest_packet_bytes

    def stream_buffers(self, point: BuiltPoint) -> StreamBuffers | None:
        """Return the buffers that a stream of packets has in a router; None if unknown or unlimited."""
        return None

    def host_latencies_ns(self, point: BuiltPoint) -> float:
        """Return the latencies of the links of both nodes together, without load."""
        return 2 * point.machine.host.latency_ns


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
            remedy += ": from fabricstudy.engine.simulator import Caveat" * (item is Caveat)
            raise _attribute_error(kind, name, f"it cannot be {value!r:.80}", remedy)
    for feature in sorted(kind.features - FEATURES.keys()):
        raise _attribute_error(kind, "features", f"there is no feature '{feature}'", suggestion(feature, FEATURES))


def _check_methods(kind: type[Simulator]) -> None:
    """Raise `ConfigError` for a class without `write`, or with neither `read` nor `read_offered`."""
    for names in (("write",), ("read", "read_offered")):
        if all(getattr(kind, name) is getattr(Simulator, name) for name in names):
            own = [name for name in vars(kind) if not name.startswith("_") and name not in vars(Simulator)]
            similar = get_close_matches(names[0], own, 1, 0.6)
            remedy = f"rename {similar[0]}" if similar else f"add: def {names[0]}(self, point, folder)"
            raise _attribute_error(kind, names[0], f"the class has no method {' or '.join(names)}", remedy)


def _attribute_error(kind: type[Simulator], name: str, problem: str, remedy: str) -> ConfigError:
    return ConfigError(problem, remedy, ("extensions",), f"{kind.__name__}.{name}", "extension")
