"""The mapping of ranks to the cores of the allocation: one module per mapping.

In: the cores (`Slots`), and the ranks (`Tasks`) with their messages and their coordinates in the application.
Out: the core of each rank, a permutation of the job's cores.
"""

from .base import Mapping
from .tasks import Slots, TaskGraph, Tasks

__all__ = ["Mapping", "Slots", "TaskGraph", "Tasks"]
