"""Which rank is on which core of the allocation: one module a mapping.

In: the cores (`Slots`), and the ranks (`Tasks`): what they send, and where they stand in the application.
Out: the core of each rank, a permutation of the job's cores.
"""

from .base import Mapping
from .slots import Slots
from .tasks import TaskGraph, Tasks

__all__ = ["Mapping", "Slots", "TaskGraph", "Tasks"]
