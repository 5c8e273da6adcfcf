"""The engine CAMINOS behind our contract: find the program, prepare its input, read its result."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

from fabricstudy.machine.graph import Machine
from fabricstudy.workload.messages import PlacedJob

from ..contract import EngineResult, Probe, Unsupported
from ..point import Point
from ..program_engine import ProgramEngine
from ..registry import adapter_of
from .caveats import CAVEATS
from .clock import clock
from .cost import work
from .files import CONFIGURATION, RESULT, write_files
from .result import read_result
from .settings import CaminosSettings

BUILT = Path(__file__).parents[4] / "engines" / "caminos" / "target" / "release" / "fabricstudy-caminos"
"""Where ``cargo build`` puts the front end in a clone of the repository."""

_REMEDY = "run 'cargo build --release --locked' in engines/caminos, or set FABRICSTUDY_CAMINOS to its path"
ROUTINGS = ("minimal", "dimension-order", "d-mod-k", "adaptive", "valiant", "ugal", "table")
"""What our front end has."""


@adapter_of(CaminosSettings)
class Caminos(ProgramEngine):
    """The engine CAMINOS; see the module's docstring."""

    name = "caminos"
    title = "CAMINOS"
    bundled = True
    reading = read_result.__module__
    caveats = CAVEATS
    work = staticmethod(work)
    # The front end says first what is wrong.
    signs_of_failure = (re.compile("."),)

    def probe(self) -> Probe:
        """Look for the front end: FABRICSTUDY_CAMINOS, the clone's build, or PATH."""
        program = program_path()
        if program is None:
            return Probe(self.name, False, reason=f"fabricstudy-caminos is not built; {_REMEDY}")
        version = _version(program)
        if version is None:
            return Probe(self.name, False, reason=f"{program} --version failed; {_REMEDY}")
        return Probe(self.name, True, version=version)

    def program(self) -> str | None:
        """Give the front end's version, which names the sources that it was built from."""
        program = program_path()
        return None if program is None else _version(program)

    def check(self, point: Point, machine: Machine) -> None:
        """Refuse what CAMINOS cannot simulate: its routing, bandwidths without a grid, delays too long.

        Raises
        ------
        Unsupported
            With the reason.
        """
        if point.routing.kind not in ROUTINGS:
            known = ", ".join(ROUTINGS)
            raise Unsupported(f"our front end for CAMINOS has no {point.routing.kind} routing; take {known}")
        clock(point, machine)

    def prepare(self, folder: Path, point: Point, machine: Machine, jobs: list[PlacedJob]) -> list[str]:
        """Write configuration, machine and messages; give the command."""
        write_files(folder, point, machine, jobs)
        return [str(program_path() or BUILT.name), CONFIGURATION, RESULT]

    def read_finished(self, folder: Path, point: Point, machine: Machine, jobs: list[PlacedJob]) -> EngineResult:
        """Read the result; it must fit the jobs and the machine, and all that was sent must have arrived."""
        return read_result(folder, point, machine, jobs)


def program_path() -> Path | None:
    """Give the front end that would be run, or None."""
    given = os.environ.get("FABRICSTUDY_CAMINOS")
    if given:
        return Path(given) if os.access(given, os.X_OK) else None
    if os.access(BUILT, os.X_OK):
        return BUILT
    found = shutil.which(BUILT.name)
    return Path(found) if found else None


@cache
def _version(program: Path) -> str | None:
    try:
        run = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return run.stdout.strip() if run.returncode == 0 else None
