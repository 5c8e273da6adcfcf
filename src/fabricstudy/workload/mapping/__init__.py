"""Which rank is on which core of the allocation: one module a mapping.

In: the cores (`Slots`), and what the ranks send.
Out: the core of each rank, a permutation of the job's cores.
"""

from .base import Mapping
from .slots import Slots

__all__ = ["Mapping", "Slots"]
