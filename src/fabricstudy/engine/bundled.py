"""Engines whose program is ours: in Rust, a crate in ``engines/``, built by ``make setup``."""

import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

from .contract import Probe
from .program_engine import ProgramEngine

ENGINES = Path(__file__).parents[3] / "engines"
"""Where a clone of the repository has the crates."""


class BundledEngine(ProgramEngine):
    """An engine of that kind; its name is that of its crate."""

    bundled = True
    # Our programs say first what is wrong.
    signs_of_failure = (re.compile("."),)

    @classmethod
    def built(cls) -> Path:
        """Return the path at which ``cargo build`` puts the program in a clone."""
        return ENGINES / cls.name / "target" / "release" / f"fabricstudy-{cls.name}"

    @classmethod
    def program_path(cls) -> Path | None:
        """Return the program that would be run: that of FABRICSTUDY_<NAME>, the clone's build, or one on PATH."""
        named = os.environ.get(cls._variable())
        if named:
            return Path(named) if os.access(named, os.X_OK) else None
        built = cls.built()
        if os.access(built, os.X_OK):
            return built
        on_path = shutil.which(built.name)
        return Path(on_path) if on_path else None

    @classmethod
    def _variable(cls) -> str:
        return f"FABRICSTUDY_{cls.name.upper()}"

    def command(self, *arguments: str) -> list[str]:
        """Return the command that runs the program."""
        return [str(self.program_path() or self.built().name), *arguments]

    def probe(self) -> Probe:
        """Look for the program."""
        remedy = f"run 'cargo build --release --locked' in engines/{self.name}, or set {self._variable()} to its path"
        program = self.program_path()
        if program is None:
            return Probe(self.name, False, reason=f"{self.built().name} is not built; {remedy}")
        version = _version(program)
        if version is None:
            return Probe(self.name, False, reason=f"{program} --version failed; {remedy}")
        return Probe(self.name, True, version=version)

    def program(self) -> str | None:
        """Return the program's version, which names the sources that it was built from."""
        program = self.program_path()
        return None if program is None else _version(program)


@cache
def _version(program: Path) -> str | None:
    try:
        run = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return run.stdout.strip() if run.returncode == 0 else None
