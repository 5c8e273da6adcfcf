"""The grammar of study files.

In: a study file (YAML): one complete point, and what varies.

Out: `load_study` returns the checked `Study` (`load_machine` its machine alone); `plan` expands it into a `Plan`, the
table of its points in a stable order. Mistakes raise a `StudyError` with file, path, value and remedy before anything
runs.
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
