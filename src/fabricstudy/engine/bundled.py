"""Engines whose program is part of this project: a Rust crate in ``engines/``, built by ``make setup``."""

import os
import re
import shutil
from pathlib import Path

from .content import output_of
from .contract import Probe
from .program_engine import ProgramEngine

MACHINE, OPERATIONS, DESTINATIONS, RESULT = "machine.graph", "jobs.operations", "offered.destinations", "result.json"
"""Files of a simulation."""

ENGINES = Path(__file__).parents[3] / "engines"
"""Folder of the crates in a clone of the repository."""


class BundledEngine(ProgramEngine):
    """An engine with a bundled program; its name is that of its crate."""

    bundled = True
    build_folder = ""
    """Folder in `ENGINES` of a program outside the Cargo workspace."""
    # The first line of these programs is the reason.
    signs_of_failure = (re.compile("."),)

    @classmethod
    def built(cls) -> Path:
        """Return the path at which ``cargo build`` puts the program in a clone."""
        return ENGINES / cls.build_folder / "target" / "release" / f"fabricstudy-{cls.name}"

    @classmethod
    def program_path(cls) -> Path | None:
        """Return the path of the program: that of FABRICSTUDY_<NAME>, the clone's build, or one on PATH."""
        named = os.environ.get(f"FABRICSTUDY_{cls.name.upper()}")
        if named:
            return Path(named) if os.access(named, os.X_OK) else None
        built = cls.built()
        if os.access(built, os.X_OK):
            return built
        on_path = shutil.which(built.name)
        return Path(on_path) if on_path else None

    def command(self, *arguments: str) -> list[str]:
        """Return the command that runs the program."""
        return [str(self.program_path() or self.built().name), *arguments]

    def probe(self) -> Probe:
        variable = f"FABRICSTUDY_{self.name.upper()}"
        program, version, named = self.program_path(), self.program(), os.environ.get(variable)
        if version is not None:
            return Probe(self.name, True, version=version)
        problem = f"{self.built().name} is not built"
        if program is not None or named:
            problem = f"{program} --version failed" if program else f"{variable} is {named}, which is no program"
        build = f"run 'cargo build --release --locked' in {Path('engines', self.build_folder)}"
        return Probe(self.name, False, reason=f"{problem}; {build}, or set {variable} to its path")

    def program(self) -> str | None:
        """Return the program's version, which includes a digest of its sources."""
        program = self.program_path()
        output = None if program is None else output_of(program, "--version")
        return None if output is None else output.strip()
