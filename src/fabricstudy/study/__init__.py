"""The grammar of study files.

In: a study file (YAML): one complete point, and what varies.

Out: `load_study` returns the checked `Study` (`load_machine` its machine alone); `plan` expands it into a `Plan`, the
table of its points in a stable order. Mistakes raise a `ConfigError` with file, path, value and remedy before anything
runs.
"""

from .file import load_machine, load_study
from .plan import plan

__all__ = ["load_machine", "load_study", "plan"]
