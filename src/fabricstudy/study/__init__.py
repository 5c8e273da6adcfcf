"""What to run: the grammar of study files.

In: a study file (YAML), which is one complete point and what varies.
Out: `load_study` gives the checked `Study` (`load_machine` its machine alone); `plan` expands it into a `Plan`, the
table of its points in a stable order; each `Point` carries one simulation's machine, jobs, routing, engine and seed,
and its id names it by its physics alone. The kinds register what may stand below ``kind:``. Quantities
are text with a unit in the file and plain numbers inside (`bandwidth_Bps`). Whatever cannot be is refused here, before
anything runs, with a `StudyError` that names file, path, value and remedy. This package reads files, and builds and
simulates nothing.
"""

from fabricstudy.core.errors import FabricstudyError, StudyError
from fabricstudy.study.sweep import PointRow

from .claims import Claim
from .figures import Figure
from .file import load_machine, load_study
from .model import Study
from .plan import Plan, plan
from .sweep import Axis, Experiment

__all__ = [
    "Axis",
    "Claim",
    "Experiment",
    "FabricstudyError",
    "Figure",
    "Plan",
    "PointRow",
    "Study",
    "StudyError",
    "load_machine",
    "load_study",
    "plan",
]
