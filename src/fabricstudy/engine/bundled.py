"""Simulators whose program is part of this project: a Rust crate in ``engines/``, built by ``make setup``."""

import os
import re
import shutil
from pathlib import Path
from typing import ClassVar

from fabricstudy.core.kinds import kind_of

from .content import output_of
from .cost_model import CostModel, load_cost_model
from .failures import EngineFailure
from .simulator import Simulator

MACHINE, OPERATIONS, DESTINATIONS, RESULT = "machine.graph", "jobs.operations", "offered.destinations", "result.json"
"""Files of a simulation."""

ENGINES = Path(__file__).parents[3] / "engines"
"""Folder of the crates in a clone of the repository."""


class BundledSimulator(Simulator):
    """A simulator with a bundled program; its kind is the name of its crate."""

    bundled = True
    build_folder: ClassVar[str] = ""
    """Folder in `ENGINES` of a program outside the Cargo workspace."""
    # The first line of these programs is the reason.
    signs_of_failure = (re.compile("."),)

    @classmethod
    def built(cls) -> Path:
        """Return the path at which ``cargo build`` puts the program in a clone."""
        return ENGINES / cls.build_folder / "target" / "release" / f"fabricstudy-{kind_of(cls)}"

    @classmethod
    def program_path(cls) -> Path | None:
        """Return the path of the program: that of FABRICSTUDY_<NAME>, the clone's build, or one on PATH."""
        named = os.environ.get(cls.variable())
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

    @classmethod
    def probe(cls) -> str:
        """Return the program's version, which includes a digest of its sources."""
        program, named = cls.program_path(), os.environ.get(cls.variable())
        version = None if program is None else output_of(program, "--version")
        if version is not None:
            return version.strip()
        problem = f"{cls.built().name} is not built"
        if program is not None or named:
            problem = f"{program} --version failed" if program else f"{cls.variable()} is {named}, which is no program"
        build = f"run 'cargo build --release --locked' in {Path('engines', cls.build_folder)}"
        raise EngineFailure(f"{problem}; {build}, or set {cls.variable()} to its path")

    @classmethod
    def cost_model(cls) -> CostModel | None:
        return load_cost_model(cls.__module__.rpartition(".")[0])
