"""Find SST: the program, its version, and the elements of the model."""

import os
import re
import shutil
from pathlib import Path

from fabricstudy.core import bundled_files

from ..content import content_digest, output_of
from ..failures import EngineFailure

MODEL = bundled_files.HOME / "engines" / "sst" / "model.py"
"""The script that SST runs."""

ELEMENTS = ("merlin", "firefly", "hermes", "ember")
SST_HOME = "SST_CORE_HOME"

_REMEDY = (
    f"put it on PATH or in ${SST_HOME}/bin by your site's module or container (config envmodules or container), or by "
    "the guide on sst-simulator.org; see docs/engines/sst.md"
)


def program_path() -> Path | None:
    """Return the path of the program: that of ``SST_CORE_HOME``, or the first on PATH."""
    home = os.environ.get(SST_HOME)
    if home:
        at_home = Path(home) / "bin" / "sst"
        return at_home if os.access(at_home, os.X_OK) else None
    on_path = shutil.which("sst")
    return Path(on_path) if on_path else None


def version_of_sst() -> str:
    """Return the version of SST; raise `EngineFailure` without SST, the model script, or an element of the model."""
    program = program_path()
    if program is None:
        home = os.environ.get(SST_HOME)
        problem = f"${SST_HOME} is {home}, and has no bin/sst" if home else "there is no program sst"
        raise EngineFailure(f"{problem}; {_REMEDY}")
    if not MODEL.is_file():
        raise EngineFailure(f"{MODEL} is missing; install the project again")
    version = output_of(program, "--version")
    if version is None:
        raise EngineFailure(f"{program} --version failed; {_REMEDY}")
    lacking = ", ".join(name for name in ELEMENTS if _library(program, name) is None)
    if lacking:
        remedy = f"install sst-elements with {', '.join(ELEMENTS)}"
        raise EngineFailure(f"{program} has no element library {lacking}; {remedy}")
    # "SST-Core Version (14.1.0)", or "(-dev)" for a development build.
    number = re.search(r"\((.*?)\)", version)
    return f"SST {number[1] if number else version.strip()}"


def _library(program: Path, name: str) -> Path | None:
    """Return the element's library, in SST's folder of elements or where it was registered."""
    folders = [program.parents[1] / "lib" / "sst-elements-library"]
    for section, key in (("SST_ELEMENT_LIBRARY", "SST_ELEMENT_LIBRARY_LIBDIR"), (name, f"{name}_LIBDIR")):
        lines = (output_of(program.with_name("sst-config"), section, key) or "").strip().splitlines()
        folders += map(Path, lines[-1:])
    return next((library for folder in folders if (library := folder / f"lib{name}.so").is_file()), None)


def program_digest() -> str | None:
    """Return a digest of the content of SST: the launcher, the simulator that it starts, and the elements."""
    program = program_path()
    if program is None:
        return None
    simulators = [program.parents[1] / folder / "sstsim.x" for folder in ("libexec", "bin")]
    libraries = [library for name in ELEMENTS if (library := _library(program, name)) is not None]
    return content_digest([program, *(file for file in simulators if file.is_file()), *libraries])
