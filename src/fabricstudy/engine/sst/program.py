"""Looking for SST: the program, its version, and the elements that the model needs."""

import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

from fabricstudy.core import bundled_files
from fabricstudy.core.source import file_digest

from ..content import content_digest

MODEL = bundled_files.HOME / "engines" / "sst" / "model.py"
"""The script that SST runs."""

ELEMENTS = ("merlin", "firefly", "hermes", "ember")
HOME = "SST_CORE_HOME"

_TRIES_S = 30
_HOW = (
    f"it is looked for on PATH and in ${HOME}/bin; load your site's module or container (config envmodules or "
    "container), or install it by the guide on sst-simulator.org; see docs/engines/sst.md"
)


class SstNotFound(Exception):
    """SST cannot be run; the message says why."""


def program_path() -> Path | None:
    """Return the program that would be run: that of ``SST_CORE_HOME``, or the first on PATH."""
    home = os.environ.get(HOME)
    if home:
        at_home = Path(home) / "bin" / "sst"
        return at_home if os.access(at_home, os.X_OK) else None
    on_path = shutil.which("sst")
    return Path(on_path) if on_path else None


def find() -> str:
    """Give SST's version if all is there.

    Raises
    ------
    SstNotFound
        With the reason and what to do.
    """
    program = program_path()
    if program is None:
        where = (
            f"${HOME} is {os.environ[HOME]}, and has no bin/sst" if os.environ.get(HOME) else "there is no program sst"
        )
        raise SstNotFound(f"{where}; {_HOW}")
    if not MODEL.is_file():
        raise SstNotFound(f"{MODEL} is not there; install the project again")
    version = _version(program)
    if version is None:
        raise SstNotFound(f"{program} --version failed; {_HOW}")
    lacking = [name for name in ELEMENTS if _library(program, name) is None]
    if lacking:
        raise SstNotFound(
            f"{program} has no element library {', '.join(lacking)}; install sst-elements with {', '.join(ELEMENTS)}"
        )
    return version


@cache
def _version(program: Path) -> str | None:
    output = _output(program, "--version")
    return None if output is None else version_of(output)


def version_of(output: str) -> str:
    """Return the version in what ``sst --version`` prints; a development build says no number.

    Examples
    --------
    >>> version_of("SST-Core Version (14.1.0)"), version_of("SST-Core Version (-dev)")
    ('SST 14.1.0', 'SST -dev')
    """
    version = re.search(r"\((.*?)\)", output)
    return f"SST {version[1] if version else output.strip()}"


@cache
def _library(program: Path, name: str) -> Path | None:
    """Return the element's library, in SST's folder of elements or where it was registered."""
    output = _output(program.with_name("sst-config"), "SST_ELEMENT_LIBRARY", "SST_ELEMENT_LIBRARY_LIBDIR")
    places = [program.parents[1] / "lib" / "sst-elements-library"]
    if output is not None and output.strip():
        places.append(Path(output.strip().splitlines()[-1]))
    element_output = _output(program.with_name("sst-config"), name, f"{name}_LIBDIR")
    if element_output is not None and element_output.strip():
        places.append(Path(element_output.strip().splitlines()[-1]))
    candidates = (place / f"lib{name}.so" for place in places)
    return next((library for library in candidates if library.is_file()), None)


def program_digest() -> str | None:
    """Return a digest of the content of SST: the launcher, the simulator that it starts, and the elements."""
    program = program_path()
    if program is None:
        return None
    simulators = [program.parents[1] / folder / "sstsim.x" for folder in ("libexec", "bin")]
    libraries = [library for name in ELEMENTS if (library := _library(program, name)) is not None]
    return content_digest([program, *(file for file in simulators if file.is_file()), *libraries])


def _output(*command: str | Path) -> str | None:
    """Return the standard output of a command, or None if it fails."""
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=_TRIES_S)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return run.stdout if run.returncode == 0 else None


@cache
def model_digest() -> str:
    """Digest of the model script; comments and docstrings do not count."""
    return file_digest(MODEL) if MODEL.is_file() else "none"
