"""Bundled files that are not modules: the workflow, its profiles, the studies, and programs.

They are at the root of a clone, and in the package of an installed wheel.
"""

import os
import re
import shutil
import sys
from pathlib import Path

from fabricstudy.core.source import PACKAGE

INSTALLED = PACKAGE / "share"
"""Their folder in a wheel; ``setup.py`` fills it."""

HOME = INSTALLED if INSTALLED.is_dir() else PACKAGE.parents[1]
"""Their folder: that of a clone (with an editable install), or that of a wheel."""

SNAKEFILE = HOME / "Snakefile"
CONFIGS = HOME / "configs"


def bundled_path(name: str) -> str:
    """Return the path of a bundled file, such as ``docs/reference.md``, from the working directory."""
    return name if Path.cwd() == HOME else str(HOME / name)


def resolve_bundled_paths(text: str) -> str:
    """Return a text with the paths of the bundled files that it names.

    Examples
    --------
    >>> resolve_bundled_paths("see docs/limits.md") == f"see {bundled_path('docs/limits.md')}"
    True
    """
    return re.sub(r"\b(?:docs|configs|profiles)/[\w./-]*\w", lambda name: bundled_path(name[0]), text)


def set_environment() -> None:
    """Put the programs of this Python environment first on the PATH, also where it is not activated.

    BLAS, which is not loaded yet, gets one thread: a job has one core, and for matrices of some hundred rows the
    threads of OpenBLAS take up to thirty times as much processor time.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    folder = Path(sys.executable).parent
    python = shutil.which("python")
    if python is None or Path(python).parent != folder:
        os.environ["PATH"] = f"{folder}{os.pathsep}{os.environ.get('PATH', os.defpath)}"


def import_from_clone() -> None:
    """Let the environments that Snakemake makes for rules, which have the libraries only, import the clone."""
    if HOME != INSTALLED:
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(PACKAGE.parent), os.environ.get("PYTHONPATH")]))
