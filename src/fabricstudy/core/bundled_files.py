"""What comes with the code and is no module of it: the workflow, its profiles, the studies, and programs.

In a clone these files lie where they are written, in an installed wheel in the package.
"""

import os
import re
import shutil
import sys
from pathlib import Path

from fabricstudy.core.source import PACKAGE

INSTALLED = PACKAGE / "share"
"""Where a wheel has them; ``setup.py`` puts them there."""

HOME = INSTALLED if INSTALLED.is_dir() else PACKAGE.parents[1]
"""Their folder: that of a clone (the install is an editable one), or that of a wheel."""

SNAKEFILE = HOME / "Snakefile"
CONFIGS = HOME / "configs"
"""The studies of the project."""


def bundled_path(name: str) -> str:
    """Return where a file of ours is found from the folder that we are in, such as ``docs/reference.md``."""
    return name if Path.cwd() == HOME else str(HOME / name)


def resolve_bundled_paths(text: str) -> str:
    """Return a text with the files of ours that it names where they are found.

    Examples
    --------
    >>> resolve_bundled_paths("see docs/limits.md") == f"see {bundled_path('docs/limits.md')}"
    True
    """
    return re.sub(r"\b(?:docs|configs|profiles)/[\w./-]*\w", lambda name: bundled_path(name[0]), text)


def prepend_environment_path() -> None:
    """Let ``python`` and what is installed beside it come first, also where this environment is not activated."""
    folder = Path(sys.executable).parent
    python = shutil.which("python")
    if python is None or Path(python).parent != folder:
        os.environ["PATH"] = f"{folder}{os.pathsep}{os.environ.get('PATH', os.defpath)}"


def import_from_clone() -> None:
    """Let the environments that Snakemake makes for rules, which have the libraries alone, import the clone."""
    if HOME != INSTALLED:
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(PACKAGE.parent), os.environ.get("PYTHONPATH")]))
